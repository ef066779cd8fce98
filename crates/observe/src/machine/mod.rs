//! What the machine says of itself: processor, memory, disks, network, and our own process.
//!
//! Each part has a pure reader, from the text of a file in `/proc` to numbers. [`Meter`] reads
//! the files, once a second at most, into buffers that it keeps.
//! Invariant: a file that isn't there, as in many containers, leaves its part out and is no error.
//! Start at [`Meter::look`].

pub mod disk;
pub mod memory;
pub mod network;
mod numbers;
pub mod php;
pub mod process;
pub mod processor;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use disk::DiskTraffic;
use memory::{Memory, Pressure};
use network::NetworkTraffic;
use process::ProcessTimes;
use processor::{CoreTimes, TICKS_A_SECOND};
use serde::Serialize;

/// The most of a file that is read: `/proc/stat` has a line of some kilobytes for interrupts.
const FILE_BYTES_MAX: usize = 64 << 10;
/// Of `/proc/net/tcp`, which lists every connection behind the listeners.
const LISTENERS_BYTES_MAX: usize = 16 << 10;
/// Behind the listeners the kernel looks through all the places that connections could have: the
/// more memory, the more of them. Where it takes longer than this…
const LISTENERS_DEAR: Duration = Duration::from_millis(1);
/// …so many looks do without.
const LISTENERS_REST: u32 = 9;

/// Everything at one moment. What is not known is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Machine {
    /// How busy each core was since the look before, from 0 to 1.
    pub cores: Vec<f64>,
    /// How long all cores together worked since the machine's start, in seconds.
    pub busy_seconds: Option<f64>,
    /// How long the host kept them from it.
    pub stolen_seconds: Option<f64>,
    /// Programs that work or wait to, on average over a minute.
    pub load: Option<f64>,
    /// All memory.
    pub memory_total_bytes: Option<u64>,
    /// What programs could still have of it.
    pub memory_available_bytes: Option<u64>,
    /// All of the swap.
    pub swap_total_bytes: Option<u64>,
    /// What of it is used.
    pub swap_used_bytes: Option<u64>,
    /// The share of the last ten seconds in which somebody waited for the processor.
    pub pressure_processor_ratio: Option<f64>,
    /// The same for memory.
    pub pressure_memory_ratio: Option<f64>,
    /// The same for disks.
    pub pressure_disk_ratio: Option<f64>,
    /// Bytes read from disks since the machine's start.
    pub disk_read_bytes: Option<u64>,
    /// Bytes written to them.
    pub disk_written_bytes: Option<u64>,
    /// The size of what the state folder lies on.
    pub disk_total_bytes: Option<u64>,
    /// What of it is free for us.
    pub disk_free_bytes: Option<u64>,
    /// Bytes that came over the network since the machine's start.
    pub network_received_bytes: Option<u64>,
    /// Bytes that went.
    pub network_sent_bytes: Option<u64>,
    /// Connections that wait to be accepted by us; as it was up to nine looks ago where asking for
    /// it is dear.
    pub accept_queue: Option<u64>,
    /// How often a connection found such a queue full, of any program, since the machine's start.
    pub accept_overflows: Option<u64>,
    /// Our own process.
    pub process: Process,
}

/// Our own process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Process {
    /// What it holds of memory.
    pub resident_bytes: Option<u64>,
    /// Open descriptors.
    pub descriptors: Option<u64>,
    /// The most that there may be.
    pub descriptors_max: Option<u64>,
    /// Processor time since its start.
    pub busy_seconds: Option<f64>,
    /// Threads.
    pub threads: Option<u64>,
}

/// Reads the machine's files, again and again.
pub struct Meter {
    stat: Option<File>,
    loadavg: Option<File>,
    meminfo: Option<File>,
    pressure: [Option<File>; 3],
    diskstats: Option<File>,
    own_stat: Option<File>,
    own_statm: Option<File>,
    /// On which the state folder lies.
    folder: PathBuf,
    /// The ports that we listen on.
    ports: Vec<u16>,
    /// Who waits there, and for how many looks that stands.
    accept_queue: Option<u64>,
    listeners_rest: u32,
    cores: Vec<CoreTimes>,
    buffer: Vec<u8>,
    page_bytes: u64,
}

impl Meter {
    /// A meter for a machine, for the disk that `folder` lies on and the listeners on `ports`.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, mut ports: Vec<u16>) -> Self {
        ports.sort_unstable();
        ports.dedup();
        let open = |path: &str| File::open(path).ok();
        Self {
            stat: open("/proc/stat"),
            loadavg: open("/proc/loadavg"),
            meminfo: open("/proc/meminfo"),
            pressure: ["cpu", "memory", "io"].map(|what| open(&format!("/proc/pressure/{what}"))),
            diskstats: open("/proc/diskstats"),
            own_stat: open("/proc/self/stat"),
            own_statm: open("/proc/self/statm"),
            folder: folder.into(),
            ports,
            accept_queue: None,
            listeners_rest: 0,
            cores: Vec::new(),
            buffer: vec![0; FILE_BYTES_MAX],
            page_bytes: rustix::param::page_size() as u64,
        }
    }

    /// How everything is now.
    pub fn look(&mut self) -> Machine {
        let mut machine = Machine { process: self.process(), ..Machine::default() };
        self.look_at_processor(&mut machine);
        self.look_at_memory(&mut machine);
        self.look_at_disks(&mut machine);
        self.look_at_network(&mut machine);
        machine
    }

    fn look_at_processor(&mut self, machine: &mut Machine) {
        if let Some(now) = read(self.stat.as_ref(), &mut self.buffer, processor::cores) {
            let seconds = |of: fn(&CoreTimes) -> u64| {
                now.iter().map(|core| of(core) as f64).sum::<f64>() / TICKS_A_SECOND as f64
            };
            machine.cores = processor::use_between(&self.cores, &now);
            machine.busy_seconds = Some(seconds(|core| core.busy));
            machine.stolen_seconds = Some(seconds(|core| core.stolen));
            self.cores = now;
        }
        machine.load = read(self.loadavg.as_ref(), &mut self.buffer, processor::load).flatten();
    }

    fn look_at_memory(&mut self, machine: &mut Machine) {
        if let Some(memory) = read(self.meminfo.as_ref(), &mut self.buffer, Memory::parse).flatten()
        {
            machine.memory_total_bytes = Some(memory.total_bytes);
            machine.memory_available_bytes = Some(memory.available_bytes);
            machine.swap_total_bytes = Some(memory.swap_total_bytes);
            machine.swap_used_bytes =
                Some(memory.swap_total_bytes.saturating_sub(memory.swap_free_bytes));
        }
        let buffer = &mut self.buffer;
        let [processor, memory, disk] = self.pressure.each_ref().map(|file| {
            let pressure = read(file.as_ref(), buffer, Pressure::parse).flatten();
            pressure.map(|pressure| pressure.some_ratio)
        });
        machine.pressure_processor_ratio = processor;
        machine.pressure_memory_ratio = memory;
        machine.pressure_disk_ratio = disk;
    }

    fn look_at_disks(&mut self, machine: &mut Machine) {
        let traffic = read(self.diskstats.as_ref(), &mut self.buffer, DiskTraffic::parse).flatten();
        machine.disk_read_bytes = traffic.map(|traffic| traffic.read_bytes);
        machine.disk_written_bytes = traffic.map(|traffic| traffic.written_bytes);
        // Before the folder is made, what it will be made in is as good.
        let there = self.folder.ancestors().find_map(|folder| rustix::fs::statvfs(folder).ok());
        if let Some(disk) = there {
            machine.disk_total_bytes = disk.f_blocks.checked_mul(disk.f_frsize);
            machine.disk_free_bytes = disk.f_bavail.checked_mul(disk.f_frsize);
        }
    }

    fn look_at_network(&mut self, machine: &mut Machine) {
        // These are another namespace's if they are kept open across a change of it, and cheap.
        let open = |path: &str| File::open(path).ok();
        let dev = open("/proc/self/net/dev");
        let traffic = read(dev.as_ref(), &mut self.buffer, NetworkTraffic::parse).flatten();
        machine.network_received_bytes = traffic.map(|traffic| traffic.received_bytes);
        machine.network_sent_bytes = traffic.map(|traffic| traffic.sent_bytes);
        let netstat = open("/proc/self/net/netstat");
        machine.accept_overflows =
            read(netstat.as_ref(), &mut self.buffer, network::listen_overflows).flatten();
        machine.accept_queue = self.waiting();
    }

    /// Connections that wait at our listeners.
    fn waiting(&mut self) -> Option<u64> {
        if let Some(rest) = self.listeners_rest.checked_sub(1) {
            self.listeners_rest = rest;
            return self.accept_queue;
        }
        let begun = Instant::now();
        let buffer = &mut self.buffer[..LISTENERS_BYTES_MAX];
        let all = ["/proc/self/net/tcp", "/proc/self/net/tcp6"].into_iter().filter_map(|path| {
            let file = File::open(path).ok();
            read(file.as_ref(), buffer, |text| network::waiting(text, &self.ports))
        });
        self.accept_queue = all.reduce(u64::saturating_add);
        if begun.elapsed() > LISTENERS_DEAR {
            self.listeners_rest = LISTENERS_REST;
        }
        self.accept_queue
    }

    fn process(&mut self) -> Process {
        let times = read(self.own_stat.as_ref(), &mut self.buffer, ProcessTimes::parse).flatten();
        let pages =
            read(self.own_statm.as_ref(), &mut self.buffer, process::resident_pages).flatten();
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        Process {
            resident_bytes: pages.and_then(|pages| pages.checked_mul(self.page_bytes)),
            descriptors: descriptors(),
            descriptors_max: limit.current,
            busy_seconds: times.map(|times| times.busy as f64 / TICKS_A_SECOND as f64),
            threads: times.map(|times| times.threads),
        }
    }
}

/// Since Linux 6.2 the size of this folder is the number of descriptors; before, it is 0 and
/// they are counted.
fn descriptors() -> Option<u64> {
    let folder = fs::metadata("/proc/self/fd").ok()?;
    if folder.len() > 0 {
        return Some(folder.len());
    }
    // The one by which the folder is read is among them.
    Some((fs::read_dir("/proc/self/fd").ok()?.count() as u64).saturating_sub(1))
}

/// Reads a file from its beginning, as far as the buffer goes, and takes it apart.
fn read<T>(file: Option<&File>, buffer: &mut [u8], parse: impl FnOnce(&str) -> T) -> Option<T> {
    let file = file?;
    let mut length = 0;
    while length < buffer.len() {
        match file.read_at(&mut buffer[length..], length as u64).ok()? {
            0 => break,
            more => length += more,
        }
    }
    let text = &buffer[..length];
    // A name in it may have been cut in the middle of a letter.
    let text = std::str::from_utf8(text)
        .or_else(|error| std::str::from_utf8(&text[..error.valid_up_to()]))
        .ok()?;
    Some(parse(text))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn this_machine_is_measured() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut meter = Meter::new(folder.path().join("not/made/yet"), vec![]);
        meter.look();
        let machine = meter.look();
        let process = machine.process;
        assert!(
            process.resident_bytes > Some(1 << 20) && process.threads >= Some(1),
            "{process:?}"
        );
        assert!(process.descriptors >= Some(3) && process.descriptors <= process.descriptors_max);
        assert!(machine.memory_available_bytes <= machine.memory_total_bytes, "{machine:?}");
        assert!(machine.disk_free_bytes <= machine.disk_total_bytes, "{machine:?}");
        assert!(machine.cores.iter().all(|share| (0.0..=1.0).contains(share)), "{machine:?}");
    }

    #[test]
    fn whoever_is_not_accepted_yet_is_counted_at_our_port_only() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut meter = Meter::new("/", vec![address.port()]);
        let Some(before) = meter.look().accept_queue else { return };
        assert_eq!(before, 0);
        let _waiting = [TcpStream::connect(address), TcpStream::connect(address)];
        // Where asking is dear, within as many looks.
        let looks = (0..=LISTENERS_REST).map(|_| meter.look().accept_queue);
        assert_eq!(looks.last().flatten(), Some(2));
        assert_eq!(Meter::new("/", vec![]).look().accept_queue, Some(0));
    }

    #[test]
    fn a_meter_without_any_file_knows_nothing_and_goes_on() {
        let mut meter = Meter::new("/", vec![]);
        (meter.stat, meter.loadavg, meter.meminfo, meter.diskstats) = (None, None, None, None);
        (meter.own_stat, meter.own_statm, meter.pressure) = (None, None, [None, None, None]);
        let machine = meter.look();
        assert!(machine.cores.is_empty() && machine.load.is_none());
        assert_eq!(machine.memory_total_bytes, None);
        assert_eq!(machine.process.resident_bytes, None);
    }

    #[test]
    fn a_text_that_was_cut_within_a_letter_is_read_as_far_as_it_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        fs::write(&path, "ab\u{e9}").expect("the file is written");
        let file = File::open(&path).expect("the file");
        assert_eq!(read(Some(&file), &mut [0; 3], str::to_owned).as_deref(), Some("ab"));
        assert_eq!(read(Some(&file), &mut [0; 9], str::to_owned).as_deref(), Some("ab\u{e9}"));
        assert_eq!(read(None, &mut [0; 9], str::to_owned), None);
    }
}

//! What the kernel says of this process.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of CPU that this thread took, in the kernel and out of it.
pub(crate) fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A tick of the kernel's account of threads.
const TICK_NS: u64 = 10_000_000;

/// Nanoseconds of CPU that this thread took in the kernel, in whole ticks: of use over seconds.
pub(crate) fn kernel_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
    // The name, in brackets, may hold anything; ticks in the kernel are the 13th word behind it.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().nth(12).and_then(|text| text.parse::<u64>().ok());
    ticks.unwrap_or(0) * TICK_NS
}

/// Seconds of CPU that the whole process took.
pub(crate) fn process_cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Memory in MiB: what is resident, and what was at most since it was last forgotten.
pub(crate) fn memory() -> (f64, f64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        let kilobytes = line.split_whitespace().nth(1).and_then(|text| text.parse::<f64>().ok());
        kilobytes.unwrap_or(0.0) / 1024.0
    };
    (line("VmRSS:"), line("VmHWM:"))
}

/// Begins a new maximum.
pub(crate) fn forget_most() {
    // Where it isn't allowed the maximum is that of the whole run, which is no less.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// A line of the table.
pub(crate) fn say(what: &str, value: String) {
    let (now, most) = memory();
    println!("  {what:<44} {value:>44}   {now:>6.1} MiB, at most {most:>6.1}");
    forget_most();
}

//! Processor time: what a server and its php-fpm have used, whoever else shares the machine.
//!
//! Read from `/proc`, in ticks of a hundredth of a second. Good for seconds of load, not
//! for single requests.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// Used by this process, all of its threads together.
pub(crate) fn of_process() -> Duration {
    ticks(Path::new("/proc/self")).map_or(Duration::ZERO, |used| duration(used.own))
}

/// Used by a process group: those of its processes that live, and what they waited for.
pub(crate) fn of_group(group: u32) -> Duration {
    let Ok(entries) = fs::read_dir("/proc") else { return Duration::ZERO };
    let members = entries.flatten().filter_map(|entry| ticks(&entry.path()));
    duration(members.filter(|used| used.group == group).map(|used| used.own + used.children).sum())
}

/// What `/proc/…/stat` says.
#[derive(Debug, PartialEq, Eq)]
struct Used {
    group: u32,
    own: u64,
    children: u64,
}

fn ticks(folder: &Path) -> Option<Used> {
    parse(&fs::read_to_string(folder.join("stat")).ok()?)
}

/// The fields count from behind the name, which stands in brackets and may hold any byte.
fn parse(stat: &str) -> Option<Used> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Used {
        group: fields.get(2)?.parse().ok()?,
        own: number(11)? + number(12)?,
        children: number(13)? + number(14)?,
    })
}

fn duration(ticks: u64) -> Duration {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_secs_f64(ticks as f64 / per_second as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_system_is_read_whatever_the_name() {
        let line = "7 (a) b (c) S 1 42 7 0 -1 4194304 9 8 0 0 11 12 13 14 20 0 1 0 5";
        assert_eq!(parse(line), Some(Used { group: 42, own: 23, children: 27 }));
        assert_eq!(parse("7 (a) S 1 42"), None);
    }

    /// More than what rounding to whole ticks can hide.
    const PLENTY: Duration = Duration::from_millis(50);

    #[test]
    fn work_of_this_thread_is_seen_by_the_process() {
        let of_thread = || ticks(Path::new("/proc/thread-self")).map(|used| duration(used.own));
        let of_thread = || of_thread().expect("the system counts it");
        let before = (of_thread(), of_process());
        let mut sum = 0u64;
        while of_thread() < before.0 + PLENTY {
            sum = (0..100_000u64).fold(sum, |sum, number| std::hint::black_box(sum ^ number));
        }
        assert!(of_process() > before.1, "{sum}");
    }

    #[test]
    fn work_of_a_group_is_that_of_its_processes_and_of_those_that_they_waited_for() {
        use std::os::unix::process::CommandExt;
        let waits = "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; echo; read line";
        let mut shell = std::process::Command::new("sh")
            .args(["-c", waits])
            .process_group(0)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut line = String::new();
        let mut told = std::io::BufReader::new(shell.stdout.take().expect("its output"));
        std::io::BufRead::read_line(&mut told, &mut line).expect("it is done counting");
        let used = of_group(shell.id());
        drop(shell.stdin.take());
        assert!(shell.wait().expect("it ends").code().is_some());
        assert!(used >= PLENTY, "{used:?}");
        assert_eq!(of_group(shell.id()), Duration::ZERO);
    }
}

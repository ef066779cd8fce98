//! What a Wick that was killed left behind: a php-fpm that nobody watches.
//!
//! The master's process id stands in a file. A process is ended only if it shows
//! that it is ours: a master names our configuration file in its command line; its
//! children, which survive it, are of its process group and bear our pool's name.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::configuration::{configuration_file, pool_name};

const PATIENCE: Duration = Duration::from_secs(3);
const STEP: Duration = Duration::from_millis(20);

pub(crate) fn id_file(run_folder: &Path) -> PathBuf {
    run_folder.join("php-fpm.pid")
}

/// What our processes show in their command lines.
struct Marks {
    master: String,
    child: String,
}

/// Ends a php-fpm of this run folder that still runs.
pub(crate) async fn end(run_folder: &Path) {
    let file = id_file(run_folder);
    let id = std::fs::read_to_string(&file).ok().and_then(|text| text.trim().parse::<i32>().ok());
    if let Some(group) = id.filter(|id| *id > 1).and_then(Pid::from_raw) {
        let marks = Marks {
            master: configuration_file(run_folder).display().to_string(),
            child: format!("php-fpm: pool {}", pool_name(run_folder)),
        };
        for signal in [Signal::TERM, Signal::KILL] {
            if !is_ours(group, &marks) {
                break;
            }
            // It may have ended by itself meanwhile, which is as good.
            let _ = kill_process_group(group, signal);
            let gone = async {
                while is_ours(group, &marks) {
                    tokio::time::sleep(STEP).await;
                }
            };
            let _ = tokio::time::timeout(PATIENCE, gone).await;
        }
    }
    // A file that can't be removed is overwritten at the next launch.
    let _ = std::fs::remove_file(file);
}

/// Whether any process of the group is a php-fpm of ours.
fn is_ours(group: Pid, marks: &Marks) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else { return false };
    let id = group.as_raw_nonzero().get();
    entries.flatten().any(|entry| {
        let folder = entry.path();
        let line = std::fs::read(folder.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        let is_php = line.contains(&marks.master) || line.starts_with(&marks.child);
        is_php && group_of(&folder) == Some(id)
    })
}

/// The process group: the third field behind the name, which stands in brackets.
fn group_of(folder: &Path) -> Option<i32> {
    let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let is_dead = fields.next() == Some("Z");
    let group = fields.nth(1)?.parse().ok()?;
    (!is_dead).then_some(group)
}

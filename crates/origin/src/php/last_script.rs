//! The script that was asked for last, so that a run of requests for it looks at the folder once
//! a millisecond.
//!
//! Looking costs a system call for each folder and each `.htaccess` on the way.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::script::Script;

/// How long what was seen is believed, as with files.
const BELIEVED: Duration = Duration::from_millis(1);

/// The last script that a path stood for.
#[derive(Default)]
pub(crate) struct LastScript(Mutex<Option<Seen>>);

struct Seen {
    path: String,
    script: Arc<Script>,
    at: Instant,
}

impl LastScript {
    /// What this path, as sent, stood for a moment ago.
    pub(crate) fn get(&self, path: &str, now: Instant) -> Option<Arc<Script>> {
        let seen = self.0.lock();
        let seen = seen.as_ref().filter(|seen| seen.path == path)?;
        (now.duration_since(seen.at) < BELIEVED).then(|| seen.script.clone())
    }

    /// Keeps what it stands for now.
    pub(crate) fn put(&self, path: &str, script: Script, now: Instant) -> Arc<Script> {
        let script = Arc::new(script);
        let seen = Seen { path: path.to_owned(), script: script.clone(), at: now };
        *self.0.lock() = Some(seen);
        script
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_believed_for_a_moment_and_for_its_own_path() {
        let (last, now) = (LastScript::default(), Instant::now());
        let script = Script {
            file: "/site/a.php".into(),
            name: b"/a.php".to_vec(),
            path_info: None,
            is_for_a_file: false,
        };
        assert_eq!(last.get("/a.php", now), None);
        let kept = last.put("/a.php", script, now);
        assert_eq!(last.get("/a.php", now + BELIEVED / 2), Some(kept));
        assert_eq!(last.get("/b.php", now), None);
        assert_eq!(last.get("/a.php", now + BELIEVED), None);
    }
}

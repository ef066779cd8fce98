//! Open files: each visitor is one, and the usual soft limit of 1,024 is for programs
//! that use `select`. The hard limit is what the machine's owner allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What is kept for everything but visitors (origins, files, listeners): an eighth, at most this.
const OWN_MAX: u64 = 1024;

/// Raises the soft limit to the hard one and returns how many visitors that leaves room for.
pub(crate) fn raise_limit() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let limit = if raised.is_ok() { maximum } else { current };
    let files = limit.unwrap_or(u64::MAX);
    usize::try_from(files - (files / 8).min(OWN_MAX)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_raised_to_the_hard_one() {
        let room = raise_limit();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
        assert!(limit.current.is_none_or(|files| room as u64 <= files));
    }
}

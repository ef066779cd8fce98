//! A user of its own: what root starts goes on as somebody who may do little.
//!
//! ```text
//! root: wick serve ─┬─ gives the state folder away, then becomes the user and begins anew
//!                   └─ the keeper (root): starts php-fpm, reads certificates, says no else
//! ```
//! Who serves keeps one capability, to listen on ports below 1024, and can never gain another
//! (`no_new_privs`). Why it is so: docs/decisions/own-user.md.
//! Invariants: 1. nobody is listened to before root has been left. 2. no thread has been started
//! by then. Start at [`enter`].

mod account;
mod hand_over;
mod keeper;
mod kept;
mod reach;

use base::complaint::complain;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::thread::{CapabilitySet, CapabilitySets};

pub(crate) use keeper::keep;
pub(crate) use kept::{KeptPhp, is_kept, make_log, read, restarts, start_php};

use crate::arguments::Serve;
use crate::plan::Plan;
use account::{Account, AccountError};
use hand_over::HandOverError;
use keeper::KeeperError;

/// Tells who serves where the keeper listens.
const VARIABLE: &str = "WICK_KEEPER";
/// What helps where somebody can't come to something.
const REMEDY: &str = "let that user come there, or name another with user = …";
/// The name of our own program, whatever its path.
const SELF: &str = "/proc/self/exe";

/// Why the user can't be had; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OwnUserError {
    #[error(transparent)]
    Account(#[from] AccountError),
    #[error(transparent)]
    HandOver(#[from] HandOverError),
    #[error(transparent)]
    Keeper(#[from] KeeperError),
    #[error("can't go on as the user {0}: {1}; with user = \"root\" it doesn't have to")]
    Become(String, io::Error),
}

/// As whom it is to serve.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    /// As whoever started it; perhaps with a word about that.
    Stays(Option<String>),
    /// As this one, if everything that is needed is in its reach: nobody named it.
    Prefers(Account),
    Becomes(Account),
}

/// Begins anew as the user that the plan names, if root has started this. Comes back where there
/// is nothing to do.
pub(crate) fn enter(plan: &Plan, arguments: &Serve) -> Result<(), OwnUserError> {
    let account = match choose(plan)? {
        Choice::Stays(word) => {
            word.iter().for_each(complain);
            return Ok(());
        }
        Choice::Prefers(account) => {
            if let Some(why) = obstacle(plan, &account) {
                complain(format_args!("it serves as root: {why}; {REMEDY}"));
                return Ok(());
            }
            account
        }
        Choice::Becomes(account) => account,
    };
    hand_over::state(&plan.state, &account)?;
    if let Some(log) = &plan.access_log {
        hand_over::log(log, (account.uid, account.gid))?;
    }
    let socket = keeper::launch(&plan.state, &account)?;
    let failed = |error| OwnUserError::Become(account.name.clone(), error);
    leave_root(&account).map_err(failed)?;
    Err(failed(begin_anew(plan, arguments, &socket)))
}

/// Why it is not to serve as somebody whom nobody named.
fn obstacle(plan: &Plan, account: &Account) -> Option<String> {
    if let Some(path) = reach::out_of_reach(plan, account).first() {
        return Some(could_not_come(account, path));
    }
    hand_over::state(&plan.state, account).err().map(|error| error.to_string())
}

/// As whom `wick serve` would serve, where root would start it, and what is wrong with that.
pub(crate) fn foresee(plan: &Plan) -> (Option<String>, Vec<String>) {
    let account = match choose(plan) {
        Ok(Choice::Stays(word)) => return (word, Vec::new()),
        Ok(Choice::Prefers(account)) => match obstacles(plan, &account).first() {
            None => account,
            Some(why) => return (Some(format!("root would serve: {why}")), Vec::new()),
        },
        Ok(Choice::Becomes(account)) => account,
        Err(error) => return (None, vec![error.to_string()]),
    };
    let mut wrong = obstacles(plan, &account);
    wrong.extend(reach::sockets_out_of_reach(plan, &account).into_iter().map(|path| {
        format!(
            "{} could not call php-fpm at {}: give the socket to a group that this user is in \
             (listen.group in the pool's file), or name another with user = …",
            account.name,
            path.display()
        )
    }));
    (Some(format!("{} would serve; root only starts php-fpm", account.name)), wrong)
}

/// What keeps somebody from serving, as far as it can be told without changing anything.
fn obstacles(plan: &Plan, account: &Account) -> Vec<String> {
    let closed = reach::out_of_reach(plan, account);
    let closed = closed.iter().map(|path| format!("{}; {REMEDY}", could_not_come(account, path)));
    let kept = hand_over::may_be_given(&plan.state, account).err();
    closed.chain(kept.map(|error| error.to_string())).collect()
}

fn could_not_come(account: &Account, path: &Path) -> String {
    format!("{} could not come to {}", account.name, path.display())
}

/// What a person is told of the user whom root has left this to.
pub(crate) fn told() -> Option<String> {
    let own = rustix::process::geteuid().as_raw();
    kept::is_kept().then(|| format!("{} serves; root only starts php-fpm", account::name_of(own)))
}

fn choose(plan: &Plan) -> Result<Choice, OwnUserError> {
    let is_root = rustix::process::geteuid().is_root();
    let group = plan.group.as_deref();
    let account = match (&plan.user, is_root) {
        (None, false) => return Ok(Choice::Stays(None)),
        (Some(name), false) => {
            let own = Account::named(name, group)?.uid == rustix::process::geteuid().as_raw();
            let word = format!("only root can become {name}: it serves as the user who started it");
            return Ok(Choice::Stays((!own).then_some(word)));
        }
        (Some(name), true) => Account::named(name, group)?,
        (None, true) => match Account::usual(group) {
            Some(account) => return Ok(Choice::Prefers(account?)),
            None => {
                let word = "there is no user wick or www-data, so it serves as root: make one \
                            (useradd --system --user-group wick), or name one with user = …";
                return Ok(Choice::Stays(Some(word.to_owned())));
            }
        },
    };
    if account.is_root() {
        let word = "it serves as root, as user = \"root\" wants it: whoever breaks into it owns \
                    this machine";
        return Ok(Choice::Stays(Some(word.to_owned())));
    }
    Ok(Choice::Becomes(account))
}

/// Becomes the user. What is left of root is the right to listen on ports below 1024, where there
/// is one; it survives the new beginning, and nothing else does.
fn leave_root(account: &Account) -> io::Result<()> {
    use rustix::process::{Gid, Uid};
    use rustix::thread;
    let bind = CapabilitySet::NET_BIND_SERVICE;
    let has_bind = thread::capabilities(None)?.permitted.contains(bind);
    thread::set_keep_capabilities(true)?;
    let groups: Vec<Gid> = account.groups.iter().copied().map(Gid::from_raw).collect();
    thread::set_thread_groups(&groups)?;
    thread::set_thread_gid(Gid::from_raw(account.gid))?;
    thread::set_thread_uid(Uid::from_raw(account.uid))?;
    let kept = if has_bind { bind } else { CapabilitySet::empty() };
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: kept };
    thread::set_capabilities(None, sets)?;
    if has_bind {
        thread::configure_capability_in_ambient_set(bind, true)?;
    }
    thread::set_no_new_privs(true)?;
    Ok(())
}

/// The same program once more, in the place of this: no thread and no memory of root's is left.
fn begin_anew(plan: &Plan, arguments: &Serve, socket: &PathBuf) -> io::Error {
    let mut all = std::env::args_os();
    let name = all.next().unwrap_or_else(|| "wick".into());
    let mut all: Vec<OsString> = all.collect();
    if arguments.state.is_none() {
        // Somebody else's default is another.
        all.extend(["--state".into(), plan.state.clone().into_os_string()]);
    }
    let begin = |program: PathBuf| {
        Command::new(program).arg0(&name).args(&all).env(VARIABLE, socket).exec()
    };
    // By its path, since that is the name that it has in lists of processes; but the user may not
    // be allowed to come there.
    match std::env::current_exe() {
        Ok(path) => match begin(path) {
            error if error.kind() == io::ErrorKind::PermissionDenied => begin(SELF.into()),
            error => error,
        },
        Err(_) => begin(SELF.into()),
    }
}

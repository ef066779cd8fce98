//! The door: going to the server as the user that came to the tap.
//!
//! A server may let a user of the system in without a password, by asking the system who is
//! at the other end of the socket: root, as a rule. If we run as root and went as ourselves,
//! every script could be the database's root through us.
//! Invariant: who is at the other end is who came to us, or there is no connection.

use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Gid, Uid, getegid, geteuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use tokio::net::UnixStream;
use tokio::sync::oneshot;

/// A connection to the socket at `path`, for who is at the other end of `client`.
pub(super) async fn connect_as(client: &UnixStream, path: &Path) -> io::Result<UnixStream> {
    let who = client.peer_cred()?;
    let (user, group) = (Uid::from_raw(who.uid()), Gid::from_raw(who.gid()));
    if user == geteuid() && group == getegid() {
        return UnixStream::connect(path).await;
    }
    let (sender, receiver) = oneshot::channel();
    let path = path.to_owned();
    // A thread of its own, since none that goes on may stay another user.
    std::thread::Builder::new().name("tap-door".to_owned()).spawn(move || {
        // Who asked may have gone.
        let _ = sender.send(dial(path, user, group));
    })?;
    let stream = receiver.await.map_err(|_| io::Error::other("the thread has ended"))??;
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

/// On Linux each thread has rights of its own. Only the effective ones are changed: whom
/// signals may come from stays as it is.
fn dial(path: PathBuf, user: Uid, group: Gid) -> io::Result<std::os::unix::net::UnixStream> {
    set_thread_groups(&[])?;
    set_thread_res_gid(None, Some(group), None)?;
    set_thread_res_uid(None, Some(user), None)?;
    std::os::unix::net::UnixStream::connect(path)
}

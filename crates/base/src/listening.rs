//! Sockets that listen for visitors who speak first.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::{setsockopt_impl, sockopt_impl};

/// How long the system keeps a connection back that says nothing: until it has asked once more
/// for the visitor's word that it is open. After that the connection comes without a request.
const PATIENCE: Duration = Duration::from_secs(1);

sockopt_impl!(
    /// `TCP_DEFER_ACCEPT`, in seconds.
    DeferAccept,
    SetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_DEFER_ACCEPT,
    u32
);

/// Has connections come with their requests rather than before them.
///
/// A visitor who comes for a single page is then read as soon as it is accepted, and needs not be
/// waited for: a quarter of all CPU time of such a visit. One who only connects is accepted after
/// a second, and one who goes again at once.
///
/// # Errors
/// This is no socket of TCP.
pub fn defer_accept(socket: &impl AsFd) -> io::Result<()> {
    nix::sys::socket::setsockopt(socket, DeferAccept, &(PATIENCE.as_secs() as u32))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::time::Instant;

    use super::*;

    /// What is to happen within moments has so long.
    const LONG: Duration = Duration::from_secs(30);

    fn listening() -> (TcpListener, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        defer_accept(&listener).expect("it is one of TCP");
        listener.set_nonblocking(true).expect("ours");
        let address = listener.local_addr().expect("an address");
        (listener, TcpStream::connect(address).expect("it listens"))
    }

    fn accepted(listener: &TcpListener) -> TcpStream {
        let begun = Instant::now();
        loop {
            match listener.accept() {
                Ok((stream, _)) => return stream,
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
            assert!(begun.elapsed() < LONG, "nobody came");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_connection_comes_with_its_request() {
        // A machine may be so busy that the system's patience is over before we have looked.
        let (listener, mut visitor) = loop {
            let begun = Instant::now();
            let (listener, visitor) = listening();
            match listener.accept() {
                Err(early) => {
                    assert_eq!(early.kind(), io::ErrorKind::WouldBlock);
                    break (listener, visitor);
                }
                Ok(_) => assert!(begun.elapsed() >= PATIENCE / 2, "it came without a word"),
            }
        };
        visitor.write_all(b"GET").expect("it is taken");
        let stream = accepted(&listener);
        stream.set_nonblocking(true).expect("ours");
        let mut bytes = [0; 8];
        assert_eq!(stream.peek(&mut bytes).expect("it is there"), 3);
    }

    #[test]
    fn one_that_says_nothing_comes_too_and_so_does_one_that_goes() {
        let (listener, silent) = listening();
        drop(accepted(&listener));
        drop(silent);
        let gone = TcpStream::connect(listener.local_addr().expect("an address"));
        drop(gone.expect("it listens"));
        drop(accepted(&listener));
    }

    #[test]
    fn it_is_said_of_no_other_socket() {
        let (one, _other) = std::os::unix::net::UnixStream::pair().expect("two sockets");
        defer_accept(&one).expect_err("it is none of TCP");
    }
}

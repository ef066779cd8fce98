//! Wick as a service of systemd: a socket that was opened for it, and what it tells back.

use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::process::Command;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::Signal;

use crate::origin::Origin;
use crate::wick::{PATIENCE, Wick, ask, body, open_folder};

#[test]
fn a_socket_that_was_opened_for_it_is_served_and_systemd_is_told() {
    let origin = Origin::saying("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    let folder = open_folder();
    let state = folder.path().join("state").display().to_string();
    let told = UnixDatagram::bind(folder.path().join("notify")).expect("a socket");
    // As systemd's: whoever serves may tell.
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.path().join("notify"), all).expect("ours");
    told.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
    let word = || {
        let mut bytes = [0; 256];
        let length = told.recv(&mut bytes).expect("it is told");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = socket.local_addr().expect("an address");
    let (shown, url) = (address.to_string(), origin.url());
    fcntl_setfd(&socket, FdFlags::empty()).expect("it can be handed on");
    // As systemd does, but for a shell that takes numbers of two digits: the first socket is number 3, and the process is told that it is its own.
    let script = format!(
        "exec 3<&{}; export LISTEN_FDS=1 LISTEN_PID=$$; exec {} \"$@\"",
        socket.as_raw_fd(),
        env!("CARGO_BIN_EXE_wick")
    );
    let mut command = Command::new("bash");
    command.args(["-c", &script, "bash"]).env("NOTIFY_SOCKET", folder.path().join("notify"));
    let listen = ["serve", &url, "--listen", &shown, "--threads", "2", "--state", &state];
    let mut wick = Wick::command(command, &listen);
    wick.line("Ctrl-C stops it.");
    assert!(word().contains("READY=1"));
    // Ours is the same socket: who connects is served by whoever accepts.
    for _ in 0..20 {
        assert_eq!(body(&ask(address, "GET /")), "hello");
    }
    wick.signal(Signal::HUP);
    assert!(word().contains("RELOADING=1"));
    assert!(word().contains("READY=1"));
    wick.signal(Signal::TERM);
    assert!(word().contains("STOPPING=1"));
    assert!(wick.end().status.success());
}

//! Ports of this machine for servers that a test starts; only tests use this.
//!
//! A port that the kernel gave for 0 and that was let go may be given to anybody before the
//! server listens there, or while a test keeps the server down. These lie below those that
//! kernels give, and each process of tests has a block of its own, by the lock of a file.
//!
//! Invariants: 1. no port is given twice by one process, nor by two that live at a time.
//! 2. nobody listened there, on TCP or UDP, when it was given.

use std::fs::{self, File, Permissions};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// Kernels give ports from 32,768 on.
const FIRST: u16 = 10_000;
const BLOCK: u16 = 200;
const BLOCKS: u16 = 110;

/// The ports of this process, as long as it lives.
struct Block {
    first: u16,
    given: AtomicU16,
    /// Locked; the kernel opens the lock however the process ends.
    _lock: File,
}

/// A port on loopback for one server.
///
/// # Panics
///
/// Where all are taken, or the folder for temporary files can't be written to.
pub fn port() -> u16 {
    static OWN: OnceLock<Block> = OnceLock::new();
    let own = OWN.get_or_init(Block::take);
    loop {
        let at = own.given.fetch_add(1, Ordering::Relaxed);
        assert!(at < BLOCK, "one process of tests wants more than {BLOCK} ports");
        if is_free(own.first + at) {
            return own.first + at;
        }
    }
}

/// The same, as an address.
pub fn address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port()).into()
}

/// Nothing is bound to find it out: a process that another thread starts at that moment would
/// have the socket too, for as long as it takes to begin, and the server would find it taken.
fn is_free(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err()
        && !["/proc/net/udp", "/proc/net/udp6"].iter().any(|table| has(table, port))
}

/// Whether the kernel's table of sockets has one at this port.
fn has(table: &str, port: u16) -> bool {
    let end = format!(":{port:04X}");
    let text = fs::read_to_string(table).unwrap_or_default();
    text.lines().filter_map(|line| line.split_whitespace().nth(1)).any(|own| own.ends_with(&end))
}

impl Block {
    fn take() -> Self {
        let folder = std::env::temp_dir().join("wick-test-ports");
        // Another process may make it at the same time; whether it is there shows below.
        let _ = fs::create_dir(&folder);
        // Other users run tests as well; only who made the folder may say so.
        let _ = fs::set_permissions(&folder, Permissions::from_mode(0o777));
        let own = (0..BLOCKS).find_map(|number| {
            let path = folder.join(number.to_string());
            let file = File::options().write(true).create(true).truncate(false).open(path).ok()?;
            file.try_lock().ok().map(|()| (number, file))
        });
        assert!(
            own.is_some(),
            "no block of ports is free, or {} can't be written",
            folder.display()
        );
        let (number, lock) = own.expect("it was looked at");
        Self { first: FIRST + number * BLOCK, given: AtomicU16::new(0), _lock: lock }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::net::{TcpListener, UdpSocket};
    use std::process::Command;

    #[test]
    fn each_port_is_given_once() {
        let threads: Vec<_> =
            (0..4).map(|_| std::thread::spawn(|| [(); 10].map(|()| super::port()))).collect();
        let given = threads.into_iter().flat_map(|own| own.join().expect("it ended well"));
        let mut seen = HashSet::new();
        for port in given {
            assert!(seen.insert(port), "{port} was given twice");
            assert!(port < 32_768, "{port} may be given by the kernel too");
        }
    }

    #[test]
    fn where_somebody_listens_is_not_free() {
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let everywhere = TcpListener::bind("0.0.0.0:0").expect("a port");
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let all = [tcp.local_addr(), everywhere.local_addr(), udp.local_addr()];
        for address in all {
            let port = address.expect("an address").port();
            assert!(!super::is_free(port), "{port}");
        }
        assert!(super::is_free(super::port()));
    }

    #[test]
    fn another_process_is_given_others() {
        const CHILD: &str = "LOOPBACK_TEST_CHILD";
        if std::env::var_os(CHILD).is_some() {
            println!("given {}", super::port());
            return;
        }
        let own = super::port();
        let own_block = (own - super::FIRST) / super::BLOCK;
        let program = std::env::current_exe().expect("this test");
        let name = "tests::another_process_is_given_others";
        let child = Command::new(program)
            .args(["--exact", name, "--nocapture"])
            .env(CHILD, "1")
            .output()
            .expect("it can be run");
        let told = String::from_utf8_lossy(&child.stdout).into_owned();
        let theirs = told.split("given ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let theirs: u16 = theirs.and_then(|port| port.parse().ok()).expect(&told);
        assert_ne!((theirs - super::FIRST) / super::BLOCK, own_block, "{told}");
    }
}

//! What stands before the nodes, as a balancer does: a CA that comes for a proof is sent to one of
//! them after the other, and waits while the door is shut.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use crate::wick::{ask, until};

pub(crate) struct Door {
    pub(crate) port: u16,
    inside: Arc<Inside>,
}

#[derive(Default)]
struct Inside {
    /// The first is asked next; none: the door is shut.
    nodes: Mutex<VecDeque<SocketAddr>>,
    opened: Condvar,
    /// What was asked for, whether it was answered yet or not.
    asked: Mutex<Vec<String>>,
}

impl Door {
    /// A door for HTTP that is shut.
    pub(crate) fn shut() -> Self {
        Self::leading(Inside::lead)
    }

    /// The same for whatever is spoken.
    pub(crate) fn passage() -> Self {
        Self::leading(|inside, stream| {
            let node = TcpStream::connect(inside.next()).expect("it listens");
            // Either side may end it.
            std::thread::scope(|scope| {
                scope.spawn(|| carry(stream, &node));
                carry(&node, stream);
            });
        })
    }

    fn leading(lead: fn(&Inside, &TcpStream)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let inside = Arc::<Inside>::default();
        let own = inside.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let inside = own.clone();
                std::thread::spawn(move || lead(&inside, &stream));
            }
        });
        Self { port, inside }
    }

    /// Opens it to these nodes.
    pub(crate) fn open(&self, nodes: &[SocketAddr]) {
        *self.inside.nodes.lock().expect("nobody panics") = nodes.iter().copied().collect();
        self.inside.opened.notify_all();
    }

    /// Waits until somebody has come, and says for what.
    pub(crate) fn asked(&self) -> String {
        let last = || self.inside.asked.lock().expect("nobody panics").last().cloned();
        until("the CA comes for a proof", || last().is_some());
        last().expect("it was there")
    }
}

impl Inside {
    fn lead(&self, mut stream: &TcpStream) {
        let (mut head, mut reader) = (Vec::new(), BufReader::new(stream));
        loop {
            let mut line = String::new();
            match reader.read_line(&mut line) {
                Ok(3..) => head.push(line.trim_end().to_owned()),
                Ok(1..) => break,
                _ => return,
            }
        }
        let path = head[0].split(' ').nth(1).expect("a path").to_owned();
        let host = head.iter().find(|line| line.to_lowercase().starts_with("host:"));
        let request = format!("GET {path}\nHost:{}", &host.expect("a host")[5..]);
        self.asked.lock().expect("nobody panics").push(path);
        // A CA that has gone meanwhile asks again.
        let _ = stream.write_all(ask(self.next(), &request).as_bytes());
    }

    /// Who is asked next, when the door is open.
    fn next(&self) -> SocketAddr {
        let nodes = self.nodes.lock().expect("nobody panics");
        let mut nodes = self.opened.wait_while(nodes, |nodes| nodes.is_empty()).expect("no panic");
        nodes.rotate_left(1);
        *nodes.back().expect("it is open")
    }
}

fn carry(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

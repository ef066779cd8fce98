//! Small HTTP servers on ports of their own, which can fall and come back there.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::wick::until;

/// A server that answers every request with its name, on connections that stay open.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    name: &'static str,
    /// Requests that were answered.
    pub(crate) answered: Arc<AtomicUsize>,
    running: Option<Running>,
}

struct Running {
    stop: Arc<AtomicBool>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    listening: JoinHandle<()>,
}

impl Server {
    /// Begins on a free port.
    pub(crate) fn start(name: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let answered = Arc::<AtomicUsize>::default();
        let running = Some(Running::start(listener, name, &answered));
        Self { address, name, answered, running }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn answered(&self) -> usize {
        self.answered.load(Ordering::SeqCst)
    }

    /// Ends at once, in the middle of whatever it does.
    pub(crate) fn fall(&mut self) {
        if let Some(running) = self.running.take() {
            running.end(self.address);
        }
    }

    /// Comes back at the same address, which somebody's connection may have as its own for a
    /// moment.
    pub(crate) fn come_back(&mut self) {
        let mut bound = None;
        until("its port is free again", || {
            bound = TcpListener::bind(self.address).ok();
            bound.is_some()
        });
        let listener = bound.expect("it was waited for");
        self.running = Some(Running::start(listener, self.name, &self.answered));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.fall();
    }
}

impl Running {
    fn start(listener: TcpListener, name: &'static str, answered: &Arc<AtomicUsize>) -> Self {
        let (stop, streams) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<_>>>::default());
        let (stopping, kept, answered) = (stop.clone(), streams.clone(), answered.clone());
        let listening = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if stopping.load(Ordering::SeqCst) {
                    return;
                }
                let mut all = kept.lock().expect("no holder panics");
                all.push(stream.try_clone().expect("a socket"));
                drop(all);
                let answered = answered.clone();
                std::thread::spawn(move || answer_all(stream, name, &answered));
            }
        });
        Self { stop, streams, listening }
    }

    fn end(self, address: SocketAddr) {
        self.stop.store(true, Ordering::SeqCst);
        // It waits for a connection; here is one.
        drop(TcpStream::connect(address));
        self.listening.join().expect("it doesn't panic");
        for stream in self.streams.lock().expect("no holder panics").drain(..) {
            // One that its peer closed already needs no more.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn answer_all(mut stream: TcpStream, name: &str, answered: &AtomicUsize) {
    let mut lines = BufReader::new(stream.try_clone().expect("a socket")).lines();
    loop {
        let head = lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty());
        if head.count() == 0 {
            return;
        }
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{name}", name.len());
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
        answered.fetch_add(1, Ordering::SeqCst);
    }
}

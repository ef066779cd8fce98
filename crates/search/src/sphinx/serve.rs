//! The two ports: connections, each with a thread of its own while it lasts.
//!
//! A search takes well under a millisecond, so a thread that waits for its client's next one
//! costs less than handing each to another.
//! Invariants: 1. there are at most [`CONNECTIONS_MAX`] at one time, others are told so and
//! counted. 2. a client that says nothing for [`IDLE_MAX`] is let go. 3. [`Door::close`] ends
//! them all: what was asked is answered, and whoever wasn't taken yet waits in the socket for a
//! successor that has it too.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{self, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use base::complaint::complain;
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};
use parking_lot::Mutex;

use super::api::{self, obey};
use super::catalogue::Catalogue;
use super::counters::Figures;
use super::mysql::{self, Command, Reply};
use super::session::Session;

/// Of each port. PHP holds one for each request that searches.
pub const CONNECTIONS_MAX: usize = 256;
/// A client that says nothing so long is let go, also within a command.
pub const IDLE_MAX: Duration = Duration::from_secs(300);
/// What a client doesn't read within this ends its connection.
const WRITE_MAX: Duration = Duration::from_secs(30);
/// A query's tree is at most this deep, and so is what reads it.
const STACK_BYTES: usize = 1 << 20;
/// A wrong state of a socket isn't asked again at once.
const PAUSE: Duration = Duration::from_millis(50);
/// So long answers that were begun may take at the end.
const GRACE: Duration = Duration::from_secs(5);
/// So long who has just come may take to say why.
const FIRST_MAX: Duration = Duration::from_secs(1);
const LISTENER: Token = Token(0);
const END: Token = Token(1);

/// Which protocol is spoken at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// `sphinxapi.php`'s, on 9312 by custom.
    Binary,
    /// MySQL's, on 9306 by custom.
    MySql,
}

/// A port that is open until this is closed or dropped.
pub struct Door {
    address: SocketAddr,
    room: Arc<Room>,
    waker: Waker,
    hand: Option<JoinHandle<()>>,
}

/// Who is within.
struct Room {
    protocol: Protocol,
    catalogue: Arc<Catalogue>,
    figures: Arc<Figures>,
    clients: Mutex<HashMap<u32, Client>>,
    last: AtomicU32,
    is_closed: AtomicBool,
}

/// One client.
struct Client {
    stream: TcpStream,
    /// It was given what it came for, at least once.
    is_answered: Arc<AtomicBool>,
}

impl Door {
    /// Opens a port. `listener` is bound already, so that who starts Wick knows what failed.
    ///
    /// # Errors
    /// Its address isn't known, or no thread can be had.
    pub fn open(
        listener: net::TcpListener,
        protocol: Protocol,
        catalogue: Arc<Catalogue>,
        figures: Arc<Figures>,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let room = Arc::new(Room {
            protocol,
            catalogue,
            figures,
            clients: Mutex::default(),
            last: AtomicU32::new(0),
            is_closed: AtomicBool::new(false),
        });
        listener.set_nonblocking(true)?;
        let mut listener = TcpListener::from_std(listener);
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let waker = Waker::new(poll.registry(), END)?;
        let own = room.clone();
        let accept = move || own.accept(&listener, poll);
        let hand = std::thread::Builder::new().name("sphinx-accept".to_owned()).spawn(accept)?;
        Ok(Self { address, room, waker, hand: Some(hand) })
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it and all its connections. Waits for answers that were begun.
    pub fn close(&mut self) {
        self.room.is_closed.store(true, Ordering::Release);
        let Some(hand) = self.hand.take() else { return };
        if let Err(error) = self.waker.wake() {
            complain(format_args!("a port of Sphinx's can't be closed: {error}"));
            return;
        }
        let _ = hand.join();
        // Of those who stay nothing more is read; who has just come is answered.
        self.room.shut(Shutdown::Read, false);
        self.room.empty(FIRST_MAX);
        self.room.shut(Shutdown::Read, true);
        self.room.empty(GRACE);
        self.room.shut(Shutdown::Both, true);
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.close();
    }
}

impl Room {
    fn shut(&self, how: Shutdown, all: bool) {
        for client in self.clients.lock().values() {
            if all || client.is_answered.load(Ordering::Acquire) {
                let _ = client.stream.shutdown(how);
            }
        }
    }

    /// Waits until all have left.
    fn empty(&self, most: Duration) {
        let begun = Instant::now();
        while !self.clients.lock().is_empty() && begun.elapsed() < most {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener, mut poll: Poll) {
        let mut events = Events::with_capacity(8);
        loop {
            // Before each, so that nobody is taken who would not be answered.
            if self.is_closed.load(Ordering::Acquire) {
                return;
            }
            match listener.accept() {
                Ok((stream, _)) => self.admit(stream.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if poll.poll(&mut events, None).is_err() {
                        std::thread::sleep(PAUSE);
                    }
                }
                // Such as too many files open.
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    fn admit(self: &Arc<Self>, mut stream: TcpStream) {
        self.figures.connections.bump();
        // What listens doesn't wait; each of these has a thread that does.
        let _ = stream.set_nonblocking(false);
        let _ = stream.set_nodelay(true);
        let _ = stream.set_read_timeout(Some(IDLE_MAX));
        let _ = stream.set_write_timeout(Some(WRITE_MAX));
        let number = self.last.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let Ok(own) = stream.try_clone() else { return };
        let is_answered = Arc::<AtomicBool>::default();
        let client = Client { stream: own, is_answered: is_answered.clone() };
        let is_full = {
            let mut clients = self.clients.lock();
            let is_full = clients.len() >= CONNECTIONS_MAX;
            if !is_full {
                clients.insert(number, client);
            }
            is_full
        };
        if is_full {
            self.figures.maxed_out.bump();
            let _ = stream.write_all(&self.full());
            return;
        }
        let room = self.clone();
        let serve = move || {
            // How it ended is the client's affair.
            let _ = match room.protocol {
                Protocol::Binary => room.serve_binary(&mut stream, &is_answered),
                Protocol::MySql => room.serve_mysql(&mut stream, number, &is_answered),
            };
            room.clients.lock().remove(&number);
        };
        let thread = std::thread::Builder::new().name("sphinx".to_owned()).stack_size(STACK_BYTES);
        if thread.spawn(serve).is_err() {
            self.figures.maxed_out.bump();
            self.clients.lock().remove(&number);
        }
    }

    fn full(&self) -> Vec<u8> {
        match self.protocol {
            Protocol::Binary => api::failed(api::Status::Retry, "server maxed out, retry later"),
            Protocol::MySql => {
                let why = "Too many connections".to_owned();
                mysql::write(&[Reply::Refused { code: 1040, state: "08004", why }], 0)
            }
        }
    }

    fn serve_binary(&self, stream: &mut TcpStream, is_answered: &AtomicBool) -> io::Result<()> {
        stream.write_all(&api::PROTOCOL.to_be_bytes())?;
        let mut hello = [0; 4];
        stream.read_exact(&mut hello)?;
        let mut persists = false;
        loop {
            let mut head = [0; api::HEAD_BYTES];
            stream.read_exact(&mut head)?;
            let head = api::read_head(head);
            if head.body_bytes > api::BODY_BYTES_MAX {
                let refusal = api::Refusal::Length(head.body_bytes).to_string();
                return stream.write_all(&api::failed(api::Status::Error, &refusal));
            }
            let body = read_body(stream, head.body_bytes)?;
            let obeyed = obey(head, &body, &self.catalogue, &self.figures, now());
            stream.write_all(&obeyed.answer)?;
            is_answered.store(!obeyed.answer.is_empty(), Ordering::Release);
            persists = obeyed.persists.unwrap_or(persists);
            if !persists {
                return Ok(());
            }
        }
    }

    fn serve_mysql(
        &self,
        stream: &mut TcpStream,
        number: u32,
        is_answered: &AtomicBool,
    ) -> io::Result<()> {
        stream.write_all(&mysql::greeting(number))?;
        // Whoever it is, it is let in.
        let (_, login) = read_packet(stream)?;
        stream.write_all(&mysql::write(&[Reply::NOTHING], login.wrapping_add(1)))?;
        let mut session = Session::new(self.catalogue.clone(), self.figures.clone());
        loop {
            let (packet, number) = read_packet(stream)?;
            let replies = match mysql::read(&packet) {
                Command::Quit => return Ok(()),
                Command::Ping | Command::Database => vec![Reply::NOTHING],
                Command::Query(query) => session.answer(query, now()),
                Command::Unreadable => {
                    vec![Reply::refused("sphinxql: the statement is not UTF-8")]
                }
                Command::Prepare => vec![Reply::unknown(
                    "prepared statements are not supported; let the client emulate them \
                     (PDO::ATTR_EMULATE_PREPARES)",
                )],
                Command::Unknown(code) => {
                    vec![Reply::unknown(format!("unknown command (code={code})"))]
                }
            };
            stream.write_all(&mysql::write(&replies, number.wrapping_add(1)))?;
            is_answered.store(true, Ordering::Release);
        }
    }
}

/// A body of a stated length; memory follows what comes.
fn read_body(stream: &mut TcpStream, length: usize) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    stream.take(length as u64).read_to_end(&mut body)?;
    if body.len() < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(body) }
}

/// A packet of a client, whole, and the number of its last piece.
fn read_packet(stream: &mut TcpStream) -> io::Result<(Vec<u8>, u8)> {
    let mut packet = Vec::new();
    loop {
        let mut head = [0; mysql::HEAD_BYTES];
        stream.read_exact(&mut head)?;
        let (length, number) = mysql::read_head(head);
        if packet.len() + length > mysql::PACKET_BYTES_MAX {
            let why = "the packet is larger than max_allowed_packet".to_owned();
            let refused = Reply::Refused { code: 1153, state: "08S01", why };
            stream.write_all(&mysql::write(&[refused], number.wrapping_add(1)))?;
            return Err(io::ErrorKind::InvalidData.into());
        }
        packet.append(&mut read_body(stream, length)?);
        if !mysql::goes_on(length) {
            return Ok((packet, number));
        }
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

//! Announces to a tracker as fast as it answers, over UDP or HTTP, from one thread.
//!
//! ```text
//! announce udp|http|once ADDRESS SECONDS TORRENTS open|private FIRST
//! announce minute ADDRESS SECONDS TORRENTS USERS CLIENTS
//! announce hashes TORRENTS
//! ```
//! Each announce is of another client (a user, a port and a peer id) at one of the torrents, so
//! that swarms fill first and answers bear real peers; its counters grow each time. `once` makes a
//! connection for each. `private` shows the passkey of user N, which is N in 32 digits. Prints
//! answers, seconds, bytes of peers (or of the whole answer) an answer, and the announce at which the
//! next run has to go on: a client that came just before would come too soon.
//!
//! `minute` is a private tracker's day: that many clients at each torrent, users by turns, of whom
//! each announces over UDP once a minute, evenly. Prints announces and answers.

use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// Clients of a torrent, of whom each is a user; after them the first come again.
const CLIENTS: u32 = 3000;
/// Sockets over UDP, and datagrams under way on each: while one's answers are read, the tracker has
/// the others' to do. All together fit into what a system holds for one socket by itself.
const SOCKETS: usize = 3;
const WINDOW: usize = 64;
/// Connections that stay, each with one request under way.
const CONNECTIONS: usize = 64;
/// What a client sends and takes between two announces.
const BYTES_AN_ANNOUNCE: u64 = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(2);
/// How often `minute` sends, and what it takes for a client to come again.
const STEP: Duration = Duration::from_millis(1);
/// How long the last answers are waited for.
const LINGER: Duration = Duration::from_millis(100);
/// Sockets of many clients.
const MANY_SOCKETS: u32 = 512;
/// After how long each of these connects again.
const RENEWAL: Duration = Duration::from_secs(30);
const MINUTE: Duration = Duration::from_secs(60);
const USAGE: &str = "announce udp|http|once ADDRESS SECONDS TORRENTS open|private FIRST, \
                     or announce minute ADDRESS SECONDS TORRENTS USERS CLIENTS";

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let wrong = || io::Error::other(USAGE);
    match words.as_slice() {
        ["hashes", torrents] => {
            for number in 0..torrents.parse::<u32>().map_err(|_| wrong())? {
                let hash: String = hash(number).iter().map(|byte| format!("{byte:02x}")).collect();
                println!("{hash}");
            }
            Ok(())
        }
        ["minute", address, seconds, torrents, users, clients] => {
            let time = Duration::from_secs_f64(seconds.parse().map_err(|_| wrong())?);
            let torrents: u32 = torrents.parse().map_err(|_| wrong())?;
            let hashes = (0..torrents).map(hash).collect();
            let users = users.parse().map_err(|_| wrong())?;
            let clients = clients.parse().map_err(|_| wrong())?;
            let mut load = Load { number: 0, hashes, is_private: true, clients, users };
            let (sent, answers) = load.minute(address, time)?;
            println!("{sent} {answers}");
            Ok(())
        }
        [kind, address, seconds, torrents, mode, first] => {
            let time = Duration::from_secs_f64(seconds.parse().map_err(|_| wrong())?);
            let torrents: u32 = torrents.parse().map_err(|_| wrong())?;
            let hashes = (0..torrents).map(hash).collect();
            let is_private = *mode == "private";
            let number = first.parse().map_err(|_| wrong())?;
            let (clients, users) = (CLIENTS, CLIENTS);
            let mut load = Load { number, hashes, is_private, clients, users };
            let begun = Instant::now();
            let (answers, bytes) = match *kind {
                "udp" => load.udp(address, begun + time)?,
                "http" => load.http(address, begun + time)?,
                "once" => load.once(address, begun + time)?,
                _ => return Err(wrong()),
            };
            let seconds = begun.elapsed().as_secs_f64();
            println!("{answers} {seconds:.3} {} {}", bytes / answers.max(1), load.number);
            Ok(())
        }
        _ => Err(wrong()),
    }
}

/// The info hash of a torrent by its number.
fn hash(number: u32) -> [u8; 20] {
    let mut state = u64::from(number).wrapping_add(0x9e37_79b9_7f4a_7c15);
    std::array::from_fn(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
}

struct Load {
    number: u32,
    hashes: Vec<[u8; 20]>,
    is_private: bool,
    /// Of each torrent, and of whom they are.
    clients: u32,
    users: u32,
}

/// One announce.
struct Next {
    hash: [u8; 20],
    client: u32,
    user: u32,
    /// Bytes sent and taken so far.
    bytes: u64,
    /// Bytes to go: nothing for a third of the clients.
    left: u64,
}

impl Load {
    fn next(&mut self) -> Next {
        let number = self.number;
        self.number = number.wrapping_add(1);
        let torrents = self.hashes.len() as u32;
        let client = number / torrents % self.clients;
        let round = u64::from(number / torrents / self.clients);
        let torrent = number % torrents;
        // Of each torrent every client is another user's, of several torrents too.
        let user = 1 + match self.users == self.clients {
            true => client,
            false => (torrent + client * (self.users / self.clients)) % self.users,
        };
        let hash = self.hashes[torrent as usize];
        let left = u64::from(!client.is_multiple_of(3)) * BYTES_AN_ANNOUNCE;
        Next { hash, client, user, bytes: round * BYTES_AN_ANNOUNCE, left }
    }

    /// Everybody once a minute, evenly, by many sockets in turn: clients don't share one.
    fn minute(&mut self, address: &str, time: Duration) -> io::Result<(u64, u64)> {
        let renewed = |after| {
            let (socket, id) = connect(address)?;
            socket.set_nonblocking(true)?;
            Ok((socket, id, Instant::now() + after))
        };
        // They don't all connect again at once.
        let mut many = (0..MANY_SOCKETS)
            .map(|at| renewed(RENEWAL * at / MANY_SOCKETS))
            .collect::<io::Result<Vec<_>>>()?;
        let all = u64::from(self.clients) * self.hashes.len() as u64;
        let (mut sent, mut answers) = (0, 0);
        let mut datagram = [0; 192];
        let begun = Instant::now();
        while begun.elapsed() < time {
            let due = (begun.elapsed().as_secs_f64() / MINUTE.as_secs_f64() * all as f64) as u64;
            while sent < due {
                let one = &mut many[(sent % u64::from(MANY_SOCKETS)) as usize];
                // So that few wait in its socket.
                answers += read_all(&one.0)?;
                // An id is good for a while.
                if one.2 < Instant::now() {
                    *one = renewed(RENEWAL)?;
                }
                let (socket, id, _) = one;
                let length = self.datagram(*id, &mut datagram);
                socket.send(&datagram[..length])?;
                sent += 1;
            }
            std::thread::sleep(STEP);
        }
        std::thread::sleep(LINGER);
        for (socket, ..) in &many {
            answers += read_all(socket)?;
        }
        Ok((sent, answers))
    }

    /// Writes of one socket go out while the tracker is busy with those of the others.
    fn udp(&mut self, address: &str, end: Instant) -> io::Result<(u64, u64)> {
        let mut sockets = Vec::new();
        for _ in 0..SOCKETS {
            let socket = connect(address)?;
            self.announce_some(&socket)?;
            sockets.push(socket);
        }
        let (mut answers, mut bytes) = (0, 0);
        let mut is_over = false;
        while !is_over {
            is_over = Instant::now() >= end;
            for socket in &sockets {
                let (more, more_bytes) = read_some(&socket.0)?;
                (answers, bytes) = (answers + more, bytes + more_bytes);
                if !is_over {
                    self.announce_some(socket)?;
                }
            }
        }
        Ok((answers, bytes))
    }

    fn announce_some(&mut self, (socket, id): &(UdpSocket, [u8; 8])) -> io::Result<()> {
        let mut datagram = [0; 192];
        for _ in 0..WINDOW {
            let length = self.datagram(*id, &mut datagram);
            socket.send(&datagram[..length])?;
        }
        Ok(())
    }

    /// BEP 15's announce, with BEP 41's path where a passkey has to be in it.
    fn datagram(&mut self, id: [u8; 8], datagram: &mut [u8; 192]) -> usize {
        let Next { hash, client, user, bytes, left } = self.next();
        let mut rest = &mut datagram[..];
        let mut put = |bytes: &[u8]| rest.write_all(bytes);
        // The longest has 98 bytes, and 44 of options.
        let written = put(&id)
            .and_then(|()| put(&[0, 0, 0, 1, 0, 0, 0, 9]))
            .and_then(|()| put(&hash))
            .and_then(|()| put(b"-XX0001-"))
            .and_then(|()| put(&digits::<12>(client)))
            .and_then(|()| put(&bytes.to_be_bytes()))
            .and_then(|()| put(&left.to_be_bytes()))
            .and_then(|()| put(&bytes.to_be_bytes()))
            .and_then(|()| put(&[0; 8]))
            .and_then(|()| put(&user.to_be_bytes()))
            .and_then(|()| put(&50u32.to_be_bytes()))
            .and_then(|()| put(&(1024 + client as u16).to_be_bytes()))
            .and_then(|()| match self.is_private {
                true => put(&[2, 42, b'/'])
                    .and_then(|()| put(&digits::<32>(user)))
                    .and_then(|()| put(b"/announce")),
                false => Ok(()),
            });
        debug_assert!(written.is_ok());
        192 - rest.len()
    }

    /// One request at a time on each of some connections that stay.
    fn http(&mut self, address: &str, end: Instant) -> io::Result<(u64, u64)> {
        let mut streams = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.write_all(self.request("keep-alive").as_bytes())?;
            streams.push(stream);
        }
        let (mut answers, mut bytes) = (0, 0);
        let mut buffer = vec![0; 64 << 10];
        let mut is_over = false;
        while !is_over {
            is_over = Instant::now() >= end;
            for stream in &mut streams {
                bytes += read_answer(stream, &mut buffer)?;
                answers += 1;
                if !is_over {
                    stream.write_all(self.request("keep-alive").as_bytes())?;
                }
            }
        }
        Ok((answers, bytes))
    }

    /// A connection for each request; some are under way at one time.
    fn once(&mut self, address: &str, end: Instant) -> io::Result<(u64, u64)> {
        let (mut answers, mut bytes) = (0, 0);
        let mut buffer = vec![0; 64 << 10];
        let mut streams = Vec::new();
        while Instant::now() < end {
            for _ in 0..WINDOW {
                let mut stream = TcpStream::connect(address)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.write_all(self.request("close").as_bytes())?;
                streams.push(stream);
            }
            for mut stream in streams.drain(..) {
                bytes += read_answer(&mut stream, &mut buffer)?;
                answers += 1;
            }
        }
        Ok((answers, bytes))
    }

    fn request(&mut self, connection: &str) -> String {
        let Next { hash, client, user, bytes, left } = self.next();
        let mut text = String::with_capacity(384);
        text.push_str("GET /announce?info_hash=");
        for byte in hash {
            text.push('%');
            text.extend(
                [byte >> 4, byte & 15]
                    .map(|half| char::from(b"0123456789abcdef"[usize::from(half)])),
            );
        }
        let more = match self.is_private {
            true => format!("&passkey={user:032}"),
            false => String::new(),
        };
        text.push_str(&format!(
            "&peer_id=-XX0001-{client:012}&port={}&uploaded={bytes}&downloaded={bytes}&left={left}\
             &compact=1&numwant=50&key={:08X}{more} HTTP/1.1\r\n\
             Host: t\r\nConnection: {connection}\r\n\r\n",
            1024 + client,
            user
        ));
        text
    }
}

/// A number as that many decimal digits.
fn digits<const COUNT: usize>(mut number: u32) -> [u8; COUNT] {
    let mut digits = [b'0'; COUNT];
    for digit in digits.iter_mut().rev() {
        *digit += (number % 10) as u8;
        number /= 10;
    }
    digits
}

/// A socket, and the id that the tracker gave it.
fn connect(address: &str) -> io::Result<(UdpSocket, [u8; 8])> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(address)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut hello = 0x0417_2710_1980_u64.to_be_bytes().to_vec();
    hello.extend_from_slice(&[0; 8]);
    socket.send(&hello)?;
    let mut answer = [0; 16];
    socket.recv(&mut answer)?;
    let id = answer[8..].try_into().map_err(io::Error::other)?;
    Ok((socket, id))
}

/// Reads the answers to what was sent last.
fn read_some(socket: &UdpSocket) -> io::Result<(u64, u64)> {
    let mut answer = [0; 4096];
    let (mut answers, mut bytes) = (0, 0);
    for _ in 0..WINDOW {
        // One that was lost is not waited for twice.
        let Ok(length) = socket.recv(&mut answer) else { break };
        if length < 20 || answer[..4] != [0, 0, 0, 1] {
            let why = String::from_utf8_lossy(&answer[8..length.max(8)]);
            return Err(io::Error::other(format!("it refuses: {why}")));
        }
        (answers, bytes) = (answers + 1, bytes + length as u64 - 20);
    }
    Ok((answers, bytes))
}

/// Reads the answers that are there.
fn read_all(socket: &UdpSocket) -> io::Result<u64> {
    let mut answer = [0; 4096];
    let mut answers = 0;
    while let Ok(length) = socket.recv(&mut answer) {
        if length < 20 || answer[..4] != [0, 0, 0, 1] {
            let why = String::from_utf8_lossy(&answer[8..length.max(8)]);
            return Err(io::Error::other(format!("it refuses: {why}")));
        }
        answers += 1;
    }
    Ok(answers)
}

/// Reads one answer; bytes of its body.
fn read_answer(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<u64> {
    let mut filled = 0;
    loop {
        let count = stream.read(&mut buffer[filled..])?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        filled += count;
        let Some(end) = buffer[..filled].windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
        let length = head
            .split("content-length:")
            .nth(1)
            .and_then(|rest| rest.trim_start().split("\r\n").next()?.trim().parse::<usize>().ok());
        let length = length.ok_or_else(|| io::Error::other("an answer without a length"))?;
        if filled >= end + 4 + length {
            let body = &buffer[end + 4..end + 4 + length];
            return match body.starts_with(b"d8:complete") {
                true => Ok(length as u64),
                false => Err(io::Error::other(format!("it refuses: {}", body.escape_ascii()))),
            };
        }
    }
}

//! Asks a server that speaks MySQL's protocol one statement after another, over one connection.
//!
//! ```text
//! ask time PORT DATABASE FILE SECONDS
//! ask each PORT DATABASE FILE PASSES
//! ask sets PORT DATABASE FILE
//! ```
//! The file has a statement a line. `time` asks all of them, again and again until the seconds are
//! over, but no pass by halves; prints answers, seconds, and the microseconds within which half, 95
//! and 99 of a hundred answers were there to their last byte. `each` prints the median microseconds
//! and the rows of each statement, `sets` the first column of its rows. A refusal ends it with the
//! statement and the server's words: what fails is quick, and no answer.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const USAGE: &str = "ask time PORT DATABASE FILE SECONDS | each PORT DATABASE FILE PASSES | sets PORT DATABASE FILE";
/// Protocol 4.1, logins of 20 bytes, and a database on login.
const ABILITIES: u32 = 0x8208;
const WITH_LOGIN_AS_IT_IS: u32 = 0x0008_0000;
const QUERY: u8 = 3;
const UTF8: u8 = 33;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let wrong = || io::Error::other(USAGE);
    let [how, port, database, file, rest @ ..] = words.as_slice() else { return Err(wrong()) };
    let text = std::fs::read_to_string(file)?;
    let statements: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let mut link = Link::open(port.parse().map_err(|_| wrong())?, database)?;
    match (*how, rest) {
        ("time", [seconds]) => {
            let seconds = seconds.parse().map_err(|_| wrong())?;
            time(&mut link, &statements, Duration::from_secs_f64(seconds))
        }
        ("each", [passes]) => each(&mut link, &statements, passes.parse().map_err(|_| wrong())?),
        ("sets", []) => sets(&mut link, &statements),
        _ => Err(wrong()),
    }
}

fn time(link: &mut Link, statements: &[&str], most: Duration) -> io::Result<()> {
    let mut taken = Vec::new();
    let begun = Instant::now();
    while taken.is_empty() || begun.elapsed() < most {
        for statement in statements {
            taken.push(link.timed(statement)?.0);
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    taken.sort_unstable();
    let within = |hundredths: usize| microseconds(taken[(taken.len() - 1) * hundredths / 100]);
    let (half, most, nearly_all) = (within(50), within(95), within(99));
    println!("{} {seconds:.3} {half:.1} {most:.1} {nearly_all:.1}", taken.len());
    Ok(())
}

fn each(link: &mut Link, statements: &[&str], passes: usize) -> io::Result<()> {
    let mut taken = vec![Vec::new(); statements.len()];
    let mut rows = vec![0; statements.len()];
    for _ in 0..passes.max(1) {
        for (place, statement) in statements.iter().enumerate() {
            let (spent, count) = link.timed(statement)?;
            taken[place].push(spent);
            rows[place] = count;
        }
    }
    for ((mut times, count), statement) in taken.into_iter().zip(rows).zip(statements) {
        times.sort_unstable();
        println!("{:.1} {count} {statement}", microseconds(times[times.len() / 2]));
    }
    Ok(())
}

fn sets(link: &mut Link, statements: &[&str]) -> io::Result<()> {
    for statement in statements {
        let mut all = BTreeSet::new();
        link.ask(statement, |row| {
            all.insert(first_of(row).parse::<u64>().map_err(io::Error::other)?);
            Ok(())
        })?;
        let all: Vec<String> = all.iter().map(u64::to_string).collect();
        println!("{}", all.join(" "));
    }
    Ok(())
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// The first value of a row, which is shorter than 251 bytes.
fn first_of(row: &[u8]) -> &str {
    let value = row.split_first().and_then(|(length, rest)| rest.get(..usize::from(*length)));
    value.and_then(|value| std::str::from_utf8(value).ok()).unwrap_or_default()
}

/// A connection.
struct Link {
    stream: BufReader<TcpStream>,
    packet: Vec<u8>,
}

impl Link {
    fn open(port: u16, database: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut link = Self { stream: BufReader::with_capacity(1 << 16, stream), packet: vec![] };
        link.read()?;
        let abilities = (ABILITIES | WITH_LOGIN_AS_IT_IS).to_le_bytes();
        let login = [&abilities[..], &[0, 0, 0, 1, UTF8], &[0; 23], b"root\0\0"].concat();
        link.write(1, &[&login, database.as_bytes(), b"\0mysql_native_password\0"].concat())?;
        link.read()?;
        link.refuse("the login")?;
        Ok(link)
    }

    /// How long an answer took, and how many rows it has.
    fn timed(&mut self, statement: &str) -> io::Result<(Duration, usize)> {
        let begun = Instant::now();
        let mut rows = 0;
        self.ask(statement, |_| {
            rows += 1;
            Ok(())
        })?;
        Ok((begun.elapsed(), rows))
    }

    /// Asks, and shows each row as it came.
    fn ask(
        &mut self,
        statement: &str,
        mut show: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.write(0, &[&[QUERY], statement.as_bytes()].concat())?;
        self.read()?;
        self.refuse(statement)?;
        // As many columns, and what ends them.
        for _ in 0..=self.packet[0] {
            self.read()?;
        }
        loop {
            self.read()?;
            if self.packet[0] == 0xfe && self.packet.len() < 9 {
                return Ok(());
            }
            self.refuse(statement)?;
            show(&self.packet)?;
        }
    }

    fn refuse(&self, what: &str) -> io::Result<()> {
        if self.packet[0] != 0xff {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&self.packet[3..]);
        Err(io::Error::other(format!("{what}: {words}")))
    }

    fn write(&mut self, number: u8, body: &[u8]) -> io::Result<()> {
        let length = u32::try_from(body.len()).map_err(io::Error::other)?.to_le_bytes();
        self.stream.get_mut().write_all(&[&length[..3], &[number], body].concat())
    }

    /// The next packet, which has at least one byte.
    fn read(&mut self) -> io::Result<()> {
        let mut head = [0; 4];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
        self.packet.clear();
        while self.packet.len() < length {
            let some = self.stream.fill_buf()?;
            if some.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let count = some.len().min(length - self.packet.len());
            self.packet.extend_from_slice(&some[..count]);
            self.stream.consume(count);
        }
        if self.packet.is_empty() { Err(io::ErrorKind::InvalidData.into()) } else { Ok(()) }
    }
}

//! A stranger who stays: one connection, no cookies, a page every 20 ms.
//!
//! Start at [`Stranger::until_kept`], which waits until a page is served from memory for
//! long, and [`Stranger::until`], which tells how soon a page shows something.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use crate::browser::Outcome;
use crate::client::{self, Answer};

/// How often a stranger asks.
pub(crate) const EACH: Duration = Duration::from_millis(20);
/// How long anything may take that must come: a bound against hanging.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);
/// A page that is fresh for longer belongs to a site that is followed; others are for ten
/// seconds.
const LONG_SECONDS: i64 = 60;
/// What all of them browse with.
pub(crate) const AGENT: &str =
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

/// Somebody without cookies.
pub(crate) struct Stranger {
    port: u16,
    stream: Option<TcpStream>,
}

/// How something came to be seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// How long after it was done.
    pub(crate) after: Duration,
    /// How many answers meanwhile still lacked it.
    pub(crate) older: usize,
}

impl Stranger {
    pub(crate) fn new(port: u16) -> Self {
        Self { port, stream: None }
    }

    /// Reads a page, as somebody who typed its address.
    pub(crate) fn read(&mut self, target: &str) -> Outcome<Answer> {
        let told = |error: std::io::Error| format!("GET {target}: {error}");
        if let Some(stream) = self.stream.take() {
            // A server may close a connection that rested.
            if let Ok(answer) = self.ask(stream, target) {
                return Ok(answer);
            }
        }
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).map_err(told)?;
        stream.set_nodelay(true).map_err(told)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(told)?;
        self.ask(stream, target).map_err(told)
    }

    fn ask(&mut self, mut stream: TcpStream, target: &str) -> std::io::Result<Answer> {
        let request = format!(
            "GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nUser-Agent: {AGENT}\r\n\
             Accept: text/html,*/*;q=0.8\r\nAccept-Language: en\r\nSec-Fetch-Site: none\r\n\
             Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n\r\n",
            self.port
        );
        stream.write_all(request.as_bytes())?;
        let (mut bytes, mut piece) = (Vec::new(), [0; 16 << 10]);
        loop {
            let count = stream.read(&mut piece)?;
            if count == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            bytes.extend_from_slice(&piece[..count]);
            if let Some(answer) = client::parse(&bytes).filter(is_whole) {
                self.stream = (answer.field("connection") != "close").then_some(stream);
                return Ok(answer);
            }
        }
    }

    /// Asks until a page is served from memory and will be for long, as only pages of
    /// followed sites are.
    pub(crate) fn until_kept(&mut self, target: &str) -> Outcome<Answer> {
        let mut last = String::new();
        let kept = each(PATIENCE, || {
            let answer = self.read(target)?;
            last = answer.field("cache-status").to_owned();
            Ok(is_kept(&answer).then_some(answer))
        })?;
        kept.ok_or_else(|| format!("{target} was never fresh for long: {last}"))
    }

    /// Asks until a page shows what was done at `since`; fails when `patience` is over.
    pub(crate) fn until(
        &mut self,
        target: &str,
        since: Instant,
        patience: Duration,
        is_shown: impl Fn(&Answer) -> bool,
    ) -> Outcome<Seen> {
        let (mut older, mut last) = (0, String::new());
        let seen = each(patience, || {
            let answer = self.read(target)?;
            if is_shown(&answer) {
                return Ok(Some(Seen { after: since.elapsed(), older }));
            }
            older += 1;
            last = format!("{} {}", answer.status, answer.field("cache-status"));
            Ok(None)
        })?;
        seen.ok_or_else(|| format!("{target} never showed it in {older} answers, the last: {last}"))
    }
}

/// Does something every 20 ms until it gives a value, or nothing when the time is over.
pub(crate) fn each<T>(
    patience: Duration,
    mut attempt: impl FnMut() -> Outcome<Option<T>>,
) -> Outcome<Option<T>> {
    let begun = Instant::now();
    let mut next = begun;
    while begun.elapsed() < patience {
        if let Some(value) = attempt()? {
            return Ok(Some(value));
        }
        next += EACH;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(None)
}

/// An answer whose head came before its body looks like one without.
fn is_whole(answer: &Answer) -> bool {
    !answer.body.is_empty() || matches!(answer.field("content-length"), "0") || answer.status == 304
}

/// Whether an answer is a fresh page from memory that stays so for long.
pub(crate) fn is_kept(answer: &Answer) -> bool {
    answer.is_from_memory() && ttl_seconds(answer).is_some_and(|ttl| ttl > LONG_SECONDS)
}

/// How much longer Wick holds an answer's page for fresh; none for what isn't stored.
pub(crate) fn ttl_seconds(answer: &Answer) -> Option<i64> {
    let words = answer.field("cache-status").split(';').map(str::trim);
    words.filter_map(|word| word.strip_prefix("ttl=")).find_map(|ttl| ttl.parse().ok())
}

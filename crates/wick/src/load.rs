//! A small load for the demo: visitors who ask one page after the other.
//!
//! Closed model: each of a few connections asks again as soon as it is answered. Good
//! enough to compare one server with itself; it is not a benchmark of anything else.
//! Invariants: 1. Only answers that were whole before the deadline count for the rate.
//! 2. What is under way then gets [`TAIL`] and no longer. 3. Whatever is not a 200 is
//! named among the failures.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};

/// A single head may not be larger; the demo's are a few hundred bytes.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// How long an answer that is under way at the deadline may still take.
const TAIL: Duration = Duration::from_secs(3);
/// A server that refuses is not to be hammered.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(10);

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load<'a> {
    /// What stands in `Host`.
    pub(crate) host: &'a str,
    /// Asked for in turn.
    pub(crate) paths: &'a [&'a str],
    /// Connections at one time.
    pub(crate) visitors: usize,
}

/// What visitors speak over.
pub(crate) trait Connection: AsyncRead + AsyncWrite + Unpin {}
impl<S: AsyncRead + AsyncWrite + Unpin> Connection for S {}

/// What a load measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// Answers with status 200 that were whole in time.
    pub(crate) answers: u64,
    /// Those that were whole only in the tail.
    pub(crate) late_answers: u64,
    /// Anything else, by what it was.
    pub(crate) failures: BTreeMap<String, u64>,
    /// How long answers counted.
    pub(crate) time: Duration,
    /// Microseconds of every answer, the late ones included, sorted.
    pub(crate) latencies_us: Vec<u32>,
}

impl Measured {
    /// Answers in a second.
    pub(crate) fn rate(&self) -> f64 {
        self.answers as f64 / self.time.as_secs_f64().max(1e-9)
    }

    /// The latency that `share` of all answers (0 to 1) did not exceed.
    pub(crate) fn percentile(&self, share: f64) -> Duration {
        let last = self.latencies_us.len().saturating_sub(1);
        let at = (last as f64 * share).round() as usize;
        Duration::from_micros(u64::from(self.latencies_us.get(at).copied().unwrap_or(0)))
    }

    /// Why nothing can be concluded from this; none if something can.
    pub(crate) fn void(&self) -> Option<String> {
        let failed = self.failures.values().sum::<u64>();
        if failed > 0 {
            let each = self.failures.iter().map(|(what, count)| format!("{what}: {count}"));
            let all = failed + self.answers + self.late_answers;
            let each = each.collect::<Vec<_>>().join(", ");
            return Some(format!("{failed} of {all} requests failed ({each})"));
        }
        (self.answers == 0).then(|| "no answer came in time".to_owned())
    }

    fn fail(&mut self, what: String) {
        *self.failures.entry(what).or_default() += 1;
    }

    fn add(&mut self, other: Self) {
        self.answers += other.answers;
        self.late_answers += other.late_answers;
        self.latencies_us.extend(other.latencies_us);
        for (what, count) in other.failures {
            *self.failures.entry(what).or_default() += count;
        }
    }
}

impl Load<'_> {
    /// Asks over the connections that `dial` opens until `time` is over; `answered` shows
    /// how far it is.
    pub(crate) async fn run<S: Connection>(
        &self,
        dial: &impl AsyncFn() -> io::Result<S>,
        time: Duration,
        answered: &AtomicU64,
    ) -> Measured {
        let deadline = Instant::now() + time;
        let visit = |number| self.visit(number, dial, deadline, answered);
        let mut visitors: FuturesUnordered<_> = (0..self.visitors).map(visit).collect();
        let mut total = Measured { time, ..Measured::default() };
        while let Some(one) = visitors.next().await {
            total.add(one);
        }
        total.latencies_us.sort_unstable();
        total
    }

    async fn visit<S: Connection>(
        &self,
        number: usize,
        dial: &impl AsyncFn() -> io::Result<S>,
        deadline: Instant,
        answered: &AtomicU64,
    ) -> Measured {
        let mut measured = Measured::default();
        let mut connection = None;
        for path in self.paths.iter().cycle().skip(number % self.paths.len().max(1)) {
            let begun = Instant::now();
            if begun >= deadline {
                break;
            }
            let answer = timeout_at(deadline + TAIL, self.ask(&mut connection, dial, path)).await;
            let failure = match answer {
                Ok(Ok(200)) => {
                    let now = Instant::now();
                    let place = match now > deadline {
                        true => &mut measured.late_answers,
                        false => &mut measured.answers,
                    };
                    *place += 1;
                    answered.fetch_add(1, Ordering::Relaxed);
                    let micros = now.duration_since(begun).as_micros();
                    measured.latencies_us.push(u32::try_from(micros).unwrap_or(u32::MAX));
                    continue;
                }
                Ok(Ok(status)) => format!("status {status}"),
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("no answer {} s after the end", TAIL.as_secs()),
            };
            measured.fail(failure);
            tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
        }
        measured
    }

    /// One request; the connection is kept if the answer allows it.
    async fn ask<S: Connection>(
        &self,
        kept: &mut Option<S>,
        dial: &impl AsyncFn() -> io::Result<S>,
        path: &str,
    ) -> io::Result<u16> {
        let mut stream = match kept.take() {
            Some(stream) => stream,
            None => dial().await?,
        };
        let host = self.host;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: wick-demo\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let (status, may_keep) = read_answer(&mut stream).await?;
        if may_keep {
            *kept = Some(stream);
        }
        Ok(status)
    }
}

/// Reads one answer to its end: its status, and whether another may follow.
async fn read_answer(stream: &mut impl Connection) -> io::Result<(u16, bool)> {
    let mut received = Vec::with_capacity(16 << 10);
    let head_end = loop {
        if let Some(at) = received.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if received.len() > HEAD_BYTES_MAX {
            return Err(io::Error::new(ErrorKind::InvalidData, "an endless head"));
        }
        more(stream, &mut received).await?;
    };
    let head = String::from_utf8_lossy(&received[..head_end]).to_ascii_lowercase();
    let status = head.get(9..12).and_then(|digits| digits.parse().ok()).unwrap_or(0);
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
    match length {
        Some(length) => {
            let mut left = (head_end + length).saturating_sub(received.len());
            while left > 0 {
                received.clear();
                left = left.saturating_sub(more(stream, &mut received).await?);
            }
        }
        None => {
            while !received.ends_with(b"\r\n0\r\n\r\n") {
                more(stream, &mut received).await?;
            }
        }
    }
    Ok((status, !head.contains("\r\nconnection: close")))
}

/// Reads on; the end of the connection is an error here.
async fn more(stream: &mut impl Connection, received: &mut Vec<u8>) -> io::Result<usize> {
    match stream.read_buf(received).await? {
        0 => Err(io::Error::new(ErrorKind::UnexpectedEof, "the connection broke off")),
        read => Ok(read),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that gives these answers in turn and then hangs, measured in virtual time.
    async fn measure(answers: &'static [&'static str]) -> Measured {
        let dial = async || {
            let (visitor, mut server) = tokio::io::duplex(1 << 16);
            tokio::spawn(async move {
                for answer in answers {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        if server.read_buf(&mut head).await.unwrap_or(0) == 0 {
                            return;
                        }
                    }
                    server.write_all(answer.as_bytes()).await.expect("the visitor listens");
                }
                std::future::pending::<()>().await;
            });
            Ok(visitor)
        };
        let load = Load { host: "board", paths: &["/"], visitors: 1 };
        load.run(&dial, Duration::from_millis(200), &AtomicU64::new(0)).await
    }

    const GOOD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    const CHUNKED: &str =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    const BUSY: &str = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";

    #[tokio::test(start_paused = true)]
    async fn a_server_that_stalls_is_waited_for_no_longer_than_the_tail() {
        let measured = measure(&[GOOD, CHUNKED]).await;
        assert_eq!((measured.answers, measured.late_answers), (2, 0));
        assert_eq!(measured.rate(), 10.0, "the tail is no part of the time");
        let why = measured.void().expect("a stall voids the measurement");
        assert_eq!(why, "1 of 3 requests failed (no answer 3 s after the end: 1)");
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_named_and_counted() {
        let why = measure(&[GOOD, BUSY, BUSY]).await.void().expect("failures void it");
        assert!(
            why.starts_with("3 of 4 requests failed") && why.contains("status 503: 2"),
            "{why}"
        );
        assert!(measure(&[]).await.void().is_some());
    }

    #[test]
    fn percentiles_are_of_all_answers() {
        let measured = Measured { latencies_us: (1..=101).collect(), ..Measured::default() };
        assert_eq!(measured.percentile(0.5), Duration::from_micros(51));
        assert_eq!(measured.percentile(0.99), Duration::from_micros(100));
        assert_eq!(Measured::default().percentile(0.5), Duration::ZERO);
        assert_eq!(Measured::default().void().as_deref(), Some("no answer came in time"));
    }
}

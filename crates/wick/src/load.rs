//! A small load for the demo: visitors who ask one page after the other.
//!
//! Closed model: each of a few connections asks again as soon as it is answered. Good
//! enough to compare one server with itself; it is not a benchmark of anything else.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A single head may not be larger; the demo's are a few hundred bytes.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// What a load measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// Answers with status 200.
    pub(crate) answers: u64,
    /// Anything else: other statuses, broken connections.
    pub(crate) failures: u64,
    /// How long it took.
    pub(crate) elapsed: Duration,
    /// Microseconds of every answer, sorted.
    pub(crate) latencies_us: Vec<u32>,
}

impl Measured {
    /// Answers in a second.
    pub(crate) fn rate(&self) -> f64 {
        self.answers as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The latency that `share` of all answers (0 to 1) did not exceed.
    pub(crate) fn percentile(&self, share: f64) -> Duration {
        let last = self.latencies_us.len().saturating_sub(1);
        let at = (last as f64 * share).round() as usize;
        Duration::from_micros(u64::from(self.latencies_us.get(at).copied().unwrap_or(0)))
    }
}

/// Asks for `paths` in turn over `connections` connections until the time is over.
pub(crate) async fn run(
    address: SocketAddr,
    paths: Arc<Vec<String>>,
    connections: usize,
    time: Duration,
    answered: Arc<AtomicU64>,
) -> Measured {
    let start = Instant::now();
    let deadline = start + time;
    let visitors: Vec<_> = (0..connections)
        .map(|number| {
            let (paths, answered) = (paths.clone(), answered.clone());
            tokio::spawn(visit(address, paths, number, deadline, answered))
        })
        .collect();
    let mut total = Measured::default();
    for visitor in visitors {
        match visitor.await {
            Ok(one) => {
                total.answers += one.answers;
                total.failures += one.failures;
                total.latencies_us.extend(one.latencies_us);
            }
            Err(_) => total.failures += 1,
        }
    }
    total.elapsed = start.elapsed();
    total.latencies_us.sort_unstable();
    total
}

async fn visit(
    address: SocketAddr,
    paths: Arc<Vec<String>>,
    number: usize,
    deadline: Instant,
    answered: Arc<AtomicU64>,
) -> Measured {
    let mut measured = Measured::default();
    let mut connection = None;
    let mut next = number;
    while Instant::now() < deadline {
        let path = &paths[next % paths.len()];
        next += 1;
        let begun = Instant::now();
        match ask(&mut connection, address, path).await {
            Ok(200) => {
                measured.answers += 1;
                answered.fetch_add(1, Ordering::Relaxed);
                let micros = begun.elapsed().as_micros();
                measured.latencies_us.push(u32::try_from(micros).unwrap_or(u32::MAX));
            }
            Ok(_) => measured.failures += 1,
            Err(_) => {
                measured.failures += 1;
                connection = None;
                // A server that refuses is not to be hammered.
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
    measured
}

/// One request; the connection stays in `connection` if the answer allows it.
async fn ask(
    connection: &mut Option<TcpStream>,
    address: SocketAddr,
    path: &str,
) -> std::io::Result<u16> {
    let mut stream = match connection.take() {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            stream
        }
    };
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: wick-demo\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut received = Vec::with_capacity(16 << 10);
    let head_end = loop {
        if let Some(at) = received.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if received.len() > HEAD_BYTES_MAX || stream.read_buf(&mut received).await? == 0 {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
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
                let read = stream.read_buf(&mut received).await?;
                if read == 0 {
                    return Err(std::io::ErrorKind::UnexpectedEof.into());
                }
                left = left.saturating_sub(read);
            }
        }
        None => {
            while !received.ends_with(b"\r\n0\r\n\r\n") {
                if stream.read_buf(&mut received).await? == 0 {
                    return Err(std::io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
    }
    if !head.contains("\r\nconnection: close") {
        *connection = Some(stream);
    }
    Ok(status)
}

//! A server of HTTP/2 that sends exactly the frames that a test wants.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;

use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use wire::h2::{Code, PREFACE, push_data_head, push_head, push_ping, push_settings_ack};
use wire::hpack::{Decoder, push_field, push_status};

use super::super::super::{HttpOptions, HttpOrigin, Speech};
use crate::Dial;

/// What is sent for a request, by the number of its stream.
pub(super) struct Act {
    frames: Box<dyn Fn(u32) -> Vec<u8> + Send + Sync>,
    /// Afterwards the connection ends.
    closes: bool,
}

/// What becomes of one connection.
pub(super) struct Script {
    /// `SETTINGS_MAX_CONCURRENT_STREAMS`, and the window of each stream.
    pub(super) settings: [(u16, u32); 2],
    /// For each request, as it ends or, if it is answered `at_head`, begins.
    pub(super) acts: VecDeque<Act>,
    pub(super) at_head: bool,
    /// It takes bytes, and no notice of them.
    pub(super) is_deaf: bool,
    /// It speaks HTTP/1.1, once.
    pub(super) is_single: bool,
}

/// What the server has seen of all connections.
#[derive(Default)]
pub(super) struct Seen {
    /// Requests that ended: connection, method, path, fields and body.
    pub(super) requests: Vec<String>,
    /// Streams that were reset, by path.
    pub(super) resets: Vec<String>,
    pub(super) connections: usize,
    /// The most requests that one connection had open at once.
    pub(super) most_at_once: usize,
    /// Bytes of requests' bodies.
    pub(super) body_bytes: usize,
    /// Leave to send more on streams.
    pub(super) leave_bytes: u32,
}

pub(super) struct Bench {
    pub(super) origin: Arc<HttpOrigin>,
    pub(super) seen: Arc<Mutex<Seen>>,
}

impl Script {
    pub(super) fn of(acts: Vec<Act>) -> Self {
        let settings = [(3, 100), (4, 65_535)];
        Self { settings, acts: acts.into(), at_head: false, is_deaf: false, is_single: false }
    }
}

/// An origin whose connections play these scripts, one after the other.
pub(super) fn bench(scripts: Vec<Script>) -> Bench {
    bench_of(scripts, HttpOptions::default())
}

pub(super) fn bench_of(scripts: Vec<Script>, options: HttpOptions) -> Bench {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let scripts = Arc::new(Mutex::new(VecDeque::from(scripts)));
    let log = seen.clone();
    let dial = Dial::Memory(Arc::new(move || {
        let next = scripts.lock().pop_front();
        let log = log.clone();
        async move {
            let script = next.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionRefused))?;
            let (ours, theirs) = tokio::io::duplex(1 << 18);
            tokio::spawn(async move { serve(theirs, script, log).await });
            Ok(ours)
        }
        .boxed()
    }));
    let origin = HttpOrigin::speaking(Speech::Http2, vec![(dial, 1)], options);
    Bench { origin: Arc::new(origin), seen }
}

/// A frame of any kind.
pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    let mut out = vec![a, b, c, kind, flags];
    out.extend(stream.to_be_bytes());
    out.extend(payload);
    out
}

/// A head of an answer; `fields` as in `a: b\nc: d`.
pub(super) fn head(stream: u32, status: u16, fields: &str, ends: bool) -> Vec<u8> {
    let mut block = Vec::new();
    push_status(&mut block, status);
    for (name, value) in fields.lines().filter_map(|line| line.split_once(": ")) {
        push_field(&mut block, name.as_bytes(), value.as_bytes());
    }
    let mut out = Vec::new();
    push_head(&mut out, stream, &block, ends);
    out
}

pub(super) fn data(stream: u32, bytes: &[u8], ends: bool) -> Vec<u8> {
    let mut out = Vec::new();
    push_data_head(&mut out, stream, bytes.len(), ends);
    out.extend(bytes);
    out
}

/// A whole answer.
pub(super) fn page(body: &'static str) -> Act {
    send(move |stream| {
        let fields = format!("content-length: {}", body.len());
        [head(stream, 200, &fields, false), data(stream, body.as_bytes(), true)].concat()
    })
}

/// Any bytes.
pub(super) fn send(frames: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static) -> Act {
    Act { frames: Box::new(frames), closes: false }
}

pub(super) fn silence() -> Act {
    send(|_| Vec::new())
}

/// Any bytes, and then the end.
pub(super) fn close(frames: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static) -> Act {
    Act { frames: Box::new(frames), closes: true }
}

pub(super) fn reset(stream: u32, code: Code) -> Vec<u8> {
    frame(3, 0, stream, &(code as u32).to_be_bytes())
}

pub(super) fn goaway(last: u32, code: Code) -> Vec<u8> {
    frame(7, 0, 0, &[last.to_be_bytes(), (code as u32).to_be_bytes()].concat())
}

async fn serve(mut io: DuplexStream, mut script: Script, seen: Arc<Mutex<Seen>>) -> Option<()> {
    seen.lock().connections += 1;
    let number = seen.lock().connections;
    if script.is_single {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(io.read_u8().await.ok()?);
        }
        seen.lock().requests.push(format!("{number} {}", String::from_utf8_lossy(&head)));
        io.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold").await.ok()?;
        return None;
    }
    let mut preface = [0; PREFACE.len()];
    io.read_exact(&mut preface).await.ok()?;
    assert_eq!(preface, *PREFACE);
    let settings = script.settings.iter();
    let settings: Vec<u8> = settings
        .flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
        .collect();
    io.write_all(&frame(4, 0, 0, &settings)).await.ok()?;
    let (mut decoder, mut open) = (Decoder::default(), HashMap::<u32, String>::new());
    loop {
        let mut start = [0; 9];
        io.read_exact(&mut start).await.ok()?;
        let [a, b, c, kind, flags, d, e, f, g] = start;
        let stream = u32::from_be_bytes([d, e, f, g]);
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        io.read_exact(&mut payload).await.ok()?;
        let (mut out, ends) = (Vec::new(), flags & 1 == 1 && kind < 2);
        match kind {
            _ if script.is_deaf && kind != 4 => {}
            0 => {
                seen.lock().body_bytes += payload.len();
                open.entry(stream).or_default().push_str(&String::from_utf8_lossy(&payload));
            }
            1 => {
                open.insert(stream, request(&mut decoder, &payload, open.get(&stream)));
                let at_once = open.len();
                let most = &mut seen.lock().most_at_once;
                *most = at_once.max(*most);
            }
            3 => seen.lock().resets.extend(open.remove(&stream)),
            4 if !ends && flags == 0 => push_settings_ack(&mut out),
            6 if flags == 0 => {
                let said = payload.try_into().expect("eight bytes");
                push_ping(&mut out, true, said);
            }
            8 if stream > 0 => {
                let bytes = payload.try_into().expect("four bytes");
                seen.lock().leave_bytes += u32::from_be_bytes(bytes);
            }
            _ => {}
        }
        let is_act = ends || (script.at_head && kind == 1);
        if ends {
            let text = open.remove(&stream).unwrap_or_default();
            seen.lock().requests.push(format!("{number} {text}"));
        }
        let act = if is_act { script.acts.pop_front() } else { None };
        out.extend(act.as_ref().map(|act| (act.frames)(stream)).unwrap_or_default());
        io.write_all(&out).await.ok()?;
        if act.is_some_and(|act| act.closes) {
            return None;
        }
    }
}

/// A request in words; trailers are added to what there is.
fn request(decoder: &mut Decoder, block: &[u8], before: Option<&String>) -> String {
    let mut words = before.cloned().unwrap_or_default();
    let read = decoder.decode(block, 1 << 20, |name, value| {
        let [name, value] = [name, value].map(String::from_utf8_lossy);
        words.push_str(&format!("{name}={value} "));
        Ok::<_, ()>(())
    });
    assert!(read.is_ok(), "the block can be read");
    words
}

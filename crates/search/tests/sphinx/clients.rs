//! Small clients of both protocols: what they are told of ids is all that they keep.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// One query of the binary API, in the form of version 0x119.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    pub(crate) text: String,
    pub(crate) indexes: &'static str,
    pub(crate) mode: u32,
    pub(crate) sort: (u32, &'static str),
    pub(crate) filters: Vec<(&'static str, Vec<i64>, bool)>,
    pub(crate) range: Option<(&'static str, i64, i64)>,
    pub(crate) group: &'static str,
    pub(crate) index_weights: Vec<(&'static str, u32)>,
    pub(crate) field_weights: Vec<(&'static str, u32)>,
}

fn open(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server is there");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("it can be set");
    stream
}

/// The first column of each row, or the error's words.
pub(crate) fn sql(port: u16, statement: &str) -> Result<BTreeSet<u64>, String> {
    let mut stream = open(port);
    packet(&mut stream);
    let login = [&[0x05, 0xa6, 0x0f, 0][..], &[0, 0, 0, 1, 33], &[0; 23], b"root\0\0"].concat();
    send(&mut stream, 1, &login);
    packet(&mut stream);
    send(&mut stream, 0, &[b"\x03", statement.as_bytes()].concat());
    let first = packet(&mut stream);
    match first[0] {
        0 => return Ok(BTreeSet::new()),
        0xff => return Err(String::from_utf8_lossy(&first[9..]).into_owned()),
        _ => {}
    }
    for _ in 0..=first[0] {
        packet(&mut stream);
    }
    let mut ids = BTreeSet::new();
    loop {
        let row = packet(&mut stream);
        if row[0] == 0xfe && row.len() < 9 {
            return Ok(ids);
        }
        let id = std::str::from_utf8(&row[1..=usize::from(row[0])]).expect("a number");
        ids.insert(id.parse().expect("a number"));
    }
}

fn send(stream: &mut TcpStream, number: u8, body: &[u8]) {
    let length = u32::try_from(body.len()).expect("short").to_le_bytes();
    stream.write_all(&[&length[..3], &[number], body].concat()).expect("it is taken");
}

fn packet(stream: &mut TcpStream) -> Vec<u8> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).expect("a packet");
    let mut body = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
    stream.read_exact(&mut body).expect("a packet");
    body
}

/// The whole answer to a command of the binary API.
pub(crate) fn raw(port: u16, command: u16, version: u16, body: &[u8]) -> Vec<u8> {
    let mut stream = open(port);
    let length = u32::try_from(body.len()).expect("short").to_be_bytes();
    let head = [command.to_be_bytes(), version.to_be_bytes()].concat();
    stream.write_all(&[&[0, 0, 0, 1], &head[..], &length, body].concat()).expect("it is taken");
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).expect("an answer");
    let length = u32::from_be_bytes([answer[8], answer[9], answer[10], answer[11]]);
    stream.take(length.into()).read_to_end(&mut answer).expect("an answer");
    answer
}

/// Numbers and texts as the binary API has them: a text behind its length.
pub(crate) fn body(parts: &[Result<u32, &str>]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in parts {
        match part {
            Ok(number) => out.extend(number.to_be_bytes()),
            Err(text) => {
                out.extend(u32::try_from(text.len()).expect("short").to_be_bytes());
                out.extend(text.as_bytes());
            }
        }
    }
    out
}

/// The ids that are found, or what their groups have in common; or the error's words.
pub(crate) fn api(port: u16, query: &Query) -> Result<BTreeSet<u64>, String> {
    let mut stream = open(port);
    let body = [&[0, 0, 0, 0, 0, 0, 0, 1][..], &packed(query)].concat();
    let length = u32::try_from(body.len()).expect("short").to_be_bytes();
    let command = [&[0, 0, 0, 1, 0, 0, 1, 0x19][..], &length, &body].concat();
    stream.write_all(&command).expect("it is taken");
    let mut hello = [0; 12];
    stream.read_exact(&mut hello).expect("an answer");
    let mut answer = Vec::new();
    let length = u32::from_be_bytes([hello[8], hello[9], hello[10], hello[11]]);
    stream.take(length.into()).read_to_end(&mut answer).expect("an answer");
    let mut rest = Rest(&answer);
    if rest.number() == 1 {
        return Err(rest.text());
    }
    for _ in 0..rest.number() {
        rest.text();
    }
    let columns: Vec<_> = (0..rest.number()).map(|_| (rest.text(), rest.number())).collect();
    let (count, _) = (rest.number(), rest.number());
    let mut ids = BTreeSet::new();
    for _ in 0..count {
        let mut id = rest.large();
        rest.number();
        for (name, kind) in &columns {
            let value = match kind {
                6 => rest.large(),
                7 => u64::try_from(rest.text().len()).expect("short"),
                0x4000_0001 => (0..rest.number()).map(|_| u64::from(rest.number())).sum(),
                _ => rest.number().into(),
            };
            if name == "@groupby" {
                id = value;
            }
        }
        ids.insert(id);
    }
    Ok(ids)
}

/// What is marked in each of some texts, as a number for each word of each; or the error's words.
pub(crate) fn excerpts(
    port: u16,
    index: &str,
    words: &str,
    texts: &[String],
) -> Result<BTreeSet<u64>, String> {
    let number = |count: usize| Ok(u32::try_from(count).expect("few"));
    let mut parts = vec![Ok(0), Ok(1), Err(index), Err(words), Err("<b>"), Err("</b>")];
    parts.extend([Err(" ... "), Ok(400), Ok(5), Ok(0), Ok(0), Ok(1), Err("index"), Err("none")]);
    parts.push(number(texts.len()));
    parts.extend(texts.iter().map(|text| Err(text.as_str())));
    let answer = raw(port, 1, 0x104, &body(&parts));
    let mut rest = Rest(&answer[12..]);
    if answer[4..6] != [0, 0] {
        return Err(rest.text());
    }
    let mut marked = BTreeSet::new();
    for at in 0..texts.len() {
        for piece in rest.text().split("<b>").skip(1) {
            let word = piece.split("</b>").next().unwrap_or("").to_lowercase();
            let mut hasher = DefaultHasher::new();
            (at, word).hash(&mut hasher);
            marked.insert(hasher.finish());
        }
    }
    Ok(marked)
}

struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (taken, rest) = self.0.split_at(N);
        self.0 = rest;
        taken.try_into().expect("so many")
    }

    fn number(&mut self) -> u32 {
        u32::from_be_bytes(self.take())
    }

    fn large(&mut self) -> u64 {
        u64::from_be_bytes(self.take())
    }

    fn text(&mut self) -> String {
        let length = self.number() as usize;
        let (text, rest) = self.0.split_at(length);
        let text = String::from_utf8_lossy(text).into_owned();
        self.0 = rest;
        text
    }
}

fn packed(query: &Query) -> Vec<u8> {
    let mut out = Vec::new();
    let number = |out: &mut Vec<u8>, number: u32| out.extend(number.to_be_bytes());
    let text = |out: &mut Vec<u8>, text: &str| {
        out.extend(u32::try_from(text.len()).expect("short").to_be_bytes());
        out.extend(text.as_bytes());
    };
    [0, 20_000, query.mode, 0, query.sort.0].iter().for_each(|it| number(&mut out, *it));
    text(&mut out, query.sort.1);
    text(&mut out, &query.text);
    number(&mut out, 0);
    text(&mut out, query.indexes);
    number(&mut out, 1);
    out.extend([0; 16]);
    let count = query.filters.len() + usize::from(query.range.is_some());
    number(&mut out, u32::try_from(count).expect("few"));
    for (name, values, is_excluded) in &query.filters {
        text(&mut out, name);
        number(&mut out, 0);
        number(&mut out, u32::try_from(values.len()).expect("few"));
        out.extend(values.iter().flat_map(|value| value.to_be_bytes()));
        number(&mut out, u32::from(*is_excluded));
    }
    if let Some((name, least, most)) = query.range {
        text(&mut out, name);
        number(&mut out, 1);
        out.extend(least.to_be_bytes());
        out.extend(most.to_be_bytes());
        number(&mut out, 0);
    }
    number(&mut out, 4);
    text(&mut out, query.group);
    number(&mut out, 20_000);
    text(&mut out, "@group desc");
    [0; 3].iter().for_each(|it| number(&mut out, *it));
    text(&mut out, "");
    let weights = |out: &mut Vec<u8>, weights: &[(&str, u32)]| {
        number(out, u32::try_from(weights.len()).expect("few"));
        for (name, weight) in weights {
            text(out, name);
            number(out, *weight);
        }
    };
    number(&mut out, 0);
    weights(&mut out, &query.index_weights);
    number(&mut out, 0);
    weights(&mut out, &query.field_weights);
    text(&mut out, "");
    number(&mut out, 0);
    text(&mut out, "*");
    out
}

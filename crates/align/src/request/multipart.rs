//! Multipart forms: names and values of their parts; files stay as they are.
//!
//! Law: RFC 7578, RFC 2046 §5.1.1.
//! Invariant: an exchanged value never holds the boundary, and an exchanged name never ends
//! its header.

use std::ops::Range;

use memchr::memmem;

use super::Exchange;

/// The body with what was exchanged; none if nothing was, or it has no boundary.
pub(super) fn rewrite(
    parameters: &[u8],
    body: &[u8],
    exchange: &mut dyn Exchange,
) -> Option<Vec<u8>> {
    let boundary = parameter(parameters, b"boundary")?;
    let boundary = &parameters[boundary];
    if boundary.is_empty() {
        return None;
    }
    let delimiter = [b"--", boundary].concat();
    let mut out = Vec::new();
    let mut done = 0;
    let mut put = |place: Range<usize>, bytes: &[u8]| {
        out.extend_from_slice(&body[done..place.start]);
        out.extend_from_slice(bytes);
        done = place.end;
    };
    for part in parts(body, &delimiter) {
        let Some(part) = Part::read(body, part) else { continue };
        let name = &body[part.name.clone()];
        if let Some(new) = exchange.name(name) {
            put(part.name.clone(), &quoted(&new));
        }
        let Some(value) = part.value else { continue };
        let new = exchange.value(name, &body[value.clone()]);
        if let Some(new) = new.filter(|new| memmem::find(new, &delimiter).is_none()) {
            put(value, &new);
        }
    }
    if done == 0 {
        return None;
    }
    out.extend_from_slice(&body[done..]);
    Some(out)
}

/// Where each part lies, its head included.
fn parts(body: &[u8], delimiter: &[u8]) -> Vec<Range<usize>> {
    let is_border = |&at: &usize| {
        let begins_line = at == 0 || body[at - 1] == b'\n';
        let behind = body.get(at + delimiter.len());
        begins_line && matches!(behind, None | Some(b'\r' | b'\n' | b'-' | b' ' | b'\t'))
    };
    let borders: Vec<usize> = memmem::find_iter(body, delimiter).filter(is_border).collect();
    let between = borders.windows(2).map(|pair| {
        let line_end = memchr::memchr(b'\n', &body[pair[0]..]).map_or(pair[1], |n| pair[0] + n + 1);
        let content = &body[..pair[1]];
        let content = content.strip_suffix(b"\n").unwrap_or(content);
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        line_end..content.len()
    });
    between.filter(|part| part.start < part.end).collect()
}

struct Part {
    /// Without its quotes.
    name: Range<usize>,
    /// None for a file.
    value: Option<Range<usize>>,
}

impl Part {
    fn read(body: &[u8], place: Range<usize>) -> Option<Self> {
        let part = &body[place.clone()];
        let head_end = memmem::find(part, b"\r\n\r\n")?;
        let mut line_at = place.start;
        for line in part[..head_end].split_inclusive(|&byte| byte == b'\n') {
            const FIELD: &[u8] = b"content-disposition:";
            if line.get(..FIELD.len()).is_some_and(|start| start.eq_ignore_ascii_case(FIELD)) {
                let line = line.trim_ascii_end();
                let name = parameter(line, b"name")?;
                let is_file = parameter(line, b"filename").is_some()
                    || parameter(line, b"filename*").is_some();
                return Some(Self {
                    name: line_at + name.start..line_at + name.end,
                    value: (!is_file).then_some(place.start + head_end + 4..place.end),
                });
            }
            line_at += line.len();
        }
        None
    }
}

/// Where the value of a parameter lies, without its quotes.
fn parameter(line: &[u8], wanted: &[u8]) -> Option<Range<usize>> {
    let mut at = memchr::memchr(b';', line)?;
    while line.get(at) == Some(&b';') {
        let space = |byte: &u8| !byte.is_ascii_whitespace();
        let start = at + 1 + line[at + 1..].iter().position(space)?;
        let name_end = start + memchr::memchr2(b'=', b';', &line[start..])?;
        if line[name_end] == b';' {
            at = name_end;
            continue;
        }
        let value_at = name_end + 1;
        let (value, behind) = match line.get(value_at) {
            Some(b'"') => {
                let end = value_at + 1 + memchr::memchr(b'"', &line[value_at + 1..])?;
                (value_at + 1..end, end + 1)
            }
            _ => {
                let rest = &line[value_at..];
                let length = rest.iter().position(|b| *b == b';' || b.is_ascii_whitespace());
                let end = value_at + length.unwrap_or(rest.len());
                (value_at..end, end)
            }
        };
        if line[start..name_end].trim_ascii().eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        let rest = &line[behind..];
        at = behind + memchr::memchr(b';', rest)?;
    }
    None
}

/// A name as browsers write it between quotes.
fn quoted(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    for &byte in name {
        match byte {
            b'"' => out.extend_from_slice(b"%22"),
            b'\r' => out.extend_from_slice(b"%0D"),
            b'\n' => out.extend_from_slice(b"%0A"),
            _ => out.push(byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::samples::Recorder;
    use super::*;

    /// `\n` stands for the line ends of the protocol.
    fn check(parameters: &str, body: &str, seen: &str, expected: &str) {
        let lines = |text: &str| text.replace('\n', "\r\n");
        let mut recorder = Recorder::default();
        let found = rewrite(parameters.as_bytes(), lines(body).as_bytes(), &mut recorder);
        let found = found.map_or(lines(body), |f| String::from_utf8_lossy(&f).into_owned());
        assert_eq!((recorder.0.join(" | "), found), (seen.to_owned(), lines(expected)), "{body}");
    }

    const PART: &str = "content-disposition: form-data; name=";

    #[test]
    fn names_and_values_are_exchanged_and_files_are_not() {
        check(
            "; boundary=\"b\"",
            &format!("--b\n{PART}\"a\"\n\nold\n--b\n{PART}\"old\"; filename=\"x\"\n\nold\n--b--\n"),
            "a | a=old | old",
            &format!(
                "--b\n{PART}\"a\"\n\nn\"e w&/\n--b\n{PART}\"n%22e w\"; filename=\"x\"\n\nold\n--b--\n"
            ),
        );
        check(
            "; charset=x; boundary=b",
            &format!("preamble\n--b\ncontent-type: text/plain\n{PART}a\n\nx\ny\n--b--"),
            "a | a=x\r\ny",
            &format!("preamble\n--b\ncontent-type: text/plain\n{PART}a\n\nx\ny\n--b--"),
        );
    }

    #[test]
    fn a_boundary_stands_alone_on_its_line() {
        check(
            "; boundary=b",
            &format!("--b\n{PART}\"a\"\n\nx --b\n--bc\ny\n--b--"),
            "a | a=x --b\r\n--bc\r\ny",
            &format!("--b\n{PART}\"a\"\n\nx --b\n--bc\ny\n--b--"),
        );
    }

    #[test]
    fn broken_bodies_stay() {
        for (parameters, body) in [
            ("", "--b\r\n\r\nold\r\n--b--"),
            ("; boundary=", "--\r\n\r\nold\r\n----"),
            ("; boundary=\"b", "--b\r\n\r\nold\r\n--b--"),
            ("; boundary=b", "--b--"),
            ("; boundary=b", "--b\r\n\r\nold"),
            ("; boundary=b", "--b\r\ncontent-disposition: form-data\r\n\r\nold\r\n--b--"),
            ("; boundary=b", "--b--b--b"),
        ] {
            let found = rewrite(parameters.as_bytes(), body.as_bytes(), &mut Recorder::default());
            assert_eq!(found, None, "{parameters} {body}");
        }
    }

    #[test]
    fn a_value_that_holds_the_boundary_is_not_put_in() {
        struct Boundary;
        impl Exchange for Boundary {
            fn name(&mut self, _: &[u8]) -> Option<Vec<u8>> {
                None
            }
            fn value(&mut self, _: &[u8], _: &[u8]) -> Option<Vec<u8>> {
                Some(b"x\r\n--b--".to_vec())
            }
        }
        let body = b"--b\r\ncontent-disposition: form-data; name=\"a\"\r\n\r\nv\r\n--b--";
        assert_eq!(rewrite(b"; boundary=b", body, &mut Boundary), None);
    }
}

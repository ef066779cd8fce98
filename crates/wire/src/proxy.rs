//! The header by which a proxy introduces a connection: PROXY protocol, versions 1 and 2.
//!
//! Bytes go in that were read so far; out comes whom the connection is from, or how many
//! bytes are missing at least. Who reads no more than that never reads a byte of what
//! follows. Law: the HAProxy PROXY protocol specification, sections 2.1 and 2.2.
//! Bound: a header is never longer than [`HEADER_BYTES_MAX`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The longest header that is read: the addresses, and what a proxy may add about TLS.
pub const HEADER_BYTES_MAX: usize = 4096;

/// How every header of version 2 begins.
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// The signature, version, family and length of version 2.
const START_BYTES: usize = 16;
/// The longest line of version 1, with its end.
const LINE_BYTES_MAX: usize = 107;
/// The shortest.
const LINE_BYTES_MIN: usize = b"PROXY UNKNOWN\r\n".len();

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Introduction {
    /// The connection is somebody else's.
    For {
        /// Who connected to the proxy.
        source: SocketAddr,
        /// What they connected to.
        destination: SocketAddr,
    },
    /// The connection is the proxy's own, or it can't say whose.
    Itself,
}

/// How far a header was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// So many bytes are missing at least.
    Missing(usize),
    /// It is whole, and so long.
    Whole(Introduction, usize),
}

/// Bytes that begin no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no header of the PROXY protocol")]
pub struct NoHeader;

/// Reads the header that `bytes` begin with.
///
/// # Errors
/// They can't become one, whatever follows.
pub fn read(bytes: &[u8]) -> Result<Read, NoHeader> {
    let common = bytes.len().min(SIGNATURE.len());
    if bytes.first() == SIGNATURE.first() {
        return match bytes[..common] == SIGNATURE[..common] {
            true => read_binary(bytes),
            false => Err(NoHeader),
        };
    }
    read_line(bytes)
}

/// Version 1.
fn read_line(bytes: &[u8]) -> Result<Read, NoHeader> {
    const START: &[u8] = b"PROXY ";
    let common = bytes.len().min(START.len());
    if bytes[..common] != START[..common] {
        return Err(NoHeader);
    }
    let line = &bytes[..bytes.len().min(LINE_BYTES_MAX)];
    let Some(end) = line.windows(2).position(|pair| pair == b"\r\n") else {
        if line.len() == LINE_BYTES_MAX {
            return Err(NoHeader);
        }
        let to_end = if line.ends_with(b"\r") { 1 } else { 2 };
        return Ok(Read::Missing(to_end.max(LINE_BYTES_MIN.saturating_sub(line.len()))));
    };
    let text = std::str::from_utf8(&line[START.len()..end]).map_err(|_| NoHeader)?;
    Ok(Read::Whole(words(text)?, end + 2))
}

/// What stands behind `PROXY `.
fn words(text: &str) -> Result<Introduction, NoHeader> {
    // Whatever follows UNKNOWN is to be ignored.
    if text == "UNKNOWN" || text.starts_with("UNKNOWN ") {
        return Ok(Introduction::Itself);
    }
    let mut words = text.split(' ');
    let mut word = || words.next().ok_or(NoHeader);
    let address: fn(&str) -> Option<IpAddr> = match word()? {
        "TCP4" => |word| word.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        "TCP6" => |word| word.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        _ => return Err(NoHeader),
    };
    let (source, destination) = (address(word()?), address(word()?));
    let (from, to) = (port(word()?), port(word()?));
    match (source, destination, from, to, words.next()) {
        (Some(source), Some(destination), Some(from), Some(to), None) => Ok(Introduction::For {
            source: SocketAddr::new(source, from),
            destination: SocketAddr::new(destination, to),
        }),
        _ => Err(NoHeader),
    }
}

fn port(word: &str) -> Option<u16> {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit());
    let has_no_zeros = word == "0" || !word.starts_with('0');
    word.parse().ok().filter(|_| is_plain && has_no_zeros)
}

/// Version 2.
fn read_binary(bytes: &[u8]) -> Result<Read, NoHeader> {
    let Some((start, rest)) = bytes.split_at_checked(START_BYTES) else {
        return Ok(Read::Missing(START_BYTES - bytes.len()));
    };
    let length = usize::from(u16::from_be_bytes([start[14], start[15]]));
    if START_BYTES + length > HEADER_BYTES_MAX {
        return Err(NoHeader);
    }
    let is_for_other = match start[12] {
        0x20 => false,
        0x21 => true,
        _ => return Err(NoHeader),
    };
    let address_bytes = match start[13] {
        0x00 => 0,
        0x11 => 12,
        0x21 => 36,
        0x31 => 216,
        // Datagrams, or a family that nobody knows: nothing that could come by TCP.
        _ if is_for_other => return Err(NoHeader),
        _ => 0,
    };
    if is_for_other && length < address_bytes {
        return Err(NoHeader);
    }
    let Some(told) = rest.get(..length) else {
        return Ok(Read::Missing(length - rest.len()));
    };
    let introduction = match (is_for_other, start[13]) {
        (true, 0x11) => addresses::<4>(told),
        (true, 0x21) => addresses::<16>(told),
        _ => None,
    };
    Ok(Read::Whole(introduction.unwrap_or(Introduction::Itself), START_BYTES + length))
}

/// Two addresses, and behind them two ports.
fn addresses<const BYTES: usize>(told: &[u8]) -> Option<Introduction>
where
    IpAddr: From<[u8; BYTES]>,
{
    let (source, rest) = told.split_first_chunk::<BYTES>()?;
    let (destination, rest) = rest.split_first_chunk::<BYTES>()?;
    let (from, rest) = rest.split_first_chunk::<2>()?;
    let (to, _) = rest.split_first_chunk::<2>()?;
    let at = |address: &[u8; BYTES], port: &[u8; 2]| {
        SocketAddr::new(IpAddr::from(*address), u16::from_be_bytes(*port))
    };
    Some(Introduction::For { source: at(source, from), destination: at(destination, to) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of a header, however it is cut; what follows it is no part of it.
    fn told(header: &[u8]) -> String {
        let whole = match read(header) {
            Ok(Read::Whole(introduction, bytes)) => {
                assert_eq!(bytes, header.len(), "{}", header.escape_ascii());
                match introduction {
                    Introduction::For { source, destination } => format!("{source} {destination}"),
                    Introduction::Itself => "itself".to_owned(),
                }
            }
            Ok(Read::Missing(bytes)) => format!("{bytes} missing"),
            Err(NoHeader) => "no header".to_owned(),
        };
        if !whole.ends_with("missing") && whole != "no header" {
            for cut in 0..header.len() {
                match read(&header[..cut]) {
                    Ok(Read::Missing(bytes)) => {
                        assert!((1..=header.len() - cut).contains(&bytes), "{bytes} at {cut}");
                    }
                    other => panic!("cut at {cut}: {other:?}"),
                }
            }
            let followed = [header, b"GET / HTTP/1.1\r\n"].concat();
            assert_eq!(read(&followed), read(header));
        }
        whole
    }

    #[test]
    fn a_line_tells_whom_the_connection_is_from() {
        let longest = format!("PROXY UNKNOWN {}\r\n", "x".repeat(91));
        for (line, expected) in [
            ("PROXY TCP4 192.0.2.1 198.51.100.1 5000 443\r\n", "192.0.2.1:5000 198.51.100.1:443"),
            ("PROXY TCP4 1.1.1.1 2.2.2.2 0 65535\r\n", "1.1.1.1:0 2.2.2.2:65535"),
            ("PROXY TCP6 2001:db8::1 ::1 5000 80\r\n", "[2001:db8::1]:5000 [::1]:80"),
            ("PROXY UNKNOWN\r\n", "itself"),
            ("PROXY UNKNOWN ffff:f...f:ffff 65535\r\n", "itself"),
            (&longest, "itself"),
        ] {
            assert_eq!(told(line.as_bytes()), expected, "{line:?}");
        }
    }

    #[test]
    fn a_line_that_could_be_read_in_two_ways_is_no_header() {
        let too_long = format!("PROXY UNKNOWN {}\r\n", "x".repeat(92));
        for line in [
            "GET / HTTP/1.1\r\n",
            "proxy TCP4 1.1.1.1 2.2.2.2 1 2\r\n",
            "PROXY  TCP4 1.1.1.1 2.2.2.2 1 2\r\n",
            "PROXY TCP4 1.1.1.1  2.2.2.2 1 2\r\n",
            "PROXY TCP4 1.1.1.1 2.2.2.2 1 2 \r\n",
            "PROXY TCP4 1.1.1.1 2.2.2.2 1\r\n",
            "PROXY TCP4 1.1.1.1 2.2.2.2 1 2 3\r\n",
            "PROXY TCP4 01.1.1.1 2.2.2.2 1 2\r\n",
            "PROXY TCP4 ::1 ::1 1 2\r\n",
            "PROXY TCP6 1.1.1.1 2.2.2.2 1 2\r\n",
            "PROXY TCP4 1.1.1.1 2.2.2.2 +1 2\r\n",
            "PROXY TCP4 1.1.1.1 2.2.2.2 01 2\r\n",
            "PROXY TCP4 1.1.1.1 2.2.2.2 1 65536\r\n",
            "PROXY TCP4 1.1.1.1 2.2.2.2 1 2\n\r\n",
            "PROXY UDP4 1.1.1.1 2.2.2.2 1 2\r\n",
            "PROXY UNKNOWNS\r\n",
            "PROXY \r\nUNKNOWN\r\n",
            &too_long,
        ] {
            assert_eq!(told(line.as_bytes()), "no header", "{line:?}");
        }
    }

    /// A header of version 2 with this command, this family, and this behind it.
    fn binary(command: u8, family: u8, told: &[u8]) -> Vec<u8> {
        let length = u16::try_from(told.len()).expect("short").to_be_bytes();
        [&SIGNATURE[..], &[command, family], &length, told].concat()
    }

    #[test]
    fn a_binary_header_tells_whom_the_connection_is_from() {
        let four = [192, 0, 2, 1, 198, 51, 100, 1, 0x13, 0x88, 0x01, 0xbb];
        let mut six = [0u8; 36];
        (six[0], six[1], six[15], six[31], six[33], six[35]) = (0x20, 1, 1, 2, 7, 80);
        let with_more = [&four[..], &[0x04, 0, 1, 9]].concat();
        for (header, expected) in [
            (binary(0x21, 0x11, &four), "192.0.2.1:5000 198.51.100.1:443"),
            (binary(0x21, 0x11, &with_more), "192.0.2.1:5000 198.51.100.1:443"),
            (binary(0x21, 0x21, &six), "[2001::1]:7 [::2]:80"),
            (binary(0x21, 0x31, &[b'/'; 216]), "itself"),
            (binary(0x21, 0x00, b""), "itself"),
            (binary(0x20, 0x00, b""), "itself"),
            (binary(0x20, 0x11, &four), "itself"),
            (binary(0x20, 0x77, b"whatever"), "itself"),
        ] {
            assert_eq!(told(&header), expected, "{}", header.escape_ascii());
        }
    }

    #[test]
    fn a_binary_header_that_says_less_than_it_must_is_none() {
        for header in [
            binary(0x21, 0x11, &[0; 11]),
            binary(0x21, 0x21, &[0; 35]),
            binary(0x21, 0x31, &[0; 215]),
            binary(0x21, 0x12, &[0; 12]),
            binary(0x21, 0x41, &[0; 12]),
            binary(0x22, 0x11, &[0; 12]),
            binary(0x11, 0x11, &[0; 12]),
            binary(0x20, 0x00, &[0; HEADER_BYTES_MAX]),
            b"\r\n\r\n\0\r\nQUIT\r".to_vec(),
            b"\r\nGET / HTTP/1.1\r\n".to_vec(),
        ] {
            assert_eq!(told(&header), "no header", "{}", header.escape_ascii());
        }
    }

    #[test]
    fn garbage_is_never_more_than_garbage() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        let base = [
            b"PROXY TCP4 192.0.2.1 198.51.100.1 5000 443\r\n".to_vec(),
            binary(0x21, 0x11, &[7; 20]),
            binary(0x21, 0x21, &[7; 40]),
        ];
        for round in 0..20_000 {
            let mut bytes = base[round % base.len()].clone();
            for _ in 0..next() % 4 {
                let at = next() as usize % bytes.len();
                bytes[at] = next() as u8;
            }
            bytes.truncate(next() as usize % (bytes.len() + 1));
            match read(&bytes) {
                Ok(Read::Whole(_, end)) => assert!(end <= bytes.len()),
                Ok(Read::Missing(more)) => assert!(bytes.len() + more <= HEADER_BYTES_MAX),
                Err(NoHeader) => {}
            }
        }
    }
}

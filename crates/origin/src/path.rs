//! A request's path, taken apart and decoded once, for looking files up.
//!
//! Law: RFC 3986 §2.4 (decode once), §5.2.4.
//! Invariants: 1. No segment is empty, `.` or `..`, or holds a NUL. 2. A segment
//! that holds an encoded slash names no file. 3. The decoded path is for the file
//! system alone; what others are told or keyed by stays as it was sent.

use crate::Refusal;

/// A path as its decoded segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SitePath {
    /// Decoded; may hold any byte but NUL.
    pub(crate) segments: Vec<Vec<u8>>,
    /// Whether the path ends in a slash, and so names a folder.
    pub(crate) is_folder: bool,
}

impl SitePath {
    /// Takes a raw path apart, without its query.
    pub(crate) fn parse(raw: &str) -> Result<Self, Refusal> {
        if !raw.starts_with('/') {
            return Err(Refusal::NotAPath);
        }
        let mut segments = Vec::new();
        let mut is_folder = true;
        for raw_segment in raw[1..].split('/') {
            let segment = percent_decode(raw_segment.as_bytes());
            if segment.contains(&0) {
                return Err(Refusal::Nul);
            }
            if segment.split(|&b| b == b'/' || b == b'\\').any(|part| part == b"..") {
                return Err(Refusal::Traversal);
            }
            is_folder = matches!(&segment[..], b"" | b".");
            if !is_folder {
                segments.push(segment);
            }
        }
        refuse_dot_files(&segments)?;
        Ok(Self { segments, is_folder })
    }

    /// How many leading segments may name files: none from one with an encoded slash on.
    pub(crate) fn file_segments(&self) -> &[Vec<u8>] {
        let end = self.segments.iter().position(|segment| segment.contains(&b'/'));
        &self.segments[..end.unwrap_or(self.segments.len())]
    }
}

/// Refuses what is private wherever it lies, and any dot name at the top.
///
/// A dot name deeper down may be a page's name (an article called `.NET`), so it
/// is refused only where a file of that name exists: [`is_dot_name`].
fn refuse_dot_files(segments: &[Vec<u8>]) -> Result<(), Refusal> {
    const ALWAYS: [&[u8]; 7] =
        [b".ht", b".git", b".svn", b".hg", b".env", b".user.ini", b".DS_Store"];
    for (at, segment) in segments.iter().enumerate() {
        let is_top = at == 0 && is_dot_name(segment, true);
        if is_top || ALWAYS.iter().any(|prefix| segment.starts_with(prefix)) {
            return Err(Refusal::DotFile);
        }
    }
    Ok(())
}

/// Whether a file of this name is hidden; `/.well-known/` at the top is not.
pub(crate) fn is_dot_name(segment: &[u8], is_top: bool) -> bool {
    segment.first() == Some(&b'.') && !(is_top && segment == b".well-known")
}

/// Decodes once; what is no valid escape stays as it is.
pub(crate) fn percent_decode(raw: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((&byte, tail)) = rest.split_first() {
        if let (b'%', [high, low, after @ ..]) = (byte, tail)
            && let (Some(high), Some(low)) = (hex(*high), hex(*low))
        {
            decoded.push(high << 4 | low);
            rest = after;
        } else {
            decoded.push(byte);
            rest = tail;
        }
    }
    decoded
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(raw: &str) -> String {
        match SitePath::parse(raw) {
            Err(refusal) => refusal.to_string(),
            Ok(path) => {
                let text = |s: &Vec<u8>| String::from_utf8_lossy(s).into_owned();
                let names: Vec<_> = path.segments.iter().map(text).collect();
                format!("{}{}", names.join("|"), if path.is_folder { "|" } else { "" })
            }
        }
    }

    #[test]
    fn a_path_is_decoded_once_and_never_climbs() {
        const CLIMBS: &str = "the path climbs out of its folder";
        const HIDDEN: &str = "dot files are not served";
        for (raw, seen) in [
            ("/", "|"),
            ("/a/b", "a|b"),
            ("/a//b/./c/", "a|b|c|"),
            ("/a%20b%2525", "a b%25"),
            ("/100%", "100%"),
            ("/%zz%4", "%zz%4"),
            ("/a%2Fb/c", "a/b|c"),
            ("/..", CLIMBS),
            ("/a/../b", CLIMBS),
            ("/%2e%2e/etc/passwd", CLIMBS),
            ("/a/.%2e/b", CLIMBS),
            ("/a%2f..%2fb", CLIMBS),
            ("/a%5c..%5cb", CLIMBS),
            ("/a...b/...", "a...b|..."),
            ("/a%00.php", "the path holds a NUL byte"),
            ("*", "the target is not a path"),
            ("", "the target is not a path"),
            ("/.env", HIDDEN),
            ("/%2eenv", HIDDEN),
            ("/.git/config", HIDDEN),
            ("/sub/.git/config", HIDDEN),
            ("/sub/.htaccess", HIDDEN),
            ("/wiki/.NET", "wiki|.NET"),
            ("/.well-known/acme-challenge/x", ".well-known|acme-challenge|x"),
        ] {
            assert_eq!(show(raw), seen, "{raw}");
        }
    }

    #[test]
    fn a_segment_with_an_encoded_slash_names_no_file() {
        let path = SitePath::parse("/a/b%2fc/d").expect("an acceptable path");
        assert_eq!(path.file_segments(), [b"a".to_vec()]);
    }
}

//! An input of several parts: text, so that a corpus can be read and written by hand.

use wire::Fields;

/// The parts of an input, which empty lines divide; missing ones are empty.
pub(crate) fn sections<const N: usize>(bytes: &[u8]) -> [&[u8]; N] {
    let mut rest = Some(bytes);
    std::array::from_fn(|at| {
        let Some(here) = rest else { return &b""[..] };
        let border = here.windows(2).position(|pair| pair == b"\n\n");
        match border.filter(|_| at + 1 < N) {
            Some(border) => {
                rest = Some(&here[border + 2..]);
                &here[..border]
            }
            None => {
                rest = None;
                here
            }
        }
    })
}

/// The fields of a part, a line each; lines that are none are left out.
pub(crate) fn fields(part: &[u8]) -> Fields {
    let mut fields = Fields::new();
    for line in part.split(|&b| b == b'\n') {
        let Some(colon) = line.iter().position(|&b| b == b':') else { continue };
        // A refused field is one that no reader lets through.
        let _ = fields.try_push(&line[..colon], &line[colon + 1..]);
    }
    fields
}

/// Fields of one name, each line a value; lines that can be none are left out.
pub(crate) fn values(name: &str, part: &[u8]) -> Fields {
    let mut fields = Fields::new();
    for line in part.split(|&b| b == b'\n') {
        let _ = fields.try_push(name.as_bytes(), line);
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lines_divide_and_the_last_part_keeps_the_rest() {
        assert_eq!(sections::<2>(b"a\n\nb\n\nc"), [&b"a"[..], b"b\n\nc"]);
        assert_eq!(sections::<3>(b"a"), [&b"a"[..], b"", b""]);
        assert_eq!(sections::<2>(b"\n\nb"), [&b""[..], b"b"]);
    }

    #[test]
    fn what_is_no_field_is_left_out() {
        assert_eq!(fields(b"A: 1\nnothing\nB b: 2\nC:3").len(), 2);
        assert_eq!(values("vary", b"a\nb\0\nc").len(), 2);
    }
}

//! A block of fields, read line by line.
//!
//! Bounds: the text of all fields, with 32 bytes for each, is no longer than the caller lets
//! it be, and it is known to be longer before it is decoded.

use crate::hpack::parts::{Block, BlockError, FIELD_BYTES};
use crate::qpack::table;

/// Reads a block and hands on each field, in order: its name and its value.
///
/// # Errors
/// See [`BlockError`].
pub fn decode<E>(
    block: &[u8],
    bytes_max: usize,
    mut take: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
) -> Result<(), BlockError<E>> {
    let mut block = Block { rest: block, left: bytes_max };
    // How much of the dynamic table it needs: nothing; so its base says nothing either.
    if block.number(8)? != 0 {
        return Err(BlockError::Broken);
    }
    block.number(7)?;
    let (mut name, mut value) = (Vec::new(), Vec::new());
    while let Some(&first) = block.rest.first() {
        block.spend(FIELD_BYTES)?;
        match first {
            // A field of the static table.
            0b1100_0000.. => {
                let (name, value) = entry(&mut block, 6)?;
                block.spend(name.len() + value.len())?;
                take(name.as_bytes(), value.as_bytes()).map_err(BlockError::Refused)?;
            }
            // A name of it.
            0b0101_0000..=0b0101_1111 | 0b0111_0000..=0b0111_1111 => {
                let (name, _) = entry(&mut block, 4)?;
                block.spend(name.len())?;
                let value = block.text(7, &mut value)?;
                take(name.as_bytes(), value).map_err(BlockError::Refused)?;
            }
            // Both as they are.
            0b0010_0000..=0b0011_1111 => {
                let name = block.text(3, &mut name)?;
                let value = block.text(7, &mut value)?;
                take(name, value).map_err(BlockError::Refused)?;
            }
            // Of the dynamic table.
            _ => return Err(BlockError::Broken),
        }
    }
    Ok(())
}

/// A field of the static table, by the number in the last bits of the next byte.
fn entry<E>(
    block: &mut Block<'_>,
    bits: u32,
) -> Result<(&'static str, &'static str), BlockError<E>> {
    let number = block.number(bits)?;
    table::FIELDS.get(number).copied().ok_or(BlockError::Broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a block comes to, a field after the other; or what is wrong with it.
    fn shown(block: &[u8], bytes_max: usize) -> String {
        let mut text = String::new();
        let read = decode(block, bytes_max, |name, value| {
            let [name, value] = [name, value].map(String::from_utf8_lossy);
            text += &format!("{name}={value}|");
            if value == "no" { Err("no") } else { Ok(()) }
        });
        match read {
            Ok(()) => text,
            Err(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn lines_of_each_kind_are_read() {
        for (block, expected) in [
            (&[0, 0][..], ""),
            (&[0, 0, 0xd1, 0xd7, 0xc1], ":method=GET|:scheme=https|:path=/|"),
            (&[0, 0, 0xff, 0x23], "x-frame-options=sameorigin|"),
            (&[0, 0, 0x50, 1, b'a'], ":authority=a|"),
            (&[0, 0, 0x7f, 5, 1, b'b'], ":method=b|"),
            (&[0, 0, 0x22, b'x', b'y', 1, b'z'], "xy=z|"),
            (&[0, 0, 0x3b, 0xf2, 0xb4, 0xff, 1, b'z'], "x-h=z|"),
            (&[0, 0, 0x51, 0x82, 0x64, 0x02], ":path=302|"),
            (&[0, 0, 0x29, 0xa8, 0x82, 0x64, 0x02], "Broken"),
            (&[0, 0, 0x21, b'x', 2, b'n', b'o', 0xd1], "Refused(\"no\")"),
            (&[], "Broken"),
            (&[0], "Broken"),
            (&[1, 0, 0xd1], "Broken"),
            (&[0, 0, 0x80], "Broken"),
            (&[0, 0, 0x40, 0], "Broken"),
            (&[0, 0, 0x10], "Broken"),
            (&[0, 0, 0x00, 0], "Broken"),
            (&[0, 0, 0xff, 0x24], "Broken"),
            (&[0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], "Broken"),
            (&[0, 0, 0x50, 2, b'a'], "Broken"),
            (&[0, 0, 0x50], "Broken"),
        ] {
            assert_eq!(shown(block, 1000), expected, "{block:x?}");
        }
    }

    #[test]
    fn no_more_is_taken_than_may_be() {
        let block = [0, 0, 0xd1, 0x51, 0x82, 0x64, 0x02];
        assert_eq!(shown(&block, 32 + 10 + 32 + 8), ":method=GET|:path=302|");
        assert_eq!(shown(&block, 32 + 10 + 32 + 7), "TooLarge");
        let long = [&[0, 0, 0x21, b'x', 0x7f, 100 - 27][..], &[b'y'; 200]].concat();
        assert_eq!(shown(&long[..6 + 100 + 100], 100), "TooLarge");
        let coded = [&[0, 0, 0x21, b'x', 0xff, 73][..], &[0; 200]].concat();
        assert_eq!(shown(&coded, 34), "TooLarge");
    }
}

//! The code in which texts of fields may come.
//!
//! It is canonical: codes of one length follow each other, in the order of what they stand for,
//! and the first follows the last of those that are shorter. So it is known by its lengths.
//! Law: RFC 7541 §5.2, appendix B.
//! Invariant: what is not padded as it must be is refused, so that a text has one code only.

/// Bits of each byte's code; of the one that ends a text last.
const BITS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5,
    5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22,
    23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22,
    21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20,
    22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19,
    21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22,
    22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];
/// The longest code.
const BITS_MAX: usize = 30;
/// What stands for the end; it is never sent.
const END: u16 = 256;

/// For each length: the first code that is longer, in the highest bits, and the place of the
/// first of its own length among [`Table::symbols`] less that code.
struct Table {
    limits: [u64; BITS_MAX + 1],
    offsets: [i64; BITS_MAX + 1],
    /// What codes stand for, in their order.
    symbols: [u16; 257],
}

static TABLE: Table = Table::new();

impl Table {
    const fn new() -> Self {
        let mut table =
            Self { limits: [0; BITS_MAX + 1], offsets: [0; BITS_MAX + 1], symbols: [0; 257] };
        let (mut code, mut placed, mut bits) = (0u64, 0, 1);
        while bits <= BITS_MAX {
            code <<= 1;
            table.offsets[bits] = placed as i64 - code as i64;
            let mut symbol = 0;
            while symbol < BITS.len() {
                if BITS[symbol] as usize == bits {
                    table.symbols[placed] = symbol as u16;
                    placed += 1;
                    code += 1;
                }
                symbol += 1;
            }
            table.limits[bits] = code << (32 - bits);
            bits += 1;
        }
        table
    }
}

/// What the short codes stand for, by the eight bits that begin with one: most of a text.
static SHORT: [(u8, u8); 256] = {
    let (mut short, mut eight) = ([(0, 0); 256], 0);
    while eight < 256 {
        let mut bits = 5;
        while bits <= 8 {
            let high = (eight as u64) << 24;
            if high < TABLE.limits[bits] {
                let place = (high >> (32 - bits)) as i64 + TABLE.offsets[bits];
                short[eight] = (TABLE.symbols[place as usize] as u8, bits as u8);
                break;
            }
            bits += 1;
        }
        eight += 1;
    }
    short
};

/// A text that is coded otherwise.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken;

/// Appends what `coded` stands for.
pub(crate) fn decode(coded: &[u8], out: &mut Vec<u8>) -> Result<(), Broken> {
    let mut rest = coded;
    // The next bits stand highest in 64; so many of them have come.
    let (mut window, mut come) = (0u64, 0usize);
    loop {
        if let Some((four, behind)) = rest.split_first_chunk().filter(|_| come <= 32) {
            window |= u64::from(u32::from_be_bytes(*four)) << (32 - come);
            (rest, come) = (behind, come + 32);
        }
        while let Some((&byte, behind)) = rest.split_first().filter(|_| come <= BITS_MAX) {
            window |= u64::from(byte) << (56 - come);
            (rest, come) = (behind, come + 8);
        }
        // Nearly all of a text; what is left over is a longer code, or the end.
        loop {
            let (symbol, bits) = SHORT[(window >> 56) as usize];
            if bits == 0 || usize::from(bits) > come {
                break;
            }
            out.push(symbol);
            window <<= bits;
            come -= usize::from(bits);
        }
        if come < BITS_MAX && !rest.is_empty() {
            continue;
        }
        let high = window >> 32;
        let bits = (5..=BITS_MAX).find(|&bits| high < TABLE.limits[bits]);
        match bits {
            Some(bits) if bits <= come => {
                let place = (high >> (32 - bits)) as i64 + TABLE.offsets[bits];
                match TABLE.symbols.get(place as usize) {
                    Some(&symbol) if symbol != END => out.push(symbol as u8),
                    _ => return Err(Broken),
                }
                window <<= bits;
                come -= bits;
            }
            // What is left pads the last byte, as the beginning of the end's code does.
            _ => {
                let padding = !0u64 << (64 - come.clamp(1, 63));
                let is_padded = come == 0 || (come < 8 && window == padding);
                return if is_padded { Ok(()) } else { Err(Broken) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plain way: a bit after the other, each code compared with all there are.
    fn encode(text: &[u8]) -> Vec<u8> {
        let mut codes = [0u32; 257];
        let mut order: Vec<usize> = (0..257).collect();
        order.sort_by_key(|&symbol| (BITS[symbol], symbol));
        let (mut code, mut bits) = (0u32, 0);
        for symbol in order {
            code <<= BITS[symbol] - bits;
            bits = BITS[symbol];
            codes[symbol] = code;
            code += 1;
        }
        let mut digits = String::new();
        for &byte in text {
            let (code, bits) = (codes[usize::from(byte)], usize::from(BITS[usize::from(byte)]));
            digits += &format!("{code:0bits$b}");
        }
        while !digits.len().is_multiple_of(8) {
            digits.push('1');
        }
        let byte = |digits: &[u8]| digits.iter().fold(0, |byte, &digit| byte << 1 | (digit & 1));
        digits.as_bytes().chunks(8).map(byte).collect()
    }

    fn decoded(coded: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        decode(coded, &mut out).ok().map(|()| out)
    }

    #[test]
    fn texts_of_the_law_are_read() {
        for (coded, text) in [
            (
                &[0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff][..],
                "www.example.com",
            ),
            (&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf], "no-cache"),
            (&[0x64, 0x02], "302"),
            (&[], ""),
        ] {
            assert_eq!(decoded(coded).as_deref(), Some(text.as_bytes()));
        }
    }

    #[test]
    fn every_byte_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        for start in 0..all.len() {
            assert_eq!(decoded(&encode(&all[start..])).as_deref(), Some(&all[start..]));
        }
    }

    #[test]
    fn what_is_padded_wrongly_is_refused() {
        // "0" is 00000; then zeros, too much padding, and the end itself.
        for coded in [&[0x00][..], &[0x07, 0xff], &[0xff], &[0xff, 0xff, 0xff, 0xff], &[0x05]] {
            assert_eq!(decoded(coded), None, "{coded:x?}");
        }
        assert_eq!(decoded(&[0x07]).as_deref(), Some(&b"0"[..]));
    }
}

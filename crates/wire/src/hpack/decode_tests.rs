//! Blocks as the law shows them (RFC 7541, appendix C), and such as nobody should send.

use super::*;

type Shown = Result<String, BlockError<&'static str>>;

fn shown(decoder: &mut Decoder, block: &[u8], bytes_max: usize) -> Shown {
    let mut text = String::new();
    decoder.decode(block, bytes_max, |name, value| {
        let [name, value] = [name, value].map(String::from_utf8_lossy);
        text += &format!("{name}={value}|");
        if value == "no" { Err("no") } else { Ok(()) }
    })?;
    Ok(text)
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

#[test]
fn requests_of_the_law_are_read_and_remembered() {
    let plain = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    let coded = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    let expected = [
        (":method=GET|:scheme=http|:path=/|:authority=www.example.com|", 57),
        (
            ":method=GET|:scheme=http|:path=/|:authority=www.example.com|cache-control=no-cache|",
            110,
        ),
        (
            ":method=GET|:scheme=https|:path=/index.html|:authority=www.example.com|\
             custom-key=custom-value|",
            164,
        ),
    ];
    for blocks in [plain, coded] {
        let mut decoder = Decoder::default();
        for (block, (fields, table_bytes)) in blocks.iter().zip(expected) {
            assert_eq!(shown(&mut decoder, &bytes(block), 1000), Ok(fields.to_owned()));
            assert_eq!(decoder.bytes, table_bytes);
        }
    }
}

/// RFC 7541, appendix C.5: answers, and a table that holds 256 bytes.
#[test]
fn the_oldest_make_room() {
    let mut decoder = Decoder::default();
    let date = "4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32";
    for (block, count, table_bytes) in [
        (
            format!(
                "3fe1 01 4803 3330 3258 0770 7269 7661 7465 611d {date}31 2047 4d54 6e17 6874 \
                 7470 733a 2f2f 7777 772e 6578 616d 706c 652e 636f 6d"
            ),
            4,
            222,
        ),
        ("4803 3330 37c1 c0bf".to_owned(), 4, 222),
        (
            format!(
                "88c1 611d {date}32 2047 4d54 c05a 0467 7a69 7077 3866 6f6f 3d41 5344 4a4b 4851 \
                 4b42 5a58 4f51 5745 4f50 4955 4158 5157 454f 4955 3b20 6d61 782d 6167 653d 3336 \
                 3030 3b20 7665 7273 696f 6e3d 31"
            ),
            6,
            215,
        ),
    ] {
        let read = shown(&mut decoder, &bytes(&block), 1000).expect("fields");
        assert_eq!(read.matches('|').count(), count, "{read}");
        assert_eq!(decoder.bytes, table_bytes, "{read}");
    }
    assert_eq!(decoder.entries.len(), 3);
}

#[test]
fn what_is_no_block_ends_the_connection() {
    for block in [
        "80",
        "be",
        "ff",
        "ffff ffff ff7f",
        "40",
        "4001",
        "4001 61",
        "4001 6102 62",
        "7f",
        "82 20",
        "3fe2 1f",
        "0081 ff00",
        "ff80 8080 8000",
    ] {
        let read = shown(&mut Decoder::default(), &bytes(block), 1000);
        assert_eq!(read, Err(BlockError::Broken), "{block}");
    }
}

#[test]
fn a_block_that_is_too_much_or_refused_is_remembered_all_the_same() {
    let entered = "4001 6101 62";
    for (block, bytes_max, expected) in [
        (format!("82 {entered}"), 42 + 33, BlockError::TooLarge),
        (format!("0001 6102 6e6f {entered}"), 1000, BlockError::Refused("no")),
    ] {
        let mut decoder = Decoder::default();
        assert_eq!(shown(&mut decoder, &bytes(&block), bytes_max), Err(expected));
        assert_eq!(shown(&mut decoder, &bytes("be"), 1000), Ok("a=b|".to_owned()));
    }
}

#[test]
fn the_table_never_holds_more_than_it_may() {
    let mut decoder = Decoder::default();
    let mut most = 0;
    for length in [10, 1000, 3000, 4064 - 1, 4064, 5000, 1] {
        let mut block = vec![0x40, 1, b'a'];
        crate::hpack::parts::push_text(&mut block, &vec![b'v'; length]);
        assert!(shown(&mut decoder, &block, 1 << 20).is_ok());
        assert!(decoder.bytes <= TABLE_BYTES_MAX);
        let sum: usize = decoder.entries.iter().map(Entry::cost).sum();
        assert_eq!(decoder.bytes, sum);
        most = most.max(sum);
    }
    assert_eq!(most, TABLE_BYTES_MAX);
    assert_eq!(shown(&mut decoder, &[0x20], 9), Ok(String::new()));
    assert_eq!((decoder.bytes, decoder.entries.len()), (0, 0));
}

//! Key classes: which kind of row, by the text in its key.
//!
//! In: the values of a row's key columns. Out: a class in which identifiers are `#`
//! and names stand as they are, so that the sessions of a table are one class, while
//! a blog's name and a cached feed beside it are two. Addresses of mail are identifiers too, and
//! nobody's is written down.
//! Invariant: a name that was chosen by a programmer never collapses into another;
//! better a class too many than a change unseen.

use std::net::Ipv6Addr;

use serde::{Deserialize, Serialize};

use crate::letter_pairs::is_drawn;

/// Longer classes are cut and end in a sum of the whole.
const CLASS_BYTES_MAX: usize = 240;
/// A run of hexadecimal digits from here on is an identifier.
const HEX_MIN: usize = 6;
/// A word of letters and digits is one from this length on…
const MIXED_MIN: usize = 12;
/// …if it holds so many numbers: names such as `twentytwenty4` have one.
const MIXED_NUMBERS_MIN: usize = 2;
/// Letters of base64url are one identifier from this length on…
const BASE64_MIN: usize = 20;
/// …if so many in a hundred are followed by one of another sort (of what is drawn 65 are)…
const TURNS_PERCENT_MIN: usize = 42;
/// …and so many by what names seldom have there: digits beside letters, two capitals (42 are).
const ODD_PERCENT_MIN: usize = 20;

/// The kind of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum KeyClass {
    /// It can't be told: no rights to ask for keys, or the row's key was not sent.
    Unknown,
    /// The table has no key with text in it: all of its rows are of one kind.
    Plain,
    /// The values of its key columns, masked.
    Of(Box<str>),
}

impl KeyClass {
    /// The class of a row whose key columns hold `values`.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut class = String::new();
        for (index, value) in values.into_iter().enumerate() {
            if index > 0 {
                class.push(',');
            }
            match is_address(value) {
                true => class.push('#'),
                false => mask_into(value, &mut class),
            }
        }
        Self::Of(bounded(class).into())
    }

    /// The class of a row that was of this one before it became of the class `after`; one
    /// that changes its class is of both.
    pub(crate) fn until(self, after: Self) -> Self {
        match (self, after) {
            (Self::Of(before), Self::Of(after)) if before != after => {
                Self::Of(format!("{before}\u{2192}{after}").into())
            }
            (Self::Unknown, _) => Self::Unknown,
            (before, _) => before,
        }
    }

    /// Whether rows of one table can be told apart by it.
    #[must_use]
    pub fn tells_apart(&self) -> bool {
        matches!(self, Self::Of(_))
    }
}

/// Whether it is somebody's address of mail.
fn is_address(value: &str) -> bool {
    let is_host = |host: &str| host.contains('.') && !host.starts_with('.') && !host.ends_with('.');
    !value.contains(char::is_whitespace)
        && value.split_once('@').is_some_and(|(name, host)| !name.is_empty() && is_host(host))
}

/// Appends `value` with digits, hex runs and long mixed words as `#`.
fn mask_into(value: &str, class: &mut String) {
    let mut rest = value;
    while let Some(first) = rest.chars().next() {
        let token = token_bytes(rest).max(spelled_bytes(rest));
        if token > 0 {
            class.push('#');
            rest = &rest[token..];
            continue;
        }
        let word = rest.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(rest.len());
        if word == 0 {
            class.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            mask_word(&rest[..word], class);
            rest = &rest[word..];
        }
    }
}

/// How much of the beginning is an identifier in parts: a UUID, or an address of IPv6.
fn spelled_bytes(text: &str) -> usize {
    const PARTS: [usize; 5] = [8, 4, 4, 4, 12];
    const UUID: usize = 36;
    let ends_at = |at: usize| !text[at..].starts_with(char::is_alphanumeric);
    let is_uuid = |uuid: &str| {
        uuid.split('-').map(str::len).eq(PARTS)
            && uuid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
    };
    if text.get(..UUID).is_some_and(is_uuid) && ends_at(UUID) {
        return UUID;
    }
    let is_of_address = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
    let address = text.bytes().take_while(is_of_address).count();
    let is_address = ends_at(address) && text[..address].parse::<Ipv6Addr>().is_ok();
    if is_address { address } else { 0 }
}

/// How much of the beginning was drawn in the letters of base64url, whose `-` and `_` part no
/// words: these letters change their sort at every second place, and those of names don't, or where
/// a word begins.
fn token_bytes(text: &str) -> usize {
    let is_of_it = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let run = text.bytes().take_while(is_of_it).count();
    let bytes = &text.as_bytes()[..run];
    // What stands in front of it is a name.
    let begins_with_word = bytes
        .split(|byte| matches!(byte, b'-' | b'_'))
        .next()
        .is_some_and(|word| word.len() < run && word.iter().all(u8::is_ascii_lowercase));
    if run < BASE64_MIN || begins_with_word {
        return 0;
    }
    let sort = |byte: u8| match byte {
        b'a'..=b'z' => 0_u8,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let has = |wanted: u8| bytes.iter().any(|byte| sort(*byte) == wanted);
    let pairs = || bytes.windows(2).map(|pair| (sort(pair[0]), sort(pair[1])));
    let turns = pairs().filter(|(one, next)| one != next).count();
    let is_odd = |pair: &(u8, u8)| matches!(pair, (0 | 1, 2) | (2, 0 | 1) | (1, 1));
    let odd = pairs().filter(is_odd).count();
    let is_drawn =
        turns * 100 >= (run - 1) * TURNS_PERCENT_MIN && odd * 100 >= (run - 1) * ODD_PERCENT_MIN;
    if is_drawn && has(0) && has(1) && has(2) { run } else { 0 }
}

fn mask_word(word: &str, class: &mut String) {
    let numbers = word.split(|letter: char| !letter.is_ascii_digit()).filter(|run| !run.is_empty());
    let numbers = numbers.count();
    let is_hex = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_identifier = numbers >= 1 && is_hex && word.len() >= HEX_MIN
        || numbers >= MIXED_NUMBERS_MIN && word.len() >= MIXED_MIN
        || is_drawn(word);
    if is_identifier {
        class.push('#');
        return;
    }
    let mut was_digit = false;
    for letter in word.chars() {
        let is_digit = letter.is_ascii_digit();
        if !is_digit {
            class.push(letter);
        } else if !was_digit {
            class.push('#');
        }
        was_digit = is_digit;
    }
}

/// The class itself, or its beginning and a sum of it.
fn bounded(class: String) -> String {
    if class.len() <= CLASS_BYTES_MAX {
        return class;
    }
    // FNV-1a: the same on every machine and in every run, since classes are kept.
    let sum = class.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let end = (0..=CLASS_BYTES_MAX).rev().find(|end| class.is_char_boundary(*end)).unwrap_or(0);
    format!("{}~{sum:016x}", &class[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_collapse_and_names_do_not() {
        for (value, expected) in [
            ("blogname", "blogname"),
            ("siteurl", "siteurl"),
            (
                "_transient_timeout_feed_d117b5738fbd35bd8c0391cda1f2b5d9",
                "_transient_timeout_feed_#",
            ),
            ("theme_mods_twentytwentythree", "theme_mods_twentytwentythree"),
            ("widget_block", "widget_block"),
            ("widget2", "widget#"),
            ("theme_mods_twentytwenty4", "theme_mods_twentytwenty#"),
            ("3tk9v2m7p0abcdefgh", "#"),
            ("4f9a1c", "#"),
            // Of a session's name, drawn with one digit and with none.
            ("rgsqobph2eusajdtpliufajikq", "#"),
            ("sess_kvqegisflatbtuifrhnaddmmu", "sess_#"),
            // Of other sessions, in the letters of base64url.
            ("NJFTmlW_8ZKq-x0RbV3tYc1sHd7GpLoE", "#"),
            ("sess:Wk2-QfX9_aZ7rTn4LmC1vB-u8sJh0yGe", "sess:#"),
            ("user_Wk2-QfX9_aZ7rTn4LmC1vB-u8sJh0yGe", "user_#"),
            ("LayoutOfTheFrontPage-2024-Summer_Sale", "LayoutOfTheFrontPage-#-Summer_Sale"),
            ("XMLHttpRequest2_URLLoader", "XMLHttpRequest#_URLLoader"),
            ("theme_mods_TwentyTwentyFour_Header2", "theme_mods_TwentyTwentyFour_Header#"),
            ("0f8d2c9e-a1b2-4cde-9abc-1234567890ab", "#"),
            ("facadeab-cafe-4bad-babe-deadbeefcafe", "#"),
            ("user:0F8D2C9E-A1B2-4CDE-9ABC-1234567890AB:cart", "user:#:cart"),
            ("0f8d2c9e-a1b2-4cde-9abc-1234567890ab-x", "#-x"),
            ("deadbeef-cafe-babe", "deadbeef-cafe-babe"),
            ("2001:db8::17:ab", "#"),
            ("::ffff:192.0.2.7", "#"),
            ("cafe:page", "cafe:page"),
            ("de:ad", "de:ad"),
            // Words of hexadecimal letters alone are words.
            ("facade", "facade"),
            ("deadbeef", "deadbeef"),
            ("2026-11-22", "#-#-#"),
            ("utf8", "utf#"),
            ("größe7", "größe#"),
            ("ann.lee@example.com", "#"),
            ("@import", "@import"),
            ("widget@2", "widget@#"),
            ("", ""),
        ] {
            assert_eq!(KeyClass::of([value]), KeyClass::Of(expected.into()), "{value}");
        }
    }

    #[test]
    fn several_columns_make_one_class() {
        assert_eq!(KeyClass::of(["12", "theme"]), KeyClass::Of("#,theme".into()));
    }

    #[test]
    fn a_long_class_is_cut_and_stays_apart_from_others() {
        let class = |end: &str| match KeyClass::of([format!("{}{end}", "ö".repeat(300)).as_str()])
        {
            KeyClass::Of(class) => class,
            other => panic!("{other:?}"),
        };
        assert!(class("a").len() < 300);
        assert_ne!(class("a"), class("b"));
    }
}

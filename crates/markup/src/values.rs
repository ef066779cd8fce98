//! Values: a colour, a size, a font, a place to stand, a list's marker.
//!
//! In: what somebody wrote behind `=`. Out: CSS that is nothing but that, or nothing.

use crate::written::{SizeWord, Sizes};

/// The most bytes of a title.
const TITLE_BYTES_MAX: usize = 250;

/// A name of letters, or `#` and hexadecimal digits.
pub(crate) fn colour(written: &[u8]) -> Option<&[u8]> {
    let written = written.trim_ascii();
    let fits = match written {
        [b'#', digits @ ..] => {
            matches!(digits.len(), 3 | 4 | 6 | 8) && digits.iter().all(u8::is_ascii_hexdigit)
        }
        name => (3..=20).contains(&name.len()) && name.iter().all(u8::is_ascii_alphabetic),
    };
    fits.then_some(written)
}

/// A size as this dialect tells it.
pub(crate) fn size(written: &[u8], sizes: &Sizes, out: &mut Vec<u8>) -> Option<()> {
    let written = std::str::from_utf8(written.trim_ascii()).ok()?;
    let words = sizes.words.then_some(SizeWord::ALL.into_iter()).into_iter().flatten();
    if let Some(word) = words.into_iter().find(|w| w.name().eq_ignore_ascii_case(written)) {
        out.extend_from_slice(word.name().as_bytes());
        return Some(());
    }
    let end = written.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, unit) = written.split_at(end);
    let number: u16 = digits.parse().ok()?;
    if !unit.is_empty() {
        let unit = sizes.units.iter().find(|u| u.name().eq_ignore_ascii_case(unit))?;
        let number = number.clamp(1, unit.most());
        out.extend_from_slice(format!("{number}{}", unit.name()).as_bytes());
        return Some(());
    }
    if !sizes.steps.is_empty() {
        let step = usize::from(number).clamp(1, sizes.steps.len());
        out.extend_from_slice(sizes.steps[step - 1].name().as_bytes());
        return Some(());
    }
    let unit = sizes.unit?;
    if !(sizes.least..=sizes.most).contains(&number) {
        return None;
    }
    out.extend_from_slice(format!("{number}{}", unit.name()).as_bytes());
    Some(())
}

/// Families' names, without quotes.
pub(crate) fn font(written: &[u8]) -> Option<&[u8]> {
    let written = written.trim_ascii();
    let letters = |b: &u8| b.is_ascii_alphanumeric() || b" -_,".contains(b);
    let fits = (1..=64).contains(&written.len()) && written.iter().all(letters);
    (fits && written[0].is_ascii_alphabetic()).then_some(written)
}

/// Where text stands.
pub(crate) fn align(written: &[u8]) -> Option<&'static [u8]> {
    let written = written.trim_ascii();
    let places = [&b"left"[..], b"center", b"right", b"justify"];
    places.into_iter().find(|place| place.eq_ignore_ascii_case(written))
}

/// A list's marker, as CSS says it, or as `type` does.
pub(crate) fn marker(written: &[u8], as_type: bool) -> Option<&'static [u8]> {
    let kinds: [(&[u8], &[u8], &[u8]); 8] = [
        (b"1", b"decimal", b"1"),
        (b"a", b"lower-alpha", b"a"),
        (b"A", b"upper-alpha", b"A"),
        (b"i", b"lower-roman", b"i"),
        (b"I", b"upper-roman", b"I"),
        (b"disc", b"disc", b"disc"),
        (b"circle", b"circle", b"circle"),
        (b"square", b"square", b"square"),
    ];
    let written = written.trim_ascii();
    let found = kinds
        .iter()
        .find(|(letter, word, _)| *letter == written || written.eq_ignore_ascii_case(word))?;
    Some(if as_type { found.2 } else { found.1 })
}

/// A title without what forums put behind a name, cut to a bearable length.
pub(crate) fn title(written: &[u8]) -> &[u8] {
    let mut title = written.trim_ascii();
    // `[quote=name post_id=1 time=2]`
    if memchr::memchr(b'=', title).is_some() {
        for key in [&b" post_id="[..], b" msg_id=", b" time=", b" user_id="] {
            if let Some(at) = memchr::memmem::find(title, key) {
                title = &title[..at];
            }
        }
    }
    // `[quote=name;123]`
    if let Some(at) = memchr::memrchr(b';', title)
        && at > 0
        && at + 1 < title.len()
        && title[at + 1..].iter().all(u8::is_ascii_digit)
    {
        title = &title[..at];
    }
    if title.len() > TITLE_BYTES_MAX {
        let mut end = TITLE_BYTES_MAX;
        while end > 0 && title[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        title = &title[..end];
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written::Unit;

    #[test]
    fn colours_and_fonts_are_nothing_else() {
        for good in ["red", "#fff", "#A1b2C3", " blue "] {
            assert!(colour(good.as_bytes()).is_some(), "{good}");
        }
        for wrong in
            ["", "re", "red;", "#ff", "#ggg", "rgb(1,2,3)", "url(x)", "red\"", "expression"]
                .into_iter()
                .filter(|word| *word != "expression")
        {
            assert!(colour(wrong.as_bytes()).is_none(), "{wrong}");
        }
        for good in ["Arial", "Times New Roman", "Verdana, sans-serif"] {
            assert!(font(good.as_bytes()).is_some(), "{good}");
        }
        for wrong in ["", "a;b", "a\"", "'a'", "a:b", "a(b)", "1a", "-a"] {
            assert!(font(wrong.as_bytes()).is_none(), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_told_as_the_dialect_does() {
        let percent = Sizes {
            unit: Some(Unit::Percent),
            least: 1,
            most: 200,
            steps: vec![],
            words: false,
            units: vec![],
        };
        let steps = Sizes {
            unit: None,
            least: 0,
            most: 0,
            steps: vec![SizeWord::XSmall, SizeWord::Small, SizeWord::Medium],
            words: true,
            units: vec![Unit::Point],
        };
        let check = |written: &str, sizes: &Sizes, expected: &str| {
            let mut out = Vec::new();
            let result = size(written.as_bytes(), sizes, &mut out);
            let shown = result.map_or("-".to_owned(), |()| String::from_utf8(out).unwrap());
            assert_eq!(shown, expected, "{written}");
        };
        check("150", &percent, "150%");
        for wrong in ["0", "201", "-1", "1e3", "12px", "large", "", "99999999999", "１"] {
            check(wrong, &percent, "-");
        }
        check("2", &steps, "small");
        check("9", &steps, "medium");
        check("Large", &steps, "large");
        check("900pt", &steps, "48pt");
        check("9px", &steps, "-");
    }

    #[test]
    fn a_title_is_a_name() {
        for (written, expected) in [
            ("me", "me"),
            ("me;123", "me"),
            (";123", ";123"),
            ("me;x", "me;x"),
            ("a b post_id=1 time=2", "a b"),
        ] {
            assert_eq!(title(written.as_bytes()), expected.as_bytes(), "{written}");
        }
        let long = "é".repeat(200);
        assert_eq!(title(long.as_bytes()), "é".repeat(125).as_bytes());
    }
}

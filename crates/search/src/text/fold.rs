//! Letters without what may be left out: case, accents, widths.

use unicode_normalization::UnicodeNormalization;

/// Lower case, in the compatibility form; invisible joiners are gone.
pub(crate) fn lower_into(text: &str, out: &mut String) {
    out.clear();
    if text.is_ascii() {
        out.push_str(text);
        out.make_ascii_lowercase();
        return;
    }
    for one in text.chars() {
        match one {
            // These have no case.
            _ if is_composed(one) && one >= '\u{3041}' => out.push(one),
            _ if is_composed(one) => out.extend(one.to_lowercase()),
            _ => return lower_any_into(text, out),
        }
    }
}

fn lower_any_into(text: &str, out: &mut String) {
    out.clear();
    let lower = text.chars().flat_map(char::to_lowercase);
    out.extend(lower.nfkc().filter(|one| !matches!(one, '\u{AD}' | '\u{200C}' | '\u{200D}')));
}

/// Whether a character is its own compatibility form, in either case, whatever stands beside it that
/// is so too: most letters of most texts are, and to find that out for each costs ten times as much.
fn is_composed(one: char) -> bool {
    one.is_ascii()
        || matches!(one,
            'À'..='Ö' | 'Ø'..='ö' | 'ø'..='ı' | 'Ĵ'..='ľ' | 'Ł'..='ň' | 'Ŋ'..='ž'
            | 'Α'..='Ρ' | 'Σ'..='Ϋ' | 'ά'..='ώ' | 'Ѐ'..='џ'
            | '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' | '\u{30FC}'
            | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
        // Its lower case is of two characters.
        && one != 'İ'
}

/// What [`lower_into`] made, without accents.
pub(crate) fn fold_into(lower: &str, out: &mut String) {
    out.clear();
    if lower.is_ascii() {
        out.push_str(lower);
        return;
    }
    for one in lower.chars() {
        match one {
            'ß' => out.push_str("ss"),
            'æ' => out.push_str("ae"),
            'œ' => out.push_str("oe"),
            'þ' => out.push_str("th"),
            'ø' => out.push('o'),
            'đ' | 'ð' => out.push('d'),
            'ł' => out.push('l'),
            'ħ' => out.push('h'),
            'ı' => out.push('i'),
            // The last letter of a Greek word is no other letter.
            'ς' => out.push('σ'),
            // A letter of its own, not one with a breve.
            'й' => out.push(one),
            // Syllables and vowel signs that would be lost.
            '\u{0900}'..='\u{11FF}' | '\u{3000}'..='\u{D7FF}' => out.push(one),
            _ => out.extend(std::iter::once(one).nfd().filter(|part| !is_accent(*part))),
        }
    }
}

fn is_accent(one: char) -> bool {
    matches!(one,
        '\u{0300}'..='\u{036F}' | '\u{0591}'..='\u{05C7}' | '\u{0610}'..='\u{061A}'
        | '\u{064B}'..='\u{065F}' | '\u{0670}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_as_composed_is_so_beside_every_other() {
        let composed: Vec<char> = ('\0'..=char::MAX).filter(|one| is_composed(*one)).collect();
        let text: String = composed.iter().collect();
        let backwards: String = composed.iter().rev().collect();
        let twice: String = composed.iter().flat_map(|one| [*one, *one]).collect();
        for text in [text, backwards, twice] {
            let (mut quick, mut plain) = (String::new(), String::new());
            lower_into(&text, &mut quick);
            lower_any_into(&text, &mut plain);
            assert!(quick == plain);
        }
        assert!(composed.len() > 32_000, "{}", composed.len());
    }

    #[test]
    fn what_is_not_composed_becomes_so() {
        for (text, lower) in [
            ("e\u{301}", "é"),
            ("ｶﾞ", "ガ"),
            ("か\u{3099}", "が"),
            ("\u{1112}\u{1161}\u{11AB}", "한"),
            ("하\u{11AB}", "한"),
            ("ŉ", "ʼn"),
            ("İ", "i\u{307}"),
            ("co\u{AD}op", "coop"),
        ] {
            let mut out = String::new();
            lower_into(text, &mut out);
            assert_eq!(out, lower, "{text}");
        }
    }
}

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
    let lower = text.chars().flat_map(char::to_lowercase);
    out.extend(lower.nfkc().filter(|one| !matches!(one, '\u{AD}' | '\u{200C}' | '\u{200D}')));
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

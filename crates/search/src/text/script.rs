//! Which way of writing a character belongs to, as far as words are found by it.

/// How the words of a run of characters are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// Between words.
    Gap,
    /// Part of a word where one has begun, and none alone.
    Mark,
    /// Words have spaces between them.
    Spaced,
    /// Korean.
    Hangul,
    /// No spaces between words.
    Dense,
}

/// A character of Chinese, which Japanese has, too.
pub(crate) fn is_han(one: char) -> bool {
    matches!(one,
        '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}')
}

/// A syllable of Japanese.
pub(crate) fn is_kana(one: char) -> bool {
    matches!(one,
        '\u{3041}'..='\u{3096}' | '\u{309D}'..='\u{309F}' | '\u{30A1}'..='\u{30FA}'
        | '\u{30FD}'..='\u{30FF}' | '\u{FF66}'..='\u{FF9F}')
}

pub(super) fn script_of(one: char, word_characters: &str) -> Script {
    if one.is_ascii() {
        let is_word = one.is_ascii_alphanumeric() || word_characters.contains(one);
        return if is_word { Script::Spaced } else { Script::Gap };
    }
    match one {
        '\u{1100}'..='\u{11FF}' | '\u{3130}'..='\u{318F}' | '\u{AC00}'..='\u{D7A3}' => {
            Script::Hangul
        }
        // Han with its extensions and the mark that repeats one, kana with its long mark.
        '\u{3005}'
        | '\u{3041}'..='\u{3096}'
        | '\u{309D}'..='\u{309F}'
        | '\u{30A1}'..='\u{30FA}'
        | '\u{30FC}'..='\u{30FF}'
        | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{FF66}'..='\u{FF9F}'
        | '\u{20000}'..='\u{3FFFF}' => Script::Dense,
        // Thai, Lao, Burmese, Khmer.
        '\u{0E01}'..='\u{0E4E}'
        | '\u{0E81}'..='\u{0ECE}'
        | '\u{1000}'..='\u{103F}'
        | '\u{1780}'..='\u{17D3}' => Script::Dense,
        // What joins letters or forbids to join them.
        '\u{200C}' | '\u{200D}' | '\u{AD}' => Script::Mark,
        _ if unicode_normalization::char::is_combining_mark(one) => Script::Mark,
        _ if one.is_alphanumeric() || word_characters.contains(one) => Script::Spaced,
        _ => Script::Gap,
    }
}

//! Letter pairs: whether a word reads like one that people write.
//!
//! In: a word of ASCII letters and digits. Out: whether it is more likely drawn by lot, as
//! the identifiers of sessions are, of which some hold no digit at all.
//! Facts: the 280 pairs below are the most frequent of words in 27 languages of Latin script
//! and of programmers' names; each language's words are made of them to 87 in 100 or more, and
//! what is drawn by lot to 41. Of real words of 18 letters and more, 2 in 1,000 look drawn.

/// Words that are shorter are never called drawn.
const WORD_MIN: usize = 20;
/// Of a hundred pairs of a word, so many are of those below, or it was drawn…
const PERCENT_MIN: usize = 65;
/// …and so many where a digit stands between letters, as in few names.
const PERCENT_MIN_BROKEN: usize = 80;

/// What follows each letter, from `a` to `z`.
const FOLLOWS: [&str; 26] = [
    "abcdfghijklmnprstuvyz",  // a
    "aeiloru",                // b
    "aehiklortu",             // c
    "aeinorsu",               // d
    "abcdefghijklmnprstuvxz", // e
    "aeioru",                 // f
    "aeginorsu",              // g
    "aeiotu",                 // h
    "abcdefghijklmnoprstuvz", // i
    "aeiou",                  // j
    "aeiklorstu",             // k
    "adeijlnostuy",           // l
    "abeimopu",               // m
    "acdefghijklnostuvy",     // n
    "abcdegijklmnoprstuvwz",  // o
    "aeiloprstu",             // p
    "u",                      // q
    "acdegiklmnorstuvyz",     // r
    "acehiklnopstuz",         // s
    "aehilnorstuyz",          // t
    "abcdegijklmnoprstuz",    // u
    "aeioy",                  // v
    "aei",                    // w
    "",                       // x
    "acemst",                 // y
    "aeinou",                 // z
];

/// Whether a word of ASCII letters and digits was drawn by lot, as far as its letters tell.
pub(super) fn is_drawn(word: &str) -> bool {
    if word.len() < WORD_MIN {
        return false;
    }
    let mut usual = 0;
    for pair in word.as_bytes().windows(2) {
        usual += usize::from(is_usual(pair[0], pair[1]));
    }
    let between = word.trim_matches(|letter: char| letter.is_ascii_digit());
    let is_broken = between.bytes().any(|byte| byte.is_ascii_digit());
    let min = if is_broken { PERCENT_MIN_BROKEN } else { PERCENT_MIN };
    usual * 100 < (word.len() - 1) * min
}

fn is_usual(first: u8, second: u8) -> bool {
    let index = usize::from(first.to_ascii_lowercase().wrapping_sub(b'a'));
    let follows = FOLLOWS.get(index);
    follows.is_some_and(|follows| follows.as_bytes().contains(&second.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_people_are_not_drawn() {
        for word in [
            "woocommercecheckoutsettings",
            "wordpress2fasettingsenabled",
            "twentytwentyfourthanniversary",
            "donaudampfschifffahrtsgesellschaft",
            "epajarjestelmallistyttamattomyys",
            "rzeczpospolitapolskaustawienia",
            "daehanminguknalssijeongbo",
            "defaultconfigurationversion",
            "internationalizationSettings2",
            "aaaaaaaaaaaaaaa",
        ] {
            assert!(!is_drawn(word), "{word}");
        }
    }

    #[test]
    fn what_is_drawn_by_lot_is_found_nearly_always() {
        // Knuth's generator: the same words in every run.
        let mut state = 7_u64;
        let mut draw = |letters: &[u8], length: usize| -> String {
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                char::from(letters[(state >> 33) as usize % letters.len()])
            };
            (0..length).map(|_| next()).collect()
        };
        // Of identifiers without any digit, the hardest.
        for (letters, length, missed_max) in [
            (&b"abcdefghijklmnopqrstuv"[..], 26, 200),
            (b"abcdefghijklmnopqrstuvwxyz", 24, 100),
            (b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 32, 50),
        ] {
            let missed = (0..1000).filter(|_| !is_drawn(&draw(letters, length))).count();
            assert!(missed < missed_max, "{missed} of 1000 of {length} letters");
        }
    }
}

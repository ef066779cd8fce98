//! Posts after the manner of a forum, by a seeded generator: the same in each run.

/// What people write: mostly text, some of it quoted, coloured, linked, listed.
pub(crate) fn posts(count: usize) -> Vec<String> {
    let mut writer = Writer { dice: 0x5eed_5eed };
    (0..count).map(|_| writer.post()).collect()
}

const WORDS: &[&str] = &[
    "the",
    "a",
    "and",
    "of",
    "torrent",
    "seed",
    "please",
    "thanks",
    "release",
    "quality",
    "I",
    "think",
    "that",
    "this",
    "version",
    "works",
    "for",
    "me",
    "but",
    "sound",
    "is",
    "not",
    "very",
    "good",
    "подскажите",
    "раздача",
    "спасибо",
    "качество",
    "перевод",
    "можно",
    "скорость",
    "download",
    "file",
    "server",
    "isn't",
    "\"quoted\"",
    "R&D",
    "x < y",
    "configuration",
    "감사합니다",
    "자료",
    "다운로드",
    "질문",
    "yesterday",
    "again",
    "15:30",
    "with",
    "from",
    "anybody",
];
const SMILIES: &[&str] = &[":)", ";)", ":D", ":(", ":P", ":-)", ":ai:"];
/// What stands behind a word: mostly a space.
const STOPS: &[&str] = &[" ", " ", " ", " ", " ", " ", " ", " ", ", ", ". ", "? ", "! "];

struct Writer {
    dice: u64,
}

impl Writer {
    fn below(&mut self, limit: usize) -> usize {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice % limit as u64) as usize
    }

    fn words(&mut self, count: usize) -> String {
        let mut text = String::new();
        for at in 0..count {
            if at > 0 {
                text.push_str(STOPS[self.below(STOPS.len())]);
            }
            text.push_str(WORDS[self.below(WORDS.len())]);
        }
        text
    }

    fn post(&mut self) -> String {
        let mut post = String::new();
        if self.below(3) == 0 {
            let quoted = 10 + self.below(30);
            let (one, other) = (self.below(9999), self.below(9999));
            post = match self.below(4) {
                0 => format!(
                    "[quote=\"user{one}\"][quote=\"user{other}\"]{}[/quote]\n{}[/quote]",
                    self.words(15),
                    self.words(quoted)
                ),
                1 => format!("[quote]{}[/quote]\n", self.words(quoted)),
                _ => format!("[quote=\"user{one}\"]{}[/quote]", self.words(quoted)),
            };
        }
        for _ in 0..2 + self.below(6) {
            let length = 12 + self.below(30);
            let piece = match self.below(16) {
                0 => format!("[b]{}[/b] {}", self.words(3), self.words(length)),
                1 => format!("{} [i]{}[/i]", self.words(length), self.words(2)),
                2 => format!("{} http://example.test/topic/{}", self.words(8), self.below(99_999)),
                3 => {
                    format!("[url=http://example.test/t{}]{}[/url]", self.below(999), self.words(3))
                }
                4 => format!("[color=red]{}[/color] {}", self.words(2), self.words(length)),
                5 => format!("[list][*]{}[*]{}[/list]", self.words(6), self.words(9)),
                6 if self.below(3) == 0 => format!("[code]{}[/code]", self.words(30)),
                7 if self.below(3) == 0 => {
                    format!("[img]http://example.test/i/{}.png[/img]", self.below(999))
                }
                8 => format!("{} {}", self.words(length), SMILIES[self.below(SMILIES.len())]),
                9 => format!("{} www.example.test/forum?t={}", self.words(9), self.below(9999)),
                10 if self.below(3) == 0 => {
                    format!("[spoiler=\"Part {}\"]{}[/spoiler]", self.below(9), self.words(length))
                }
                11 if self.below(3) == 0 => {
                    format!("[size=18][u]{}[/u][/size]\n{}", self.words(4), self.words(length))
                }
                _ => self.words(length),
            };
            post.push_str(&piece);
            post.push('\n');
        }
        post
    }
}

//! Korean by mecab-ko-dic: nouns without their particles, verbs without their endings.

use std::path::Path;

use super::mecab::{Habits, Joined, Mecab, Piece};
use super::{Morpheme, Morphemes, Unusable};

/// Queries are single words, which say less than a sentence, and without that `이미지의`, an
/// image's, would be lichens already, or an image's wit.
const JOINED: Joined = Joined { adverb: 130, nouns: 150..=152, particle: 120, cost: 4000 };

/// The particle of the genitive, behind which a noun has to come.
const GENITIVE: char = '의';
/// The least that can: a thing.
const BEHIND_GENITIVE: &str = " 것";

/// A dictionary, open.
pub struct Korean {
    mecab: Mecab,
    name: String,
}

impl Korean {
    /// Opens the dictionary of a folder.
    pub fn open(folder: &Path) -> Result<Self, Unusable> {
        let settings = std::fs::read(folder.join("dicrc")).unwrap_or_default();
        let space_costs = space_costs(&String::from_utf8_lossy(&settings));
        let mecab = Mecab::open(folder, Habits { space_costs, joined: Some(JOINED) })
            .map_err(|reason| Unusable::of("ko", folder, reason))?;
        let name = format!("mecab-ko-dic {}", mecab.size);
        Ok(Self { mecab, name })
    }
}

impl Morphemes for Korean {
    fn name(&self) -> &str {
        &self.name
    }

    fn analyse(&self, text: &str) -> Vec<Morpheme> {
        let morphemes = |text: &str| -> Vec<Morpheme> {
            self.mecab.pieces(text).into_iter().map(|piece| morpheme(piece, text)).collect()
        };
        let alone = morphemes(text);
        if !is_cut_at_genitive(text, &alone) {
            return alone;
        }
        let mut longer = morphemes(&[text, BEHIND_GENITIVE].concat());
        longer.retain(|one| one.to <= text.len());
        longer
    }
}

/// Whether a text ends with what may be a genitive, whose noun isn't there: a query such as
/// `문서의`, a document's. By its costs nothing ends so, and any other reading of its last letter
/// is cheaper. What is one word of the dictionary (`회의`, a meeting) is left as it is.
fn is_cut_at_genitive(text: &str, alone: &[Morpheme]) -> bool {
    let last_word = text.rfind(char::is_whitespace).unwrap_or(0);
    text.ends_with(GENITIVE) && alone.iter().filter(|one| one.to > last_word).count() > 1
}

/// `left-space-penalty-factor = 100,3000,120,6000`
fn space_costs(settings: &str) -> Vec<(u16, i32)> {
    let line = settings.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "left-space-penalty-factor").then_some(value)
    });
    let numbers: Vec<i32> =
        line.unwrap_or_default().split(',').filter_map(|one| one.trim().parse().ok()).collect();
    numbers
        .chunks_exact(2)
        .filter_map(|pair| Some((u16::try_from(pair[0]).ok()?, pair[1])))
        .collect()
}

/// Of the columns the first is the tag, the fifth says whether it is made of others, and
/// the eighth of which: `힐튼/NNP/인명+재단/NNG/*`.
fn morpheme(piece: Piece<'_>, text: &str) -> Morpheme {
    let (from, to) = (piece.from, piece.to);
    let text = &text[from..to];
    let columns: Vec<&str> = piece.feature.split(',').collect();
    let tag = columns.first().copied().unwrap_or_default().to_owned();
    let is_made = matches!(columns.get(4), Some(&"Compound" | &"Inflect" | &"Preanalysis"));
    let made_of = columns.get(7).filter(|_| is_made).copied().unwrap_or_default();
    let mut parts = Vec::new();
    let mut place = from;
    for part in made_of.split('+') {
        let mut columns = part.split('/');
        let (Some(written), Some(tag)) = (columns.next(), columns.next()) else { continue };
        // A part that stands in the text as it is has a place of its own.
        let behind = text[place - from..].strip_prefix(written).map(|_| place + written.len());
        let (begin, end) = behind.map_or((from, to), |behind| (place, behind));
        place = behind.unwrap_or(place);
        let (text, tag) = (written.to_owned(), tag.to_owned());
        parts.push(Morpheme { from: begin, to: end, tag, text, parts: Vec::new() });
    }
    Morpheme { from, to, tag, text: text.to_owned(), parts }
}

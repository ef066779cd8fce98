//! Taste: what an app looks at in a stranger's request besides the URL.
//!
//! In: `User-Agent` and `Accept-Language`. Out: a [`Taste`], by which copies of one page are
//! told apart, and for each the user agent and languages with which such a copy is made.
//! Apps serve phones, robots and other languages other pages, and hardly one says so in
//! `Vary`. Classes are as coarse as apps' own tests: a copy for every user agent would be
//! shared by nobody.
//! Invariants: 1. the user agent made for a taste has that taste. 2. nothing that a client
//! sends gets into a copy but its normalised languages: at most 40 bytes of letters,
//! digits, `-` and `,`.

use std::hash::{DefaultHasher, Hasher};

use wire::fields::trim;
use wire::{Fields, Name};

/// How many languages of a list count; apps seldom look behind the second.
const LANGUAGES_MAX: usize = 4;
/// What the languages may come to, with their commas.
const LANGUAGES_BYTES_MAX: usize = 40;
/// How much of a user agent is looked at; browsers send 80 to 250 bytes.
const AGENT_BYTES_MAX: usize = 1024;

/// What tells strangers apart who ask for one URL. Holds for one run of the program: the
/// languages are a sum that another build may take differently.
///
/// By default that of a browser on a desk that names no languages.
#[derive(Copy, Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Taste {
    device: Device,
    is_bot: bool,
    is_program: bool,
    languages: u64,
}

impl Taste {
    /// What it is shown on.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Whether it says that it is a robot.
    #[must_use]
    pub fn is_bot(&self) -> bool {
        self.is_bot
    }

    /// Whether it is one of those whom pages are made for: no robot, and no program that says
    /// nothing of a browser.
    #[must_use]
    pub fn is_browser(&self) -> bool {
        !self.is_bot && !self.is_program
    }

    /// Whether it names languages.
    #[must_use]
    pub fn has_languages(&self) -> bool {
        self.languages != 0
    }
}

/// What a page is shown on.
#[derive(Copy, Clone, Default, PartialEq, Eq, Hash, Debug)]
pub enum Device {
    /// A large screen, or nothing that says otherwise.
    #[default]
    Desktop,
    /// A phone.
    Mobile,
    /// A tablet.
    Tablet,
}

/// The taste of a request. Allocates nothing; goes once over the two fields.
#[must_use]
pub fn taste(fields: &Fields) -> Taste {
    let signs = Signs::of(fields.first(Name::UserAgent).unwrap_or_default());
    let list = LanguageList::of(fields);
    Taste {
        device: signs.device(),
        is_bot: signs.bot,
        is_program: signs.is_program(),
        languages: list.sum(),
    }
}

/// The languages of `Accept-Language`, best first, without their weights: at most four
/// valid tags in small letters, at most 40 bytes, joined by commas. Empty for none.
#[must_use]
pub fn languages(fields: &Fields) -> String {
    let mut text = [0; LANGUAGES_BYTES_MAX];
    let length = LanguageList::of(fields).write(&mut text);
    String::from_utf8_lossy(&text[..length]).into_owned()
}

/// A user agent of this taste's class, as a current browser or robot would send it.
///
/// A tablet is one with Android, since what apps look for in an iPad's differs more from
/// app to app. The robot's is made up, and bears the words that apps look for; a program's
/// bears none of them, nor what all browsers have in common.
#[must_use]
pub fn user_agent(taste: &Taste) -> &'static str {
    if taste.is_program {
        return "curl/8.14.1";
    }
    match (taste.device, taste.is_bot) {
        (Device::Desktop, false) => {
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) \
             Chrome/140.0.0.0 Safari/537.36"
        }
        (Device::Mobile, false) => {
            "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) \
             Chrome/140.0.0.0 Mobile Safari/537.36"
        }
        (Device::Tablet, false) => {
            "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) \
             Chrome/140.0.0.0 Safari/537.36"
        }
        (Device::Desktop, true) => "Mozilla/5.0 (compatible; WickBot/1.0; robot; crawler; spider)",
        (Device::Mobile, true) => {
            "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) \
             Chrome/140.0.0.0 Mobile Safari/537.36 \
             (compatible; WickBot/1.0; robot; crawler; spider)"
        }
        (Device::Tablet, true) => {
            "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) \
             Chrome/140.0.0.0 Safari/537.36 \
             (compatible; WickBot/1.0; robot; crawler; spider)"
        }
    }
}

/// The words in a user agent that apps go by.
#[derive(Default)]
struct Signs {
    bot: bool,
    browser: bool,
    mobile: bool,
    phone: bool,
    tablet: bool,
    android: bool,
}

/// What a word in a user agent says.
#[derive(Clone, Copy)]
enum Sign {
    Bot,
    Browser,
    Mobile,
    Phone,
    Tablet,
    Android,
    /// Contains another word and means nothing.
    Nothing,
}

/// Words in small letters, sought in any case and also within words (`Googlebot`). Those with
/// one first letter stand together; one that begins another stands behind it.
const WORDS: &[(&str, Sign)] = &[
    ("android", Sign::Android),
    ("archiver", Sign::Bot),
    ("bb10", Sign::Phone),
    ("blackberry", Sign::Phone),
    ("bot", Sign::Bot),
    ("bingpreview", Sign::Bot),
    ("crawl", Sign::Bot),
    // A maker of phones.
    ("cubot", Sign::Nothing),
    ("externalhit", Sign::Bot),
    ("feedfetcher", Sign::Bot),
    ("iemobile", Sign::Phone),
    ("ipad", Sign::Tablet),
    ("iphone", Sign::Phone),
    ("ipod", Sign::Phone),
    ("kindle", Sign::Tablet),
    ("lighthouse", Sign::Bot),
    ("mediapartners", Sign::Bot),
    ("mobi", Sign::Mobile),
    // Netscape's name, which all others took.
    ("mozilla", Sign::Browser),
    ("opera mini", Sign::Phone),
    ("opera", Sign::Browser),
    ("playbook", Sign::Tablet),
    ("silk/", Sign::Tablet),
    ("slurp", Sign::Bot),
    ("spider", Sign::Bot),
    ("symbian", Sign::Phone),
    // Windows on a desk says so when it has a pen.
    ("tablet pc", Sign::Nothing),
    ("tablet", Sign::Tablet),
    ("webos", Sign::Phone),
    ("windows phone", Sign::Phone),
];

/// The words that begin with one letter.
#[derive(Clone, Copy)]
struct OfLetter {
    /// Where in [`WORDS`] they stand.
    start: u8,
    end: u8,
    /// A bit for the low five bits of each second letter: it keeps nine of ten places from
    /// being compared with any word.
    seconds: u32,
}

const NO_WORDS: OfLetter = OfLetter { start: 0, end: 0, seconds: 0 };

/// For each byte the words that begin with it, in either case.
static WORDS_OF: [OfLetter; 256] = {
    let mut table = [NO_WORDS; 256];
    let mut at = 0;
    while at < WORDS.len() {
        let first = WORDS[at].0.as_bytes()[0];
        let mut of_letter = OfLetter { start: at as u8, ..NO_WORDS };
        while at < WORDS.len() && WORDS[at].0.as_bytes()[0] == first {
            of_letter.seconds |= 1 << (WORDS[at].0.as_bytes()[1] & 31);
            at += 1;
        }
        of_letter.end = at as u8;
        table[first as usize] = of_letter;
        table[first.to_ascii_uppercase() as usize] = of_letter;
    }
    table
};

impl OfLetter {
    fn word_at(self, text: &[u8]) -> Option<&'static (&'static str, Sign)> {
        let begins = |word: &str| {
            text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
        };
        WORDS[self.start as usize..self.end as usize].iter().find(|(word, _)| begins(word))
    }
}

impl Signs {
    fn of(agent: &[u8]) -> Self {
        let agent = &agent[..agent.len().min(AGENT_BYTES_MAX)];
        let mut signs = Self::default();
        let mut at = 0;
        while at + 1 < agent.len() {
            let of_letter = WORDS_OF[agent[at] as usize];
            let may_begin = of_letter.seconds & (1 << (agent[at + 1] & 31)) != 0;
            let word = if may_begin { of_letter.word_at(&agent[at..]) } else { None };
            match word {
                Some((word, sign)) => {
                    signs.add(*sign);
                    at += word.len();
                }
                None => at += 1,
            }
        }
        signs
    }

    fn add(&mut self, sign: Sign) {
        match sign {
            Sign::Bot => self.bot = true,
            Sign::Browser => self.browser = true,
            Sign::Mobile => self.mobile = true,
            Sign::Phone => self.phone = true,
            Sign::Tablet => self.tablet = true,
            Sign::Android => self.android = true,
            Sign::Nothing => {}
        }
    }

    /// Whether nothing says that it is a browser, a robot, or on a device for one.
    fn is_program(&self) -> bool {
        !self.browser && !self.bot && self.device() == Device::Desktop
    }

    /// An iPad calls itself mobile as well, an Android phone does and an Android tablet
    /// doesn't, and Windows phones claim to be Android and iPhones.
    fn device(&self) -> Device {
        if self.tablet {
            Device::Tablet
        } else if self.phone || self.mobile {
            Device::Mobile
        } else if self.android {
            Device::Tablet
        } else {
            Device::Desktop
        }
    }
}

/// The best languages of a list, best first; of equal weights the earlier.
#[derive(Default)]
struct LanguageList<'a> {
    tags: [&'a [u8]; LANGUAGES_MAX],
    /// In thousandths.
    weights: [u16; LANGUAGES_MAX],
    count: usize,
}

impl<'a> LanguageList<'a> {
    fn of(fields: &'a Fields) -> Self {
        let mut list = Self::default();
        for member in fields.members(Name::AcceptLanguage) {
            if let Some((tag, weight)) = read_language(member) {
                list.add(tag, weight);
            }
        }
        list
    }

    fn add(&mut self, tag: &'a [u8], weight: u16) {
        let held = &self.tags[..self.count];
        if held.iter().any(|held| held.eq_ignore_ascii_case(tag)) {
            return;
        }
        let place = self.weights[..self.count].iter().take_while(|held| **held >= weight).count();
        if place == LANGUAGES_MAX {
            return;
        }
        self.count = (self.count + 1).min(LANGUAGES_MAX);
        self.tags[place..self.count].rotate_right(1);
        self.weights[place..self.count].rotate_right(1);
        (self.tags[place], self.weights[place]) = (tag, weight);
    }

    /// Writes the tags as far as they have room, and says how many bytes that took.
    fn write(&self, text: &mut [u8; LANGUAGES_BYTES_MAX]) -> usize {
        let mut length = 0;
        for tag in &self.tags[..self.count] {
            let start = if length == 0 { 0 } else { length + 1 };
            let Some(place) = text.get_mut(start..start + tag.len()) else { break };
            place.copy_from_slice(tag);
            place.make_ascii_lowercase();
            if start > 0 {
                text[start - 1] = b',';
            }
            length = start + tag.len();
        }
        length
    }

    /// A sum of the list, 0 for none. It is keyed by nothing but mixed well: with a simpler
    /// sum anybody could find a list with the sum of a common one, and have a page in a
    /// language of their choice shown to those who bear that.
    fn sum(&self) -> u64 {
        if self.count == 0 {
            return 0;
        }
        let mut text = [0; LANGUAGES_BYTES_MAX];
        let length = self.write(&mut text);
        let mut hasher = DefaultHasher::new();
        hasher.write(&text[..length]);
        hasher.finish().max(1)
    }
}

/// A tag with its weight in thousandths; none for `*`, what is no tag, and what is not
/// wanted at all (RFC 9110 §12.5.4, §12.4.2).
fn read_language(member: &[u8]) -> Option<(&[u8], u16)> {
    let mut parts = member.split(|&byte| byte == b';').map(trim);
    let tag = parts.next().filter(|tag| is_tag(tag))?;
    let weight = match parts.next() {
        None => 1000,
        Some([b'q' | b'Q', b'=', number @ ..]) => read_weight(number)?,
        Some(_) => return None,
    };
    (weight > 0 && parts.next().is_none()).then_some((tag, weight))
}

fn read_weight(text: &[u8]) -> Option<u16> {
    let (whole, decimals) = match text {
        [whole] => (whole, &[][..]),
        [whole, b'.', decimals @ ..] if decimals.len() <= 3 => (whole, decimals),
        _ => return None,
    };
    let mut weight = match whole {
        b'0' => 0,
        b'1' => 1000,
        _ => return None,
    };
    for (digit, worth) in decimals.iter().zip([100, 10, 1]) {
        weight += char::from(*digit).to_digit(10)? as u16 * worth;
    }
    (weight <= 1000).then_some(weight)
}

/// Whether this is `1*8ALPHA *("-" 1*8alphanum)` (RFC 4647 §2.1), and no longer than fits.
fn is_tag(tag: &[u8]) -> bool {
    let mut parts = tag.split(|&byte| byte == b'-');
    let fits = |part: &[u8]| (1..=8).contains(&part.len());
    tag.len() <= LANGUAGES_BYTES_MAX
        && parts.next().is_some_and(|p| fits(p) && p.iter().all(u8::is_ascii_alphabetic))
        && parts.all(|p| fits(p) && p.iter().all(u8::is_ascii_alphanumeric))
}

#[cfg(test)]
#[path = "taste_tests.rs"]
mod tests;

//! The verdict about two holders' copies of a page, and how it is told.
//!
//! Pure: two bodies go in, names and numbers come out.

use align::{Comparison, Document, Hole, HoleKind, Kind};
use bytes::Bytes;
use wire::Fields;

/// A page with more spots is not proposed to be put together.
const HOLES_MAX: usize = 8;
/// Nor one of which so large a part would be parts: one in so many bytes.
const SHARE_MAX: usize = 4;
/// Of a stranger's page no more is read.
const STRANGER_BYTES_MAX: usize = 256 << 10;

/// Copies of one page for two holders, and for a stranger if one is shared.
pub(super) struct Pair {
    pub(super) first: Bytes,
    pub(super) second: Bytes,
    pub(super) stranger: Option<Bytes>,
}

/// What a comparison came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// They differ in these spots of so many bytes; none: they are the same.
    Alike { holes: Vec<Hole>, page_bytes: usize },
    /// In so many spots, or in so many of a hundred bytes.
    Unlike { holes: usize, percent: usize },
    /// They have next to nothing in common, or are too long to be compared.
    Strange,
}

/// Compares two holders' copies.
pub(super) fn of(pair: &Pair) -> Verdict {
    let read = |body: &Bytes| Document::new(Kind::Html, &Fields::new(), body).ok();
    let (Some(first), Some(second)) = (read(&pair.first), read(&pair.second)) else {
        return Verdict::Strange;
    };
    let short = pair.stranger.as_ref().filter(|body| body.len() <= STRANGER_BYTES_MAX);
    let third = short.and_then(read);
    let Ok(found): Result<Comparison, _> = align::compare(&first, &second) else {
        return Verdict::Strange;
    };
    let holes = align::holes(&first, &second, &found, third.as_ref());
    let page_bytes = pair.first.len().max(pair.second.len()).max(1);
    let bytes: usize = holes.iter().map(|hole| hole.bytes).sum();
    if holes.len() > HOLES_MAX || bytes > page_bytes / SHARE_MAX {
        let percent = (bytes * 100 / page_bytes).min(100);
        return Verdict::Unlike { holes: holes.len(), percent };
    }
    Verdict::Alike { holes, page_bytes }
}

/// What is known of one class of addresses.
#[derive(Default)]
pub(super) struct Class {
    /// How often holders asked for such a page.
    pub(super) asks: u32,
    /// Nothing is compared before.
    pub(super) next_ms: u64,
    alike: u32,
    unlike: u32,
    /// The last that were alike, and of several those with the most spots.
    last: Option<(Vec<Hole>, usize)>,
    last_unlike: Option<Verdict>,
}

impl Class {
    pub(super) fn pairs(&self) -> u32 {
        self.alike.saturating_add(self.unlike)
    }

    pub(super) fn note(&mut self, found: Verdict) {
        match found {
            Verdict::Alike { holes, page_bytes } => {
                self.alike = self.alike.saturating_add(1);
                if self.last.as_ref().is_none_or(|(known, _)| known.len() <= holes.len()) {
                    self.last = Some((holes, page_bytes));
                }
            }
            other => {
                self.unlike = self.unlike.saturating_add(1);
                self.last_unlike = Some(other);
            }
        }
    }

    /// Says it, a fact a line.
    pub(super) fn tell(&self, say: &mut dyn FnMut(&'static str, String)) {
        const TOPIC: &str = "members";
        let unlike = match &self.last_unlike {
            Some(Verdict::Unlike { holes, percent }) => {
                format!("in {holes} spots, {percent} % of the page")
            }
            Some(_) => "from beginning to end".to_owned(),
            None => String::new(),
        };
        let pairs = self.pairs();
        let Some((holes, page_bytes)) = &self.last else {
            if pairs > 0 {
                say(
                    TOPIC,
                    format!("copies of such a page differ {unlike}: no part could supply that"),
                );
            }
            return;
        };
        if self.unlike > 0 {
            let of = format!("{} of {pairs} pairs of copies of such a page differ", self.unlike);
            say(TOPIC, format!("{of} {unlike}; the others in {}", spots(holes.len())));
            return;
        }
        if holes.is_empty() {
            let same = "copies of such a page are the same for different members";
            say(TOPIC, format!("{same} ({pairs} pairs): {}", sharing(false)));
            return;
        }
        let bytes: usize = holes.iter().map(|hole| hole.bytes).sum();
        let count = spots(holes.len());
        say(
            TOPIC,
            format!(
                "copies of such a page agree but for {count}, {bytes} of {page_bytes} bytes ({pairs} pairs)"
            ),
        );
        holes.iter().for_each(|hole| say("spot", spot(hole, *page_bytes)));
        tell_rule(holes, say);
    }
}

fn spots(count: usize) -> String {
    format!("{count} {}", if count == 1 { "spot" } else { "spots" })
}

fn spot(hole: &Hole, page_bytes: usize) -> String {
    let what = match hole.kind {
        HoleKind::Numbers => "numbers, which may differ at each visit",
        HoleKind::Tokens => "values of a form, an address or a script, such as a token",
        HoleKind::Content => "what people read, or markup",
    };
    let percent = (hole.at * 100 / page_bytes.max(1)).min(100);
    let place = match hole.path.is_empty() {
        true => String::new(),
        false => format!("in {}, ", hole.path.join(" > ")),
    };
    format!("{place}{percent} % down: {what} ({} bytes)", hole.bytes)
}

/// What the owner would write.
fn tell_rule(holes: &[Hole], say: &mut dyn FnMut(&'static str, String)) {
    for (number, hole) in holes.iter().enumerate() {
        let include = format!("<esi:include src=\"{}\"/>", part_address(hole, number));
        let place = hole.path.last().map_or_else(|| "its place".to_owned(), Clone::clone);
        let line = match hole.kind {
            HoleKind::Tokens if !hole.path.is_empty() => {
                format!("put {include} where the part of {place} that differs is, whole tags")
            }
            _ => format!("put {include} where what differs in {place} is"),
        };
        say("part", line);
    }
    say("part", "answer each with Cache-Control: private, max-age=60".to_owned());
    say("part", sharing(true));
}

/// How members come to share a page.
fn sharing(has_parts: bool) -> String {
    let content = if has_parts { ", content=\"ESI/1.0\"" } else { "" };
    format!(
        "if nothing else in it is any member's own, Surrogate-Control: max-age=60{content} \
         lets all of them share it"
    )
}

/// An address that the owner might choose: after the innermost element with a name of its own.
fn part_address(hole: &Hole, number: usize) -> String {
    let named = hole.path.iter().rev().find_map(|name| name.split_once(['#', '.']));
    match named {
        Some((_, name)) => format!("/parts/{name}"),
        None => format!("/parts/{}", number + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with a greeting and a form, of some length.
    fn page(name: &str, token: &str) -> Bytes {
        let row = |n: usize| format!("<li class=row><a href=/t/{n}>Topic number {n}</a></li>");
        let rows: String = (0..60).map(row).collect();
        format!(
            "<title>Board</title><nav id=user>Hello {name}, <a href=/out>Log out</a></nav>\
             <ul>{rows}</ul><form id=reply><input type=hidden name=key value={token}></form>"
        )
        .into()
    }

    fn told(pairs: &[(Bytes, Bytes)], stranger: Option<Bytes>) -> String {
        let mut class = Class::default();
        for (first, second) in pairs {
            let stranger = stranger.clone();
            class.note(of(&Pair { first: first.clone(), second: second.clone(), stranger }));
        }
        let mut lines = Vec::new();
        class.tell(&mut |topic, text| lines.push(format!("{topic}: {text}")));
        lines.join("\n")
    }

    const TOKENS: [&str; 2] = ["9f86d081884c7d65", "60303ae22b998861"];

    #[test]
    fn a_greeting_is_one_spot_that_a_part_could_supply() {
        let pair = (page("Ann", TOKENS[0]), page("Bob", TOKENS[0]));
        let told = told(&[pair], None);
        for expected in [
            "members: copies of such a page agree but for 1 spot, 10 of",
            "spot: in nav#user, 1 % down: what people read",
            "put <esi:include src=\"/parts/user\"/> where what differs in nav#user is",
            "Surrogate-Control: max-age=60, content=\"ESI/1.0\"",
        ] {
            assert!(told.contains(expected), "no {expected:?} in\n{told}");
        }
    }

    #[test]
    fn a_token_is_told_as_one() {
        let told = told(&[(page("Ann", TOKENS[0]), page("Ann", TOKENS[1]))], None);
        let expected = "in form#reply > input[name=key], 99 % down: values of a form";
        assert!(told.contains(expected), "no {expected:?} in\n{told}");
        assert!(told.contains("/parts/reply"), "{told}");
        assert!(!told.contains(TOKENS[0]) && !told.contains(TOKENS[1]), "{told}");
    }

    #[test]
    fn nothing_of_what_differs_is_told() {
        let own = |name: &str, card: &str| {
            page(&format!("<b id=card-{card} class={name}>{name} {card}</b>"), TOKENS[0])
        };
        let pair = (own("annabel", "4711"), own("bertram", "8150"));
        let told = told(&[pair], Some(page("stranger", TOKENS[0])));
        for secret in ["annabel", "bertram", "4711", "8150", "card"] {
            assert!(!told.contains(secret), "{secret} in\n{told}");
        }
        assert!(told.contains("1 spot"), "{told}");
    }

    #[test]
    fn pages_that_differ_in_everything_are_no_page_with_parts() {
        let other: Bytes =
            "<p>Something else altogether</p><p>and more of it</p>".repeat(30).into();
        let told = told(&[(page("Ann", TOKENS[0]), other.clone())], None);
        assert!(told.contains("copies of such a page differ"), "{told}");
        assert!(!told.contains("esi:include"), "{told}");
        let alike = (page("Ann", TOKENS[0]), page("Bob", TOKENS[0]));
        let told = self::told(&[alike, (page("Ann", TOKENS[0]), other)], None);
        assert!(told.contains("1 of 2 pairs of copies of such a page differ"), "{told}");
        assert!(!told.contains("esi:include"), "{told}");
    }

    #[test]
    fn the_same_page_for_different_members_needs_no_part() {
        let told = told(&[(page("Ann", TOKENS[0]), page("Ann", TOKENS[0]))], None);
        assert!(told.contains("are the same for different members (1 pairs)"), "{told}");
        assert!(told.contains("Surrogate-Control: max-age=60 lets all"), "{told}");
    }
}

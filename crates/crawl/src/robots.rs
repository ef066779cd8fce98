//! `robots.txt`, as RFC 9309 has it: what may be asked for, how often, and where sitemaps are.
//!
//! Invariants: 1. the longest rule that fits counts, and of two the one that allows. 2. what is
//! behind [`BYTES_MAX`] isn't read; nothing here is an error.

use std::time::Duration;

/// What is read of a file (RFC 9309 §2.5 asks for 500 KiB).
const BYTES_MAX: usize = 512 << 10;
const RULES_MAX: usize = 2000;
const SITEMAPS_MAX: usize = 50;
/// A longer pause would mean never.
const DELAY_MAX: Duration = Duration::from_secs(30);

/// What a site allows to this robot.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Robots {
    rules: Vec<(String, bool)>,
    /// The time that the site wants between two requests.
    pub delay: Option<Duration>,
    /// Where its sitemaps are, as they are written.
    pub sitemaps: Vec<String>,
}

impl Robots {
    /// Reads a file for the robot of this name, in lower case.
    #[must_use]
    pub fn of(text: &str, name: &str) -> Self {
        let text = &text[..text.floor_char_boundary(BYTES_MAX)];
        let (mut own, mut any) = (Group::default(), Group::default());
        let mut sitemaps = Vec::new();
        let (mut is_own, mut is_any, mut is_head) = (false, false, false);
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or("");
            let Some((key, value)) = line.split_once(':') else { continue };
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            match key.as_str() {
                "sitemap" if sitemaps.len() < SITEMAPS_MAX => sitemaps.push(value.to_owned()),
                "user-agent" => {
                    if !is_head {
                        (is_own, is_any) = (false, false);
                    }
                    is_head = true;
                    is_own |= value.eq_ignore_ascii_case(name);
                    is_any |= value == "*";
                }
                "allow" | "disallow" | "crawl-delay" => {
                    is_head = false;
                    for (_, group) in
                        [(is_own, &mut own), (is_any, &mut any)].iter_mut().filter(|it| it.0)
                    {
                        group.take(&key, value);
                    }
                }
                _ => {}
            }
        }
        let group = if own.is_there { own } else { any };
        Self { rules: group.rules, delay: group.delay, sitemaps }
    }

    /// Whether a path with its query may be asked for.
    #[must_use]
    pub fn allows(&self, target: &str) -> bool {
        let fitting =
            self.rules.iter().filter(|(pattern, _)| fits(pattern.as_bytes(), target.as_bytes()));
        let best = fitting.max_by_key(|(pattern, allows)| (pattern.len(), *allows));
        best.is_none_or(|(_, allows)| *allows)
    }
}

#[derive(Default)]
struct Group {
    is_there: bool,
    rules: Vec<(String, bool)>,
    delay: Option<Duration>,
}

impl Group {
    fn take(&mut self, key: &str, value: &str) {
        self.is_there = true;
        match key {
            "crawl-delay" => {
                let seconds = value.parse::<f32>().ok().filter(|it| it.is_finite() && *it >= 0.0);
                self.delay = seconds.map(|it| Duration::from_secs_f32(it.min(1e6)).min(DELAY_MAX));
            }
            // An empty rule says nothing.
            _ if value.is_empty() || self.rules.len() >= RULES_MAX => {}
            key => self.rules.push((value.to_owned(), key == "allow")),
        }
    }
}

/// Whether a pattern with `*` and a last `$` fits the beginning of a target.
fn fits(pattern: &[u8], target: &[u8]) -> bool {
    let (pattern, is_whole) = match pattern.strip_suffix(b"$") {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let mut pieces = pattern.split(|&byte| byte == b'*');
    let Some(mut rest) = pieces.next().and_then(|first| target.strip_prefix(first)) else {
        return false;
    };
    let mut pieces = pieces.peekable();
    while let Some(piece) = pieces.next() {
        if is_whole && pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        let Some(at) = memchr::memmem::find(rest, piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    !is_whole || rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\u{feff}# hello\nUser-agent: a\nUser-agent: *\nDisallow: /private/\n\
        Allow: /private/but\nDisallow: /*.pdf$\nDisallow: /s*x\nDisallow:\nCrawl-delay: 2\n\n\
        User-agent: wick\nDisallow: /wick\n\nSitemap: /map.xml\n";

    #[test]
    fn the_longest_rule_counts_and_a_group_of_our_own_before_all() {
        let any = Robots::of(FILE, "b");
        for (target, allowed) in [
            ("/", true),
            ("/private/x", false),
            ("/private/but/this", true),
            ("/file.pdf", false),
            ("/file.pdf?x", true),
            ("/search?q=x", false),
            ("/wick", true),
        ] {
            assert_eq!(any.allows(target), allowed, "{target}");
        }
        assert_eq!(any.delay, Some(Duration::from_secs(2)));
        assert_eq!(any.sitemaps, ["/map.xml"]);
        let own = Robots::of(FILE, "wick");
        assert!(own.allows("/private/x") && !own.allows("/wick/x"));
        assert!(Robots::of("", "wick").allows("/anything"));
        assert!(Robots::of("<html>no robots", "wick").allows("/anything"));
    }

    #[test]
    fn what_nobody_meant_does_no_harm() {
        let odd = "user-agent:*\ndisallow: /****************************a\ncrawl-delay: nan\n";
        let robots = Robots::of(odd, "wick");
        assert!(robots.allows(&format!("/{}", "b".repeat(10_000))));
        assert_eq!(robots.delay, None);
        let long = Robots::of("user-agent: *\ncrawl-delay: 1e30\n", "x");
        assert_eq!(long.delay, Some(DELAY_MAX));
    }
}

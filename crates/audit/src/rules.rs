//! The table of rules: what is tested, why it matters, how to mend it, and who says so.
//!
//! `docs/audit.md` is made of it. An id never changes: it stands in what people have kept.

use crate::finding::Severity;
use crate::kind::Kind;

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// Its id.
    pub id: &'static str,
    /// What its test looks at.
    pub kind: Kind,
    /// How bad a breach is.
    pub severity: Severity,
    /// What is wrong.
    pub title: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// How to mend it.
    pub mend: &'static str,
    /// Who says so.
    pub source: &'static str,
}

macro_rules! rules {
    ($($id:literal $kind:ident $severity:ident $title:literal $why:literal $mend:literal $source:literal)*) => {
        /// All of them.
        pub const RULES: &[Rule] = &[$(Rule {
            id: $id,
            kind: Kind::$kind,
            severity: Severity::$severity,
            title: $title,
            why: $why,
            mend: $mend,
            source: $source,
        },)*];
    };
}

rules! {
    "link-broken" Links Error "A link leads nowhere"
        "Whoever follows it is lost, and so is what the link said of the other page."
        "Correct the address, or send it on by a 301 to where the page is now." "RFC 9110 §15.5"
    "link-failed" Links Warning "An address gave no answer"
        "It can't be told what is there; visitors may not find out either."
        "Try the address; look into the server's log for that moment." "RFC 9110 §9.2"
    "link-redirected" Links Notice "A link leads to an address that has moved for good"
        "Each visitor waits for one more answer."
        "Write the new address into the link." "RFC 9110 §15.4.2"
    "link-fragment" Links Warning "A link leads to a place that the page doesn't have"
        "The browser shows the beginning of the page instead."
        "Give the place that id, or correct the fragment." "WHATWG HTML §7.4.2.3"
    "link-external" Links Warning "A link to another site leads nowhere"
        "Whoever follows it is lost."
        "Correct or remove the link." "RFC 9110 §15.5"
    "link-external-fragment" Links Notice "A link leads to a place that a page of another site doesn't have"
        "The browser shows the beginning of that page instead."
        "Correct the fragment, or leave it out. What a script of that page makes isn't seen." "WHATWG HTML §7.4.2.3"
    "map-broken" Links Error "A sitemap names a page that isn't there"
        "Search engines ask for it again and again, and trust the sitemap less."
        "Leave it out of the sitemap." "sitemaps.org protocol"
    "redirect-chain" Links Warning "An address is sent on more than once"
        "Each step is one more round trip for each visitor."
        "Send the first address to the last at once." "RFC 9110 §15.4"
    "redirect-loop" Links Error "Addresses are sent on in a circle"
        "Nobody ever gets an answer."
        "Find out which of the rules was meant, and remove the other." "RFC 9110 §15.4"
    "mixed-content" Http Error "A secure page loads something that isn't secure"
        "Browsers block or warn of it, and who listens can change it."
        "Load it by https." "W3C Mixed Content §3"
    "form-insecure" Http Error "A form of a secure page is sent in the clear"
        "Who listens reads what visitors write."
        "Send it by https." "W3C Mixed Content §3.5"
    "header-nosniff" Http Warning "No X-Content-Type-Options"
        "A browser may guess that a file that somebody uploaded is a script."
        "Send X-Content-Type-Options: nosniff." "WHATWG Fetch §3.5"
    "header-framing" Http Warning "Any site may show the page in a frame"
        "A visitor can be made to click what they don't see."
        "Send Content-Security-Policy: frame-ancestors 'self' (or X-Frame-Options)." "W3C CSP3 §6.4.2"
    "header-hsts" Http Warning "No Strict-Transport-Security"
        "The first request of each visit can be turned away from https."
        "Send Strict-Transport-Security: max-age=31536000 by https." "RFC 6797 §6.1"
    "header-charset" Http Warning "The page doesn't say its encoding"
        "Browsers guess, and letters are broken for some visitors."
        "Send Content-Type: text/html; charset=utf-8." "WHATWG HTML §4.2.5.4"
    "header-csp" Http Notice "No Content-Security-Policy says which scripts may run"
        "Who gets markup into the page has its scripts run in each visitor's name."
        "Send Content-Security-Policy with script-src or default-src, first as …-Report-Only." "W3C CSP3 §6.1.10"
    "csp-unsafe" Http Notice "The Content-Security-Policy lets any inline script run"
        "Who gets markup into the page has its scripts run all the same."
        "Replace 'unsafe-inline' by a nonce or by hashes of the page's own scripts." "W3C CSP3 §6.7.3.2"
    "header-referrer" Http Warning "Referrer-Policy tells other sites the whole address"
        "What stands in addresses of pages, searches and keys among it, is told to whoever is linked to."
        "Leave it to the browser, or say strict-origin-when-cross-origin." "W3C Referrer Policy §3"
    "cookie-flags" Http Warning "A cookie lacks what protects it"
        "It is sent in the clear, other sites' requests bear it, or a script reads a session."
        "Set it with Secure (by https), with SameSite, and a session's with HttpOnly." "RFC 6265bis §4.1.2"
    "title-missing" Metadata Error "No title"
        "Tabs, bookmarks and search results show the address instead."
        "Give the page a title of its own." "WHATWG HTML §4.2.2"
    "title-duplicate" Metadata Warning "Several pages have one title"
        "Nobody can tell them apart in a list."
        "Say in each title what is on that page." "WCAG 2.2 §2.4.2"
    "description-missing" Metadata Notice "No description"
        "Search engines show what they find first."
        "Add a meta description of one or two sentences." "WHATWG HTML §4.2.5.1"
    "canonical-wrong" Metadata Warning "The canonical address isn't a page of its own"
        "Search engines leave out both."
        "Name an address that is answered with 200 and names itself." "RFC 6596 §3"
    "hreflang-mutual" Metadata Warning "A version in another language doesn't name this one"
        "Search engines ignore such a pair."
        "Let both versions name each other." "WHATWG HTML §4.6.7.1"
    "hreflang-code" Metadata Warning "A hreflang that names no language"
        "Search engines ignore that version."
        "Write a language by ISO 639-1, and behind it a region by ISO 3166-1 if need be, as in en-GB." "RFC 5646 §2.1; WHATWG HTML §4.6.7.1"
    "hreflang-default" Metadata Notice "Versions in several languages, and none for everybody else"
        "Who reads none of them is sent to any."
        "Name one by hreflang=x-default." "Google Search Central: localized versions"
    "json-ld-field" Metadata Warning "Structured data lacks what its type needs"
        "Search engines don't show it."
        "Add what the message names." "schema.org; Google Search Central: structured data"
    "json-ld" Metadata Error "Structured data can't be read"
        "Nobody uses it."
        "Correct the JSON." "JSON-LD 1.1 §7; RFC 8259"
    "css-syntax" Code Warning "A style sheet has what can't be read"
        "Browsers leave it out without a word, and often what follows with it."
        "Correct it at that place." "CSS Syntax 3 §2.2"
    "css-property" Code Warning "A style sheet names a property that there isn't"
        "Browsers leave it out without a word."
        "Correct the name; prefixed and custom properties are never told." "CSS Syntax 3 §2.2"
    "css-value" Code Notice "A property is given a value that it can't have"
        "Browsers leave it out; where another is given for them, that is on purpose."
        "Correct the value. Only properties whose values have long been the same are judged." "CSS Syntax 3 §2.2"
    "js-syntax" Code Error "A script can't be read"
        "No browser runs any of it, however small the mistake."
        "Correct it at that place." "ECMA-262 §17"
    "script-data" Code Error "Data for a script or the browser can't be read"
        "Nobody uses it."
        "Correct the JSON." "RFC 8259; WHATWG HTML §4.12.1"
    "lang-missing" Metadata Warning "The page doesn't say its language"
        "It is read aloud with the wrong voice, and translated from the wrong language."
        "Write it on the html element: lang=\"en\"." "WCAG 2.2 §3.1.1"
    "image-size" Accessibility Warning "An image without width and height"
        "The page jumps when the image comes."
        "Give it both attributes; style sheets may still scale it." "WHATWG HTML §4.8.17"
    "image-alt" Accessibility Error "An image without alternative text"
        "Who can't see it is told its file's name."
        "Describe it in alt, or write alt=\"\" if it only decorates." "WCAG 2.2 §1.1.1"
    "weight-uncoded" Weight Warning "Text is sent uncompressed"
        "It takes several times as long on a slow line."
        "Compress it by gzip, br or zstd; Wick does by itself." "RFC 9110 §8.4"
    "weight-html" Weight Warning "A page of very much HTML"
        "Phones take seconds to read it."
        "Divide it, or leave out what nobody looks at." "web.dev: DOM size"
    "weight-page" Weight Warning "A page loads very much"
        "It takes long on a slow line, and costs who pays by volume."
        "Make images smaller and load what is further down later." "web.dev: total byte weight"
    "label-missing" Accessibility Error "A field without a label"
        "Who can't see the page isn't told what to write there."
        "Add a label element with its id in for, or aria-label." "WCAG 2.2 §4.1.2"
    "link-text" Accessibility Error "A link without text"
        "Who can't see it is told its address, letter by letter."
        "Write text into it, or alt on its image, or aria-label." "WCAG 2.2 §2.4.4"
    "button-text" Accessibility Error "A button without text"
        "Who can't see it isn't told what it does."
        "Write text into it, or aria-label on it." "WCAG 2.2 §4.1.2"
    "heading-order" Accessibility Warning "A level of headings is left out"
        "Who goes by headings believes that something is missing."
        "Use the next level; style sheets decide how it looks." "WCAG 2.2 §1.3.1"
    "heading-first" Accessibility Warning "No h1"
        "Who goes by headings doesn't find where the page begins."
        "Make the page's own title an h1." "WCAG 2.2 §2.4.6"
    "id-duplicate" Accessibility Error "Two elements have one id"
        "Labels, fragments and scripts find only the first."
        "Give each an id of its own." "WHATWG HTML §3.2.6"
    "landmark-main" Accessibility Warning "No main element"
        "Who can't see the page has to hear the menu on each page."
        "Put what the page is about into one main element." "WCAG 2.2 §1.3.1"
    "frame-title" Accessibility Error "A frame without a title"
        "Who can't see it isn't told what is in it."
        "Give it a title attribute." "WCAG 2.2 §4.1.2"
    "browser-failed" Browser Warning "A page couldn't be looked at in the browser"
        "What axe-core would have said of it isn't known."
        "The message says what happened; open the page in a browser." "axe-core"
    "viewport-zoom" Accessibility Error "The page forbids to enlarge it"
        "Who sees little can't read it."
        "Leave user-scalable and maximum-scale out of the viewport." "WCAG 2.2 §1.4.4"
    "cache-no-store" Caching Warning "no-store keeps every cache from keeping the page"
        "Each visitor costs the origin a page."
        "Say max-age for what is the same for all; keep no-store for what is secret." "RFC 9111 §5.2.2.5"
    "cache-private" Caching Warning "private keeps shared caches from keeping the page"
        "Each visitor costs the origin a page."
        "Leave private out where the page is the same for all." "RFC 9111 §5.2.2.7"
    "cache-set-cookie" Caching Warning "The page sets a cookie"
        "A page that is kept with a cookie would give one visitor's session to all."
        "Begin sessions at the first write, or set the cookie elsewhere." "RFC 9111 §7.3; RFC 6265 §8.6"
    "cache-no-freshness" Caching Warning "The page doesn't say for how long it is good"
        "Without a lifetime or a date nothing can be kept of it."
        "Say Cache-Control: max-age, or at least Last-Modified." "RFC 9111 §4.2"
    "cache-expired" Caching Warning "The page is stale as soon as it is made"
        "It may be kept, and never be used."
        "Say a max-age above zero, and an ETag." "RFC 9111 §4.2"
    "cache-vary-star" Caching Warning "Vary: * lets no two requests share the page"
        "Each visitor costs the origin a page."
        "Name the fields that it depends on." "RFC 9111 §4.1"
    "cache-malformed" Caching Warning "Cache-Control can't be read"
        "Careful caches keep nothing then."
        "Correct the field." "RFC 9111 §4.2.1"
    "cache-type" Caching Error "A page under the name of a picture, script or style sheet"
        "Who makes a visitor open such an address of their account reads it from a cache."
        "Answer addresses behind a script's name with 404." "web cache deception"
    "cache-other" Caching Notice "The page can't be kept"
        "Each visitor costs the origin a page."
        "See the reason in the message." "RFC 9111 §3"
    "cache-differs" Caching Error "A page that caches may share differs between strangers"
        "One visitor may be shown what was made for another."
        "Say Cache-Control: private, or leave what is personal out of the page." "RFC 9111 §3; §5.2.2.7"
    "vary-language" Caching Error "A page depends on the language and doesn't say so"
        "A cache gives everybody the first visitor's language."
        "Send Vary: Accept-Language, or use an address for each language." "RFC 9110 §12.5.5"
    "vary-device" Caching Error "A page depends on the device and doesn't say so"
        "A cache gives everybody the first visitor's version."
        "Send Vary: User-Agent, or better one page for all devices." "RFC 9110 §12.5.5"
    "cache-wasted" Caching Notice "Strangers are given the same page, and no cache may keep it"
        "Each of them costs the origin a page that was there already."
        "Say for how long it is good; Wick shares such pages by itself." "RFC 9111 §3"
}

/// What the ids of axe's rules begin with here.
pub(crate) const AXE: &str = "axe-";

/// All rules of axe-core: what is wrong, and the page that tells more, are in the message.
const OF_AXE: Rule = Rule {
    id: AXE,
    kind: Kind::Browser,
    severity: Severity::Warning,
    title: "Not everybody can use what the browser shows",
    why: "axe-core found it in a browser, on the page as its styles and scripts make it.",
    mend: "The address in the message tells whom it keeps out, and how to mend it.",
    source: "axe-core",
};

/// What the ids of `conformance`'s rules begin with here.
pub(crate) const HTML: &str = "html-";

/// All rules of `conformance`: what is wrong is in the message.
const OF_HTML: Rule = Rule {
    id: HTML,
    kind: Kind::Html,
    severity: Severity::Warning,
    title: "HTML isn't as it should be",
    why: "Each browser's parser mends it, and what was meant may be lost.",
    mend: "Correct the markup at that line.",
    source: "WHATWG HTML",
};

/// A rule by its id.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    match id {
        _ if id.starts_with(HTML) => Some(&OF_HTML),
        _ if id.starts_with(AXE) => Some(&OF_AXE),
        _ => RULES.iter().find(|rule| rule.id == id),
    }
}

/// What a rule is called in a report.
#[must_use]
pub fn title(id: &str) -> String {
    let named = |prefix| id.strip_prefix(prefix).filter(|name| !name.is_empty());
    match (named(HTML), named(AXE)) {
        (Some(name), _) => format!("HTML: {}", name.replace('-', " ")),
        (_, Some(name)) => format!("axe: {}", name.replace('-', " ")),
        _ => rule(id).map_or(id, |rule| rule.title).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_an_id_of_its_own_and_says_all_that_is_to_be_said() {
        for (at, rule) in RULES.iter().enumerate() {
            let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
            assert!(rule.id.bytes().all(is_plain), "{}", rule.id);
            assert!(RULES[..at].iter().all(|other| other.id != rule.id), "{} twice", rule.id);
            assert!(!rule.title.ends_with('.') && rule.why.ends_with('.'), "{}", rule.id);
            assert!(rule.mend.ends_with('.') && !rule.source.is_empty(), "{}", rule.id);
        }
    }
}

//! The shape of a URL: which pages are of one kind, and what a GET of it might do.
//!
//! In: a request's target. Out: its class with identifiers masked ([`shape`]), and three
//! warnings: a verb in it, a preference it may set, a session it names. What is learned of
//! one page (it can't be shared, it takes a lock) is held against its class, so classes
//! are told by verbs and routes, and not by paths: in many apps one script serves all.
//! Invariants: 1. a shape has at most 512 bytes. 2. nothing here picks what is served.

use super::parts::{self, Parameter, decoded};
use super::verb::{self, Place};

/// The longest shape; what is longer is told by its path alone.
const SHAPE_BYTES_MAX: usize = 512;
/// Ids are as long as this, names of sections are not.
const SEGMENT_BYTES_MAX: usize = 24;
/// The longest word that a last segment may be without being taken for a title.
const WORD_BYTES_MAX: usize = 12;
/// The least for a mix of letters and digits to be an identifier; `v2` and `h264` are none.
const MIXED_BYTES_MIN: usize = 6;
/// Nothing shorter is a session's id; `sid=12` is a section's.
const SESSION_BYTES_MIN: usize = 8;

/// Endings of files that are programs: their names are the app's, not an author's.
const SCRIPT_ENDINGS: &[&str] = &["php", "php5", "phtml", "asp", "aspx", "jsp", "cgi", "pl", "do"];
/// Endings that are put behind titles to look like files.
const PAGE_ENDINGS: &[&str] = &["html", "htm", "xhtml"];

/// Parameters whose values are what people typed, or names of things: any word in them is
/// about something.
const TEXTS: &[&str] = &[
    "q",
    "s",
    "search",
    "query",
    "keyword",
    "keywords",
    "term",
    "terms",
    "title",
    "name",
    "text",
    "id",
    "tag",
    "tags",
    "stx",
    "search_keyword",
    "author",
    "subject",
    "user",
    "username",
];
/// Parameters whose values name a column: `sort=update` and `order=vote` read.
const COLUMNS: &[&str] = &[
    "sort",
    "sortby",
    "sort_by",
    "sort_index",
    "order",
    "orderby",
    "order_by",
    "order_type",
    "by",
    "sst",
    "sod",
    "dir",
    "direction",
    "filter",
];
/// Parameters whose values name a page or a section of the site.
const TOPICS: &[&str] = &[
    "page",
    "p",
    "pg",
    "view",
    "tab",
    "section",
    "cat",
    "category",
    "topic",
    "forum",
    "board",
    "slug",
    "product",
    "brand",
    "collection",
    "module",
    "mid",
    "file",
    "doc",
    "path",
    "content",
    "type",
    "lang",
    "language",
    "theme",
];
/// Parameters whose values say what to do.
const ORDERS: &[&str] = &[
    "a",
    "act",
    "action",
    "ajax",
    "c",
    "cmd",
    "command",
    "controller",
    "do",
    "event",
    "fn",
    "func",
    "function",
    "job",
    "m",
    "method",
    "mode",
    "op",
    "operation",
    "perform",
    "r",
    "route",
    "sa",
    "sub",
    "task",
    "todo",
    "wc-ajax",
    "what",
    "w",
];
/// Parameters by which a visitor chooses how the site is shown, then and later.
const PREFERENCES: &[&str] = &[
    "lang", "language", "locale", "hl", "l10n", "theme", "style", "skin", "template", "layout",
    "view", "mode", "device", "mobile", "currency", "cur", "country", "region",
];
/// Words in the names of parameters by which a visitor chooses what of a list is shown and in
/// which order: some apps remember that for the list and for what it leads to.
const LISTINGS: &[&str] = &[
    "sort",
    "sortby",
    "order",
    "orderby",
    "dir",
    "direction",
    "filter",
    "filters",
    "view",
    "display",
    "limit",
    "per",
    "perpage",
    "pagesize",
    "show",
    "group",
    "groupby",
    "columns",
];
/// What such a name may begin with: `setlang`, `uselang`, `change_language`.
const CHOOSING: &[&str] = &["set", "use", "change", "switch", "select"];
/// Names under which software for many sites puts a session into a link.
const SESSIONS: &[&str] = &["phpsessid", "jsessionid", "sid", "session_id", "sessionid"];
/// Names of parameters that carry what one person was sent: to log in, to confirm, to be let in.
const SECRETS: &[&str] = &[
    "token",
    "code",
    "key",
    "secret",
    "hash",
    "sig",
    "signature",
    "ticket",
    "otp",
    "magic",
    "nonce",
    "invite",
    "invitation",
    "confirm",
    "confirmation",
    "activation",
    "verify",
    "verification",
    "jwt",
    "auth",
    "state",
    "csrf",
];
/// Nothing shorter is what a secret is…
const DRAWN_BYTES_MIN: usize = 16;
/// …with a word in it that mixes letters and digits, of this length at least.
const WORD_DRAWN_MIN: usize = 8;

/// The class of a URL: identifiers in the path become `*`, parameters are sorted, and of
/// their values only those stay that look like a verb or a route. At most 512 bytes.
#[must_use]
pub fn shape(target: &str) -> String {
    let mut shape = String::with_capacity(target.len().min(SHAPE_BYTES_MAX));
    let last = parts::path(target).split('/').filter(|segment| !segment.is_empty()).count();
    let mut place = 0;
    for (at, segment) in parts::path(target).split('/').enumerate() {
        if at > 0 {
            shape.push('/');
        }
        place += usize::from(!segment.is_empty());
        let is_title = place == last && last >= 2 && is_title(segment);
        push_segment(&mut shape, segment, is_title);
    }
    const CUT: &str = "…";
    // So that `?…` fits behind any path.
    const PATH_BYTES_MAX: usize = SHAPE_BYTES_MAX - "?".len() - CUT.len();
    if shape.len() > PATH_BYTES_MAX {
        shape.truncate(shape.floor_char_boundary(PATH_BYTES_MAX - CUT.len()));
        shape.push_str(CUT);
    }
    let mut query: Vec<String> = parts::parameters(target).map(parameter_shape).collect();
    query.sort_unstable();
    query.dedup();
    if query.is_empty() {
        return shape;
    }
    let query = query.join("&");
    shape.push('?');
    shape.push_str(if shape.len() + query.len() > SHAPE_BYTES_MAX { CUT } else { &query });
    shape
}

fn push_segment(shape: &mut String, segment: &str, is_title: bool) {
    let (name, has_parameters) = match segment.split_once(';') {
        Some((name, _)) => (name, true),
        None => (segment, false),
    };
    if is_title || is_identifier(name) {
        shape.push('*');
    } else if script_name(name).is_some() {
        push_without_numbers(shape, name);
    } else {
        shape.push_str(name);
    }
    if has_parameters {
        shape.push_str(";*");
    }
}

/// Whether a path's last segment is what an author wrote: anything but a file's name and a
/// short word in small letters.
fn is_title(segment: &str) -> bool {
    let is_word =
        segment.len() <= WORD_BYTES_MAX && segment.bytes().all(|b| b.is_ascii_lowercase());
    !segment.contains('.') && !is_word
}

/// Whether a segment tells one page from others of its kind.
fn is_identifier(segment: &str) -> bool {
    // A script's name may be long and bear a number (`index2.php`), and is still one kind.
    if script_name(segment).is_some() && segment.len() <= 2 * SEGMENT_BYTES_MAX {
        return false;
    }
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    let is_number = digits > 0 && digits == segment.len();
    let is_mixed = digits > 0 && segment.len() >= MIXED_BYTES_MIN;
    is_number || is_mixed || segment.len() > SEGMENT_BYTES_MAX
}

fn script_name(segment: &str) -> Option<&str> {
    name_before(segment, SCRIPT_ENDINGS)
}

fn name_before<'a>(segment: &'a str, endings: &[&str]) -> Option<&'a str> {
    let (name, ending) = segment.rsplit_once('.')?;
    let is_known = endings.iter().any(|known| known.eq_ignore_ascii_case(ending));
    (is_known && !name.is_empty()).then_some(name)
}

fn push_without_numbers(shape: &mut String, text: &str) {
    let mut in_number = false;
    for letter in text.chars() {
        let is_digit = letter.is_ascii_digit();
        if !(is_digit && in_number) {
            shape.push(if is_digit { '*' } else { letter });
        }
        in_number = is_digit;
    }
}

fn parameter_shape(parameter: Parameter<'_>) -> String {
    let name = decoded(parameter.name);
    let mut shape = String::new();
    let is_name = name.len() <= SEGMENT_BYTES_MAX
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.[]/:".contains(&b));
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    // More digits than an index has: a token or a time stands where a name would.
    if is_name && digits <= 4 {
        push_without_numbers(&mut shape, &name);
    } else {
        shape.push('*');
    }
    if let Some(value) = parameter.value {
        let value = decoded(value);
        shape.push('=');
        shape.push_str(if !is_listed(TEXTS, &name) && is_route(&value) { &value } else { "*" });
    }
    shape
}

/// Whether a value looks like a verb or a route rather than like an id or a title.
fn is_route(value: &str) -> bool {
    let is_of_route = |byte: u8| byte.is_ascii_lowercase() || b"_./-".contains(&byte);
    (2..=24).contains(&value.len()) && value.bytes().all(is_of_route)
}

fn is_listed(list: &[&str], name: &str) -> bool {
    list.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The verb by which a GET of this URL would change or end something, if it has one: such
/// a URL is never fetched but for the visitor who asks.
///
/// A verb counts where an app puts one: as a whole path segment or script name, as a whole
/// parameter name, as a value or a function's name in a value. A title that holds such a
/// word (`/wiki/Delete`, `/category/edit-wars`) and what is searched for forbid nothing.
#[must_use]
pub fn forbidden_verb(target: &str) -> Option<&'static str> {
    verb_in_route(parts::path(target), Place::Segment)
        .or_else(|| parts::parameters(target).find_map(verb_in_parameter))
}

/// Looks at each segment of a path, or of a route in a parameter.
fn verb_in_route(route: &str, lonely: Place) -> Option<&'static str> {
    let cut = |segment: &'_ str| segment.split(';').next().map(|name| decoded(name).into_owned());
    let segments: Vec<String> =
        route.split('/').filter_map(cut).filter(|segment| !segment.is_empty()).collect();
    let is_id = |at: usize| segments.get(at).is_some_and(|segment| is_identifier(segment));
    segments.iter().enumerate().find_map(|(at, segment)| {
        let is_last = at + 1 == segments.len();
        let follows_id = at > 0 && is_id(at - 1);
        if let Some(name) = script_name(segment) {
            return verb::find(name, Place::Order);
        }
        if follows_id || is_id(at + 1) {
            return verb::find(segment, Place::Whole);
        }
        if is_last && lonely != Place::Segment {
            return verb::find(segment, lonely);
        }
        // `/wiki/Delete` is about deleting; `/user/log_out` is written by no author.
        let by_an_author = segment.bytes().any(|b| !(b.is_ascii_lowercase() || b"_-".contains(&b)));
        if is_last && segments.len() >= 2 && is_title(segment) && by_an_author {
            return None;
        }
        let name = name_before(segment, PAGE_ENDINGS).unwrap_or(segment);
        verb::find(name, Place::Segment)
    })
}

fn verb_in_parameter(parameter: Parameter<'_>) -> Option<&'static str> {
    let name = decoded(parameter.name);
    // `delete[]=5` deletes as well.
    let name = name.split('[').next().unwrap_or(&name);
    if let Some(verb) = verb::find(name, Place::Whole) {
        return Some(verb);
    }
    let value = decoded(parameter.value.unwrap_or_default());
    let place = if is_listed(TEXTS, name) || is_listed(COLUMNS, name) {
        return None;
    } else if is_listed(ORDERS, name) {
        Place::Order
    } else if is_listed(TOPICS, name) {
        Place::Topic
    } else {
        Place::Value
    };
    // FluxBB's and PunBB's way to log out.
    if place == Place::Order && value == "out" {
        return Some("logout");
    }
    // `?post/delete/5`: the whole query is a route.
    let route = if name.contains('/') { name } else { &value };
    route.split(['.', ':', '|']).find_map(|route| verb_in_route(route, place))
}

/// Whether a parameter of this URL is one by which visitors choose how the site is shown
/// to them from then on: its page may be fine while the next one is not.
#[must_use]
pub fn may_set_preference(target: &str) -> bool {
    parts::parameters(target).any(|parameter| {
        let name = decoded(parameter.name).to_ascii_lowercase().replace(['_', '-'], "");
        let is_one = |name: &str| PREFERENCES.contains(&name);
        is_one(&name) || CHOOSING.iter().filter_map(|verb| name.strip_prefix(verb)).any(is_one)
    })
}

/// The list that this URL chooses from: its path alone, if a parameter of it is one by which lists
/// are sorted or filtered. The choice may be remembered for the list.
#[must_use]
pub fn list_chosen_from(target: &str) -> Option<&str> {
    let chooses = |parameter: parts::Parameter<'_>| {
        let name = decoded(parameter.name).to_ascii_lowercase();
        name.split(|letter: char| !letter.is_ascii_alphanumeric())
            .any(|word| LISTINGS.contains(&word))
    };
    parts::parameters(target).any(chooses).then(|| parts::path(target))
}

/// Whether the URL bears a session: a query or path parameter named like one, with a
/// value long enough to be one.
///
/// `is_app` says whether the app has a cookie of this name, or one that ends in `_` and
/// this name; [`is_named_after`] is that question about one cookie.
#[must_use]
pub fn names_session(target: &str, is_app: impl Fn(&[u8]) -> bool) -> bool {
    parts::parameters(target).chain(parts::path_parameters(target)).any(|parameter| {
        let name = decoded(parameter.name);
        let is_long = parameter.value.is_some_and(|value| value.len() >= SESSION_BYTES_MIN);
        is_long && (is_listed(SESSIONS, &name) || is_app(name.as_bytes()))
    })
}

/// Whether the URL bears what only one person was given: a parameter that is named like a secret,
/// with a value that looks drawn by lot. Fetching it may spend it.
#[must_use]
pub fn names_secret(target: &str) -> bool {
    parts::parameters(target).any(|parameter| {
        let name = decoded(parameter.name).to_ascii_lowercase();
        let last = name.rsplit(['_', '-', '.']).next().unwrap_or(&name);
        (is_listed(SECRETS, &name) || is_listed(SECRETS, last))
            && is_drawn(&decoded(parameter.value.unwrap_or_default()))
    })
}

/// Whether anything in the URL looks drawn by lot: a parameter's value, or a segment of its path.
#[must_use]
pub fn bears_drawn(target: &str) -> bool {
    let values = parts::parameters(target).filter_map(|parameter| parameter.value);
    parts::path(target).split('/').chain(values).any(|text| is_drawn(&decoded(text)))
}

/// Whether it is long, and mixes letters and digits within a word: neither a title nor a number.
fn is_drawn(text: &str) -> bool {
    let is_of_drawn = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~=+/".contains(&byte);
    let is_mixed = |word: &str| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        word.len() >= WORD_DRAWN_MIN && digits >= 2 && digits < word.len()
    };
    text.len() >= DRAWN_BYTES_MIN
        && text.bytes().all(is_of_drawn)
        && text.split(['-', '_', '.', '~', '+', '/']).any(is_mixed)
}

/// Whether a parameter of this name would carry the value of this cookie: it has the
/// cookie's name, or the part behind its last `_` (phpBB: `phpbb3_x1y2z_sid` and `sid`).
#[must_use]
pub fn is_named_after(parameter: &[u8], cookie: &[u8]) -> bool {
    let tail = cookie.iter().rposition(|&byte| byte == b'_').map(|at| &cookie[at + 1..]);
    !parameter.is_empty() && (parameter == cookie || tail == Some(parameter))
}

#[cfg(test)]
#[path = "shape_tests.rs"]
mod tests;

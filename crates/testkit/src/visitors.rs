//! Visitors, as an app knows them: the sessions that it began, and answers made for one of them.
//!
//! An answer of the simulated origin may hold `{sid}` (the visitor's session, begun if there
//! is none), `{token}` (a token of that session), `{address}`, `{agent}` and `{count}`. What
//! the origin expects may hold them as well, of the visitor who asks. A session is good
//! for the address and the browser that it began with, as in many an app.
//! Invariant: session ids and tokens have a form that nothing else has, so that clients find
//! them in what they are shown.

use std::collections::BTreeMap;

use wire::Name;

use crate::message::Received;
use crate::scene::{Exchange, Message, Stage, Want};
use crate::wants::joined;

/// What may stand in a text of the origin's.
const PLACES: [&str; 5] = ["{sid}", "{token}", "{address}", "{agent}", "{count}"];
/// With what a session id and a token begin; behind it stand [`DIGITS`] hexadecimal digits.
const SID: &str = "sid";
const TOKEN: &str = "tok";
const DIGITS: usize = 20;

/// Everybody whom the origin gave a session.
#[derive(Debug, Default)]
pub(crate) struct Visitors {
    sessions: BTreeMap<String, Session>,
}

#[derive(Clone, Debug)]
struct Session {
    sid: String,
    token: String,
    address: String,
    agent: String,
}

/// One who asks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Visitor {
    address: String,
    agent: String,
    session: Option<Session>,
    /// Whether the session came back in a cookie.
    is_known: bool,
}

impl Visitors {
    /// The visitor who sends a request.
    pub(crate) fn of(&self, request: &Received) -> Visitor {
        let field = |name| joined(&request.fields, name).unwrap_or_default();
        let (address, agent) = (field("x-forwarded-for"), field("user-agent"));
        let cookies = joined(&request.fields, Name::Cookie.as_str()).unwrap_or_default();
        let mut values =
            cookies.split(';').filter_map(|pair| Some(pair.split_once('=')?.1.trim().to_owned()));
        let session = values.find_map(|value| self.sessions.get(&value)).cloned();
        let session = session.filter(|own| own.address == address && own.agent == agent);
        Visitor { address, agent, is_known: session.is_some(), session }
    }

    /// An exchange as it is meant for this visitor: what is expected of the request, in the
    /// values of a session that there is.
    pub(crate) fn expected(exchange: &Exchange, visitor: &Visitor) -> Exchange {
        let mut exchange = exchange.clone();
        exchange.target = visitor.fill(&exchange.target, 0);
        for want in &mut exchange.wants {
            if let Want::Field(_, value) | Want::Trailer(_, value) = want {
                *value = visitor.fill(value, 0);
            }
        }
        if let Some(body) = &mut exchange.body {
            visitor.fill_bytes(body, 0);
        }
        exchange
    }

    /// Makes the answers of an exchange this visitor's own, the `count`th to get them.
    /// A session is begun where one is needed.
    pub(crate) fn answer(&mut self, exchange: &mut Exchange, visitor: &mut Visitor, count: usize) {
        if visitor.session.is_none() && exchange.stages.iter().any(needs_session) {
            visitor.session = Some(self.begin(visitor));
        }
        for stage in &mut exchange.stages {
            match stage {
                Stage::Head(_, message, _) => visitor.fill_message(message, count),
                Stage::More(body) => visitor.fill_bytes(body, count),
                _ => {}
            }
        }
    }

    fn begin(&mut self, visitor: &Visitor) -> Session {
        let number = self.sessions.len() as u64;
        let name = |start: &str, salt: u64| {
            let (high, low) = (mixed(2 * number + salt), mixed(!(2 * number + salt)));
            format!("{start}{high:016x}{:04x}", low & 0xffff)
        };
        let session = Session {
            sid: name(SID, 0),
            token: name(TOKEN, 1),
            address: visitor.address.clone(),
            agent: visitor.agent.clone(),
        };
        self.sessions.insert(session.sid.clone(), session.clone());
        session
    }
}

/// Splitmix64's last step: numbers that follow each other have nothing in common.
fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

fn needs_session(stage: &Stage) -> bool {
    let names = |text: &[u8]| has_place(text, "{sid}") || has_place(text, "{token}");
    match stage {
        Stage::Head(_, message, _) => {
            message.body.as_deref().is_some_and(names)
                || message.fields.iter().any(|(_, value)| names(value.as_bytes()))
        }
        Stage::More(body) => names(body),
        _ => false,
    }
}

fn has_place(text: &[u8], place: &str) -> bool {
    text.windows(place.len()).any(|window| window == place.as_bytes())
}

impl Visitor {
    fn fill(&self, text: &str, count: usize) -> String {
        let mut filled = text.to_owned();
        for place in PLACES.into_iter().filter(|place| text.contains(place)) {
            filled = filled.replace(place, &self.value(place, count));
        }
        filled
    }

    fn fill_bytes(&self, bytes: &mut Vec<u8>, count: usize) {
        // A body with a place is text; filler is not, and stays as it is.
        if let Ok(text) = std::str::from_utf8(bytes) {
            *bytes = self.fill(text, count).into_bytes();
        }
    }

    fn value(&self, place: &str, count: usize) -> String {
        let of_session = |read: fn(&Session) -> &String| match &self.session {
            Some(session) => read(session).clone(),
            None => "(no session of this visitor's)".to_owned(),
        };
        match place {
            "{sid}" => of_session(|session| &session.sid),
            "{token}" => of_session(|session| &session.token),
            "{address}" => self.address.clone(),
            "{agent}" => self.agent.clone(),
            _ => count.to_string(),
        }
    }

    fn fill_message(&self, message: &mut Message, count: usize) {
        let begins = |(name, value): &(String, String)| {
            name.eq_ignore_ascii_case("set-cookie") && value.contains("{sid}")
        };
        if self.is_known {
            message.fields.retain(|field| !begins(field));
        }
        for (_, value) in &mut message.fields {
            *value = self.fill(value, count);
        }
        if let Some(body) = &mut message.body {
            self.fill_bytes(body, count);
        }
    }
}

/// The session id, the token and the entity tag that a client was shown last.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    sid: Option<String>,
    token: Option<String>,
    etag: Option<String>,
}

impl Shown {
    /// Takes note of what stands in a message.
    pub(crate) fn note(&mut self, message: &Received) {
        let fields = message.fields.iter().map(|(_, value)| value);
        for text in fields.chain([&message.body[..]]) {
            self.sid = find(text, SID).last().or(self.sid.take());
            self.token = find(text, TOKEN).last().or(self.token.take());
        }
        self.etag = joined(&message.fields, Name::Etag.as_str()).or(self.etag.take());
    }

    /// A text in which `{sid}`, `{token}` and `{etag}` are those.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (place, shown) in
            [("{sid}", &self.sid), ("{token}", &self.token), ("{etag}", &self.etag)]
        {
            text = text.replace(place, shown.as_deref().unwrap_or("(never shown)"));
        }
        text
    }

    /// A request with the same.
    pub(crate) fn fill_request(&self, request: &Message) -> Message {
        let mut request = request.clone();
        for (_, value) in &mut request.fields {
            *value = self.fill(value);
        }
        if let Some(body) = &mut request.body
            && let Ok(text) = std::str::from_utf8(body)
        {
            *body = self.fill(text).into_bytes();
        }
        request
    }
}

/// What was received, as `wanted` writes it: session ids and tokens as their places.
pub(crate) fn as_wanted(wanted: &[u8], received: &[u8]) -> Vec<u8> {
    let mut text = received.to_vec();
    for (place, start) in [("{sid}", SID), ("{token}", TOKEN)] {
        if !has_place(wanted, place) {
            continue;
        }
        let mut rest = &text[..];
        let mut masked = Vec::with_capacity(text.len());
        while let Some(at) = (0..rest.len()).find(|&at| is_one(&rest[at..], start)) {
            masked.extend_from_slice(&rest[..at]);
            masked.extend_from_slice(place.as_bytes());
            rest = &rest[at + start.len() + DIGITS..];
        }
        masked.extend_from_slice(rest);
        text = masked;
    }
    text
}

fn find<'a>(text: &'a [u8], start: &'a str) -> impl Iterator<Item = String> + 'a {
    let length = start.len() + DIGITS;
    let ones = text.windows(length).filter(move |window| is_one(window, start));
    ones.map(|one| String::from_utf8_lossy(one).into_owned())
}

/// Whether a text begins with a session id or a token.
fn is_one(text: &[u8], start: &str) -> bool {
    let digits = text.strip_prefix(start.as_bytes()).and_then(|rest| rest.get(..DIGITS));
    digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Deed, Ending};

    fn request(fields: &str) -> Received {
        let text = format!("GET / HTTP/1.1\r\n{fields}\r\n");
        Received::request(text.as_bytes(), false).expect("it is sound").expect("it is whole")
    }

    fn exchange(line: &str) -> Exchange {
        let text = format!("# A scene.\nlaw: x\n{line}\n");
        let mut scene = crate::parse::scene(&text, None).expect("in the language");
        match scene.steps.remove(0).deed {
            Deed::Script(exchange) => exchange,
            other => panic!("not the origin's: {other:?}"),
        }
    }

    /// The answer to a request: its cookie and its body.
    fn answer(visitors: &mut Visitors, fields: &str, count: usize) -> (Option<String>, String) {
        let mut line = exchange("origin GET / -> 200 Set-Cookie: id={sid} \"{token} {count}\"");
        let mut visitor = visitors.of(&request(fields));
        visitors.answer(&mut line, &mut visitor, count);
        let Some(Stage::Head(200, message, Ending::Length)) = line.stages.pop() else {
            panic!("the line has a head")
        };
        let cookie = message.fields.into_iter().next().map(|(_, value)| value);
        (cookie, String::from_utf8(message.body.expect("it has a body")).expect("text"))
    }

    #[test]
    fn a_session_lasts_for_the_address_and_browser_that_it_began_with() {
        let mut visitors = Visitors::default();
        let (cookie, body) = answer(&mut visitors, "X-Forwarded-For: 1\r\nUser-Agent: a\r\n", 1);
        let cookie = cookie.expect("a session begins");
        let token = body.split(' ').next().expect("a token").to_owned();
        for (fields, is_known) in [
            ("X-Forwarded-For: 1\r\nUser-Agent: a\r\nCookie: x=1; ", true),
            ("X-Forwarded-For: 2\r\nUser-Agent: a\r\nCookie: ", false),
            ("X-Forwarded-For: 1\r\nUser-Agent: b\r\nCookie: ", false),
        ] {
            let (again, body) = answer(&mut visitors, &format!("{fields}{cookie}\r\n"), 2);
            assert_eq!((again.is_none(), body == format!("{token} 2")), (is_known, is_known));
        }
    }

    #[test]
    fn what_is_expected_is_of_the_session_that_asks() {
        let mut visitors = Visitors::default();
        let (cookie, body) = answer(&mut visitors, "", 1);
        let cookie = cookie.expect("a session begins");
        let line = exchange("origin POST /?t={token} Cookie: id={sid} \"{token}\" -> 200");
        let visitor = visitors.of(&request(&format!("Cookie: {cookie}\r\n")));
        let filled = Visitors::expected(&line, &visitor);
        let token = body.strip_suffix(" 1").expect("the token and a count");
        assert_eq!(filled.target, format!("/?t={token}"));
        assert_eq!(filled.wants, [Want::Field("Cookie".into(), cookie)]);
        assert_eq!(filled.body.as_deref(), Some(token.as_bytes()));
        let nobody = Visitors::expected(&line, &visitors.of(&request("")));
        assert!(nobody.target.contains("no session"));
    }

    #[test]
    fn a_client_knows_what_it_was_shown() {
        let mut visitors = Visitors::default();
        let (cookie, body) = answer(&mut visitors, "", 1);
        let cookie = cookie.expect("a session begins");
        let text = format!("HTTP/1.1 200 OK\r\nSet-Cookie: {cookie}\r\n\r\n{body}");
        let message = Received::response(text.as_bytes(), "GET", true).expect("it is sound");
        let mut shown = Shown::default();
        assert_eq!(shown.fill("{sid}"), "(never shown)");
        shown.note(&message.expect("it is whole"));
        assert_eq!(shown.fill("id={sid} {token} 1"), format!("{cookie} {body}"));
        for (wanted, received, expected) in [
            ("{token} 1", &body, "{token} 1"),
            ("id={sid}", &cookie, "id={sid}"),
            ("id={token}", &cookie, cookie.as_str()),
            ("", &body, body.as_str()),
        ] {
            let seen = as_wanted(wanted.as_bytes(), received.as_bytes());
            assert_eq!(String::from_utf8_lossy(&seen), expected);
        }
    }
}

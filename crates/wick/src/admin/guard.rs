//! The guard before the admin listener: who may ask what, by a request's head alone.
//!
//! In: the listener's rules and a request's head. Out: nothing, or a [`Refusal`].
//! Invariants: 1. a page of another site that a browser on this machine shows learns nothing:
//! not by its own requests, nor by a name of its own that leads here (DNS rebinding). 2. where
//! there is a token, nothing but `/healthz` is told without it.
//! Start at [`Guard::refuses`].

use std::net::IpAddr;

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};

use super::token::Token;

/// The only path for which no token is asked: it tells that somebody is there.
pub(crate) const HEALTH: &str = "/healthz";

/// Who may ask.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard {
    pub(crate) token: Option<Token>,
    /// The name that the listener is found by, besides addresses and `localhost`.
    pub(crate) host: Option<String>,
}

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Host,
    CrossSite,
    Token,
}

impl Refusal {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::CrossSite => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::UNAUTHORIZED,
        }
    }

    /// One sentence for who asked.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Host => {
                "Ask by an IP address or by localhost, or name the host in admin_host of wick.toml.\n"
            }
            Self::CrossSite => "Pages of other sites are not answered.\n",
            Self::Token => "Show admin_token as a bearer token, or as the password of any user.\n",
        }
    }
}

impl Guard {
    /// Why this request is not answered, if it isn't.
    pub(crate) fn refuses(&self, head: &Parts) -> Option<Refusal> {
        if !self.is_ours(host(head)) {
            return Some(Refusal::Host);
        }
        if is_cross_site(head) {
            return Some(Refusal::CrossSite);
        }
        let token = self.token.as_ref().filter(|_| head.uri.path() != HEALTH)?;
        let shown = head.headers.get(AUTHORIZATION);
        let is_shown = shown.is_some_and(|shown| token.is_shown_by(shown.as_bytes()));
        (!is_shown).then_some(Refusal::Token)
    }

    /// Whether a browser that says this came here by the owner's will: no name of another site
    /// can be an address.
    fn is_ours(&self, host: Option<&str>) -> bool {
        let Some(host) = host else { return false };
        if let Some(rest) = host.strip_prefix('[') {
            let (address, port) = rest.split_once(']').unwrap_or((rest, "x"));
            return address.parse::<std::net::Ipv6Addr>().is_ok() && is_port(port);
        }
        let (name, port) = host.find(':').map_or((host, ""), |at| host.split_at(at));
        let is_known = name.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || self.host.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(name));
        is_known && is_port(port)
    }
}

/// Whether nothing or `:` and digits.
fn is_port(text: &str) -> bool {
    text.is_empty()
        || text
            .strip_prefix(':')
            .is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The one host that a head names.
fn host(head: &Parts) -> Option<&str> {
    let mut all = head.headers.get_all(HOST).iter();
    let field = all.next().and_then(|host| host.to_str().ok());
    match (head.uri.authority(), all.next()) {
        (None, None) => field,
        // In the form that proxies are asked in, both must say the same.
        (Some(authority), None) => field.filter(|field| *field == authority.as_str()),
        _ => None,
    }
}

/// Whether a page of another site has a part in it. A browser says so in `Sec-Fetch-Site`, an
/// old one in `Origin`; a program says nothing.
fn is_cross_site(head: &Parts) -> bool {
    let headers = &head.headers;
    let is_safe = matches!(head.method, Method::GET | Method::HEAD);
    match text(headers, "sec-fetch-site") {
        None => {}
        Some("same-origin" | "none") => return false,
        // Somebody who follows a link may look, as after typing the address.
        Some(_) if is_safe => return text(headers, "sec-fetch-mode") != Some("navigate"),
        Some(_) => return true,
    }
    let Some(origin) = headers.get(ORIGIN) else { return false };
    let own = host(head).unwrap_or_default();
    let origin = origin.to_str().unwrap_or_default();
    let authority = origin.split_once("://").map(|(_, authority)| authority);
    authority.is_none_or(|authority| !authority.eq_ignore_ascii_case(own))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    // One that can't be read is another's, not none.
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "a-token-of-many-letters";

    /// A request: its line, and fields one a line.
    fn refused(guard: &Guard, request: &str) -> Option<Refusal> {
        let mut lines = request.lines();
        let (method, target) =
            lines.next().and_then(|line| line.split_once(' ')).expect("a request line");
        let mut built = http::Request::builder().method(method).uri(target);
        for line in lines {
            let (name, value) = line.split_once(": ").expect("a field");
            built = built.header(name, value);
        }
        guard.refuses(&built.body(()).expect("a request").into_parts().0)
    }

    #[test]
    fn a_host_is_an_address_or_localhost_or_the_name_of_the_settings() {
        let guard = Guard { host: Some("stats.example.org".into()), token: None };
        for (host, is_ours) in [
            ("127.0.0.1:9180", true),
            ("127.0.0.1", true),
            ("192.0.2.7:80", true),
            ("[::1]:9180", true),
            ("[::1]", true),
            ("localhost:9180", true),
            ("LOCALHOST", true),
            ("stats.example.org", true),
            ("Stats.Example.org:443", true),
            ("example.org:9180", false),
            ("127.0.0.1.evil.test:9180", false),
            ("localhost.evil.test", false),
            ("127.0.0.1:9180.evil.test", false),
            ("127.0.0.1:", false),
            ("[::1", false),
            ("[::1].evil.test", false),
            ("[127.0.0.1]", false),
            ("2130706433", false),
            ("::1", false),
            ("evil@127.0.0.1", false),
        ] {
            let told = refused(&guard, &format!("GET /\nHost: {host}"));
            assert_eq!(told.is_none(), is_ours, "{host}: {told:?}");
        }
        assert_eq!(refused(&guard, "GET /"), Some(Refusal::Host));
        assert_eq!(refused(&guard, "GET /\nHost: localhost\nHost: evil.test"), Some(Refusal::Host));
        let proxied = "GET http://evil.test/\nHost: localhost";
        assert_eq!(refused(&guard, proxied), Some(Refusal::Host));
    }

    #[test]
    fn a_page_of_another_site_is_not_answered() {
        let guard = Guard::default();
        let cross = Some(Refusal::CrossSite);
        for (request, expected) in [
            ("GET /api/now", None),
            ("GET /api/now\nSec-Fetch-Site: same-origin\nSec-Fetch-Mode: cors", None),
            ("GET /\nSec-Fetch-Site: none\nSec-Fetch-Mode: navigate", None),
            ("GET /\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate", None),
            ("GET /api/now\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: cors", cross),
            ("GET /api/stream\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: no-cors", cross),
            // Another port of this machine is another site's too.
            ("GET /api/now\nSec-Fetch-Site: same-site\nSec-Fetch-Mode: cors", cross),
            ("GET /api/now\nSec-Fetch-Site: \u{e9}", cross),
            ("GET /api/now\nOrigin: http://evil.test", cross),
            ("GET /api/now\nOrigin: null", cross),
            ("GET /api/now\nOrigin: http://localhost:9180", None),
            ("POST /api/x", None),
            ("POST /api/x\nSec-Fetch-Site: same-origin", None),
            ("POST /api/x\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate", cross),
            ("POST /api/x\nOrigin: http://evil.test", cross),
            ("POST /api/x\nOrigin: http://localhost:80", cross),
            ("POST /api/x\nOrigin: http://LOCALHOST:9180", None),
        ] {
            let request = format!("{request}\nHost: localhost:9180");
            assert_eq!(refused(&guard, &request), expected, "{request}");
        }
    }

    #[test]
    fn where_there_is_a_token_only_health_is_told_without_it() {
        let guard = Guard { token: Token::new(TOKEN), host: None };
        for (request, expected) in [
            ("GET /", Some(Refusal::Token)),
            ("GET /metrics", Some(Refusal::Token)),
            ("GET /none", Some(Refusal::Token)),
            ("GET /healthz/", Some(Refusal::Token)),
            ("GET /metrics\nAuthorization: Bearer a-wrong-token-as-long", Some(Refusal::Token)),
            ("GET /metrics\nAuthorization: Bearer a-token-of-many-letters", None),
            ("GET /healthz", None),
        ] {
            let request = format!("{request}\nHost: 192.0.2.7");
            assert_eq!(refused(&guard, &request), expected, "{request}");
        }
    }
}

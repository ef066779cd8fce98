//! Who asks: a stranger, somebody who holds a cookie of the app, or nobody knows.
//!
//! In: a request's fields and what has been learned about cookie names. Out: a
//! [`Visitor`]. Pages are shared among strangers only; in doubt a visitor is none.
//! Invariants: 1. who bears a cookie of the app or credentials is never a stranger.
//! 2. one name that nobody knows is enough not to be one.
//! Start at [`visitor`]; the cookies of others are listed in `foreign-cookies.txt`.

use std::sync::LazyLock;

use wire::{Fields, Name};

use super::cookie;

/// Whose a cookie of this name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The app was seen to set it.
    App,
    /// The app doesn't know it: it may be taken out of the request.
    Foreign,
    /// Not learned yet.
    Unknown,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visitor {
    /// Without a cookie of the app: may be given what was made for another stranger.
    Stranger,
    /// With a cookie of the app or credentials: what is made for them is theirs alone.
    Holder,
    /// With a cookie that may be the app's: treated as a holder until that is known.
    Unproven,
}

/// Who asks, by the cookies and credentials of a request. Allocates nothing; costs two
/// masks where there are none.
#[must_use]
pub fn visitor(fields: &Fields, standing: impl Fn(&[u8]) -> Standing) -> Visitor {
    if fields.has(Name::Authorization) {
        return Visitor::Holder;
    }
    let mut is_unproven = false;
    for (name, _) in cookie::pairs(fields) {
        match standing(name) {
            Standing::App => return Visitor::Holder,
            Standing::Unknown => is_unproven = true,
            Standing::Foreign => {}
        }
    }
    if is_unproven { Visitor::Unproven } else { Visitor::Stranger }
}

/// Whether a cookie of this name is known to be set by scripts for analytics, advertising
/// or consent, or by a network before the site, and to mean nothing to the site's server.
///
/// A cookie that the app was seen to set is the app's all the same: the caller asks for
/// that first.
#[must_use]
pub fn is_known_foreign(name: &[u8]) -> bool {
    let Some(head) = name.first_chunk() else { return false };
    let first = FOREIGN.partition_point(|pattern| pattern.head < *head);
    FOREIGN[first..]
        .iter()
        .take_while(|pattern| pattern.head == *head)
        .any(|pattern| pattern.matches(name))
}

/// One line of the list, found by the two characters it begins with.
struct Pattern {
    head: [u8; 2],
    text: &'static [u8],
    is_open: bool,
}

impl Pattern {
    fn read(line: &'static str) -> Option<Self> {
        let line = line.trim();
        if line.starts_with('#') {
            return None;
        }
        let (text, is_open) = match line.strip_suffix('*') {
            Some(start) => (start, true),
            None => (line, false),
        };
        let text = text.as_bytes();
        Some(Self { head: *text.first_chunk()?, text, is_open })
    }

    fn matches(&self, name: &[u8]) -> bool {
        if self.is_open { name.starts_with(self.text) } else { name == self.text }
    }
}

const LIST: &str = include_str!("foreign-cookies.txt");

/// The list, sorted by the first two characters.
static FOREIGN: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let mut patterns: Vec<_> = LIST.lines().filter_map(Pattern::read).collect();
    patterns.sort_by_key(|pattern| pattern.head);
    patterns
});

#[cfg(test)]
mod tests {
    use super::*;

    fn check(request: &str, expected: Visitor) {
        let fields = Fields::parse(request.as_bytes()).expect("valid fields");
        let standing = |name: &[u8]| match name {
            b"PHPSESSID" | b"_ga_app" => Standing::App,
            name if is_known_foreign(name) => Standing::Foreign,
            _ => Standing::Unknown,
        };
        assert_eq!(visitor(&fields, standing), expected, "{request:?}");
    }

    #[test]
    fn a_stranger_bears_no_cookie_of_the_app() {
        check("", Visitor::Stranger);
        check("host: a", Visitor::Stranger);
        check("cookie:", Visitor::Stranger);
        check("cookie: ;", Visitor::Stranger);
        check("cookie: _ga=1; _fbp=2", Visitor::Stranger);
        check("cookie: _ga=PHPSESSID=1", Visitor::Stranger);
        check("cookie: _ga=1\ncookie: _gid=2", Visitor::Stranger);
    }

    #[test]
    fn a_cookie_of_the_app_or_credentials_make_a_holder() {
        check("cookie: PHPSESSID=1", Visitor::Holder);
        check("cookie: PHPSESSID", Visitor::Holder);
        check("cookie: PHPSESSID=", Visitor::Holder);
        check("cookie: _ga=1; what=2; PHPSESSID=1", Visitor::Holder);
        check("cookie: what=2\ncookie: PHPSESSID=1", Visitor::Holder);
        check("authorization: Basic eA==", Visitor::Holder);
        check("authorization:\ncookie: _ga=1", Visitor::Holder);
        // What the caller says is the app's is, though the list has it too.
        check("cookie: _ga_app=1", Visitor::Holder);
    }

    #[test]
    fn a_name_that_nobody_knows_proves_nothing() {
        check("cookie: what=1", Visitor::Unproven);
        check("cookie: _ga=1; what=1", Visitor::Unproven);
        check("cookie: phpsessid=1", Visitor::Unproven);
        check("cookie: =1", Visitor::Unproven);
    }

    #[test]
    fn the_list_knows_the_cookies_of_others() {
        for name in [
            "_ga",
            "_ga_X1Y2",
            "_gid",
            "_gat",
            "_gat_UA-1",
            "_gcl_au",
            "__utma",
            "_fbp",
            "_fbc",
            "_hjSessionUser_1",
            "_pk_id.1.abcd",
            "_pk_ses.1.abcd",
            "_clck",
            "_clsk",
            "__gads",
            "__gpi",
            "_scid",
            "_scid_r",
            "_tt_enable_cookie",
            "_uetsid",
            "hubspotutk",
            "__hstc",
            "ajs_anonymous_id",
            "amplitude_id_1",
            "mp_abc_mixpanel",
            "intercom-id-x",
            "__stripe_mid",
            "__stripe_sid",
            "cookieconsent_status",
            "CookieConsent",
            "OptanonConsent",
            "OptanonAlertBoxClosed",
            "__cf_bm",
            "cf_clearance",
            "_ym_uid",
        ] {
            assert!(is_known_foreign(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn the_list_knows_nothing_that_an_app_sets() {
        for name in [
            "",
            "_",
            "_g",
            "_gax",
            "_GA",
            "_ga2",
            "x_ga",
            "PHPSESSID",
            "sid",
            "session",
            "lang",
            "wordpress_logged_in_1",
            "wp-settings-1",
            "mybb[lastvisit]",
            "mybbuser",
            "ck_mb_id",
            "rx_login_status",
            "xe_logged",
            "mwUserID",
            "DokuWiki",
            "DW1234",
            "bb_data",
            "SMFCookie11",
            "pun_cookie_1",
            "phpbb3_x_u",
            "pwg_id",
            "SESSabc",
            "OCSESSID",
            "csrftoken",
            "XSRF-TOKEN",
            "remember_token",
            "laravel_session",
            "JSESSIONID",
            "ASP.NET_SessionId",
            "connect.sid",
            "cart",
            "currency",
            "theme",
            "nick",
            "__Host-sid",
        ] {
            assert!(!is_known_foreign(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn every_line_of_the_list_is_a_pattern_of_its_own() {
        let lines = LIST.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines: Vec<_> = lines.filter(|line| !line.starts_with('#')).collect();
        assert!(lines.len() >= 60);
        assert_eq!(lines.len(), FOREIGN.len());
        for (at, line) in lines.iter().enumerate() {
            let text = line.strip_suffix('*').unwrap_or(line);
            assert!(text.len() >= 2 && !text.contains(['*', ';', '=', ' ']), "{line}");
            assert!(!lines[..at].contains(line), "{line} stands there twice");
            assert!(is_known_foreign(text.as_bytes()), "{line}");
        }
    }
}

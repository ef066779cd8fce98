//! What a statement of a `sub` means for Wick.

use super::parse::Statement;
use super::tokens::Token;
use super::{Reader, amount};
use crate::found::Why::{Cannot, NotNeeded, Protection, Unknown};
use crate::found::{FIELDS, Value};
use crate::{pattern, tls};

const CACHE: &str = "Wick caches by itself, and finds out what may be shared with whom";
const COOKIES: &str = "Wick learns which cookies are the app's; the others don't matter to it";
const PURGES: &str = "Wick understands purges and bans by itself";
const FORWARDED: &str = "Wick tells the origin the host, the visitor and the scheme";
const REWRITES: &str = "Wick rewrites no addresses: let the app do it";
const REFUSED: &str = "let the app refuse these, or the firewall";
const NEVER: &str = "an address that is never to be shared stands in never_share, as a path, or \
                     as the beginning of an address with a * behind it";

/// The conditions that a statement stands under.
#[derive(Clone, Debug, Default)]
pub(super) struct Inside {
    sub: String,
    conditions: Vec<Vec<Token>>,
}

impl Inside {
    /// A `sub` of Varnish's own.
    pub(super) fn of(sub: &str) -> Self {
        Self { sub: sub.to_owned(), conditions: Vec::new() }
    }

    /// A `sub` that is called from somewhere: nobody knows under which conditions.
    pub(super) fn called() -> Self {
        Self { sub: String::new(), conditions: vec![vec![Token::Word("call".into())]] }
    }

    fn deeper(&self, condition: &[Token]) -> Self {
        let mut deeper = self.clone();
        deeper.conditions.push(condition.to_vec());
        deeper
    }

    fn is_always(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Whether any condition asks for this.
    fn asks(&self, text: &str) -> bool {
        let has = |token: &Token| token.text().to_ascii_lowercase().contains(text);
        self.conditions.iter().flatten().any(has)
    }

    fn innermost(&self) -> &[Token] {
        self.conditions.last().map_or(&[], Vec::as_slice)
    }
}

impl Reader {
    pub(super) fn statements(&mut self, statements: &[Statement], inside: &Inside) {
        for statement in statements {
            match (&statement.block, statement.word(0)) {
                (Some(block), "if" | "elsif" | "elseif" | "elif" | "else") => {
                    let deeper = inside.deeper(&statement.tokens);
                    let is_purge =
                        ["\"purge\"", "purge", "ban", "uriban", "refresh"].iter().any(|word| {
                            statement.tokens.iter().any(|token| {
                            matches!(token, Token::Text(text) if text.eq_ignore_ascii_case(word))
                        })
                        });
                    match is_purge {
                        true => self.leave(statement, NotNeeded, PURGES),
                        false => self.statements(block, &deeper),
                    }
                }
                (_, "set") => self.set(statement, inside),
                (_, "unset" | "remove") => self.unset(statement),
                (_, "return") => self.returns(statement, inside),
                (_, "new") => self.director(statement),
                (_, "hash_data") => self.hash(statement),
                (_, "ban" | "purge") => self.leave(statement, NotNeeded, PURGES),
                (_, "call" | "std.log" | "std.syslog" | "std.collect") => {}
                (_, "synthetic") => {
                    self.leave(statement, Cannot, "Wick's own error pages can't be changed");
                }
                (_, name) if name.ends_with(".add_backend") => self.member(statement),
                (_, "C{}C") => self.leave(statement, Cannot, "Wick runs no code of others"),
                _ => self.leave(statement, Unknown, "look it up in docs/settings.md"),
            }
        }
    }

    fn set(&mut self, statement: &Statement, inside: &Inside) {
        let target = statement.word(1).to_ascii_lowercase();
        let value = statement.tokens.get(3..).unwrap_or_default();
        let (why, advice) = match target.as_str() {
            "beresp.ttl" | "beresp.grace" => {
                return self.time(statement, inside, &target, value);
            }
            "req.url" | "bereq.url" => return self.url(statement, value),
            "req.backend_hint" | "req.backend" => return self.send(statement, inside, value),
            "req.http.cookie" | "bereq.http.cookie" => (NotNeeded, COOKIES),
            "beresp.do_gzip" | "beresp.do_gunzip" => crate::found::COMPRESSED,
            "beresp.do_esi" if value.iter().any(|token| token.is("true")) => {
                (Cannot, "Wick puts no pages together from ESI: let the app switch it off")
            }
            "req.http.host" | "bereq.http.host" => (NotNeeded, FORWARDED),
            "beresp.http.set-cookie" => (NotNeeded, COOKIES),
            _ if target.starts_with("req.http.x-forwarded") => (NotNeeded, FORWARDED),
            _ if target.starts_with("req.http.accept-encoding") => crate::found::COMPRESSED,
            _ if target.starts_with("bereq.http.connection")
                || target.ends_with("req.http.upgrade") =>
            {
                crate::found::TUNNELLED
            }
            _ if target.starts_with("resp.http.x-cache")
                || target.starts_with("resp.http.x-hits")
                || target.starts_with("resp.http.x-served")
                || target.starts_with("resp.http.x-varnish") =>
            {
                (NotNeeded, "Cache-Status tells what became of a request")
            }
            "beresp.http.x-url" | "beresp.http.x-host" | "beresp.http.x-request-url" => {
                (NotNeeded, PURGES)
            }
            _ if target.starts_with("resp.http.") || target.starts_with("beresp.http.") => {
                (Cannot, FIELDS)
            }
            _ if target.starts_with("req.http.") || target.starts_with("bereq.http.") => {
                (Cannot, "Wick sends no fields of its own to the origin")
            }
            "resp.status" | "resp.reason" | "beresp.status" => (Cannot, "Wick changes no answers"),
            _ if target.starts_with("beresp.")
                || target.starts_with("bereq.")
                || target.starts_with("req.")
                || target.starts_with("obj.") =>
            {
                (NotNeeded, CACHE)
            }
            _ => (Unknown, "look it up in docs/settings.md"),
        };
        self.leave(statement, why, advice);
    }

    /// Lifetimes that hold for every page.
    fn time(&mut self, statement: &Statement, inside: &Inside, target: &str, value: &[Token]) {
        let time = match value {
            [one] => amount::vcl_duration(one.text()).filter(|time| !time.is_zero()),
            _ => None,
        };
        let Some(time) = time.filter(|_| inside.is_always()) else {
            return self.leave(statement, NotNeeded, CACHE);
        };
        let (names, note): (&[&'static str], _) = match target {
            "beresp.ttl" => {
                (&["strangers_fresh"], "leave it out, and pages are fresh until something changes")
            }
            _ => {
                (&["strangers_stale", "stale_while_revalidate", "stale_if_error"], "what grace was")
            }
        };
        for name in names {
            self.rules.raise(name, Value::Time(time), &statement.place);
            self.rules.note(name, note);
        }
    }

    /// Changes of the address: parameters that are taken out don't choose the page.
    fn url(&mut self, statement: &Statement, value: &[Token]) {
        let is_cut = value.first().is_some_and(|token| token.is("regsub") || token.is("regsuball"));
        let pattern = value.iter().find_map(|token| match token {
            Token::Text(text) => Some(text.as_str()),
            _ => None,
        });
        match (is_cut, pattern) {
            (true, Some(pattern)) if pattern.contains('=') => {
                let (names, is_all) = pattern::parameters(pattern);
                for name in &names {
                    self.rules.add("ignore_query", name, &statement.place);
                }
                if !is_all {
                    let advice = "name each parameter in ignore_query: it has no patterns";
                    self.leave(statement, Cannot, advice);
                }
            }
            (true, Some("#.*$" | "\\#.*$" | "\\?$" | "\\?&" | "\\?&?$" | "(\\?|&)$")) => {
                self.leave(
                    statement,
                    NotNeeded,
                    "that is how addresses come to Wick, or no matter",
                );
            }
            _ if value.iter().any(|token| token.text().contains("querysort")) => {
                let advice = "two orders of a query are two pages: let links have one order";
                self.leave(statement, Cannot, advice);
            }
            _ => self.leave(statement, Cannot, REWRITES),
        }
    }

    /// Where requests go, by their host.
    fn send(&mut self, statement: &Statement, inside: &Inside, value: &[Token]) {
        let name = value.first().map(Token::text).unwrap_or_default();
        let name = name.strip_suffix(".backend").unwrap_or(name).to_owned();
        if inside.is_always() {
            self.sends_all.get_or_insert(name);
            return;
        }
        let is_else =
            inside.conditions.len() == 1 && matches!(inside.innermost(), [only] if only.is("else"));
        if is_else {
            self.sends_all.get_or_insert(name);
            return;
        }
        let hosts = match inside.conditions.as_slice() {
            [one] => alternatives(one, "req.http.host", |is_pattern, text| match is_pattern {
                true => pattern::hosts(text),
                false => crate::address::host(text).map(|host| vec![host]),
            }),
            _ => None,
        };
        match hosts {
            Some(hosts) => self.sends.push((hosts, name, statement.place.clone())),
            None => {
                let advice = "which origin is asked is decided by host alone: give these a host \
                              name of their own";
                self.leave(statement, Cannot, advice);
            }
        }
    }

    fn unset(&mut self, statement: &Statement) {
        let target = statement.word(1).to_ascii_lowercase();
        let (why, advice) = match target.as_str() {
            "req.http.cookie" | "beresp.http.set-cookie" | "bereq.http.cookie" => {
                (NotNeeded, COOKIES)
            }
            "resp.http.cache-tags"
            | "resp.http.x-cache-tags"
            | "resp.http.surrogate-key"
            | "resp.http.xkey"
            | "resp.http.purge-cache-tags"
            | "resp.http.x-url"
            | "resp.http.x-host"
            | "resp.http.x-varnish"
            | "resp.http.via"
            | "resp.http.age" => (NotNeeded, PURGES),
            _ if target.starts_with("resp.") || target.starts_with("beresp.") => (Cannot, FIELDS),
            _ => (NotNeeded, "Wick tells the origin nothing that a visitor could forge"),
        };
        self.leave(statement, why, advice);
    }

    fn returns(&mut self, statement: &Statement, inside: &Inside) {
        let what = statement.word(2);
        match what {
            "pass" | "pipe" | "hit_for_pass" | "hit_for_miss" => self.pass(statement, inside),
            "purge" => self.leave(statement, NotNeeded, PURGES),
            "synth" | "error" => self.synth(statement, inside),
            _ => {}
        }
    }

    fn pass(&mut self, statement: &Statement, inside: &Inside) {
        if inside.is_always() {
            if inside.sub == "vcl_recv" {
                self.rules.set("cache", Value::Flag(false), &statement.place);
            } else {
                self.leave(statement, NotNeeded, CACHE);
            }
            return;
        }
        if inside.asks("http.upgrade") || inside.asks("websocket") {
            let (why, advice) = crate::found::TUNNELLED;
            return self.leave(statement, why, advice);
        }
        let addresses = match inside.conditions.as_slice() {
            [one] => alternatives(one, "req.url", |is_pattern, text| match is_pattern {
                true => pattern::addresses(text),
                false => text.starts_with('/').then(|| vec![text.to_owned()]),
            }),
            _ => None,
        };
        let quoted = || Statement { tokens: inside.innermost().to_vec(), ..statement.clone() };
        match addresses {
            Some(addresses) => {
                for address in addresses {
                    self.rules.add("never_share", &address, &statement.place);
                }
            }
            None if inside.innermost().iter().any(|token| token.is("req.url")) => {
                self.leave(&quoted(), Cannot, NEVER);
            }
            None => self.leave(&quoted(), NotNeeded, CACHE),
        }
    }

    fn synth(&mut self, statement: &Statement, inside: &Inside) {
        let is_else = inside.innermost().first().is_some_and(|first| first.is("else"));
        if is_else && inside.conditions.len() == 1 && !self.sends.is_empty() {
            self.refuses_others = true;
            let advice = "Wick refuses hosts that no site names (421)";
            return self.leave(statement, NotNeeded, advice);
        }
        let status = statement.word(4);
        let (why, advice) = match status {
            _ if inside.asks("client.ip") || inside.asks("req.url") && status.starts_with('4') => {
                (Protection, REFUSED)
            }
            _ if !status.starts_with('4') && (inside.asks("https") || inside.asks("std.port")) => {
                tls::redirect()
            }
            "301" | "302" | "303" | "307" | "308" | "701" | "702" | "720" | "750" | "751" => {
                (Cannot, "Wick sends nobody elsewhere: let the app do it")
            }
            _ if inside.asks("req.method") => {
                (NotNeeded, "Wick refuses what is no request; methods are the app's to judge")
            }
            "200" => (Cannot, "let the app send this answer"),
            _ => (Protection, REFUSED),
        };
        let tokens = match inside.innermost() {
            [] => statement.tokens.clone(),
            condition => condition.to_vec(),
        };
        self.leave(&Statement { tokens, ..statement.clone() }, why, advice);
    }

    fn hash(&mut self, statement: &Statement) {
        let names: Vec<String> =
            statement.tokens.iter().map(|token| token.text().to_ascii_lowercase()).collect();
        let has = |text: &str| names.iter().any(|name| name.contains(text));
        if has("req.url") || has("req.http.host") || has("server.ip") {
            return;
        }
        match has("proto") || has("https") || has("ssl") {
            true => self.leave(statement, NotNeeded, "pages of HTTP and of HTTPS are kept apart"),
            false => {
                let advice = "pages that a field chooses say so by Vary: let the app send it";
                self.leave(statement, Cannot, advice);
            }
        }
    }

    /// `new name = directors.round_robin();`
    fn director(&mut self, statement: &Statement) {
        match statement.word(3).starts_with("directors.") {
            true => self.directors.push((statement.word(1).to_owned(), Vec::new())),
            false => self.leave(statement, Unknown, "Wick has no modules of Varnish's"),
        }
    }

    /// `name.add_backend(backend);`
    fn member(&mut self, statement: &Statement) {
        let name = statement.word(0).trim_end_matches(".add_backend");
        let backend = statement.word(2).to_owned();
        let director = self.directors.iter_mut().find(|(director, _)| director == name);
        if let Some((_, members)) = director {
            members.push(backend);
        }
    }
}

/// What `if (NAME ~ "…" || NAME == "…")` lists; none if it asks anything else.
fn alternatives(
    condition: &[Token],
    name: &str,
    mut read: impl FnMut(bool, &str) -> Option<Vec<String>>,
) -> Option<Vec<String>> {
    let (first, rest) = condition.split_first()?;
    if !first.is("if") && !first.is("elsif") && !first.is("elseif") {
        return None;
    }
    let inner: Vec<&Token> = rest.iter().filter(|token| !token.is("(") && !token.is(")")).collect();
    let mut all = Vec::new();
    for part in inner.split(|token| token.is("||")) {
        let [asked, sign, Token::Text(text)] = part else { return None };
        if !asked.text().eq_ignore_ascii_case(name) {
            return None;
        }
        match sign.text() {
            "~" => all.extend(read(true, text)?),
            "==" => all.extend(read(false, text)?),
            _ => return None,
        }
    }
    Some(all)
}

//! What is in a site of a Caddyfile.

use super::parse::Directive;
use super::{Reader, amount};
use crate::address;
use crate::draft::Draft;
use crate::found::{Value, Why};
use crate::tls;

const ONE_ORIGIN: &str =
    "a site has one origin for all of its addresses: give these a host name of their own";
const NO_ORIGIN: &str = "write origin = \"http://HOST:PORT\" for the site";

/// What a directive is for: all requests, or those that a matcher chooses.
fn matcher(directive: &Directive) -> (Option<&str>, usize) {
    match directive.word(1) {
        "*" => (None, 2),
        word if word.starts_with(['/', '@']) => (Some(word), 2),
        _ => (None, 1),
    }
}

impl Reader {
    /// Directives of a site, or of a part of it if `is_whole` is false.
    pub(super) fn directives(&mut self, lines: &[Directive], draft: &mut Draft, is_whole: bool) {
        for line in lines {
            match line.name() {
                "root" => self.root(line, draft, is_whole),
                "php_fastcgi" => self.php_fastcgi(line, draft, is_whole),
                "php_server" | "php" => {
                    let advice = "Wick starts a php-fpm for the folder";
                    self.leave(line, Why::NotNeeded, advice);
                }
                "reverse_proxy" => self.reverse_proxy(line, draft, is_whole),
                "handle" | "route" | "handle_path" => self.handle(line, draft, is_whole),
                "tls" => self.tls(line, draft),
                "log" => self.log(line),
                "redir" => self.redir(line, draft, lines),
                "request_body" => self.request_body(line),
                "file_server" => self.file_server(line),
                "respond" | "error" | "abort" => self.refuse(line, lines, is_whole),
                "bind" => {}
                "header" if self.hsts(line, draft) => {}
                name if name.starts_with('@') => {}
                _ => self.tell(line),
            }
        }
    }

    fn root(&mut self, line: &Directive, draft: &mut Draft, is_whole: bool) {
        // `root /srv` has no matcher, though it looks like one.
        let (chosen, path) = match line.words.len() {
            0..=2 => (None, line.word(1)),
            _ => (matcher(line).0, line.word(2)),
        };
        if chosen.is_some()
            || !is_whole
            || draft.root.as_ref().is_some_and(|(there, _)| there != path)
        {
            let advice = "a site has one folder: put a symbolic link into it";
            return self.leave(line, Why::Cannot, advice);
        }
        draft.root = Some((path.to_owned(), line.place.clone()));
    }

    fn php_fastcgi(&mut self, line: &Directive, draft: &mut Draft, is_whole: bool) {
        let (chosen, first) = matcher(line);
        if chosen.is_some() || !is_whole {
            return self.leave(line, Why::Cannot, "Wick runs every script of a site's folder");
        }
        let targets = line.words.get(first..).unwrap_or_default();
        let php = targets.first().and_then(|target| {
            // `unix//run/php.sock`: the network, a slash, the path.
            address::php(target.trim_start_matches("tcp/"), &["unix/", "unix:"])
        });
        match php {
            Some(php) if draft.php.is_none() => draft.php = Some((php, line.place.clone())),
            _ => {
                let advice = "write php = \"unix:/path\" or \"tcp:host:port\" for the site, or \
                              nothing: Wick starts a php-fpm itself";
                self.leave(line, Why::Cannot, advice);
            }
        }
        if targets.len() > 1 {
            self.leave(line, Why::Cannot, "a site has one php-fpm: the first is taken");
        }
        for inner in line.block() {
            match inner.name() {
                "root" if draft.root.is_none() => {
                    draft.root = Some((inner.word(1).to_owned(), inner.place.clone()));
                }
                "root" => {
                    let advice = "php-fpm has to see the folder under the same path as Wick does";
                    self.leave(inner, Why::Cannot, advice);
                }
                "dial_timeout" => self.site_time(inner, draft, &["connect_timeout"]),
                "read_timeout" => {
                    self.site_time(inner, draft, &["first_byte_timeout", "origin_idle_timeout"]);
                }
                _ => self.tell(inner),
            }
        }
    }

    fn reverse_proxy(&mut self, line: &Directive, draft: &mut Draft, is_whole: bool) {
        let (chosen, first) = matcher(line);
        // Those that ask for WebSockets alone go where all others go.
        if chosen.is_some() || !is_whole {
            return self.leave(line, Why::Cannot, ONE_ORIGIN);
        }
        let to = line.block().iter().filter(|inner| inner.name() == "to");
        let targets =
            line.words.iter().skip(first).chain(to.flat_map(|to| to.words.iter().skip(1)));
        let mut is_known = false;
        for target in targets {
            let whole = match target.contains("://") {
                true => target.clone(),
                false => format!("http://{target}"),
            };
            match address::http_origin(&whole) {
                Some(origin) => {
                    is_known = true;
                    draft.proxies.push((origin, line.place.clone()));
                }
                None => self.imported.leave(&line.place, target, Why::Cannot, NO_ORIGIN),
            }
        }
        if !is_known {
            self.leave(line, Why::Cannot, NO_ORIGIN);
        }
        for inner in line.block() {
            match inner.name() {
                "to" => {}
                "transport" => self.transport(inner, draft),
                "health_uri" if is_known && address::is_health_path(inner.word(1)) => {
                    let path = Value::Text(inner.word(1).to_owned());
                    draft.section.set("origin_health", path, &inner.place);
                }
                "health_interval" => self.site_time(inner, draft, &["origin_health_every"]),
                "health_timeout" => self.site_time(inner, draft, &["origin_health_timeout"]),
                _ => self.tell(inner),
            }
        }
    }

    fn transport(&mut self, line: &Directive, draft: &mut Draft) {
        if line.word(1) != "http" {
            let advice = "Wick speaks FastCGI with PHP by php = …, and HTTP";
            return self.leave(line, Why::Cannot, advice);
        }
        for inner in line.block() {
            match inner.name() {
                "dial_timeout" => self.site_time(inner, draft, &["connect_timeout"]),
                "response_header_timeout" => self.site_time(inner, draft, &["first_byte_timeout"]),
                "read_timeout" => self.site_time(inner, draft, &["origin_idle_timeout"]),
                _ => self.tell(inner),
            }
        }
    }

    fn site_time(&mut self, line: &Directive, draft: &mut Draft, names: &[&'static str]) {
        match amount::caddy_duration(line.word(1)).filter(|time| !time.is_zero()) {
            Some(time) => {
                for name in names {
                    draft.section.set(name, Value::Time(time), &line.place);
                }
            }
            None => self.leave(line, Why::Unknown, "it names no time"),
        }
    }

    fn handle(&mut self, line: &Directive, draft: &mut Draft, is_whole: bool) {
        let (chosen, _) = matcher(line);
        if line.name() == "handle_path" {
            self.leave(
                line,
                Why::Cannot,
                "Wick takes nothing away from addresses: let the app do it",
            );
        }
        self.directives(
            line.block(),
            draft,
            is_whole && chosen.is_none_or(|chosen| chosen == "/*"),
        );
    }

    fn tls(&mut self, line: &Directive, draft: &mut Draft) {
        let (first, second) = (line.word(1), line.word(2));
        let quoted = line.quoted();
        for inner in line.block() {
            self.tell(inner);
        }
        let imported = &mut self.imported;
        let place = (&line.place, quoted.as_str());
        if first.is_empty() || first == "internal" || second.is_empty() {
            // An address for the CA, or a certificate that only this machine knows.
            let advice = "how certificates are got is said at the top of wick.toml";
            return self.leave(line, Why::NotNeeded, advice);
        }
        draft.section.remove("certificate");
        tls::file(imported, (&mut draft.section, "certificate"), first, place);
        if second != first {
            tls::file(imported, (&mut draft.section, "certificate_key"), second, place);
        }
    }

    /// `header Strict-Transport-Security …`, in one line.
    fn hsts(&mut self, line: &Directive, draft: &mut Draft) -> bool {
        let (chosen, first) = matcher(line);
        let (name, value) = (line.word(first), line.word(first + 1));
        chosen.is_none() && tls::hsts(&mut draft.section, name, value, &line.place)
    }

    fn redir(&mut self, line: &Directive, draft: &mut Draft, lines: &[Directive]) {
        let (chosen, first) = matcher(line);
        let target = line.word(first);
        if target.starts_with("https://{host}") || target.starts_with("https://{http.request.host}")
        {
            let (why, advice) = tls::redirect();
            return self.leave(line, why, advice);
        }
        let is_all = chosen.is_none() && target.contains("://");
        let has_more = lines.iter().any(|other| {
            ["root", "reverse_proxy", "php_fastcgi", "file_server", "handle", "route"]
                .contains(&other.name())
        });
        draft.is_elsewhere |= is_all && !has_more;
        let advice = "Wick sends nobody elsewhere: let the app do it, and name both hosts in hosts";
        self.leave(line, Why::Cannot, advice);
    }

    fn request_body(&mut self, line: &Directive) {
        let inline = (line.word(1) == "max_size").then_some(line);
        for inner in line.block().iter().chain(inline) {
            let at = if inline.is_some() { 2 } else { 1 };
            match (inner.word(at - 1), amount::caddy_bytes(inner.word(at))) {
                ("max_size", Some(bytes)) => self.bytes("body", bytes, inner),
                _ => self.tell(inner),
            }
        }
    }

    fn file_server(&mut self, line: &Directive) {
        let is_browsed = line.words.iter().any(|word| word == "browse")
            || line.block().iter().any(|inner| inner.name() == "browse");
        if is_browsed {
            self.leave(line, Why::Cannot, "Wick shows no listings of folders");
        }
        for inner in line.block() {
            match inner.name() {
                "hide" => {
                    let advice = "write \"Require all denied\" within <FilesMatch> into a \
                                  .htaccess in the site's folder: Wick obeys it";
                    self.leave(inner, Why::Protection, advice);
                }
                "browse" => {}
                _ => self.tell(inner),
            }
        }
    }

    /// Answers that refuse: what the matcher chooses would be served.
    fn refuse(&mut self, line: &Directive, lines: &[Directive], is_whole: bool) {
        let (chosen, first) = matcher(line);
        let is_refusal = line.name() != "respond"
            || line
                .words
                .iter()
                .skip(first)
                .any(|word| ["400", "401", "403", "404", "410"].contains(&word.as_str()));
        let is_dots = |chosen: &str| {
            let definition = lines.iter().find(|other| other.name() == chosen);
            chosen.starts_with("/.") || definition.is_some_and(is_dot_files)
        };
        let (why, advice) = match (is_refusal, chosen) {
            (true, Some(chosen)) if is_dots(chosen) => {
                (Why::NotNeeded, "files whose name begins with a dot are never served")
            }
            (true, None) if is_whole => {
                (Why::NotNeeded, "Wick refuses hosts that no site names (421)")
            }
            (true, _) => (
                Why::Protection,
                "write \"Require all denied\" into a .htaccess in that folder (or within \
                 <FilesMatch>), which Wick obeys, or let the app refuse these",
            ),
            (false, _) => (Why::Cannot, "let the app send this answer"),
        };
        self.leave(line, why, advice);
    }
}

/// Whether all that a matcher is for are files with a dot before their name.
fn is_dot_files(matcher: &Directive) -> bool {
    let all = |words: &[String]| {
        words.first().is_some_and(|word| word == "path")
            && words.iter().skip(1).all(|word| word.starts_with("/.") || word.starts_with("*/."))
    };
    match matcher.block() {
        [] => all(matcher.words.get(1..).unwrap_or_default()),
        [only] => all(&only.words),
        _ => false,
    }
}

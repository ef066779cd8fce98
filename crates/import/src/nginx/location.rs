//! A `location`, `try_files` and `if`: what becomes of a part of a site.

use super::server::{OTHER_HOST, is_refusal, is_to_https};
use super::{Directive, Reader};
use crate::draft::Draft;
use crate::found::{Place, Why};
use crate::{pattern, tls};

/// Folders below which Wick runs no script.
const UPLOAD_FOLDERS: &[&str] = &["uploads", "upload", "attachments", "avatars", "userfiles"];

const NEVER_SHARED: &str = "Wick finds out itself what may be shared; an address that never may \
                            stands in never_share";
const CLOSED: &str = "write \"Require all denied\" into a .htaccess in that folder (or within \
                      <FilesMatch>): Wick obeys it";

/// Which addresses a location is for.
#[derive(Clone, Copy)]
struct Location<'a> {
    /// `=`, `~`, `~*`, `^~` or nothing.
    kind: &'a str,
    pattern: &'a str,
    directive: &'a Directive,
}

impl<'a> Location<'a> {
    fn of(directive: &'a Directive) -> Self {
        let (first, second) = (directive.word(0), directive.word(1));
        if ["=", "~", "~*", "^~"].contains(&first) {
            return Self { kind: first, pattern: second, directive };
        }
        // `~\.php$` is one word.
        let is_pattern = first.starts_with('~');
        let kind = if is_pattern { "~" } else { "" };
        let pattern = if is_pattern { first.trim_start_matches(['~', '*']) } else { first };
        Self { kind, pattern, directive }
    }

    fn is_named(self) -> bool {
        self.pattern.starts_with('@')
    }

    /// Whether it is for all addresses that no other location is for.
    fn is_whole(self) -> bool {
        let is_all = ["", "^~"].contains(&self.kind) && self.pattern == "/";
        is_all
            || self.kind.starts_with('~')
                && ["^/", "^/.*", ".*", "^", "^/(.*)"].contains(&self.pattern)
    }

    /// Whether files with a dot before their name are all that it is for.
    fn is_dot_files(self) -> bool {
        let has = |text: &str| self.pattern.contains(text);
        let is_pattern = self.kind.starts_with('~');
        is_pattern && (has("/\\.") || has("^\\.")) && !self.pattern.contains("php")
            || !is_pattern && self.pattern.starts_with("/.")
    }

    /// Whether scripts in folders that visitors upload to are all that it is for.
    fn is_uploaded_scripts(self) -> bool {
        let mut words =
            self.pattern.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| word.len() > 1);
        self.kind.starts_with('~')
            && self.pattern.contains("php")
            && words.all(|word| {
                word == "php" || word == "wp" || word == "content" || UPLOAD_FOLDERS.contains(&word)
            })
            && UPLOAD_FOLDERS.iter().any(|folder| self.pattern.contains(folder))
    }
}

impl Reader {
    pub(super) fn location(
        &mut self,
        directive: &Directive,
        draft: &mut Draft,
        server: &Directive,
    ) {
        let location = Location::of(directive);
        let block = directive.block();
        if block.iter().any(|inner| inner.name.ends_with("_cache_purge")) {
            let advice = "Wick understands GET /purge/PATH and PURGE from programs on this machine";
            return self.leave(directive, Why::NotNeeded, advice);
        }
        if self.is_closed(location) {
            return;
        }
        // Challenges of a CA, and places of which only the log is silenced.
        let is_challenge = location.pattern.contains(".well-known/acme-challenge");
        if is_challenge {
            let advice = "files of a folder are served, those below /.well-known/ too";
            return self.leave(directive, Why::NotNeeded, advice);
        }
        // Named locations are read where they are needed.
        if !location.is_named() {
            self.location_block(location, block, draft, server);
        }
    }

    fn location_block(
        &mut self,
        location: Location<'_>,
        block: &[Directive],
        draft: &mut Draft,
        server: &Directive,
    ) {
        let is_whole = location.is_whole() || location.is_named();
        let has = |name: &str| block.iter().any(|inner| inner.name == name);
        for inner in block {
            match inner.name.as_str() {
                "fastcgi_pass" => self.fastcgi_pass(inner, draft),
                "proxy_pass" => self.proxy_pass(inner, draft, is_whole),
                "root" => self.location_root(inner, draft, is_whole || has("fastcgi_pass")),
                "try_files" => self.try_files(inner, draft, server),
                "location" => self.location(inner, draft, server),
                "if" => self.condition(inner, draft),
                "limit_except" => self.tell(inner),
                "rewrite" => self.rewrite(inner),
                "return" => self.location_return(location, inner),
                _ => {
                    if !self.machine(inner) && !self.site_setting(inner, draft) {
                        self.tell(inner);
                    }
                }
            }
        }
    }

    /// A location that nobody may come to: says whether it is one.
    fn is_closed(&mut self, location: Location<'_>) -> bool {
        let block = location.directive.block();
        let denies = block.iter().any(|inner| inner.name == "deny" && inner.word(0) == "all");
        let allows = block.iter().any(|inner| inner.name == "allow");
        let refuses = block.iter().any(|inner| inner.name == "return" && is_refusal(inner));
        if !(denies && !allows || refuses) {
            return false;
        }
        let (why, advice) = if location.is_dot_files() {
            (Why::NotNeeded, "files whose name begins with a dot are never served")
        } else if location.is_uploaded_scripts() {
            (Why::NotNeeded, "no script is run below a folder that visitors upload to")
        } else {
            (Why::Protection, CLOSED)
        };
        self.leave(location.directive, why, advice);
        true
    }

    fn location_root(&mut self, directive: &Directive, draft: &mut Draft, is_whole: bool) {
        match (&draft.root, is_whole) {
            (None, true) => draft.root = self.root(directive),
            (Some((there, _)), _) if there == directive.word(0) => {}
            _ => {
                let advice = "a site has one folder: put a symbolic link into it";
                self.leave(directive, Why::Cannot, advice);
            }
        }
    }

    fn location_return(&mut self, location: Location<'_>, directive: &Directive) {
        match is_to_https(directive, &[]) {
            true if location.is_whole() => {
                let (why, advice) = tls::redirect();
                self.leave(directive, why, advice);
            }
            _ => self.tell(directive),
        }
    }

    /// Files first, then the front controller, is what Wick does; anything else is not.
    pub(super) fn try_files(
        &mut self,
        directive: &Directive,
        draft: &mut Draft,
        server: &Directive,
    ) {
        let words: Vec<&str> = directive.words().collect();
        let Some((last, files)) = words.split_last() else { return };
        let is_own = |word: &&str| {
            [
                "$uri",
                "$uri/",
                "$request_filename",
                "$fastcgi_script_name",
                "$document_root$uri",
                "index.html",
                "index.php",
                "$uri/index.php",
                "$uri/index.html",
                "/index.php",
            ]
            .contains(word)
        };
        let file = last.split(['?', '$']).next().unwrap_or_default();
        let is_front = ["/index.php", "index.php", "=404", "=403"].contains(&file);
        if is_front && files.iter().all(is_own) {
            let advice = "files first, then the nearest index.php: so does Wick";
            return self.leave(directive, Why::NotNeeded, advice);
        }
        let named =
            server.block().iter().find(|inner| inner.name == "location" && inner.word(0) == *last);
        if let (true, Some(named)) = (last.starts_with('@'), named) {
            self.location_block(Location::of(named), named.block(), draft, server);
            if let Some((_, place)) = draft.proxies.last() {
                let (place, quoted) = (place.clone(), directive.quoted());
                let advice = "all is asked of the origin, files too; what it serves is kept";
                self.imported.leave(&place, &quoted, Why::NotNeeded, advice);
            }
            return;
        }
        let advice = "for what is no file Wick asks the nearest index.php: let that be the app's \
                      front controller";
        self.leave(directive, Why::Cannot, advice);
    }

    pub(super) fn rewrite(&mut self, directive: &Directive) {
        let target = directive.word(1).split('?').next().unwrap_or_default();
        match target {
            "/index.php" | "/index.php/$1" | "index.php" => {
                let advice = "files first, then the nearest index.php: so does Wick";
                self.leave(directive, Why::NotNeeded, advice);
            }
            _ if is_to_https(directive, &[]) => {
                let (why, advice) = tls::redirect();
                self.leave(directive, why, advice);
            }
            _ => self.tell(directive),
        }
    }

    /// An `if`, by what it asks and does.
    pub(super) fn condition(&mut self, directive: &Directive, draft: &mut Draft) {
        let condition: Vec<&str> = directive.words().collect();
        let asked = condition.join(" ").replace(['(', ')'], "");
        let block = directive.block();
        let all = |names: &[&str]| block.iter().all(|inner| names.contains(&inner.name.as_str()));
        if all(&["set"]) {
            return self.switch(directive, draft, &condition);
        }
        let leads = block.iter().find(|inner| inner.name == "return" || inner.name == "rewrite");
        let (why, advice) = match leads {
            Some(inner) if is_to_https(inner, &[]) => tls::redirect(),
            Some(inner) if inner.word(1).starts_with("/index.php") && asked.contains("-e") => {
                (Why::NotNeeded, "files first, then the nearest index.php: so does Wick")
            }
            Some(inner) if inner.word(0) == "444" || is_refusal(inner) => {
                if asked.contains("$host") {
                    (Why::NotNeeded, "Wick refuses hosts that no site names (421)")
                } else if asked.contains("-f") && asked.contains('!') {
                    (Why::NotNeeded, "files first, then the nearest index.php: so does Wick")
                } else {
                    (Why::Protection, "let the app refuse these, or the firewall")
                }
            }
            Some(inner) if inner.word(1).contains("://") || inner.word(0).contains("://") => {
                (Why::Cannot, OTHER_HOST)
            }
            _ => (Why::Cannot, "Wick asks no such questions: let the app do it"),
        };
        self.leave(directive, why, advice);
    }

    /// Variables that switch the cache off; addresses among their conditions are taken over.
    fn switch(&mut self, directive: &Directive, draft: &mut Draft, condition: &[&str]) {
        let is_off = directive.block().iter().any(|inner| {
            let name = inner.word(0).to_ascii_lowercase();
            ["cache", "skip", "bypass"].iter().any(|word| name.contains(word))
                && inner.word(1) != "0"
        });
        if !is_off {
            return self.leave(directive, Why::NotNeeded, "nothing else asks for this variable");
        }
        let is_address = condition
            .first()
            .is_some_and(|first| ["$request_uri", "$uri"].contains(&first.trim_start_matches('(')));
        let expected = condition.iter().skip(2).copied().collect::<Vec<_>>().join(" ");
        let expected = expected.strip_suffix(')').unwrap_or(&expected).trim_end();
        let addresses = match (is_address, condition.get(1)) {
            (true, Some(&("~" | "~*"))) => pattern::addresses(expected),
            (true, Some(&"=")) => Some(vec![expected.to_owned()]),
            _ => None,
        };
        match addresses.filter(|list| list.iter().all(|one| one.starts_with('/'))) {
            Some(addresses) => never_share(draft, &addresses, &directive.place),
            None => self.leave(directive, Why::NotNeeded, NEVER_SHARED),
        }
    }
}

fn never_share(draft: &mut Draft, addresses: &[String], place: &Place) {
    for address in addresses {
        draft.section.add("never_share", address, place);
    }
}

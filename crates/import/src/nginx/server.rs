//! A `server`: where it listens, whom it answers for, what it is made of.

use super::{Directive, Reader};
use crate::address::{self, Listen};
use crate::draft::{Draft, Said};
use crate::found::Why;
use crate::tls;

impl Reader {
    /// Reads a server; `shared` is what was said for all of them.
    pub(super) fn server(&mut self, server: &Directive, shared: &Draft) {
        let mut draft = Draft { ..shared.clone() };
        draft.section.place = Some(server.place.clone());
        let mut is_any = false;
        let mut names = Vec::new();
        for directive in server.block() {
            match directive.name.as_str() {
                "listen" => self.listen(directive, &mut draft),
                "server_name" => {
                    is_any |= self.server_name(directive, &mut draft);
                    names.extend(directive.words().map(str::to_ascii_lowercase));
                }
                "root" => draft.root = self.root(directive).or(draft.root),
                // A server's own replaces the one of all.
                "ssl_certificate" => {
                    remove_shared(&mut draft, shared, "certificate");
                    self.certificate(directive, &mut draft, "certificate");
                }
                "ssl_certificate_key" => {
                    remove_shared(&mut draft, shared, "certificate_key");
                    self.certificate(directive, &mut draft, "certificate_key");
                }
                _ => {}
            }
        }
        if is_any {
            draft.section.remove("hosts");
        }
        let default = server.block().iter().find(|directive| {
            directive.name == "listen" && directive.words().any(|word| word == "default_server")
        });
        let leads = server.block().iter().any(|directive| directive.name == "return");
        if let (Some(default), true, false) =
            (default, draft.section.find("hosts").is_some(), leads)
        {
            let advice = "hosts that no server names came here too, and Wick refuses them (421): \
                          leave hosts out of this site if it shall answer for any";
            self.leave(default, Why::Cannot, advice);
        }
        let mut is_elsewhere = false;
        for directive in server.block() {
            match directive.name.as_str() {
                "listen" | "server_name" | "root" | "ssl_certificate" | "ssl_certificate_key" => {}
                "location" => self.location(directive, &mut draft, server),
                "if" => self.condition(directive, &mut draft),
                "try_files" => self.try_files(directive, &mut draft, server),
                "return" => {
                    is_elsewhere = true;
                    self.leads_elsewhere(directive, &names);
                }
                _ => {
                    if !self.machine(directive) && !self.site_setting(directive, &mut draft) {
                        self.tell(directive);
                    }
                }
            }
        }
        // Only challenges of a CA and the like are answered otherwise.
        draft.is_elsewhere |= is_elsewhere;
        let quoted = match names.is_empty() {
            true => "server".to_owned(),
            false => format!("server {}", names.join(" ")),
        };
        draft.finish(&mut self.imported, &quoted);
    }

    fn listen(&mut self, directive: &Directive, draft: &mut Draft) {
        draft.section.is_default |=
            directive.words().any(|word| word == "default_server" || word == "default");
        let has = |word: &str| directive.words().any(|there| there == word);
        let is_tls = has("ssl") || has("quic");
        let addresses = match address::listen(directive.word(0), if is_tls { 443 } else { 80 }) {
            Listen::At(mut addresses) => {
                // Both families by one socket are two addresses in Wick.
                let both = directive.words().any(|word| word == "ipv6only=off");
                if let (true, [only]) = (both, addresses.as_slice())
                    && only.is_ipv6()
                    && only.ip().is_unspecified()
                {
                    addresses = address::everywhere(only.port());
                }
                addresses
            }
            Listen::Socket => {
                let advice = "Wick listens on addresses only: name one as listen";
                return self.leave(directive, Why::Cannot, advice);
            }
            Listen::Unclear => {
                let advice = "write the address as listen = [\"127.0.0.1:8080\"]";
                return self.leave(directive, Why::Cannot, advice);
            }
        };
        if has("proxy_protocol") {
            self.introducing(directive);
        }
        if is_tls {
            let imported = &mut self.imported;
            return tls::listen(imported, &addresses, &directive.place);
        }
        for address in addresses {
            self.imported.top.add("listen", &address.to_string(), &directive.place);
        }
    }

    /// Takes the names; says whether the server answers for any.
    fn server_name(&mut self, directive: &Directive, draft: &mut Draft) -> bool {
        let mut is_any = false;
        for word in directive.words() {
            if word == "_" || word == "*" {
                is_any = true;
                continue;
            }
            let plain = word.strip_prefix('.').unwrap_or(word);
            if let Some(host) = address::host(plain) {
                draft.section.add("hosts", &host, &directive.place);
            }
            if address::host(word).is_none() && !word.is_empty() {
                let advice = "name each host that shall be answered for: hosts has no wildcards \
                              (a site without hosts answers for any)";
                self.imported.leave(&directive.place, word, Why::Cannot, advice);
            }
        }
        is_any
    }

    pub(super) fn certificate(
        &mut self,
        directive: &Directive,
        draft: &mut Draft,
        name: &'static str,
    ) {
        let quoted = directive.quoted();
        let imported = &mut self.imported;
        let site = (&mut draft.section, name);
        let place = (&directive.place, quoted.as_str());
        tls::file(imported, site, directive.word(0), place);
    }

    /// A folder, if it is one that can be known.
    pub(super) fn root(&mut self, directive: &Directive) -> Option<Said> {
        let root = directive.word(0);
        if address::is_plain_path(root) {
            return Some((root.to_owned(), directive.place.clone()));
        }
        let advice = "write the folder's whole path as origin = \"/folder\" of a [[site]]";
        self.leave(directive, Why::Cannot, advice);
        None
    }

    /// A server whose only answer is to go elsewhere, or nothing.
    fn leads_elsewhere(&mut self, directive: &Directive, names: &[String]) {
        if is_refusal(directive) {
            let advice = "Wick refuses hosts that no site names (421)";
            return self.leave(directive, Why::NotNeeded, advice);
        }
        match is_to_https(directive, names) {
            true => {
                let (why, advice) = tls::redirect();
                self.leave(directive, why, advice);
            }
            false => self.leave(directive, Why::Cannot, OTHER_HOST),
        }
    }

    /// Sets where pages come from, or leaves what doesn't fit.
    pub(super) fn proxy_pass(&mut self, directive: &Directive, draft: &mut Draft, is_whole: bool) {
        if !is_whole {
            let advice = "a site has one origin for all of its addresses: give these a host name \
                          of their own";
            return self.leave(directive, Why::Cannot, advice);
        }
        let target = directive.word(0);
        let Some((scheme, rest)) = target.split_once("://") else {
            return self.leave(directive, Why::Cannot, NO_ORIGIN);
        };
        let name = rest.strip_suffix('/').unwrap_or(rest);
        let mut is_known = false;
        for (server, place) in self.resolve(name, &directive.place) {
            if let Some(origin) = address::http_origin(&format!("{scheme}://{server}")) {
                is_known = true;
                if !draft.proxies.iter().any(|(there, _)| *there == origin) {
                    draft.proxies.push((origin, place));
                }
            }
        }
        if !is_known {
            self.leave(directive, Why::Cannot, NO_ORIGIN);
        }
    }

    pub(super) fn fastcgi_pass(&mut self, directive: &Directive, draft: &mut Draft) {
        let servers = self.resolve(directive.word(0), &directive.place);
        let mut found = servers.iter().filter_map(|(server, place)| {
            address::php(server, &["unix:"]).map(|php| (php, place.clone()))
        });
        let first = found.next();
        let others: Vec<Said> = found.collect();
        for (other, place) in others {
            let advice = "a site has one php-fpm: the first is taken";
            self.imported.leave(&place, &other, Why::Cannot, advice);
        }
        let advice = "write php = \"unix:/path\" or \"tcp:host:port\" for the site, or nothing: \
                      Wick starts a php-fpm itself";
        match (first, &draft.php) {
            (None, _) => self.leave(directive, Why::Cannot, advice),
            (Some((php, _)), Some((there, _))) if php != *there => {
                self.leave(directive, Why::Cannot, "a site has one php-fpm: the first is taken");
            }
            (Some(_), Some(_)) => {}
            (Some((php, _)), None) => draft.php = Some((php, directive.place.clone())),
        }
    }
}

fn remove_shared(draft: &mut Draft, shared: &Draft, name: &str) {
    if draft.section.find(name) == shared.section.find(name) {
        draft.section.remove(name);
    }
}

const NO_ORIGIN: &str = "write origin = \"http://HOST:PORT\", without a path or a variable";
pub(super) const OTHER_HOST: &str =
    "Wick sends nobody to another host: let the app do it, and name both hosts in hosts";

/// `return 403`, `404`, `410` or nginx's own 444.
pub(super) fn is_refusal(directive: &Directive) -> bool {
    ["400", "403", "404", "410", "421", "444"].contains(&directive.word(0))
}

/// Whether a `return` or `rewrite` leads to the same address by HTTPS.
pub(super) fn is_to_https(directive: &Directive, names: &[String]) -> bool {
    directive.words().any(|word| {
        word.strip_prefix("https://").is_some_and(|rest| {
            let end = rest.find(['/', '$']).filter(|&at| at > 0).unwrap_or(rest.len());
            let host = rest[..end].to_ascii_lowercase();
            let is_own = ["$host", "$http_host", "$server_name"]
                .iter()
                .any(|own| rest.strip_prefix(own).is_some_and(|rest| !rest.starts_with('_')));
            is_own || names.contains(&host)
        })
    })
}

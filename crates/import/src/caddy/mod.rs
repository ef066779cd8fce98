//! Caddy: a Caddyfile.
//!
//! In: the text. Out: its sites, limits, the log, and what was left.
//! Caddy gets certificates by itself for every site with a name; see [`crate::tls`].
//! What a directive means stands in [`site`] if it becomes a setting, else in [`table`].

mod parse;
mod site;
mod table;
mod tokens;

use crate::address;
use crate::amount;
use crate::draft::Draft;
use crate::found::{Imported, Value, Why};
use crate::library::{Library, Shelf, Source};
use crate::{ImportError, tls};

use parse::Directive;

/// Reads a Caddyfile.
pub(crate) fn read(source: &Source, library: &dyn Library) -> Result<Imported, ImportError> {
    let mut reader = Reader {
        imported: Imported::default(),
        http_port: 80,
        https_port: 443,
        default_bind: None,
    };
    let mut shelf = Shelf::new(library, source);
    let blocks = parse::parse(source, &mut shelf, &mut reader.imported)?;
    reader.read(&blocks);
    Ok(reader.imported)
}

/// What is known while a Caddyfile is read.
struct Reader {
    imported: Imported,
    http_port: u16,
    https_port: u16,
    /// `default_bind`: where sites listen that don't say it themselves.
    default_bind: Option<Directive>,
}

impl Reader {
    fn leave(&mut self, directive: &Directive, why: Why, advice: &'static str) {
        self.imported.leave(&directive.place, &directive.quoted(), why, advice);
    }

    fn tell(&mut self, directive: &Directive) {
        let (why, advice) = table::say(directive);
        let quoted = match table::is_secret(directive.name()) {
            true => directive.short(),
            false => directive.quoted(),
        };
        if let Some(advice) = advice {
            self.imported.leave(&directive.place, &quoted, why, advice);
        }
    }

    fn read(&mut self, blocks: &[Directive]) {
        let mut blocks = blocks;
        if let [first, rest @ ..] = blocks
            && first.words.is_empty()
        {
            first.block().iter().for_each(|option| self.option(option));
            blocks = rest;
        }
        // A file of one site may do without braces.
        if let [first, rest @ ..] = blocks
            && first.block.is_none()
        {
            self.site(first, rest);
            return;
        }
        for block in blocks {
            match (block.name(), &block.block) {
                (name, _) if name.starts_with("&(") => {
                    self.leave(block, Why::Unknown, "named routes are not read");
                }
                (_, Some(inside)) => self.site(block, inside),
                (_, None) => self.leave(block, Why::Unknown, "it belongs to no site"),
            }
        }
    }

    /// One of the options for all sites.
    fn option(&mut self, option: &Directive) {
        let port = || address::read_port(option.word(1));
        match option.name() {
            "http_port" => self.http_port = port().unwrap_or(self.http_port),
            "https_port" => self.https_port = port().unwrap_or(self.https_port),
            "default_bind" => self.default_bind = Some(option.clone()),
            "grace_period" => self.limit("grace", option),
            "log" => self.log(option),
            "email" if option.word(1).contains('@') && !option.word(1).contains('{') => {
                let email = Value::Text(option.word(1).to_owned());
                self.imported.top.set("acme_email", email, &option.place);
            }
            "servers" => self.servers(option.block()),
            _ => self.tell(option),
        }
    }

    fn servers(&mut self, block: &[Directive]) {
        for line in block {
            match line.name() {
                "timeouts" => {
                    for time in line.block() {
                        match time.name() {
                            "read_header" => self.limit("head_timeout", time),
                            "read_body" => self.limit("body_timeout", time),
                            "write" => self.limit("write_timeout", time),
                            "idle" => self.limit("idle_timeout", time),
                            _ => self.tell(time),
                        }
                    }
                }
                "trusted_proxies" if line.word(1) == "static" => self.trusted(line),
                "max_header_size" => match amount::caddy_bytes(line.word(1)) {
                    Some(bytes) => self.bytes("head", bytes, line),
                    None => self.leave(line, Why::Unknown, "it names no size"),
                },
                _ => self.tell(line),
            }
        }
    }

    /// Proxies whose word about visitors is believed.
    fn trusted(&mut self, line: &Directive) {
        for word in line.words.iter().skip(2) {
            let private =
                ["192.168.0.0/16", "172.16.0.0/12", "10.0.0.0/8", "127.0.0.1/8", "fd00::/8", "::1"];
            let words =
                if word == "private_ranges" { private.to_vec() } else { vec![word.as_str()] };
            for word in words {
                match address::network(word) {
                    Some(network) => {
                        self.imported.top.add("trusted_proxies", &network, &line.place);
                    }
                    None => {
                        let advice = "write the network as trusted_proxies = [\"10.0.0.0/8\"]";
                        self.imported.leave(&line.place, word, Why::Cannot, advice);
                    }
                }
            }
        }
    }

    fn limit(&mut self, name: &'static str, line: &Directive) {
        match amount::caddy_duration(line.word(1)).filter(|time| !time.is_zero()) {
            Some(time) => self.imported.limits.raise(name, Value::Time(time), &line.place),
            None => self.leave(line, Why::Unknown, "it names no time"),
        }
    }

    fn bytes(&mut self, name: &'static str, bytes: u64, line: &Directive) {
        self.imported.limits.raise(name, Value::Bytes(bytes), &line.place);
    }

    /// `log`, of a site or of all.
    fn log(&mut self, log: &Directive) {
        let (mut path, mut format) = ("-", "json");
        let mut place = &log.place;
        for line in log.block() {
            match (line.name(), line.word(1)) {
                ("output", "file") => (path, place) = (line.word(2), &line.place),
                ("output", "stdout" | "stderr") => {}
                ("output", "discard") => return,
                ("format", "json") => {}
                ("format", _) => {
                    format = "combined";
                    let advice = "Wick's log has the formats \"wick\", \"combined\" and \"json\": \
                                  \"combined\" is taken for this one";
                    self.leave(line, Why::Cannot, advice);
                }
                ("level", _) => {}
                _ => self.tell(line),
            }
        }
        if path != "-" && !address::is_plain_path(path) {
            let advice = "write the log's whole path as access_log, or \"-\" for standard error";
            return self.leave(log, Why::Cannot, advice);
        }
        let top = &mut self.imported.top;
        if top.set("access_log", Value::Text(path.to_owned()), place) {
            top.set("access_log_format", Value::Text(format.to_owned()), place);
        } else {
            let advice = "Wick has one log for all sites: the first that is named";
            self.leave(log, Why::Cannot, advice);
        }
    }

    /// A site: its addresses, then what is in it.
    fn site(&mut self, heading: &Directive, inside: &[Directive]) {
        let mut draft = Draft::at(&heading.place);
        let default = self.default_bind.clone();
        let bind = inside.iter().find(|line| line.name() == "bind").or(default.as_ref());
        let words = heading.words.iter().flat_map(|word| word.split(','));
        let mut has_addresses = false;
        for address in words.filter(|word| !word.is_empty()) {
            has_addresses |= self.address(address, heading, bind, &mut draft);
        }
        if !has_addresses {
            return;
        }
        self.directives(inside, &mut draft, true);
        draft.finish(&mut self.imported, &heading.quoted());
    }

    /// One address of a site; says whether the site can be had by it.
    fn address(
        &mut self,
        address: &str,
        heading: &Directive,
        bind: Option<&Directive>,
        draft: &mut Draft,
    ) -> bool {
        let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
        let authority = rest.trim_end_matches('/');
        let (name, port) = address::split(authority);
        let port = port.map(address::read_port);
        if authority.contains('/') || port == Some(None) || !["", "http", "https"].contains(&scheme)
        {
            let advice = "a site is named by its host: write hosts = [\"name\"]";
            self.imported.leave(&heading.place, address, Why::Cannot, advice);
            return false;
        }
        let mut is_local = false;
        if !name.is_empty() && name != "*" {
            match address::host(name) {
                Some(host) => {
                    is_local = host == "localhost" || host.ends_with(".localhost");
                    draft.section.add("hosts", &host, &heading.place);
                }
                None => {
                    let advice = "name each host that shall be answered for: hosts has no \
                                  wildcards (a site without hosts answers for any)";
                    self.imported.leave(&heading.place, address, Why::Cannot, advice);
                    return false;
                }
            }
        }
        let port = port.flatten();
        let is_plain = scheme == "http"
            || port == Some(self.http_port)
            || name.is_empty() && scheme.is_empty() && port != Some(self.https_port);
        if is_plain {
            self.listen(port.unwrap_or(self.http_port), false, heading, bind);
            return true;
        }
        // Caddy gets certificates by itself, and leads visitors to them.
        self.listen(self.http_port, false, heading, bind);
        self.listen(port.unwrap_or(self.https_port), true, heading, bind);
        let is_given = draft.section.find("certificate").is_some();
        if !is_local && !is_given {
            tls::automatic(&mut draft.section, &heading.place);
        }
        true
    }

    fn listen(&mut self, port: u16, is_tls: bool, heading: &Directive, bind: Option<&Directive>) {
        let mut addresses = Vec::new();
        for word in bind.iter().flat_map(|bind| bind.words.iter().skip(1)) {
            let ip = if word.contains(':') && !word.starts_with('[') {
                format!("[{word}]")
            } else {
                word.clone()
            };
            if let address::Listen::At(found) = address::listen(&format!("{ip}:{port}"), port) {
                addresses.extend(found);
            }
        }
        match bind {
            // Not everywhere, when somebody chose.
            Some(bind) if addresses.is_empty() => {
                let advice = "write the address as listen = [\"127.0.0.1:8080\"]";
                return self.leave(bind, Why::Cannot, advice);
            }
            None => addresses = address::everywhere(port),
            Some(_) => {}
        }
        let place = &heading.place;
        if is_tls {
            let imported = &mut self.imported;
            return tls::listen(imported, &addresses, place);
        }
        for address in addresses {
            self.imported.top.add("listen", &address.to_string(), place);
        }
    }
}

#[cfg(test)]
mod tests;

//! nginx: `nginx.conf`, or one server of it, with what it includes.
//!
//! In: the text. Out: sites of its servers, limits, the log, and what was left.
//! The tokens and blocks are those of nginx itself; what a directive means stands in
//! [`server`] and [`location`] if it becomes a setting, and in [`table`] if not.

mod location;
mod machine;
mod parse;
mod server;
mod table;
mod tokens;

use crate::draft::Draft;
use crate::found::{Imported, Place, Why};
use crate::library::{Library, Shelf, Source};
use crate::{ImportError, amount};

pub(crate) use parse::Directive;

/// Reads a configuration, or a part of one.
pub(crate) fn read(source: &Source, library: &dyn Library) -> Result<Imported, ImportError> {
    let mut reader = Reader::new();
    let mut shelf = Shelf::new(library, source);
    let directives = parse::parse(source, &mut shelf, &mut reader.imported)?;
    reader.read(&directives);
    Ok(reader.imported)
}

/// A group of servers under one name.
struct Upstream {
    name: String,
    /// The addresses of those that are in use.
    servers: Vec<(String, Place)>,
}

/// What is known while a configuration is read.
struct Reader {
    imported: Imported,
    upstreams: Vec<Upstream>,
    /// Formats of the log that mean one of Wick's.
    formats: Vec<(String, &'static str)>,
    processes: Option<u64>,
    connections: Option<(u64, Place)>,
    /// A `listen` with the PROXY protocol.
    introducing: Option<Directive>,
}

impl Reader {
    fn new() -> Self {
        Self {
            imported: Imported::default(),
            upstreams: Vec::new(),
            formats: vec![("combined".into(), "combined")],
            processes: Some(1),
            connections: None,
            introducing: None,
        }
    }

    fn leave(&mut self, directive: &Directive, why: Why, advice: &'static str) {
        self.imported.leave(&directive.place, &directive.quoted(), why, advice);
    }

    /// The top of the file, which may be that of a file that `http` includes.
    fn read(&mut self, directives: &[Directive]) {
        let mut http = Draft::default();
        for directive in directives {
            match directive.name.as_str() {
                "http" | "server" | "upstream" | "log_format" => {}
                "events" => self.events(directive.block()),
                "worker_processes" => self.processes(directive),
                _ => self.shared(directive, &mut http),
            }
        }
        self.connections();
        for block in directives.iter().filter(|directive| directive.name == "http") {
            self.http(block.block(), http.clone());
        }
        self.http(directives, http);
        self.settle_proxies();
    }

    /// What holds for all servers, then these.
    fn http(&mut self, directives: &[Directive], mut shared: Draft) {
        for directive in directives {
            match directive.name.as_str() {
                "upstream" => self.upstream(directive),
                "log_format" => self.log_format(directive),
                _ => {}
            }
        }
        let is_top = directives.iter().any(|directive| directive.name == "http");
        let others = directives.iter().filter(|directive| {
            let is_seen = ["upstream", "log_format", "server", "http", "events"];
            !is_seen.contains(&directive.name.as_str())
        });
        // The top of a file was read already.
        if !is_top {
            others.for_each(|directive| self.shared(directive, &mut shared));
        }
        for directive in directives.iter().filter(|directive| directive.name == "server") {
            self.server(directive, &shared);
        }
    }

    /// A directive that holds for all servers.
    fn shared(&mut self, directive: &Directive, draft: &mut Draft) {
        match directive.name.as_str() {
            "root" => draft.root = self.root(directive),
            "ssl_certificate" => self.certificate(directive, draft, "certificate"),
            "ssl_certificate_key" => self.certificate(directive, draft, "certificate_key"),
            "worker_processes" => {}
            _ => {
                if !self.machine(directive) && !self.site_setting(directive, draft) {
                    self.tell(directive);
                }
            }
        }
    }

    /// A directive without a setting of its own.
    fn tell(&mut self, directive: &Directive) {
        let (why, advice) = table::say(directive);
        let quoted = match table::is_secret(&directive.name) {
            true => directive.short(),
            false => directive.quoted(),
        };
        if let Some(advice) = advice {
            self.imported.leave(&directive.place, &quoted, why, advice);
        }
    }

    fn events(&mut self, directives: &[Directive]) {
        for directive in directives {
            match (directive.name.as_str(), directive.word(0).parse()) {
                ("worker_connections", Ok(number)) if number > 0 => {
                    self.connections = Some((number, directive.place.clone()));
                }
                _ => self.tell(directive),
            }
        }
    }

    fn processes(&mut self, directive: &Directive) {
        match directive.word(0).parse::<u64>() {
            Ok(number) if (1..=256).contains(&number) => {
                self.processes = Some(number);
                let value = crate::Value::Number(number);
                self.imported.top.set("threads", value, &directive.place);
            }
            _ => {
                self.processes = None;
                self.tell(directive);
            }
        }
    }

    /// Each process of nginx takes so many; how many processes there are isn't always said.
    fn connections(&mut self) {
        let Some((each, place)) = self.connections.take() else { return };
        match self.processes {
            Some(processes) => {
                let all = each.saturating_mul(processes).min(10_000_000);
                self.imported.limits.set("connections", crate::Value::Number(all), &place);
            }
            None => {
                let quoted = format!("worker_connections {each}");
                let advice = "for each of as many processes as there are cores: Wick takes \
                              20,000 connections in all, or what connections under [limits] says";
                self.imported.leave(&place, &quoted, Why::NotNeeded, advice);
            }
        }
    }

    fn upstream(&mut self, directive: &Directive) {
        let mut servers = Vec::new();
        for server in directive.block() {
            match server.name.as_str() {
                "server" => {
                    let is_off = |word: &&str| *word == "down" || *word == "backup";
                    match server.words().find(is_off) {
                        Some("down") => {}
                        Some(_) => {
                            let advice = "Wick asks no spare server when another fails; what is \
                                          stored stands in for a while";
                            self.leave(server, Why::Cannot, advice);
                        }
                        None => {
                            if server.words().any(|word| word.starts_with("weight=")) {
                                let advice = "write { url = \"http://…\", weight = 2 } for it in \
                                              the list of origins";
                                self.leave(server, Why::Cannot, advice);
                            }
                            servers.push((server.word(0).to_owned(), server.place.clone()));
                        }
                    }
                }
                _ => self.tell(server),
            }
        }
        let name = directive.word(0).to_owned();
        self.upstreams.push(Upstream { name, servers });
    }

    /// What stands behind a name, or the name itself.
    fn resolve(&self, name: &str, place: &Place) -> Vec<(String, Place)> {
        match self.upstreams.iter().find(|upstream| upstream.name == name) {
            Some(upstream) => upstream.servers.clone(),
            None => vec![(name.to_owned(), place.clone())],
        }
    }

    fn log_format(&mut self, directive: &Directive) {
        let text: String = directive.words().skip(1).collect();
        let format = if text.contains("escape=json") {
            "json"
        } else if text.trim_start().starts_with("$remote_addr - $remote_user [$time_local]") {
            "combined"
        } else {
            let advice = "Wick's log has the formats \"wick\", \"combined\" and \"json\": \
                          \"combined\" is taken for this one";
            self.leave(directive, Why::Cannot, advice);
            "combined"
        };
        self.formats.push((directive.word(0).to_owned(), format));
    }
}

/// A time for a limit or a time-out; nginx's `0` switches some of them off.
fn time(directive: &Directive) -> Option<std::time::Duration> {
    amount::nginx_duration(directive.word(0)).filter(|time| !time.is_zero())
}

#[cfg(test)]
mod tests;

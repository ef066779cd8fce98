//! Varnish: VCL 4.0 and 4.1.
//!
//! In: the text. Out: a site for each backend that requests are sent to, what was said
//! about addresses, queries and times, and what was left.
//! Most of a VCL tells Varnish what may be shared; Wick finds that out itself, so those
//! lines are not needed. What keeps somebody out, or makes something up, is told.
//! Start at [`read`]; statements are judged in [`statement`].

mod parse;
mod statement;
mod tokens;

use crate::ImportError;
use crate::address;
use crate::amount;
use crate::draft::{Draft, Said};
use crate::found::{Imported, Place, Section, Value, Why};
use crate::library::{Library, Shelf, Source};

use parse::Statement;
use tokens::Token;

/// Reads a VCL.
pub(crate) fn read(source: &Source, library: &dyn Library) -> Result<Imported, ImportError> {
    let mut reader = Reader {
        imported: Imported::default(),
        backends: Vec::new(),
        directors: Vec::new(),
        rules: Section::default(),
        sends: Vec::new(),
        sends_all: None,
        refuses_others: false,
        probes: Vec::new(),
    };
    let mut shelf = Shelf::new(library, source);
    let statements = parse::parse(source, &mut shelf, &mut reader.imported)?;
    reader.read(&statements);
    reader.finish();
    Ok(reader.imported)
}

/// One `backend`.
struct Backend {
    name: String,
    /// As `http://HOST:PORT`.
    origin: Option<Said>,
    section: Section,
    place: Place,
}

/// What is known while a VCL is read.
struct Reader {
    imported: Imported,
    backends: Vec<Backend>,
    /// Names of directors and of the backends behind them.
    directors: Vec<(String, Vec<String>)>,
    /// What holds for every site.
    rules: Section,
    /// Hosts, and the backend or director that they are sent to.
    sends: Vec<(Vec<String>, String, Place)>,
    /// Where everything else is sent.
    sends_all: Option<String>,
    /// Whether hosts that nothing is said of are refused.
    refuses_others: bool,
    /// `probe NAME { … }`.
    probes: Vec<Statement>,
}

impl Reader {
    fn leave(&mut self, statement: &Statement, why: Why, advice: &'static str) {
        self.imported.leave(&statement.place, &statement.quoted(), why, advice);
    }

    fn read(&mut self, statements: &[Statement]) {
        let is_probe = |statement: &&Statement| statement.word(0) == "probe";
        self.probes = statements.iter().filter(is_probe).cloned().collect();
        for statement in statements {
            let block = statement.block.as_deref().unwrap_or_default();
            match (statement.word(0), statement.word(1)) {
                ("backend", name) => self.backend(statement, name, block),
                ("acl", _) => self.acl(statement, block),
                ("sub", name) => {
                    let is_own = !name.starts_with("vcl_");
                    let inside = if is_own {
                        statement::Inside::called()
                    } else {
                        statement::Inside::of(name)
                    };
                    self.statements(block, &inside);
                }
                ("vcl" | "import" | "probe", _) => {}
                _ => self.leave(statement, Why::Unknown, "it is no part of VCL 4"),
            }
        }
    }

    fn backend(&mut self, statement: &Statement, name: &str, block: &[Statement]) {
        let mut section = Section::default();
        let (mut host, mut port) = (None, "80".to_owned());
        for field in block {
            let value = field.tokens.get(2).map(Token::text).unwrap_or_default();
            let time = || amount::vcl_duration(value).filter(|time| !time.is_zero());
            let name = match field.word(0) {
                ".host" => {
                    host = Some((value.to_owned(), field.place.clone()));
                    continue;
                }
                ".port" => {
                    value.clone_into(&mut port);
                    continue;
                }
                ".connect_timeout" => "connect_timeout",
                ".first_byte_timeout" => "first_byte_timeout",
                ".between_bytes_timeout" => "origin_idle_timeout",
                ".probe" => {
                    self.probe(field, &mut section);
                    continue;
                }
                ".max_connections" | ".wait_limit" | ".wait_timeout" | ".proxy_header" => {
                    let advice = "Wick bounds its connections to an origin itself";
                    self.leave(field, Why::NotNeeded, advice);
                    continue;
                }
                _ => {
                    let advice = "an origin is http://HOST:PORT, and is sent the visitor's Host";
                    self.leave(field, Why::Cannot, advice);
                    continue;
                }
            };
            match time() {
                Some(time) => {
                    section.set(name, Value::Time(time), &field.place);
                }
                None => self.leave(field, Why::Unknown, "it names no time"),
            }
        }
        let origin = host.and_then(|(host, place)| {
            let host = if host.contains(':') { format!("[{host}]") } else { host };
            address::http_origin(&format!("http://{host}:{port}")).map(|origin| (origin, place))
        });
        if origin.is_none() {
            let advice = "write origin = \"http://HOST:PORT\"";
            self.leave(statement, Why::Cannot, advice);
        }
        let place = statement.place.clone();
        self.backends.push(Backend { name: name.to_owned(), origin, section, place });
    }

    /// A probe, here or by its name.
    fn probe(&mut self, field: &Statement, section: &mut Section) {
        let named = self.probes.iter().find(|probe| probe.word(1) == field.word(2));
        let probe = named.cloned().unwrap_or_else(|| field.clone());
        for line in probe.block.as_deref().unwrap_or_default() {
            let value = line.word(2);
            let time = amount::vcl_duration(value).filter(|time| !time.is_zero()).map(Value::Time);
            let (name, value) = match line.word(0) {
                ".url" => {
                    let path =
                        address::is_health_path(value).then(|| Value::Text(value.to_owned()));
                    ("origin_health", path)
                }
                ".interval" => ("origin_health_every", time),
                ".timeout" => ("origin_health_timeout", time),
                _ => {
                    let advice = "an origin is out when it fails twice, and back when it \
                                  answers twice";
                    self.leave(line, Why::NotNeeded, advice);
                    continue;
                }
            };
            match value {
                Some(value) => {
                    section.set(name, value, &line.place);
                }
                None => self.leave(line, Why::Unknown, "it names no path or time"),
            }
        }
    }

    fn acl(&mut self, statement: &Statement, block: &[Statement]) {
        let is_here = |entry: &Statement| {
            let address = entry.tokens.first().map(Token::text).unwrap_or_default();
            ["localhost", "127.0.0.1", "::1"].contains(&address)
        };
        match block.iter().all(is_here) {
            true => self.leave(statement, Why::NotNeeded, "programs on this machine may purge"),
            false => {
                let advice = "programs on this machine may purge; for others set purge_token, \
                              which they then show";
                self.leave(statement, Why::Cannot, advice);
            }
        }
    }

    /// The backends behind a name.
    fn behind(&self, name: &str) -> Vec<&Backend> {
        let named = |name: &str| self.backends.iter().find(|backend| backend.name == name);
        match self.directors.iter().find(|(director, _)| director == name) {
            Some((_, members)) => members.iter().filter_map(|member| named(member)).collect(),
            None => named(name).into_iter().collect(),
        }
    }

    /// A site for each place that requests are sent to.
    fn finish(&mut self) {
        let first = self.backends.first().map(|backend| backend.name.clone());
        let is_there = |name: &str| self.backends.iter().any(|backend| backend.name == name);
        let default = is_there("default").then(|| "default".to_owned());
        let all = self.sends_all.clone().or(default).or(first).filter(|_| !self.refuses_others);
        let mut sends = std::mem::take(&mut self.sends);
        if let Some(all) = all {
            let place = self.behind(&all).first().map(|backend| backend.place.clone());
            sends.extend(place.map(|place| (Vec::new(), all, place)));
        }
        let mut used = Vec::new();
        for (hosts, name, place) in sends {
            used.extend(self.behind(&name).into_iter().map(|backend| backend.name.clone()));
            let behind = self.behind(&name);
            let Some(first) = behind.first() else { continue };
            let mut draft = Draft::at(&first.place);
            draft.section.settings.clone_from(&first.section.settings);
            draft.proxies = behind.iter().filter_map(|backend| backend.origin.clone()).collect();
            hosts.iter().for_each(|host| draft.section.add("hosts", host, &place));
            draft.section.join(self.rules.clone());
            draft.section.is_default = hosts.is_empty();
            if draft.has_origin() {
                draft.finish(&mut self.imported, &name);
            }
        }
        for backend in &self.backends {
            if !used.contains(&backend.name) {
                let quoted = format!("backend {}", backend.name);
                let advice = "it isn't known for which hosts it is: give it a [[site]] with hosts";
                self.imported.leave(&backend.place, &quoted, Why::Cannot, advice);
            }
        }
    }
}

#[cfg(test)]
mod tests;

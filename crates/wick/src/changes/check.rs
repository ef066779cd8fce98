//! What `wick check` says of a site's changes: where they are heard of, how well, and what
//! would make it better, as lines to copy.

use std::path::Path;

use changes::{Address, Lost, SQLITE_BYTES_MAX, Source, Standing, WARNING};

use super::{ChangesPlan, Heard, Whence, rung};
use crate::announce::say as print;
use crate::arguments::Serve;
use crate::plan::{self, SitePlan};

/// Says it for one site. What the owner wrote and can't be used is put to `wrong`.
pub(crate) async fn say(plan: &SitePlan, serve: &Serve, wrong: &mut Vec<String>) {
    let mut lines = Vec::new();
    let all = super::heard(plan);
    if let Err(why) = super::tap::address(plan) {
        lines.push(format!("changes   not followed: {why}"));
        lines.iter().for_each(|line| print(&format!("  {line}\n")));
        return;
    }
    if all.is_empty() {
        lines.push(match plan.changes {
            ChangesPlan::Off => "changes   not followed: changes = \"off\"".to_owned(),
            _ => "changes   not followed: no app's settings were found that name a database; \
                  name it with changes = \"mysql://…\" in [[site]]"
                .to_owned(),
        });
    }
    for heard in &all {
        lines.push(format!("changes   {}", heard.whence.subject(&super::what(&heard.source))));
        let about = About { heard, plan, serve };
        if let Some(problem) = about.tell(&mut lines).await
            && matches!(heard.whence, Whence::Given)
        {
            wrong.push(problem);
        }
    }
    if !super::sources(plan).is_empty() {
        let fresh = show_time(plan.changes_rules.fresh.as_secs());
        lines.push(indented(&format!(
            "while that is heard, pages shared among strangers are fresh for up to {fresh}, \
             and go at once when something changes"
        )));
    }
    lines.iter().for_each(|line| print(&format!("  {line}\n")));
}

struct About<'a> {
    heard: &'a Heard,
    plan: &'a SitePlan,
    serve: &'a Serve,
}

impl About<'_> {
    /// Adds the lines about one source; what is wrong with it, if anything.
    async fn tell(&self, lines: &mut Vec<String>) -> Option<String> {
        match &self.heard.source {
            Source::MySql(address) | Source::PostgreSql(address) => {
                self.database(address, lines).await
            }
            Source::Sqlite(path) => {
                let bytes = std::fs::metadata(path).map_or(0, |about| about.len());
                let mebibytes = SQLITE_BYTES_MAX >> 20;
                let told = match bytes > SQLITE_BYTES_MAX as u64 {
                    true => format!("it has more than {mebibytes} MiB, so any write sweeps all"),
                    false => "each row that is written is heard of".to_owned(),
                };
                path_lines(path, &format!("{told}; nothing is lacking"), lines)
            }
            Source::Files(path) => path_lines(path, "nothing is lacking", lines),
            Source::Other(name) => {
                lines.push(indented(&format!(
                    "Wick can't follow {name}: pages are fresh for short"
                )));
                None
            }
        }
    }

    async fn database(&self, address: &Address, lines: &mut Vec<String>) -> Option<String> {
        lines.push(indented(&format!("as {address:?}")));
        match &self.heard.whence {
            Whence::Given => {}
            Whence::App { file, .. } => {
                lines.push(indented(&format!("found in {}", file.display())));
            }
            Whence::Login { file, login, .. } => lines.push(indented(&format!(
                "found in {}, with the login of our own in {}",
                file.display(),
                login.display()
            ))),
        }
        if let Some(problem) = self.unreadable_login(address) {
            lines.push(indented(&problem));
        }
        match changes::standing_of(&self.heard.source).await {
            None => None,
            Some(Ok(standing)) => {
                lines.extend(self.standing(&standing));
                None
            }
            Some(Err(lost)) => {
                let problem = self.cure(address, &lost);
                lines.push(indented(&problem));
                Some(problem)
            }
        }
    }

    /// A login that is there and no use.
    fn unreadable_login(&self, address: &Address) -> Option<String> {
        let state = self.plan.logins.as_ref()?;
        let Whence::App { .. } = self.heard.whence else { return None };
        let error = super::Login::read(state, address).err()?;
        Some(format!(
            "the login of our own in {} can't be read ({error}): run this as the user that \
             serves, or make it anew with \"{}\"",
            state.display(),
            self.command()
        ))
    }

    /// Where one stands, and what the next rung takes.
    fn standing(&self, standing: &Standing) -> Vec<String> {
        let is_mysql = matches!(self.heard.source, Source::MySql(_));
        let mut lines = vec![indented(rung(super::reached(standing.rung, self.plan)))];
        if standing.grants.is_empty() && standing.settings.is_empty() {
            return lines;
        }
        lines.push(indented("to hear of each row at once it takes"));
        if !standing.settings.is_empty() {
            match is_mysql {
                true => {
                    lines.push(indented("- in a settings file of the database:"));
                    lines.push(indented("    [mysqld]"));
                }
                false => lines.push(indented("- in postgresql.conf:")),
            }
            lines.extend(standing.settings.iter().map(|line| indented(&format!("    {line}"))));
            if standing.needs_restart {
                lines.push(indented("- then a restart of the database"));
            }
        }
        if !standing.grants.is_empty() {
            lines.push(indented("- as the database's root:"));
            lines.extend(standing.grants.iter().map(|line| indented(&format!("    {line}"))));
            lines.push(indented(&format!("  know that {WARNING}")));
        }
        // Who wants a tap has decided against the log.
        let is_auto = self.plan.changes == ChangesPlan::Auto;
        if is_mysql && is_auto {
            lines.push(indented("one command does it, with a user of its own, and asks first:"));
            lines.push(indented(&format!("    {}", self.command())));
        }
        lines
    }

    /// What to do about a database that doesn't let us in.
    fn cure(&self, address: &Address, lost: &Lost) -> String {
        match (&self.heard.whence, lost) {
            (_, Lost::Disconnected) => format!(
                "the database at {} does not answer: start it, or correct its address{}",
                address.door,
                self.place()
            ),
            (Whence::Login { login, .. }, Lost::Refused { .. }) => format!(
                "the database refuses the login in {} ({lost}): remove that file, and make it \
                 anew with \"{}\"",
                login.display(),
                self.command()
            ),
            _ => format!(
                "the database refuses {address:?} ({lost}): correct user and password{}",
                self.place()
            ),
        }
    }

    /// Where an address is written down.
    fn place(&self) -> String {
        match &self.heard.whence {
            Whence::Given => " in changes = …".to_owned(),
            Whence::App { file, .. } | Whence::Login { file, .. } => {
                format!(" in {}, or say changes = \"off\"", file.display())
            }
        }
    }

    /// The line that brings this site to the best rung.
    fn command(&self) -> String {
        let site = match (self.plan.hosts.first(), &self.plan.source) {
            (Some(host), _) if self.serve.config.is_some() => host.clone(),
            (_, plan::Source::Folder(folder)) => quoted(folder),
            (_, source @ plan::Source::Http(_)) => source.shown(),
        };
        let option = |name: &str, path: &Option<std::path::PathBuf>| match path {
            Some(path) => format!(" --{name} {}", quoted(path)),
            None => String::new(),
        };
        let config = option("config", &self.serve.config);
        format!("wick follow {site}{config}{}", option("state", &self.serve.state))
    }
}

fn path_lines(path: &Path, good: &str, lines: &mut Vec<String>) -> Option<String> {
    match std::fs::metadata(path) {
        Ok(_) => {
            lines.push(indented(&format!("followed: {good}")));
            None
        }
        Err(error) => {
            let problem = format!(
                "{} can't be followed ({error}): correct the path, or let this user read it",
                path.display()
            );
            lines.push(indented(&problem));
            Some(problem)
        }
    }
}

/// Seconds, in the largest unit that they fill.
fn show_time(seconds: u64) -> String {
    match seconds {
        1.. if seconds.is_multiple_of(3600) => format!("{} h", seconds / 3600),
        1.. if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    }
}

fn indented(line: &str) -> String {
    format!("          {line}")
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    match text.bytes().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_in_the_largest_unit_that_fits() {
        for (seconds, shown) in [(0, "0 s"), (90, "90 s"), (120, "2 min"), (21_600, "6 h")] {
            assert_eq!(show_time(seconds), shown);
        }
    }

    #[test]
    fn a_path_is_shown_as_a_shell_takes_it() {
        for (path, shown) in
            [("/srv/blog", "/srv/blog"), ("/srv/my blog", "'/srv/my blog'"), ("/a'b", "'/a'\\''b'")]
        {
            assert_eq!(quoted(Path::new(path)), shown);
        }
    }
}

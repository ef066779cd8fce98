//! Changes: where a site's are heard of, and what an owner is told about that.
//!
//! In: a site's plan, its app's settings, and the logins that `wick follow` keeps in the
//! state folder. Out: [`sources`] for the server, lines for `wick serve` and `wick check`,
//! and the command [`follow`], which brings a database to the best rung.
//! Invariant: no password is printed, logged or put into an error.

mod check;
mod follow;
mod login;
mod setting;
pub(crate) mod tap;

use std::path::PathBuf;
use std::time::Duration;

use changes::{Address, Rung, Source};

pub(crate) use self::check::say as check;
pub(crate) use self::follow::run as follow;
use self::login::Login;
use crate::plan::{self, SitePlan};

/// How long a database may take to say how well it can be followed before a start goes on
/// without knowing.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where an owner wants a site's changes to be heard of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ChangesPlan {
    /// Where the app's own settings say that its content is.
    #[default]
    Auto,
    /// Nowhere.
    Off,
    /// Here, and nowhere else.
    Given(Vec<Source>),
    /// From the app's own statements too: to the database that its settings name, or to this.
    Tap(Option<Address>),
}

/// One source of a site's changes, and how it became one.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    pub(super) source: Source,
    pub(super) whence: Whence,
}

/// Who names a source.
#[derive(Clone, Debug)]
pub(super) enum Whence {
    /// The owner.
    Given,
    /// An app's settings.
    App { app: String, file: PathBuf },
    /// An app's settings, and the login that `wick follow` made for it.
    Login { app: String, file: PathBuf, login: PathBuf },
}

impl Whence {
    /// What the source belongs to, as the beginning of a sentence.
    fn subject(&self, what: &str) -> String {
        match self {
            Self::Given => format!("{what} named by changes"),
            Self::App { app, file } | Self::Login { app, file, .. } => {
                let file = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
                format!("{app}'s {what} ({file})")
            }
        }
    }
}

/// The sources of a site's changes; none if it is not to be followed, or can't be. A site is
/// followed only while all of them are heard, so one that nobody can hear leaves none.
pub(crate) fn sources(plan: &SitePlan) -> Vec<Source> {
    let sources: Vec<_> = heard(plan).into_iter().map(|heard| heard.source).collect();
    if sources.iter().any(|source| matches!(source, Source::Other(_))) {
        return Vec::new();
    }
    sources
}

/// What somebody who starts the site is told of it, a line for each source.
pub(crate) async fn found(plan: &SitePlan) -> Vec<String> {
    let mut lines = Vec::new();
    for Heard { source, whence } in heard(plan) {
        let how = match &source {
            Source::MySql(_) | Source::PostgreSql(_) => rung_of(&source, plan).await,
            Source::Sqlite(_) | Source::Files(_) => "followed",
            Source::Other(_) => "which can't be followed",
        };
        lines.push(format!("changes   {}, {how}", whence.subject(&what(&source))));
    }
    lines
}

async fn rung_of(source: &Source, plan: &SitePlan) -> &'static str {
    match tokio::time::timeout(PATIENCE, changes::standing_of(source)).await {
        Ok(Some(Ok(standing))) => rung(reached(standing.rung, plan)),
        _ => "which doesn't let us in (\"wick check\" says what to do)",
    }
}

/// The rung that is used of those that are possible: beside a tap no log is read.
fn reached(possible: Rung, plan: &SitePlan) -> Rung {
    match plan.changes {
        ChangesPlan::Tap(_) => possible.min(Rung::Poll),
        _ => possible,
    }
}

/// A rung, in the words that every command has for it.
fn rung(rung: Rung) -> &'static str {
    match rung {
        Rung::Nothing => "not followed, as no table of it can be seen",
        Rung::Poll => "asked again and again which tables changed",
        Rung::Log => "followed by its log",
    }
}

/// A source in a few words.
fn what(source: &Source) -> String {
    match source {
        Source::MySql(_) => "MariaDB or MySQL".into(),
        Source::PostgreSql(_) => "PostgreSQL".into(),
        Source::Sqlite(path) => format!("SQLite file {}", path.display()),
        Source::Files(path) => format!("files in {}", path.display()),
        Source::Other(name) => format!("database of the kind {name}"),
    }
}

/// The sources of a site, with those that can't be heard.
fn heard(plan: &SitePlan) -> Vec<Heard> {
    match (&plan.changes, &plan.source) {
        (ChangesPlan::Given(sources), _) => sources
            .iter()
            .map(|source| Heard { source: source.clone(), whence: Whence::Given })
            .collect(),
        (ChangesPlan::Tap(Some(address)), _) => {
            vec![Heard { source: Source::MySql(address.clone()), whence: Whence::Given }]
        }
        (ChangesPlan::Auto | ChangesPlan::Tap(None), plan::Source::Folder(folder)) => {
            let Some(found) = changes::find_settings(folder) else { return Vec::new() };
            let all = found.sources();
            all.into_iter().map(|source| with_login(plan, &found, source)).collect()
        }
        (ChangesPlan::Auto | ChangesPlan::Tap(None), plan::Source::Http(_))
        | (ChangesPlan::Off, _) => Vec::new(),
    }
}

/// What an app's settings name, seen as the user that `wick follow` made, if it did.
fn with_login(plan: &SitePlan, found: &changes::Found, source: Source) -> Heard {
    let (app, file) = (found.app.clone(), found.file.clone());
    if let (Source::MySql(address), Some(state)) = (&source, &plan.logins)
        // What passes a tap is the app's, and so is who asks beside it.
        && plan.changes == ChangesPlan::Auto
        // One that we may not read is as good as none; `wick check` tells of it.
        && let Ok(Some(login)) = Login::read(state, address)
    {
        let whence = Whence::Login { app, file, login: login.path };
        return Heard { source: Source::MySql(login.address), whence };
    }
    Heard { source, whence: Whence::App { app, file } }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::settings::SiteSettings;

    fn plan(folder: &Path, changes: ChangesPlan) -> SitePlan {
        let settings = SiteSettings { changes: Some(changes), ..SiteSettings::default() };
        let mut plan = SitePlan::of(&folder.display().to_string(), &settings);
        plan.logins = Some(folder.to_owned());
        plan
    }

    fn check(folder: &Path, changes: ChangesPlan, expected: &str) {
        assert_eq!(format!("{:?}", sources(&plan(folder, changes))), expected);
    }

    #[test]
    fn sources_are_those_of_the_owner_or_of_the_app_or_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        check(folder, ChangesPlan::Auto, "[]");
        let text = "<?php\ndefine('DB_NAME', 'blog');\ndefine('DB_USER', 'app');\n\
            define('DB_PASSWORD', 'hush');\ndefine('DB_HOST', 'localhost:/run/none/db');\n";
        std::fs::write(folder.join("wp-config.php"), text).expect("the app's settings");
        let settings = folder.join("wp-config.php");
        let expected = format!("[MySql(app@/run/none/db/blog), Files({settings:?})]");
        check(folder, ChangesPlan::Auto, &expected);
        check(folder, ChangesPlan::Off, "[]");
        let given = vec![Source::Sqlite("/a".into()), Source::Files("/b".into())];
        check(folder, ChangesPlan::Given(given), "[Sqlite(\"/a\"), Files(\"/b\")]");
        let http = SitePlan::of("http://127.0.0.1:1", &SiteSettings::default());
        assert!(sources(&http).is_empty());
    }

    #[test]
    fn what_nobody_can_hear_leaves_nothing_to_hear() {
        let folder = tempfile::tempdir().expect("a folder");
        let given = vec![Source::Files("/b".into()), Source::Other("oracle".into())];
        check(folder.path(), ChangesPlan::Given(given), "[]");
    }

    #[test]
    fn a_login_of_our_own_goes_before_that_of_the_app() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = "<?php\ndefine('DB_NAME', 'blog');\ndefine('DB_USER', 'app');\n\
            define('DB_PASSWORD', 'hush');\ndefine('DB_HOST', '127.0.0.1');\n";
        std::fs::write(folder.path().join("wp-config.php"), text).expect("the app's settings");
        let auto = plan(folder.path(), ChangesPlan::Auto);
        let Some(Source::MySql(app)) = sources(&auto).into_iter().next() else {
            panic!("it is found")
        };
        let password = changes::Secret::new("hush");
        let socket = Path::new("/run/a socket");
        Login::new(folder.path(), &app, "wick", socket, password).keep().expect("it is kept");
        let settings = folder.path().join("wp-config.php");
        let expected = format!("[MySql(wick@/run/a socket/blog), Files({settings:?})]");
        check(folder.path(), ChangesPlan::Auto, &expected);
        let given = vec![Source::MySql(app)];
        check(folder.path(), ChangesPlan::Given(given), "[MySql(app@127.0.0.1:3306/blog)]");
    }
}

//! `wick follow`: brings a site's MariaDB or MySQL to the best rung, and back.
//!
//! It looks at everything ([`survey`]), shows every step ([`steps`]), asks, and takes them.
//! Invariants: 1. Nothing is done that was not shown. 2. Whatever a run ends at, another
//! one goes on from there. 3. A server that does not come back gets its settings back.

mod database;
mod restart;
mod settings_file;
mod steps;
mod survey;

use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

use changes::{Lost, WARNING};

use self::database::Database;
use self::restart::Restart;
use self::settings_file::SettingsFile;
use self::steps::{Context, Step};
use crate::announce::say;
use crate::arguments::{Follow, Serve};
use crate::changes::Login;
use crate::plan::{Plan, PlanError, SitePlan, Source};
use crate::run::{RunError, single_threaded};

/// Why a database is not brought to the best rung; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FollowError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("the settings file has no site \"{0}\": name one of its hosts, or a folder")]
    NoSite(String),
    #[error("the settings file has several sites: name a host of the one that is meant")]
    WhichSite,
    #[error("the settings say changes = \"off\" for this site: take that out first")]
    Off,
    #[error(
        "the settings name the site's database in changes, with a login of yours: \
         \"wick check\" says what that login lacks; or write changes = \"auto\", and a user of \
         its own is made for Wick"
    )]
    Given,
    #[error(
        "no app's settings are found that name a database: name it with \
         changes = \"mysql://user:password@host/database\" in the settings file, and \
         \"wick check\" says what it takes"
    )]
    NoSettings,
    #[error(
        "this is for MariaDB and MySQL: for the site's PostgreSQL \"wick check\" has the lines \
         that it takes"
    )]
    PostgreSql,
    #[error("{0} is followed as it is: nothing need be done for it")]
    NothingNeeded(PathBuf),
    #[error("Wick can't follow a database of the kind {0}")]
    Other(String),
    #[error("the login in the state folder {0} can't be read ({1}): remove it, and come back")]
    Login(PathBuf, io::Error),
    #[error(
        "the site's database doesn't let the app in as {0} ({1}): start it, or correct the \
         app's settings"
    )]
    App(String, Lost),
    #[error(
        "the database's root can't log in at {0} ({1}): run this as root, or see to it that \
         root@localhost logs in by its Unix socket; \"wick check\" has the lines to do it by hand"
    )]
    NotRoot(PathBuf, String),
    #[error(
        "there is no database at the socket {0} ({1}): it may run on another machine or in a \
         container; name the socket with --socket, or do it by hand: \"wick check\" has the lines"
    )]
    NoSocket(PathBuf, String),
    #[error("the database at {0} is not the one that the site uses: name its socket with --socket")]
    OtherServer(PathBuf),
    #[error("the database stopped answering as it should ({0}); nothing was done")]
    Database(Lost),
    #[error(
        "the settings file in {0} can't be used ({1}): move it away, or name another folder \
         with --settings-folder"
    )]
    SettingsFile(PathBuf, io::Error),
    #[error(
        "the database has a user {0}@localhost whose password is not kept here: if nothing else \
         uses it, DROP USER '{0}'@'localhost'; or name another with --user"
    )]
    UserTaken(String),
    #[error(
        "this database was not installed by a package: no folder is known whose settings it \
         reads; name it with --settings-folder, or do it by hand:\n{0}"
    )]
    NoFolder(String),
    #[error(
        "the database has to be restarted and nobody knows how: name what does it with \
         --restart-command; nothing was done"
    )]
    NoRestart,
    #[error("nothing was done: without a terminal to ask at, say --yes")]
    NotAsked,
    #[error("nothing was done")]
    Declined,
    #[error("{what}; {state}")]
    Failed { what: String, state: String },
}

/// Does what the command line says.
pub(crate) fn run(follow: &Follow) -> Result<(), FollowError> {
    let mut plan = plan_of(follow)?;
    let site = plan.sites.remove(0);
    single_threaded()?.block_on(async {
        let survey = survey::survey(&site, &plan.state, follow).await?;
        say(&format!(
            "{}, database {} at {}\n",
            survey.app,
            survey.address.database,
            survey.socket.display()
        ));
        let address = survey.address.clone();
        let (steps, context) = match follow.undo {
            true => steps::back(survey, follow),
            false => steps::forward(survey, &plan.state, follow)?,
        };
        if steps.is_empty() {
            say(match follow.undo {
                true => "There is nothing to take back.\n",
                false => "It is followed by its log already: there is nothing to do.\n",
            });
            return Ok(());
        }
        show(&steps, follow);
        ask(follow)?;
        take(steps, &context, Duration::from_secs(follow.wait)).await?;
        if follow.undo {
            say("\nEverything is as it was. What the log held lies on in the database's folder.\n");
            return Ok(());
        }
        verify(&plan.state, &address).await?;
        say("\nIt is followed by its log, from Wick's next start on. The same command with \
             --undo takes all of this back.\n");
        Ok(())
    })
}

/// The plan with the one site that is meant.
fn plan_of(follow: &Follow) -> Result<Plan, FollowError> {
    let serve = |site: Option<&String>| Serve {
        site: site.cloned(),
        config: follow.config.clone(),
        state: follow.state.clone(),
        ..Serve::default()
    };
    let Some(name) = &follow.site else {
        let plan = Plan::of(&serve(None))?;
        return if plan.sites.len() == 1 { Ok(plan) } else { Err(FollowError::WhichSite) };
    };
    let is_meant = |site: &SitePlan| {
        let is_source = match &site.source {
            Source::Folder(folder) => folder.as_os_str() == name.as_str(),
            Source::Http(servers) => servers.iter().any(|server| server.address == *name),
        };
        is_source || site.hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
    };
    if follow.config.is_some()
        && let Ok(mut plan) = Plan::of(&serve(None))
    {
        let all = plan.sites.len();
        plan.sites.retain(is_meant);
        match plan.sites.len() {
            0 if all == 1 => {}
            0 => return Err(FollowError::NoSite(name.clone())),
            1 => return Ok(plan),
            _ => return Err(FollowError::WhichSite),
        }
    }
    Ok(Plan::of(&serve(Some(name)))?)
}

fn show(steps: &[Step], follow: &Follow) {
    say("\nThis will be done:\n");
    for (at, step) in steps.iter().enumerate() {
        for (number, line) in step.lines().iter().enumerate() {
            let head = if number == 0 { format!("{:>3}. ", at + 1) } else { " ".repeat(5) };
            say(&format!("{head}{line}\n"));
        }
    }
    if !follow.undo {
        say(&format!("\nKnow that {WARNING}.\n"));
    }
}

fn ask(follow: &Follow) -> Result<(), FollowError> {
    if follow.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(FollowError::NotAsked);
    }
    say("\nDo it? [yes/no] ");
    if is_yes(&mut io::stdin().lock()) { Ok(()) } else { Err(FollowError::Declined) }
}

/// Whether a person said yes in so many letters; silence and an end of input are no.
fn is_yes(input: &mut impl BufRead) -> bool {
    let mut answer = String::new();
    let is_read = input.read_line(&mut answer).is_ok();
    is_read && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// Takes one step after the other; at one that fails, says what is done and what is not.
async fn take(steps: Vec<Step>, context: &Context, wait: Duration) -> Result<(), FollowError> {
    say("\n");
    let names: Vec<_> = steps.iter().map(Step::name).collect();
    for (at, step) in steps.into_iter().enumerate() {
        if let Err(what) = step.take(context, wait).await {
            let undone = names[at..].join("; ");
            let state = match &names[..at] {
                [] => "nothing else was done".to_owned(),
                done => format!("done: {}. Not done: {undone}", done.join("; ")),
            };
            return Err(FollowError::Failed { what, state });
        }
        say(&format!("  done  {}\n", names[at]));
    }
    Ok(())
}

impl Step {
    async fn take(self, context: &Context, wait: Duration) -> Result<(), String> {
        let root = &context.root;
        match self {
            Self::WriteSettings(file) => {
                let failed = |error| format!("{} can't be written: {error}", file.path.display());
                file.write().map_err(failed)
            }
            Self::Run(statements) => root.run(&statements).await.map_err(|lost| lost.to_string()),
            Self::MakeUser { login, grants } => make_user(root, &login, &grants).await,
            Self::KeepLogin { login, grants } => {
                root.run(&grants).await.map_err(|lost| lost.to_string())?;
                keep(&login)
            }
            Self::ForgetLogin(login) => login
                .remove()
                .map_err(|error| format!("{} can't be removed: {error}", login.path.display())),
            Self::Restart(command) => restarted(root, &command, wait, context.file.as_ref()).await,
            Self::LeaveRestart => Ok(()),
        }
    }
}

fn keep(login: &Login) -> Result<(), String> {
    login.keep().map_err(|error| format!("{} can't be written: {error}", login.path.display()))
}

async fn make_user(root: &Database, login: &Login, grants: &[String]) -> Result<(), String> {
    keep(login)?;
    let (user, password) = (&login.address.user, login.address.password.reveal());
    let make = format!("CREATE USER {} IDENTIFIED BY '{password}';", steps::account(user));
    let statements = [vec![make], grants.to_vec()].concat();
    let Err(lost) = root.run(&statements).await else { return Ok(()) };
    // Servers repeat what they don't understand.
    let why = lost.to_string().replace(password, "…");
    if !root.has_user(user).await.unwrap_or(true) {
        // A login that nobody takes is worse than none; if it stays, the next run mends it.
        let _ = login.remove();
    }
    Err(format!("the user {user} can't be made: {why}"))
}

/// Restarts the server, and sees that it comes back as `before` has it or as it is now.
async fn restarted(
    root: &Database,
    command: &str,
    wait: Duration,
    before: Option<&SettingsFile>,
) -> Result<(), String> {
    // Taken back or written: the file on the disk says what is wanted.
    let now = before.and_then(|file| SettingsFile::read(file.path.parent()?).ok());
    let wants_log = now.as_ref().is_some_and(SettingsFile::has_log);
    let put_back = || match before {
        Some(before) if wants_log => {
            // One that an earlier run left there is no better than one of this run.
            let before = if before.has_log() { before.emptied() } else { before.clone() };
            match before.write() {
                Ok(()) => format!("{} was taken back", before.path.display()),
                Err(error) => format!("REMOVE {} ({error})", before.path.display()),
            }
        }
        _ => "its settings are as they were".to_owned(),
    };
    match restart::restart(root, command, wait).await {
        Restart::Done if !wants_log => Ok(()),
        Restart::Done => match changes::standing(&root.0).await {
            Ok(standing) if !standing.needs_restart => Ok(()),
            Ok(_) => Err(format!(
                "the database came back without its log, so it doesn't read that folder: {}; \
                 name the right one with --settings-folder",
                put_back()
            )),
            Err(lost) => Err(format!("the database came back and doesn't answer ({lost})")),
        },
        Restart::NotBegun(why) => {
            Err(format!("{why}; the database runs on as it was, and {}", put_back()))
        }
        Restart::Gone(why) => {
            let file = put_back();
            // Its command may fail and somebody else start it: only an answer counts.
            let outcome = match restart::restart(root, command, wait).await {
                Restart::Gone(_) => "THE DATABASE STILL DOES NOT RUN: start it, and read its log",
                Restart::Done | Restart::NotBegun(_) => "the database runs again as before",
            };
            Err(format!("the database did not come back ({why}); {file}; {outcome}"))
        }
    }
}

/// Sees that what was done is enough.
async fn verify(state: &std::path::Path, app: &changes::Address) -> Result<(), FollowError> {
    let failed = |what: String| FollowError::Failed {
        what,
        state: "everything was done and is not enough: --undo takes it back".to_owned(),
    };
    let login = Login::read(state, app).map_err(|error| FollowError::Login(state.into(), error))?;
    let login = login.ok_or_else(|| failed("the login is gone".to_owned()))?;
    let standing = changes::standing(&login.address).await;
    let standing = standing.map_err(|lost| failed(format!("the login is refused ({lost})")))?;
    let missing = [standing.grants, standing.settings].concat();
    if missing.is_empty() {
        return Ok(());
    }
    Err(failed(format!("the database still lacks {}", missing.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_one() {
        for (typed, expected) in [
            ("yes\n", true),
            (" Y \n", true),
            ("no\n", false),
            ("\n", false),
            ("", false),
            ("yess", false),
        ] {
            assert_eq!(is_yes(&mut typed.as_bytes()), expected, "{typed:?}");
        }
    }
}

//! What `wick follow` does, as steps that are shown before any of them is taken.
//!
//! In: a [`Survey`]. Out: steps. Each leaves things so that the whole may be begun again.
//! Their order: what may fail because of the server comes before anything relies on it.

use std::path::Path;

use changes::Secret;

use super::FollowError;
use super::settings_file::{SettingsFile, assignment};
use super::survey::{Survey, User};
use crate::arguments::Follow;
use crate::changes::login::{Login, new_password};

/// One of them.
pub(super) enum Step {
    /// The settings file gets this content, or goes if that has no lines.
    WriteSettings(SettingsFile),
    /// Statements of the server's root.
    Run(Vec<String>),
    /// A user is made, and its login kept first: a user whose password nobody has is no use.
    MakeUser { login: Login, grants: Vec<String> },
    /// The login of a user that is there already is kept.
    KeepLogin { login: Login, grants: Vec<String> },
    /// The login goes.
    ForgetLogin(Login),
    /// The server is restarted.
    Restart(String),
    /// The server would have to be restarted for all to be as before, and nobody knows how.
    LeaveRestart,
}

/// Everything that is missing for the best rung.
pub(super) fn forward(
    survey: Survey,
    state: &Path,
    follow: &Follow,
) -> Result<(Vec<Step>, Context), FollowError> {
    let mut steps = Vec::new();
    let grants = grants(&survey, &follow.user);
    if let User::Foreign = survey.user {
        return Err(FollowError::UserTaken(follow.user.clone()));
    }
    if !survey.standing.settings.is_empty() {
        let Some(file) = &survey.file else {
            let user = format!("CREATE USER {} IDENTIFIED BY '…';", account(&follow.user));
            let statements = [vec![user], grants].concat();
            return Err(FollowError::NoFolder(manual(&survey.standing.settings, &statements)));
        };
        let new = file.with(&survey.standing.settings, &survey.before);
        if new != *file {
            steps.push(Step::WriteSettings(new));
        }
        if survey.standing.needs_restart {
            let command = survey.restart.clone().ok_or(FollowError::NoRestart)?;
            steps.push(Step::Restart(command));
        } else {
            let lines = &survey.standing.settings;
            steps.push(Step::Run(lines.iter().filter_map(|line| assignment(line)).collect()));
        }
    }
    let login = |password: Secret| {
        Login::new(state, &survey.address, &follow.user, &survey.socket, password)
    };
    let user = match survey.user {
        User::Known(missing) if missing.is_empty() => None,
        User::Known(missing) => Some(Step::Run(missing)),
        User::Shared(password) => Some(Step::KeepLogin { login: login(password), grants }),
        User::None => Some(Step::MakeUser { login: login(new_password()), grants }),
        User::Foreign => None,
    };
    steps.extend(user);
    Ok((steps, Context { file: survey.file, root: survey.root }))
}

/// Everything that was done, backwards.
pub(super) fn back(survey: Survey, follow: &Follow) -> (Vec<Step>, Context) {
    let mut steps = Vec::new();
    let name = survey.login.as_ref().map_or(&follow.user, |login| &login.address.user).clone();
    let is_ours = survey.login.is_some() && !matches!(survey.user, User::None);
    let is_last = survey.others == 0;
    if is_ours {
        steps.push(Step::Run(vec![match is_last {
            true => format!("DROP USER {};", account(&name)),
            false => {
                let database = quoted(&survey.address.database);
                format!("REVOKE SELECT ON {database}.* FROM {};", account(&name))
            }
        }]));
    }
    steps.extend(survey.login.map(Step::ForgetLogin));
    if let Some(file) = survey.file.as_ref().filter(|file| file.is_there() && is_last) {
        steps.push(Step::WriteSettings(file.emptied()));
        // What it switched on goes on until a restart; the rest is put back at once.
        let is_on = !survey.standing.needs_restart;
        if file.has_log() && is_on {
            steps.push(survey.restart.map_or(Step::LeaveRestart, Step::Restart));
        } else if !file.before.is_empty() {
            let statements = file.before.iter().filter_map(|line| assignment(line));
            steps.push(Step::Run(statements.collect()));
        }
    }
    (steps, Context { file: survey.file, root: survey.root })
}

/// What the steps are taken with.
pub(super) struct Context {
    /// The settings file as it was.
    pub(super) file: Option<SettingsFile>,
    pub(super) root: super::database::Database,
}

impl Step {
    /// What it will do, in lines that show all of it.
    pub(super) fn lines(&self) -> Vec<String> {
        match self {
            Self::WriteSettings(file) if file.is_there() => {
                let text = file.text();
                let lines = text.lines().map(|line| format!("    {line}"));
                let head = format!("write {}", file.path.display());
                std::iter::once(head).chain(lines).collect()
            }
            Self::WriteSettings(file) => vec![format!("remove {}", file.path.display())],
            Self::Run(statements) => with("as the database's root", statements),
            Self::MakeUser { login, grants } => {
                let user = account(&login.address.user);
                let make = format!("CREATE USER {user} IDENTIFIED BY '…';");
                let kept = format!(
                    "keep its password, which is made up, in {}, for nobody else to read",
                    login.path.display()
                );
                let mut lines =
                    with("as the database's root", &[vec![make], grants.clone()].concat());
                lines.push(kept);
                lines
            }
            Self::KeepLogin { login, grants } => {
                let mut lines = with("as the database's root", grants);
                lines.push(format!("keep the login in {}", login.path.display()));
                lines
            }
            Self::ForgetLogin(login) => vec![format!("remove {}", login.path.display())],
            Self::Restart(command) => vec![format!(
                "restart the database with \"{command}\"; the site can't use it meanwhile"
            )],
            Self::LeaveRestart => {
                vec!["leave the database running: its log ends when you restart it".to_owned()]
            }
        }
    }

    /// Its first line, for a list of what is done.
    pub(super) fn name(&self) -> String {
        match self {
            Self::MakeUser { login, .. } => format!("make the user {}", login.address.user),
            Self::Run(statements) => statements.join(" "),
            _ => self.lines().swap_remove(0),
        }
    }
}

fn with(head: &str, statements: &[String]) -> Vec<String> {
    let lines = statements.iter().map(|line| format!("    {line}"));
    std::iter::once(format!("{head}:")).chain(lines).collect()
}

/// The rights that our user needs; the server says afterwards whether they are enough.
fn grants(survey: &Survey, user: &str) -> Vec<String> {
    let to = account(user);
    let log = match survey.is_mariadb {
        true => "REPLICATION SLAVE",
        false => "REPLICATION SLAVE, REPLICATION CLIENT",
    };
    let database = quoted(&survey.address.database);
    vec![format!("GRANT {log} ON *.* TO {to};"), format!("GRANT SELECT ON {database}.* TO {to};")]
}

fn manual(settings: &[String], statements: &[String]) -> String {
    let settings = settings.iter().map(|line| format!("\n    {line}"));
    let statements = statements.iter().map(|line| format!("\n    {line}"));
    let (settings, statements): (String, String) = (settings.collect(), statements.collect());
    format!("    [mysqld]{settings}\nthen restart it, and as its root{statements}")
}

/// A user of the server's own machine; its name was checked where it was typed.
pub(super) fn account(user: &str) -> String {
    format!("'{}'@'localhost'", user.replace('\\', "\\\\").replace('\'', "''"))
}

/// A database's name in a grant, where _ and % would stand for any character.
fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``").replace('_', "\\_").replace('%', "\\%"))
}

//! The survey: everything that has to be known before anything is done.
//!
//! In: a site's plan and the command line. Out: [`Survey`]. Nothing is changed here.
//! The server is found as the site finds it, and only then asked as its root: what answers
//! at a socket might be another server with a database of the same name.

use std::path::{Path, PathBuf};

use changes::{Address, Door, Lost, Secret, Source, Standing};

use super::FollowError;
use super::database::{Database, Identity};
use super::settings_file::{SettingsFile, assignment, folder_of, name};
use super::{super::Login, restart};
use crate::arguments::Follow;
use crate::changes::ChangesPlan;
use crate::plan::{self, SitePlan};

/// How a site's database stands.
pub(super) struct Survey {
    /// The app's name.
    pub(super) app: String,
    /// As whom the app goes to its database, and how.
    pub(super) address: Address,
    /// The server, as its root.
    pub(super) root: Database,
    pub(super) socket: PathBuf,
    pub(super) is_mariadb: bool,
    /// What root lacks, which is settings only.
    pub(super) standing: Standing,
    /// The settings of now that a new line would change at once.
    pub(super) before: Vec<String>,
    /// Our own user.
    pub(super) user: User,
    /// The login that is kept for this site.
    pub(super) login: Option<Login>,
    /// How many other sites have logins at this server.
    pub(super) others: usize,
    /// Our settings file, or what it would be; none where no folder for it is known.
    pub(super) file: Option<SettingsFile>,
    /// What restarts the server, if that is known.
    pub(super) restart: Option<String>,
}

/// How our own user stands.
pub(super) enum User {
    /// It is there, and its login is kept; these statements are missing.
    Known(Vec<String>),
    /// It is there, with the password that is kept for another site of the server.
    Shared(Secret),
    /// There is none.
    None,
    /// There is one of whom no password is kept.
    Foreign,
}

/// The database of a site and the app that names it, or why there is nothing to do for it.
fn database_of(plan: &SitePlan) -> Result<(String, Address), FollowError> {
    match (&plan.changes, &plan.source) {
        (ChangesPlan::Off, _) => return Err(FollowError::Off),
        (ChangesPlan::Given(_) | ChangesPlan::Tap(_), _) => return Err(FollowError::Given),
        (ChangesPlan::Auto, plan::Source::Http(_)) => return Err(FollowError::NoSettings),
        (ChangesPlan::Auto, plan::Source::Folder(_)) => {}
    }
    let plan::Source::Folder(folder) = &plan.source else { return Err(FollowError::NoSettings) };
    let found = changes::find_settings(folder).ok_or(FollowError::NoSettings)?;
    match found.source {
        Source::MySql(address) => Ok((found.app, address)),
        Source::PostgreSql(_) => Err(FollowError::PostgreSql),
        Source::Sqlite(path) | Source::Files(path) => Err(FollowError::NothingNeeded(path)),
        Source::Other(name) => Err(FollowError::Other(name)),
    }
}

/// Looks at everything.
pub(super) async fn survey(
    plan: &SitePlan,
    state: &Path,
    follow: &Follow,
) -> Result<Survey, FollowError> {
    let (app, address) = database_of(plan)?;
    let login = Login::read(state, &address)
        .map_err(|error| FollowError::Login(state.to_owned(), error))?;
    let (root, identity) = root_of(&address, login.as_ref(), follow).await?;
    let socket = match &root.0.door {
        Door::Socket(socket) => socket.clone(),
        Door::Tcp(..) => identity.socket,
    };
    let standing = changes::standing(&root.0).await.map_err(FollowError::Database)?;
    let mut before = Vec::new();
    for line in standing.settings.iter().filter(|line| assignment(line).is_some()) {
        if let Some(value) = root.value(name(line)).await {
            before.push(format!("{} = {value}", name(line)));
        }
    }
    let folder = follow.settings_folder.clone().or_else(|| folder_of(identity.is_mariadb));
    let file = match folder {
        Some(folder) => Some(
            SettingsFile::read(&folder)
                .map_err(|error| FollowError::SettingsFile(folder.clone(), error))?,
        ),
        None => None,
    };
    let others = Login::others(state, &address, &socket);
    let user = user_of(&root, login.as_ref(), &others, follow).await?;
    let restart = match &follow.restart_command {
        Some(command) => Some(command.clone()),
        None => restart::command().await,
    };
    Ok(Survey {
        app,
        address,
        root,
        socket,
        is_mariadb: identity.is_mariadb,
        standing,
        before,
        user,
        login,
        others: others.len(),
        file,
        restart,
    })
}

/// The server's root, at the socket of the very server that the site uses.
async fn root_of(
    address: &Address,
    login: Option<&Login>,
    follow: &Follow,
) -> Result<(Database, Identity), FollowError> {
    let asked = Database(address.clone()).identity().await;
    let identity = match (asked, login) {
        (Ok(identity), _) => identity,
        // To take back what was done the app's own login need not work any more.
        (Err(lost), Some(login)) if follow.undo => Database(login.address.clone())
            .identity()
            .await
            .map_err(|_| FollowError::App(format!("{address:?}"), lost))?,
        (Err(lost), _) => return Err(FollowError::App(format!("{address:?}"), lost)),
    };
    let socket = follow.socket.clone().unwrap_or_else(|| identity.socket.clone());
    let root = Database(Address {
        door: Door::Socket(socket.clone()),
        user: "root".to_owned(),
        password: Secret::new(""),
        database: address.database.clone(),
    });
    let by_root = root.identity().await.map_err(|lost| match lost {
        Lost::Refused { .. } => FollowError::NotRoot(socket.clone(), lost.to_string()),
        _ => FollowError::NoSocket(socket.clone(), lost.to_string()),
    })?;
    if by_root.name != identity.name {
        return Err(FollowError::OtherServer(socket));
    }
    Ok((root, by_root))
}

async fn user_of(
    root: &Database,
    login: Option<&Login>,
    others: &[Login],
    follow: &Follow,
) -> Result<User, FollowError> {
    let name = login.map_or(&follow.user, |login| &login.address.user);
    if !root.has_user(name).await.map_err(FollowError::Database)? {
        return Ok(User::None);
    }
    if let Some(login) = login
        && let Ok(standing) = changes::standing(&login.address).await
    {
        return Ok(User::Known(standing.grants));
    }
    for other in others.iter().filter(|other| other.address.user == *name) {
        if Database(other.address.clone()).connect().await.is_ok() {
            return Ok(User::Shared(other.address.password.clone()));
        }
    }
    Ok(User::Foreign)
}

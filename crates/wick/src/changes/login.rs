//! Logins of Wick's own to databases: what `wick follow` made, and `changes = "auto"` uses.
//!
//! Each is a file in the state folder that holds one source, as an owner would write it, and
//! is named after the way by which the app goes to its database.
//! Invariants: 1. A file is readable by its owner alone from its first moment, and belongs to
//! whom the state folder belongs to. 2. A password leaves as a [`Secret`] only.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use changes::{Address, Door, Secret, Source};
use rand::Rng;

const BEGINNING: &str = "database-";
const ENDING: &str = ".login";
/// Enough that nobody guesses it: 190 bits.
const PASSWORD_LETTERS: usize = 32;

/// One of them.
pub(super) struct Login {
    /// Its file.
    pub(super) path: PathBuf,
    /// The way to the server, as whom, and to which database.
    pub(super) address: Address,
}

impl Login {
    /// A login for who goes by `app` otherwise; nothing is written yet.
    pub(super) fn new(
        state: &Path,
        app: &Address,
        user: &str,
        socket: &Path,
        password: Secret,
    ) -> Self {
        let door = Door::socket(socket);
        let address =
            Address { door, user: user.to_owned(), password, database: app.database.clone() };
        Self { path: path(state, app), address }
    }

    /// The login that is kept for who goes by `app` otherwise, if any.
    pub(super) fn read(state: &Path, app: &Address) -> io::Result<Option<Self>> {
        let path = path(state, app);
        match fs::read_to_string(&path) {
            Ok(text) => Self::parse(path, &text).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Those that are kept for other sites of the server at `socket`.
    pub(super) fn others(state: &Path, app: &Address, socket: &Path) -> Vec<Self> {
        let own = path(state, app);
        let Ok(entries) = fs::read_dir(state) else { return Vec::new() };
        let paths = entries.flatten().map(|entry| entry.path()).filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(BEGINNING) && name.ends_with(ENDING) && *path != own
        });
        let logins = paths.filter_map(|path| {
            let text = fs::read_to_string(&path).ok()?;
            Self::parse(path, &text).ok()
        });
        logins.filter(|login| login.address.door == Door::socket(socket)).collect()
    }

    fn parse(path: PathBuf, text: &str) -> io::Result<Self> {
        match text.trim().parse() {
            Ok(Source::MySql(address)) => Ok(Self { path, address }),
            _ => Err(io::Error::new(ErrorKind::InvalidData, "it holds no database's address")),
        }
    }

    /// Writes it down.
    pub(super) fn keep(&self) -> io::Result<()> {
        let state = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(state)?;
        let mut file = tempfile::Builder::new()
            .prefix(".database-")
            .permissions(Permissions::from_mode(0o600))
            .tempfile_in(state)?;
        // Whom the folder belongs to runs Wick, which root alone can see to.
        let owner = fs::metadata(state)?;
        if file.as_file().metadata()?.uid() != owner.uid() {
            fchown(file.as_file(), Some(owner.uid()), Some(owner.gid()))?;
        }
        let Address { door, user, password, database } = &self.address;
        let Door::Socket(socket) = door else {
            return Err(io::Error::new(ErrorKind::InvalidInput, "a login goes by a socket"));
        };
        let source = format!(
            "mysql://{}:{}@localhost/{}?socket={}\n",
            encode(user),
            encode(password.reveal()),
            encode(database),
            encode(&socket.to_string_lossy())
        );
        file.write_all(source.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }

    /// Forgets it.
    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// A password that nobody has seen, and that every server's rules for passwords take.
pub(super) fn new_password() -> Secret {
    let letters = rand::rng().sample_iter(rand::distr::Alphanumeric).take(PASSWORD_LETTERS);
    let mut password: String = letters.map(char::from).collect();
    password.push_str("-aA1");
    Secret::new(password)
}

fn path(state: &Path, app: &Address) -> PathBuf {
    let door = encode(&app.door.to_string());
    state.join(format!("{BEGINNING}{door}-{}{ENDING}", encode(&app.database)))
}

/// A text as one word of an address or of a file's name.
fn encode(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"._-".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // A String takes everything.
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(text: &str) -> Address {
        text.parse().expect("an address")
    }

    #[test]
    fn a_login_is_read_as_it_was_kept_and_by_its_owner_only() {
        let state = tempfile::tempdir().expect("a folder");
        let state = state.path().join("made");
        let app = app("mysql://app:hush@127.0.0.1/a%2Fb%20c");
        assert!(Login::read(&state, &app).expect("nothing").is_none());
        let password = Secret::new("p:@/?&%é ");
        let login = Login::new(&state, &app, "wick", Path::new("/run/my db.sock"), password);
        login.keep().expect("it is written");
        let read = Login::read(&state, &app).expect("it is readable").expect("it is there");
        assert_eq!(read.address, login.address);
        let mode = fs::metadata(&login.path).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(&state).expect("the folder").count(), 1);
        login.remove().expect("it is ours");
        assert!(Login::read(&state, &app).expect("nothing").is_none());
    }

    #[test]
    fn the_other_sites_of_a_server_are_those_with_its_socket() {
        let state = tempfile::tempdir().expect("a folder");
        let keep = |database: &str, socket: &str| {
            let app = app(&format!("mysql://app@h/{database}"));
            let login = Login::new(state.path(), &app, "wick", Path::new(socket), Secret::new("p"));
            login.keep().expect("it is written");
        };
        keep("one", "/a");
        keep("two", "/a");
        keep("three", "/b");
        fs::write(state.path().join("database-x.login"), "redis://hush").expect("a file");
        let others = Login::others(state.path(), &app("mysql://app@h/one"), Path::new("/a"));
        let databases: Vec<_> = others.iter().map(|login| &*login.address.database).collect();
        assert_eq!(databases, ["two"]);
    }

    #[test]
    fn a_file_that_is_no_login_is_told_without_its_text() {
        let state = tempfile::tempdir().expect("a folder");
        let app = app("mysql://app@h/one");
        fs::write(path(state.path(), &app), "redis://hush").expect("a file");
        let told = Login::read(state.path(), &app).err().expect("no login").to_string();
        assert_eq!(told, "it holds no database's address");
    }

    #[test]
    fn two_passwords_differ() {
        assert!(new_password().reveal() != new_password().reveal());
    }
}

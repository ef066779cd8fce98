//! The token by which workers join, from the environment or a file.
//!
//! Invariant: it is in no log, no error and no answer.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use base::Token;

/// Fewer could be tried out one by one.
const BYTES_MIN: usize = 16;
/// Random bytes of one that is made.
const MADE_BYTES: usize = 24;
/// The environment's variable that has it, before any file.
const VARIABLE: &str = "WICK_AUDIT_TOKEN";

/// What lets workers in.
#[derive(Clone)]
pub struct WorkersToken {
    text: String,
    token: Token,
}

impl std::fmt::Debug for WorkersToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("WorkersToken(…)")
    }
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// It could be guessed.
    #[error(
        "the token in {0} is shorter than {BYTES_MIN} characters, or has more in it than letters, \
         digits and signs of ASCII; write another there"
    )]
    Short(String),
    /// It can't be read.
    #[error(
        "can't read the token in {0}: {1}; copy the coordinator's file of that name there, name \
         it by --token-file, or set {VARIABLE}"
    )]
    Unread(PathBuf, std::io::Error),
    /// It can't be made.
    #[error("can't write a token into {0}: {1}; name another file by --token-file")]
    Unmade(PathBuf, std::io::Error),
}

impl WorkersToken {
    /// The environment's, or else the file's.
    ///
    /// # Errors
    /// There is none, or it could be guessed.
    pub fn read(file: &Path) -> Result<Self, TokenError> {
        if let Ok(text) = std::env::var(VARIABLE) {
            return Self::of(&text, || VARIABLE.to_owned());
        }
        let text = std::fs::read_to_string(file);
        let text = text.map_err(|error| TokenError::Unread(file.to_owned(), error))?;
        Self::of(&text, || file.display().to_string())
    }

    /// The same; makes the file, for its owner alone, where there is neither.
    ///
    /// # Errors
    /// It can't be made, or could be guessed.
    pub fn read_or_make(file: &Path) -> Result<Self, TokenError> {
        match Self::read(file) {
            Err(TokenError::Unread(_, error)) if error.kind() == std::io::ErrorKind::NotFound => {
                Self::make(file).map_err(|error| TokenError::Unmade(file.to_owned(), error))?;
                Self::read(file)
            }
            read => read,
        }
    }

    fn make(file: &Path) -> std::io::Result<()> {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let random: [u8; MADE_BYTES] = rand::random();
        let text: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut made = std::fs::OpenOptions::new();
        let mut made = made.write(true).create_new(true).mode(0o600).open(file)?;
        writeln!(made, "{text}")
    }

    fn of(text: &str, from: impl Fn() -> String) -> Result<Self, TokenError> {
        let text = text.trim().to_owned();
        let is_sendable = text.bytes().all(|byte| byte.is_ascii_graphic());
        let token = Token::new(&text, BYTES_MIN).filter(|_| is_sendable);
        Ok(Self { token: token.ok_or_else(|| TokenError::Short(from()))?, text })
    }

    /// What a queue is sealed with; it is to be shown to nobody.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.text
    }

    /// Whether an `Authorization` shows it.
    pub(super) fn is_shown_by(&self, authorization: &[u8]) -> bool {
        let shown = authorization.strip_prefix(b"Bearer ");
        shown.is_some_and(|shown| self.token.is(shown))
    }

    /// The `Authorization` that shows it.
    pub(super) fn shown(&self) -> String {
        format!("Bearer {}", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_for_its_owner_alone_and_never_told() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/token");
        assert!(matches!(WorkersToken::read(&file), Err(TokenError::Unread(..))));
        let made = WorkersToken::read_or_make(&file).unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let read = WorkersToken::read_or_make(&file).unwrap();
        assert!(read.is_shown_by(made.shown().as_bytes()));
        assert!(!read.is_shown_by(b"Bearer x") && !read.is_shown_by(made.text.as_bytes()));
        assert!(!format!("{made:?}").contains(&made.text));
        std::fs::write(&file, "short\n").unwrap();
        let told = WorkersToken::read(&file).unwrap_err().to_string();
        assert!(told.contains("shorter than 16") && !told.contains("short\n"), "{told}");
        std::fs::write(&file, "not sendable in a field\n").unwrap();
        assert!(WorkersToken::read(&file).is_err());
    }
}

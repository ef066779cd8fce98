//! What happened in a scene, line by line, for whoever must find out why it failed.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::scene::Position;

/// Messages in a story are shown up to this many bytes.
const SHOWN_BYTES: usize = 600;

/// What happened so far. Clones write to the same one.
#[derive(Clone, Debug, Default)]
pub struct Story(Arc<Mutex<Vec<String>>>);

impl Story {
    /// Adds a line: at which time, who, and what.
    pub fn tell(&self, elapsed_ms: u64, who: &str, what: &str) {
        let seconds = elapsed_ms as f64 / 1000.0;
        let mut lines = what.lines();
        let first = lines.next().unwrap_or_default();
        let mut told = self.lines();
        told.push(format!("{seconds:>9.1} s  {who:<8} {first}"));
        told.extend(lines.map(|line| format!("{:21}{line}", "")));
    }

    /// Every line so far.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        self.lines().clone()
    }

    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a scene failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The line that was not fulfilled.
    pub at: Position,
    /// What is wrong, in a sentence's words.
    pub message: String,
    /// What was expected and what came instead, if the two can be set side by side.
    pub difference: Option<(String, String)>,
}

impl Failure {
    /// A failure without a difference.
    #[must_use]
    pub fn new(at: Position, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), difference: None }
    }

    /// A failure that sets two values side by side.
    #[must_use]
    pub fn differs(
        at: Position,
        what: impl Into<String>,
        expected: impl Into<String>,
        received: impl Into<String>,
    ) -> Self {
        let difference = Some((expected.into(), received.into()));
        Self { at, message: what.into(), difference }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.at.line, self.at.column, self.message)?;
        if let Some((expected, received)) = &self.difference {
            write!(f, "\n  - {expected}\n  + {received}")?;
        }
        Ok(())
    }
}

/// Bytes as a story shows them: text with escapes, cut where it grows long.
#[must_use]
pub fn shown(bytes: &[u8]) -> String {
    let part = &bytes[..bytes.len().min(SHOWN_BYTES)];
    let mut text = String::new();
    for piece in part.split_inclusive(|&b| b == b'\n') {
        let (line, ended) = match piece.strip_suffix(b"\r\n") {
            Some(line) => (line, true),
            None => (piece, false),
        };
        text.push_str(&line.escape_ascii().to_string().replace("\\\"", "\""));
        if ended {
            text.push('\n');
        }
    }
    if part.len() < bytes.len() {
        text.push_str(&format!("… ({} bytes)", bytes.len()));
    }
    text
}

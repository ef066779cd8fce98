//! A password, which nothing prints.

/// A password. It has neither `Debug` nor `Display`, so that what holds it can't be
/// written to a log by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides `password`.
    #[must_use]
    pub fn new(password: impl Into<String>) -> Self {
        Self(password.into())
    }

    /// The password, for the one who connects.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

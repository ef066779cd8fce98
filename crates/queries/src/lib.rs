//! Which queries a database's time goes to, and what to do about them.
pub mod fingerprint;
pub mod tokens;

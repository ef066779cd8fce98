//! Which queries a database's time goes to, and what to do about them.
//!
//! ```text
//! files → logs → classes → report → text, html, JSON
//! digests (a server's own) ─┘            saved: what is new, gone, worse
//! ```
//!
//! 1. [`files`] opens logs, [`logs`] makes [`query::Query`]s of their bytes.
//! 2. [`tokens`] cuts statements, [`fingerprint`] makes of them what those have in common
//!    that differ in their literals, and [`classes`] counts by that.
//! 3. [`report`] is what is told; [`routes`] whom executions were for, where a site knows.
//!
//! Invariants: 1. memory has a bound, whatever is read. 2. nothing in a log is fatal.
//! 3. no literal is told unasked.

pub mod advice;
pub mod classes;
pub mod digests;
pub mod files;
pub mod fingerprint;
pub mod html;
pub mod logs;
pub mod query;
pub mod report;
pub mod routes;
pub mod saved;
pub mod text;
pub mod tokens;

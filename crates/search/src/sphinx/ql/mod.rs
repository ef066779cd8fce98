//! SphinxQL: statements, and how they are read.
//!
//! In: the text of a query. Out: its [`Statement`]s, or searchd's words for what is wrong with it.
//! Law: the grammar of Sphinx 2.2, as much of it as clients use, and of Manticore the forms of
//! `CREATE TABLE`. What isn't here is refused by name, never passed over.

mod call;
mod condition;
mod cursor;
mod definition;
mod reader;
mod select;
mod show;
mod statement;
mod token;

pub use reader::read;
pub use select::{read_columns, read_order};
pub use statement::{
    Column, Condition, CreateTable, Expression, Literal, Named, Operator, Options, Order, Select,
    Statement, Test, Where,
};

/// A statement that can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(pub(crate) String);

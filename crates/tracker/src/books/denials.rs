//! The tables of whom a site turns away, read into a [`Denied`].
//!
//! In: the questions that a database's shape has for them. Out: lists.
//! Law: such a table may be missing, and may be kept from us; then it turns nobody away. XBT
//! sites have addresses as numbers with and without sign, so bits count and not values.

use super::link::{Link, Row, Trouble};
use super::shape::Denials;
use crate::denied::Denied;

/// Rows of a table; what is past them is left out, and the status shows that many.
pub(crate) const DENIED_MAX: usize = 100_000;

/// What the tables say.
pub(crate) async fn read(link: &mut Link, denials: &Denials) -> Result<Denied, Trouble> {
    let number = |row: &Row, at| u32::try_from(row.number(at)?).ok();
    let ranges = rows(link, denials.addresses.as_deref()).await?;
    let ranges = ranges.iter().filter_map(|row| Some((number(row, 0)?, number(row, 1)?))).collect();
    let clients = rows(link, denials.clients.as_deref()).await?;
    let clients = clients.iter().filter_map(|row| row.bytes(0)).map(beginning).collect();
    Ok(Denied::new(ranges, clients))
}

/// A column of a fixed width is filled up behind.
fn beginning(bytes: &[u8]) -> Vec<u8> {
    let end = bytes.iter().rposition(|byte| !matches!(byte, 0 | b' '));
    bytes[..end.map_or(0, |last| last + 1)].to_vec()
}

async fn rows(link: &mut Link, question: Option<&str>) -> Result<Vec<Row>, Trouble> {
    let Some(question) = question else { return Ok(Vec::new()) };
    match link.ask(question).await {
        Err(Trouble::Right(_)) => Ok(Vec::new()),
        answer => answer,
    }
}

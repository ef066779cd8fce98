//! The tables of what costs nothing to take, read into a [`Free`].
//!
//! In: the questions that a database's shape has for them. Out: lists.
//! Law: such a table may be missing, and may be kept from us; then nothing is free by it.

use super::link::{Link, Trouble};
use super::shape::FreeAsked;
use crate::free::Free;
use crate::rights::{TorrentId, UserId};

/// Rows of a table; what is past them is left out.
pub(crate) const FREE_MAX: usize = 1_000_000;

/// What the tables say.
pub(crate) async fn read(link: &mut Link, asked: &[FreeAsked]) -> Result<Free, Trouble> {
    let (mut pairs, mut users) = (Vec::new(), Vec::new());
    for FreeAsked { question, names_torrents } in asked {
        let rows = match link.ask(question).await {
            Err(Trouble::Right(_)) => continue,
            rows => rows?,
        };
        for row in rows {
            let number = |at| row.number(at).and_then(|number| u32::try_from(number).ok());
            match (number(0), number(1)) {
                (Some(user), None) if !names_torrents => users.push(UserId(user)),
                (Some(user), Some(torrent)) => pairs.push((UserId(user), TorrentId(torrent))),
                _ => {}
            }
        }
    }
    Ok(Free::new(pairs, users))
}

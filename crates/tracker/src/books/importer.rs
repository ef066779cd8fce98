//! Importing: torrents of a list become rows of our own tables.
//!
//! Law: one transaction, so that a list with a mistake in it leaves no half of itself.

use tokio::runtime::Runtime;
use wire::tracker::InfoHash;

use super::contract::{Contract, Dialect, Times};
use super::link::{Place, Trouble};
use super::session::{Session, advised};
use super::value::Value;

/// Torrents in a statement.
const AT_ONCE: usize = 1_000;

/// Who imports.
pub struct Importer {
    runtime: Runtime,
    place: Place,
    contract: Contract,
    session: Session,
    waiting: Vec<InfoHash>,
    all: u64,
    new: u64,
}

impl Importer {
    /// Begins to.
    ///
    /// # Errors
    /// If the database can't be had, or the user may not write there.
    pub fn begin(place: Place, contract: Contract) -> Result<Self, Trouble> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Trouble::Refused(error.to_string()))?;
        let begun = async {
            let mut session = Session::open(&place, &contract).await?;
            session.link.run(session.shape.dialect.begin()).await?;
            Ok(session)
        };
        let session = runtime
            .block_on(begun)
            .map_err(|trouble| advised(trouble, &place, &contract, false))?;
        Ok(Self { runtime, place, contract, session, waiting: Vec::new(), all: 0, new: 0 })
    }

    /// One more.
    ///
    /// # Errors
    /// If it can't be written; then none is.
    pub fn add(&mut self, hash: InfoHash) -> Result<(), Trouble> {
        self.waiting.push(hash);
        if self.waiting.len() < AT_ONCE { Ok(()) } else { self.write() }
    }

    /// That was all: how many were not there yet, and how many there were.
    ///
    /// # Errors
    /// If they can't be written; then none is.
    pub fn finish(mut self) -> Result<(u64, u64), Trouble> {
        self.write()?;
        self.runtime.block_on(self.session.link.run("COMMIT"))?;
        Ok((self.new, self.all))
    }

    fn write(&mut self) -> Result<(), Trouble> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let dialect = self.session.shape.dialect;
        let (ignore, conflict) = match dialect {
            Dialect::MySql => ("IGNORE ", ""),
            Dialect::Postgres | Dialect::Sqlite => ("", " ON CONFLICT (info_hash) DO NOTHING"),
        };
        let mut text = format!("INSERT {ignore}INTO wick_torrents (info_hash) VALUES ");
        for (at, hash) in self.waiting.iter().enumerate() {
            text.push_str(if at > 0 { ",(" } else { "(" });
            Value::Bytes(hash.0.to_vec()).write(dialect, Times::Unix, u64::MAX, &mut text);
            text.push(')');
        }
        text.push_str(conflict);
        let ran = self.runtime.block_on(self.session.link.run(&text));
        self.new += ran.map_err(|trouble| advised(trouble, &self.place, &self.contract, false))?;
        self.all += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }
}

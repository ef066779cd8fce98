//! A session with a database: a connection, and what it has of a contract.
//!
//! Where our own tables are missing they are made, if the user may. What the owner must do is
//! said as statements that can be run as they stand, by whoever may make tables and give rights.

use super::contract::{Contract, Dialect};
use super::link::{Link, Place, Trouble};
use super::log_writer;
use super::schema::{BATCHES, batches_table, grants, own_tables, shared_grants};
use super::shape::Shape;
use super::shared::{NODES, POINTS, shared_tables};

/// A connection, and what its database has.
pub(crate) struct Session {
    pub(crate) link: Link,
    pub(crate) shape: Shape,
}

impl Session {
    pub(crate) async fn open(place: &Place, contract: &Contract) -> Result<Self, Trouble> {
        let mut link = place.connect(contract.is_ours()).await?;
        let shape = match Shape::find(&mut link, place, contract).await {
            Err(Trouble::Table(_)) if contract.is_ours() => {
                make_own(&mut link, place.dialect()).await?;
                Shape::find(&mut link, place, contract).await
            }
            found => found,
        };
        Ok(Self { link, shape: shape? })
    }
}

/// Looks whether a place has what a contract asks for, and what a ledger of several trackers needs
/// where it is one; changes nothing there.
///
/// # Errors
/// What is wrong, with what the owner can do about it.
pub async fn check(place: &Place, contract: &Contract, is_shared: bool) -> Result<(), Trouble> {
    let looked = async {
        let mut link = place.connect(false).await?;
        let shape = match Shape::find(&mut link, place, contract).await {
            // They are made at the start.
            Err(Trouble::Table(_)) if contract.is_ours() => return Ok(()),
            found => found?,
        };
        if let Some(table) = shape.kept_from_us.first() {
            return Err(Trouble::Right(format!("`{table}` may be read and not be changed")));
        }
        for asked in [&shape.torrents, &shape.users] {
            link.ask(&asked.after(0, 1)).await?;
        }
        log_writer::check(&mut link, place, contract).await?;
        for (table, is_shortened) in [(BATCHES, false), (NODES, false), (POINTS, true)] {
            if is_shared || table == BATCHES {
                may_change(&mut link, table, is_shortened).await?;
            }
        }
        Ok(())
    };
    looked.await.map_err(|trouble| advised(trouble, place, contract, is_shared))
}

/// Whether rows of one of our tables may be put in and changed, or taken out: asked by statements
/// that find no row to do that to.
async fn may_change(link: &mut Link, table: &str, is_shortened: bool) -> Result<(), Trouble> {
    let change = match is_shortened {
        true => format!("DELETE FROM {table} WHERE 1 = 0"),
        false => format!("UPDATE {table} SET id = id WHERE 1 = 0"),
    };
    let put = format!("INSERT INTO {table} SELECT * FROM {table} WHERE 1 = 0");
    for statement in [put, change] {
        match link.run(&statement).await {
            // It is made at the start.
            Err(Trouble::Table(_)) => return Ok(()),
            done => done?,
        };
    }
    Ok(())
}

async fn make_own(link: &mut Link, dialect: Dialect) -> Result<(), Trouble> {
    for table in own_tables(dialect) {
        link.run(&table).await?;
    }
    Ok(())
}

/// The same trouble, with what the owner can do about it; `is_shared` where several trackers write
/// one ledger.
pub(crate) fn advised(
    trouble: Trouble,
    place: &Place,
    contract: &Contract,
    is_shared: bool,
) -> Trouble {
    let statements = || {
        let own = if contract.is_ours() { own_tables(place.dialect()) } else { Vec::new() };
        let (shared, more) = match is_shared {
            true => (shared_tables(place.dialect()), shared_grants(place)),
            false => (Vec::new(), Vec::new()),
        };
        let tables = own.into_iter().chain([batches_table(place.dialect())]).chain(shared);
        let tables: String = tables.map(|table| format!("{table}; ")).collect();
        let grants = grants(contract, place);
        tables + &grants.into_iter().chain(more).collect::<Vec<_>>().join(" ")
    };
    match trouble {
        Trouble::Right(why) => {
            Trouble::Right(format!("{why}. As the database's owner run: {}", statements()))
        }
        Trouble::Table(table) if place.dialect() == Dialect::Sqlite => Trouble::Refused(format!(
            "the file {} has no table `{table}`: name the site's own file, or the contract that \
             its tables keep",
            place.door()
        )),
        Trouble::Table(_) => Trouble::Refused(format!(
            "{trouble}. If the site calls it otherwise, a contract of your own says so by [names]; \
             if it is there, run as the database's owner: {}",
            statements()
        )),
        other => other,
    }
}

//! Where a user stands with a PostgreSQL server, and what more would take.
//!
//! In: a server's settings, a user's rights, a database's tables. Out: [`Standing`],
//! with lines that an owner can copy as they are.

use super::catalog::{self, Catalog};
use super::connection::{Connection, database, quoted};
use crate::{Address, Lost, Rung, Standing};

/// Asks the PostgreSQL server at `address` where its user stands.
pub(crate) async fn standing(address: &Address) -> Result<Standing, Lost> {
    let connection = Connection::open(address).await?;
    let catalog = catalog::read(&connection).await?;
    Ok(stand(&ask(&connection).await?, &catalog, database(address)))
}

/// What a server says about itself and about a user.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    user: String,
    level: String,
    /// How many may follow, and how many of those places are taken by others than us.
    slots: u32,
    slots_taken: u32,
    senders: u32,
    may_replicate: bool,
    may_create: bool,
    has_publications: bool,
    /// Those of our publications that belong to somebody else.
    foreign_publications: Vec<String>,
    /// Who owns tables that we may not publish, but for those who own the server.
    owners: Vec<String>,
}

pub(super) async fn ask(connection: &Connection) -> Result<Facts, Lost> {
    const FACTS: &str = "\
        SELECT current_user, current_setting('wal_level'), \
            current_setting('max_replication_slots'), \
            (SELECT count(*) FROM pg_replication_slots WHERE slot_name NOT LIKE 'wick\\_%'), \
            current_setting('max_wal_senders'), \
            (SELECT rolsuper OR rolreplication FROM pg_roles WHERE rolname = current_user), \
            has_database_privilege(current_database(), 'CREATE'), \
            (SELECT count(*) = 2 FROM pg_publication WHERE pubname IN ('wick_rows', 'wick_inserts')), \
            (SELECT string_agg(DISTINCT r.rolname, E'\\n') FROM pg_class c \
                JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles r ON r.oid = c.relowner \
                WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND NOT r.rolsuper \
                    AND NOT pg_has_role(c.relowner, 'USAGE') \
                    AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'), \
            (SELECT string_agg(pubname, E'\\n') FROM pg_publication \
                WHERE pubname IN ('wick_rows', 'wick_inserts') AND NOT pg_has_role(pubowner, 'USAGE'))";
    let line = connection.ask_one(FACTS).await?;
    Ok(Facts {
        user: line.text(0).to_owned(),
        level: line.text(1).to_owned(),
        slots: line.number(2)?,
        slots_taken: line.number(3)?,
        senders: line.number(4)?,
        may_replicate: line.is_true(5),
        may_create: line.is_true(6),
        has_publications: line.is_true(7),
        owners: line.list(8),
        foreign_publications: line.list(9),
    })
}

pub(super) fn stand(facts: &Facts, catalog: &Catalog, database: &str) -> Standing {
    let user = quoted(&facts.user);
    let mut grants = Vec::new();
    if !facts.may_replicate {
        grants.push(format!("ALTER ROLE {user} REPLICATION;"));
    }
    let may_publish = facts.may_create || facts.has_publications;
    if !may_publish {
        grants.push(format!("GRANT CREATE ON DATABASE {} TO {user};", quoted(database)));
    }
    let foreign = facts.foreign_publications.iter();
    grants.extend(foreign.map(|name| format!("ALTER PUBLICATION {name} OWNER TO {user};")));
    let may_publish = may_publish && facts.foreign_publications.is_empty();
    grants.extend(facts.owners.iter().map(|owner| format!("GRANT {} TO {user};", quoted(owner))));
    let mut tables = catalog.values().filter(|relation| relation.is_table()).peekable();
    let has_tables = tables.peek().is_some();
    let owns_some = tables.any(|relation| relation.is_own || relation.is_in_rows);
    // Without it what happens to their rows is counted, which may come late.
    let nameless = catalog.values().filter(|relation| relation.may_publish_inserts());
    grants.extend(
        nameless
            .map(|relation| format!("ALTER TABLE {} REPLICA IDENTITY FULL;", relation.quoted())),
    );
    let mut settings = Vec::new();
    if facts.level != "logical" {
        settings.push("wal_level = logical".to_owned());
    }
    let has_slots = facts.slots > facts.slots_taken;
    if !has_slots {
        settings.push(format!("max_replication_slots = {}", facts.slots_taken.saturating_add(4)));
    }
    if facts.senders == 0 {
        settings.push("max_wal_senders = 4".to_owned());
    }
    let is_log =
        facts.may_replicate && may_publish && settings.is_empty() && (owns_some || !has_tables);
    Standing {
        rung: if is_log { Rung::Log } else { Rung::Poll },
        grants,
        needs_restart: !settings.is_empty(),
        settings,
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalog::tests::catalog;
    use super::*;

    fn facts() -> Facts {
        Facts {
            user: "app".to_owned(),
            level: "logical".to_owned(),
            slots: 10,
            slots_taken: 2,
            senders: 10,
            may_replicate: true,
            may_create: true,
            has_publications: false,
            foreign_publications: vec![],
            owners: vec![],
        }
    }

    fn check(facts: &Facts, tables: &[&str], rung: Rung, grants: &[&str], settings: &[&str]) {
        let standing = stand(facts, &catalog(tables), "site");
        assert_eq!(standing.rung, rung, "{facts:?}");
        assert_eq!(standing.grants, grants, "{facts:?}");
        assert_eq!(standing.settings, settings, "{facts:?}");
        assert_eq!(standing.needs_restart, !settings.is_empty());
    }

    #[test]
    fn nothing_is_missing_on_the_highest_rung() {
        check(&facts(), &[], Rung::Log, &[], &[]);
        check(&facts(), &["a r 1 1"], Rung::Log, &[], &[]);
        let kept = Facts { may_create: false, has_publications: true, ..facts() };
        check(&kept, &["a r 1 1"], Rung::Log, &[], &[]);
    }

    #[test]
    fn what_is_missing_is_told_as_lines() {
        let bare = Facts {
            user: "o\"k".to_owned(),
            may_replicate: false,
            may_create: false,
            owners: vec!["app".to_owned()],
            ..facts()
        };
        let grants = [
            "ALTER ROLE \"o\"\"k\" REPLICATION;",
            "GRANT CREATE ON DATABASE \"site\" TO \"o\"\"k\";",
            "GRANT \"app\" TO \"o\"\"k\";",
        ];
        check(&bare, &["a r 1 1"], Rung::Poll, &grants, &[]);
        let foreign = Facts { foreign_publications: vec!["wick_rows".to_owned()], ..facts() };
        let line = "ALTER PUBLICATION wick_rows OWNER TO \"app\";";
        check(&foreign, &["a r 1 1 rows"], Rung::Poll, &[line], &[]);
        let full = Facts { slots: 2, senders: 0, level: "replica".to_owned(), ..facts() };
        let lines = ["wal_level = logical", "max_replication_slots = 6", "max_wal_senders = 4"];
        check(&full, &["a r 1 1"], Rung::Poll, &[], &lines);
        // A table without a key can be followed, and better with the line.
        let line = "ALTER TABLE \"public\".\"a\" REPLICA IDENTITY FULL;";
        check(&facts(), &["a r 1 1 inserts"], Rung::Log, &[line], &[]);
    }
}

//! What PostgreSQL needs to be followed by its log, as lines to copy.
//!
//! Nothing is asked of the server here yet: these lines hold for any that is set up as
//! its package does it. Where a server can be asked how it stands, its answer goes here.

use changes::Address;

/// The lines for the user of `address`.
pub(super) fn lines(address: &Address) -> Vec<String> {
    let user = address.user.replace('"', "\"\"");
    vec![
        "to hear of each row at once it takes".into(),
        "- in postgresql.conf, and then a restart of the database:".into(),
        "    wal_level = logical".into(),
        "- as the database's superuser:".into(),
        format!("    ALTER ROLE \"{user}\" REPLICATION;"),
        "  know that whoever may replicate can read every row of this server's databases".into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_names_the_user_safely() {
        let address: Address = "postgres://o%22k:hush@h/d".parse().expect("an address");
        let lines = lines(&address);
        assert!(lines.contains(&"    ALTER ROLE \"o\"\"k\" REPLICATION;".to_owned()), "{lines:?}");
        assert!(!lines.concat().contains("hush"));
    }
}

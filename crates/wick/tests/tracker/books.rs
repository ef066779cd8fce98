//! A private tracker whose site tells it of torrents and users: by a list, and by pushes.

use std::fs;

use crate::served::{Served, get, query};
use crate::wick::{PATIENCE, until};

const SECRET: &str = "abcdefgh12345678";

#[test]
fn a_site_pushes_torrents_users_and_new_passkeys() {
    let table = format!("mode = \"private\"\nmin_interval = 0\npush_secret = \"{SECRET}\"");
    let served = Served::begin("", &table);
    let push = |what: &str| get(served.address, &format!("/{SECRET}/update?action={what}"));
    let announce = |passkey: &str, client: u32| {
        get(served.address, &format!("/{passkey}/announce?{}", query(client, 5, "&event=started")))
    };
    until("the database is read", || served.ask(&["tracker", "status"]).contains("well; 0 users"));
    assert!(announce("passkey0001", 1).contains("this passkey is unknown"));
    assert!(push("add_user&passkey=passkey0001&id=7").ends_with("success"));
    assert!(announce("passkey0001", 1).contains("this torrent is not registered"));
    let hash = "h".repeat(20);
    let told = push(&format!("add_torrent&info_hash={hash}&id=3&freetorrent=0"));
    assert!(told.ends_with("success"), "{told}");
    let told = announce("passkey0001", 1);
    assert!(told.contains("8:intervali"), "{told}");
    assert!(push("shut_down").ends_with("failure"));
    // Who has another secret learns nothing.
    for target in ["/abcdefgh12345679/update?action=add_user", "/update?action=add_user"] {
        let told = get(served.address, target);
        assert!(told.starts_with("HTTP/1.1 404") && !told.contains("success"), "{told}");
    }
    // What is pushed in part is asked for.
    let file = served.state().join("tracker/tracker.sqlite");
    let site = rusqlite::Connection::open(file).expect("the tracker's own file");
    site.busy_timeout(PATIENCE).expect("it may be written just now");
    site.execute("INSERT INTO wick_users (id, passkey) VALUES (7, 'passkey0002')", [])
        .expect("a user");
    assert!(
        push("change_passkey&oldpasskey=passkey0001&newpasskey=passkey0002").ends_with("success")
    );
    until("the new passkey opens", || announce("passkey0002", 2).contains("8:intervali"));
    assert!(announce("passkey0001", 3).contains("this passkey is unknown"));
    served.stop();
}

#[test]
fn a_list_of_torrents_is_imported_while_the_tracker_runs() {
    let served = Served::begin("", "mode = \"private\"");
    let list = served.folder.path().join("hashes.txt");
    let write = |text: String| fs::write(&list, text).expect("a file");
    let path = list.display().to_string();
    let import = || served.ask(&["tracker", "import", &path]);
    let hashes: String = (0..2_500).map(|number| format!("{number:040x} # one\n")).collect();
    write(hashes.clone());
    let told = import();
    assert!(told.contains("2500 torrents are new; 0 were there already"), "{told}");
    until("it sees them", || served.ask(&["tracker", "status"]).contains("torrents   2500"));
    // A mistake, and nothing of the list is there.
    write(format!("{}\n{}\n", "ab".repeat(20), "ab".repeat(19)));
    let told = import();
    assert!(told.contains("hashes.txt:2:1: this is no info hash"), "{told}");
    write(format!("{hashes}{}\n", "ab".repeat(20)));
    let told = import();
    assert!(told.contains("1 torrents are new; 2500 were there already"), "{told}");
    served.stop();
}

#[test]
fn announces_and_scrapes_have_rows_in_a_log_of_the_sites_own() {
    let contracts = concat!(env!("CARGO_MANIFEST_DIR"), "/../tracker/src/books/contracts/");
    let wick = fs::read_to_string(format!("{contracts}wick.toml")).expect("it comes with us");
    let folder = tempfile::tempdir().expect("a folder");
    let contract = folder.path().join("ours.toml");
    let log = "\n[[logs]]\ntable = \"asked\"\nof = \"announces\"\nrow = { who = \"user\", \
        hash = \"info_hash\", came_from = \"ip_text\", why = \"event_name\", \"more?\" = \"left\" }\n";
    fs::write(&contract, wick + log).expect("a file");
    let contract = contract.display();
    let table = format!("mode = \"private\"\nlog_announces = true\ncontract = \"{contract}\"");
    let served = Served::begin("", &table);
    let site = served.enrol(&[(7, "passkey0007")], &"68".repeat(20)).0;
    let status = || served.ask(&["tracker", "status"]);
    until("it misses the log", || status().contains("the database has no table `asked`"));
    let announce =
        |event: &str| get(served.address, &format!("/passkey0007/announce?{}", query(1, 5, event)));
    assert!(announce("&event=started").contains("8:intervali"));
    assert!(announce("&event=stopped").contains("8:intervali"));
    let made = "CREATE TABLE asked (who INTEGER, hash BLOB, came_from TEXT, why TEXT)";
    site.execute(made, []).expect("a table");
    until("they are written", || status().contains("2 rows in the site's log, 0 left out"));
    let mut asked = site.prepare("SELECT who, hash, came_from, why FROM asked").expect("columns");
    let row = |row: &rusqlite::Row<'_>| {
        Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?, row.get::<_, String>(3)?))
    };
    let found: Result<Vec<(u32, [u8; 20], _, _)>, _> =
        asked.query_map([], row).expect("an answer").collect();
    let expected =
        ["started", "stopped"].map(|why| (7, [b'h'; 20], "127.0.0.1".to_owned(), why.to_owned()));
    assert_eq!(found.expect("rows"), expected);
    drop(asked);
    served.stop();
}

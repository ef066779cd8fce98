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

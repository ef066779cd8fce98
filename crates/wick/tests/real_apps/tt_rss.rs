//! tt-rss with MariaDB: all but its log-in is behind the log-in, and most of it is asked
//! for by scripts.

use std::fs;
use std::path::Path;

use crate::apps::{App, AppFolder, InstallError, MariaDb, require};
use crate::person::Hands;
use crate::strangers::{self, Case, LogIn};
use crate::visitor::{Page, Visitor};
use crate::{ready, removed};

const CASE: Case = Case {
    name: "tt-rss",
    start: &["/", "/public.php?op=forgotpass"],
    pages: [5, 2],
    // It asks a sum, whose answer the session has.
    own: &["/public.php?op=forgotpass"],
    log_in: LogIn {
        page: "/",
        is_shared: true,
        mark: "name=\"password\"",
        // Those that its own scheme brings.
        fields: &[("op", "login"), ("login", "admin"), ("password", "password")],
        known_on: "/",
        proof: "Subscribe to feed...",
    },
    hands: Some(Hands {
        fields: &[
            (".dijitTextBox input[name=login]", "admin"),
            (".dijitTextBox input[name=password]", "password"),
        ],
        button: ".dijitButton input[type=submit]",
        proof: "#feeds-holder",
        is_never_kept: false,
    }),
    // Its guests see nothing but the log-in.
    guest_hands: None,
    guest_page: "/",
    guest,
};

/// A program logs in without a page, as the apps on telephones do.
fn guest(guest: &Visitor, _: Page) {
    let login = r#"{"op":"login","user":"admin","password":"password"}"#;
    let answer = guest.post_json("/api/", login).text();
    // Programs have to be let in by their user first.
    assert!(answer.contains("API_DISABLED") || answer.contains("session_id"), "{answer}");
}

fn installed() -> Result<App, InstallError> {
    const SCHEME: &str = "/usr/share/tt-rss/schema/ttrss_schema_mysql.sql";
    require("tt-rss", SCHEME)?;
    let left_out = ["config.php", "feed-icons"];
    let folder = AppFolder::copy("tt-rss", "/usr/share/tt-rss/www", &left_out)?;
    let database = MariaDb::start(&folder.beside("mariadb"), &[])?;
    let scheme = fs::read_to_string(SCHEME).expect("the package brings it");
    database.ask(&format!("USE {};\n{scheme}", MariaDb::NAME))?;
    folder.write("site/config.php", settings(&database, &folder.beside("kept")))?;
    for name in ["kept/images", "kept/upload", "kept/export", "site/feed-icons"] {
        folder.let_write(name)?;
    }
    folder.let_write("kept")?;
    Ok(App { database: Some(database), folder })
}

/// The owner's settings: where things are; the rest as Debian has it.
fn settings(database: &MariaDb, kept: &Path) -> String {
    let debian = fs::read_to_string("/etc/tt-rss/config.php").expect("the package brings it");
    let (name, socket) = (MariaDb::NAME, database.socket().display());
    let ours = format!(
        "<?php $dbtype = 'mysql'; $dbserver = 'localhost;unix_socket={socket}'; $dbport = ''; \
         $dbuser = $dbname = $dbpass = '{name}';\n"
    );
    let kept = kept.display().to_string();
    let rest = debian.trim_start().trim_start_matches("<?php").replace("/var/lib/tt-rss", &kept);
    ours + &rest
        .replace("include_once('/etc/tt-rss/database.php');", "")
        .replace("/var/cache/tt-rss", &kept)
        .replace("'%SELF_URL_PATH'", "'http://' . ($_SERVER['HTTP_HOST'] ?? 'localhost') . '/'")
        .replace("'CHECK_FOR_UPDATES', true", "'CHECK_FOR_UPDATES', false")
}

#[test]
fn strangers_of_tt_rss_are_served_from_memory() {
    let Some(app) = ready(installed()) else { return };
    strangers::check(&CASE, &app.folder.root().display().to_string());
    removed(app);
}

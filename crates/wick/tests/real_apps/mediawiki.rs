//! MediaWiki: a database, tokens in every form, style sheets made by a script.

use std::fs;

use crate::apps::App;
use crate::edits::{self, Beside};
use crate::mediawiki_install::{Content, PASSWORD, fill, installed};
use crate::person::{GuestHands, Hands};
use crate::search::{self, Sought};
use crate::strangers::{self, Case, LogIn};
use crate::visitor::{Page, Visitor};
use crate::wick::Wick;
use crate::{large_file, ready, removed};

const CASE: Case = Case {
    name: "MediaWiki",
    start: &["/index.php/Main_Page", "/index.php/Candle_1"],
    pages: [30, 20],
    own: &[],
    log_in: LogIn {
        page: "/index.php?title=Special:UserLogin",
        // With no-store, unlike what strangers read.
        is_shared: false,
        mark: "wpPassword",
        fields: &[("wpName", "Ann"), ("wpPassword", PASSWORD), ("wpLoginAttempt", "Log in")],
        known_on: "/index.php/Candle_1",
        proof: "\"wgUserName\":\"Ann\"",
    },
    hands: Some(Hands {
        fields: &[("#wpName1", "Ann"), ("#wpPassword1", PASSWORD)],
        button: "#wpLoginAttempt",
        proof: "#pt-userpage",
        is_never_kept: false,
    }),
    guest_hands: Some(GuestHands {
        page: "/index.php/Candle_2",
        fields: &[("#searchInput", "nothing like this")],
        proof: "Search results",
    }),
    guest_page: "/index.php/Candle_2",
    guest,
};

/// What is looked for of it.
const SOUGHT: Sought = Sought {
    visited: &["/index.php/Candle_7", "/index.php?title=Candle_9"],
    words: "\"said of candle 7\"",
    page: "Candle_7",
    write: edit_candle_9,
    // Of a guest it takes eight edits a minute and no more.
    editor: &CASE.log_in,
    edit: edit_candle_9,
};

/// A search by the form on the page, then an edit without an account.
fn guest(guest: &Visitor, page: Page) {
    let found = guest.submit(&page, "name=\"search\"", &[("search", "said"), ("fulltext", "1")]);
    found.expect("a search", "Search results");
    let form = guest.get("/index.php?title=Candle_2&action=edit").expect("an editor", "wpTextbox1");
    let written = [("wpTextbox1", "Words of a guest."), ("wpSave", "Save page")];
    guest.submit(&form, "wpTextbox1", &written).expect("a guest's edit", "Words of a guest.");
}

#[test]
fn strangers_of_mediawiki_are_served_from_memory() {
    let Some(app) = ready(installed(&Content::Server(&[]))) else { return };
    fill(&app).expect("pages are written");
    strangers::check(&CASE, &app.folder.root().display().to_string());
    search::is_made(CASE.name, &app.folder.root(), &SOUGHT);
    removed(app);
}

#[test]
#[ignore = "it judges nothing: it prints how long edits take until they are found"]
fn edits_of_mediawiki_are_timed() {
    let Some(app) = ready(installed(&Content::Server(&[]))) else { return };
    fill(&app).expect("pages are written");
    let sought = Sought {
        visited: &["/index.php/Candle_7", "/index.php?title=Candle_9", "/index.php/Main_Page"],
        words: "candle",
        ..SOUGHT
    };
    let beside = Beside {
        database: app.database.as_ref().expect("it has one"),
        // Nor may the page be shown that was rendered before.
        statements: |old, new| {
            format!(
                "USE site; UPDATE text SET old_text = REPLACE(old_text, '{old}', '{new}'); \
                 DELETE FROM objectcache;"
            )
        },
    };
    edits::are_timed(CASE.name, &app.folder.root(), &sought, &beside);
    removed(app);
}

/// Writes a word in the place of a page's text.
fn edit_candle_9(author: &Visitor, word: &str) -> &'static str {
    let form = author.get("/index.php?title=Candle_9&action=edit");
    let form = form.expect("an editor", "wpTextbox1");
    let written = [("wpTextbox1", word), ("wpSave", "Save page")];
    let shown = author.submit(&form, "wpTextbox1", &written).expect("an edit", word);
    assert!(!shown.text().contains("wpTextbox1"), "it was refused: {}", shown.text());
    "Candle_9"
}

#[test]
fn mediawiki_is_read_edited_and_given_files() {
    let Some(app) = ready(installed(&Content::Sqlite)) else { return };
    let wick = Wick::serve(&app.folder.root().display().to_string(), true);
    strangers_read(&wick.base);
    let ann = log_in(&wick.base);
    edit(&wick.base, &ann);
    upload(&wick.base, &ann, &app);
    wick.stop();
    removed(app);
}

fn strangers_read(base: &str) {
    let stranger = Visitor::new(base);
    for path in ["/", "/index.php/Main_Page", "/index.php?title=Main_Page"] {
        let page = stranger.get(path).expect(path, "MediaWiki has been installed");
        assert!(page.text().contains("Candle works"), "{path}");
    }
    assert_eq!(stranger.get("/index.php/No_such_page").status, 404);
    let styles = "/load.php?lang=en&modules=skins.vector.styles&only=styles&skin=vector-2022";
    let first = stranger.get(styles).expect("the styles", ".mw-");
    assert_eq!(first.field("content-type"), "text/css; charset=utf-8");
    let second = stranger.get(styles);
    assert!(second.field("cache-status").contains("hit"), "{}", second.field("cache-status"));
    assert!(second.body == first.body, "the same styles");
    let info = stranger.get("/api.php?action=query&meta=siteinfo&format=json");
    let info = info.expect("the interface for programs", "\"sitename\":\"Candle works\"");
    assert!(info.field("content-type").starts_with("application/json"));
    stranger.get("/rest.php/v1/page/Main_Page").expect("a path behind a script", "Main Page");
    for path in ["/maintenance/install.php", "/includes/Setup.php", "/languages/i18n/en.json"] {
        assert_eq!(stranger.get(path).status, 403, "{path}");
    }
}

fn log_in(base: &str) -> Visitor {
    const PATH: &str = "/index.php?title=Special:UserLogin";
    let ann = Visitor::new(base);
    let form = ann.get(PATH).expect("the log-in form", "wpPassword");
    let wrong = [("wpName", "Ann"), ("wpPassword", "wrong"), ("wpLoginAttempt", "Log in")];
    let failed = ann.post(PATH, &form.form("wpPassword").filled(&wrong));
    let failed = failed.expect("a wrong password", "Incorrect username or password");
    let right = [("wpName", "Ann"), ("wpPassword", "a wick burns bright")];
    let fields = failed.form("wpPassword").filled(&right);
    ann.post(PATH, &fields).expect("a log-in", "\"wgUserName\":\"Ann\"");
    ann.get("/index.php/Main_Page").expect("she stays logged in", "\"wgUserName\":\"Ann\"");
    let stranger = Visitor::new(base).get("/index.php/Main_Page");
    stranger.expect("a member's page is hers alone", "\"wgUserName\":null");
    ann
}

fn edit(base: &str, ann: &Visitor) {
    for words in ["Old words.", "New words & a \"quote\"."] {
        let form = ann.get("/index.php?title=Second_page&action=edit");
        let form = form.expect("the editor", "wpTextbox1").form("wpTextbox1");
        let fields = form.filled(&[("wpTextbox1", words), ("wpSave", "Save page")]);
        let shown = words.replace('&', "&amp;");
        let path = "/index.php?title=Second_page&action=submit";
        ann.post(path, &fields).expect("her edit", &shown);
        let stranger = Visitor::new(base);
        stranger.get("/index.php/Second_page").expect("what strangers see of it", &shown);
    }
}

fn upload(base: &str, ann: &Visitor, app: &App) {
    let file = app.folder.beside("large.bin");
    let bytes = large_file();
    fs::write(&file, &bytes).expect("a file can be written");
    const PATH: &str = "/index.php?title=Special:Upload";
    let form = ann.get(PATH).expect("the upload form", "wpUploadFile").form("wpUploadFile");
    let written =
        [("wpDestFile", "Large.bin"), ("wpIgnoreWarning", "1"), ("wpUpload", "Upload file")];
    let done = ann.upload(PATH, &form.filled(&written), "wpUploadFile", &file);
    let text = done.expect("an upload", "File:Large.bin").text();
    let link = text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let mut link = link.filter(|link| link.contains("/images/") && link.ends_with("/Large.bin"));
    let link = link.next().expect("a link to the file");
    let path = link.strip_prefix(base).unwrap_or(link);
    let page = Visitor::new(base).get(path);
    assert_eq!(page.status, 200, "{path}");
    assert!(page.body == bytes, "the file is the same");
}

/// A wiki that was told of a cache before it says so in its headers, and sends that cache a
/// PURGE for each address that an edit makes wrong: the page's history among them, which
/// nothing but that purge could tell of.
#[test]
fn a_wiki_that_knows_of_a_cache_purges_it() {
    const CACHE: &str = r#"
$wgUseCdn = true;
$wgCdnServers = [ $_SERVER['HTTP_HOST'] ?? '' ];
$wgCdnMaxAge = 3600;
"#;
    let Some(app) = ready(installed(&Content::Sqlite)) else { return };
    fill(&app).expect("pages are written");
    let settings = app.folder.root().join("LocalSettings.php");
    let made = fs::read_to_string(&settings).expect("they are there");
    app.folder.write("site/LocalSettings.php", made + CACHE).expect("they can be written");
    let root = app.folder.root().display().to_string();
    // Nothing but the law and the purge: neither strangers' pages nor the database's changes.
    let wick = Wick::serve_with(&root, "[[site]]\nstrangers = false\nchanges = \"off\"\n");
    let visitor = Visitor::new(&wick.base);
    let history = "/index.php?title=Candle_3&action=history";
    visitor.get(history).expect("a history", "Revision history");
    let kept = visitor.get(history);
    assert!(kept.is_from_memory(), "{}", kept.head());
    let form =
        visitor.get("/index.php?title=Candle_3&action=edit").expect("an editor", "wpTextbox1");
    let written = [("wpTextbox1", "Other words."), ("wpSummary", "purged by this")];
    let guest = Visitor::new(&wick.base).with_cookies_of(&visitor);
    guest.submit(&form, "wpTextbox1", &written).expect("an edit", "Other words.");
    Visitor::new(&wick.base).get(history).expect("the edit in the history", "purged by this");
    wick.stop();
    removed(app);
}

//! DokuWiki: pages in files, a `.htaccess` before what is private, files by X-Sendfile.

use std::fs;

use crate::apps::{self, App, PASSWORD, USER};
use crate::person::{GuestHands, Hands};
use crate::strangers::{self, Case, LogIn};
use crate::visitor::{Page, Visitor};
use crate::wick::{Wick, until};
use crate::{large_file, ready, removed};

/// By the request, as settings are kept in the opcode cache for a moment.
const SENDFILE: &str = "$conf['xsendfile'] = (int) ($_GET['sendfile'] ?? 0);\n";

const CASE: Case = Case {
    name: "DokuWiki",
    start: &["/doku.php?id=start"],
    pages: [30, 20],
    own: &[],
    log_in: LogIn {
        page: "/doku.php?id=start&do=login",
        is_shared: true,
        mark: "name=\"p\"",
        fields: &[("u", USER), ("p", PASSWORD)],
        known_on: "/doku.php?id=second",
        proof: "Logged in as",
    },
    hands: Some(Hands {
        fields: &[("#dw__login input[name=u]", USER), ("#dw__login input[name=p]", PASSWORD)],
        button: "#dw__login button[type=submit]",
        proof: "li.user",
        is_never_kept: true,
    }),
    guest_hands: Some(GuestHands {
        page: "/doku.php?id=second",
        fields: &[("#dw__search input[name=q]", "candle")],
        proof: "What is to be said of",
    }),
    guest_page: "/doku.php?id=second",
    guest,
};

/// A search by the form on the page.
fn guest(guest: &Visitor, page: Page) {
    // Browsers load this image with each page, and by that the page comes into the index.
    guest.get("/lib/exe/taskrunner.php?id=candles%3A7");
    let found = guest.submit(&page, "name=\"q\"", &[("q", "candle")]);
    found.expect("a search", "What is to be said of");
}

#[test]
fn strangers_of_dokuwiki_are_served_from_memory() {
    let Some(app) = ready(apps::dokuwiki()) else { return };
    strangers::check(&CASE, &app.folder.root().display().to_string());
    removed(app);
}

#[test]
fn dokuwiki_is_read_edited_and_given_files() {
    let Some(app) = ready(apps::dokuwiki()) else { return };
    let local = app.folder.root().join("conf/local.php");
    let settings = fs::read_to_string(&local).expect("they were written");
    fs::write(local, settings + SENDFILE).expect("the app is ours");
    let wick = Wick::serve(&app.folder.root().display().to_string(), true);
    strangers_read(&wick.base);
    let ann = log_in(&wick.base);
    edit(&wick.base, &ann);
    files(&wick.base, &ann, &app);
    wick.stop();
    removed(app);
}

fn strangers_read(base: &str) {
    let stranger = Visitor::new(base);
    // DokuWiki may show a page empty to whoever comes while it is rendered for somebody else for
    // the first time, and behind a stranger's visit somebody looks for himself.
    let shows = |path: &str| stranger.get(path).text().contains("Welcome");
    for path in ["/doku.php?id=start", "/", "/doku.php", "/doku.php/start"] {
        until(path, || shows(path));
        let page = stranger.get(path).expect(path, "Welcome");
        assert!(page.text().contains("Candle works"), "{path}");
    }
    stranger.get("/doku.php?id=second").expect("a second page", "Old words.");
    let style = stranger.get("/lib/exe/css.php?t=dokuwiki").expect("the styles", "{");
    assert!(style.field("content-type").starts_with("text/css"), "{}", style.field("content-type"));
    let image = stranger.get("/lib/images/fileicons/svg/pdf.svg").expect("a static file", "<svg");
    assert_eq!(image.field("content-type"), "image/svg+xml; charset=utf-8");
    for path in [
        "/data/pages/start.txt",
        "/data/",
        "/data/no/such",
        "/conf/users.auth.php",
        "/conf/local.php",
        "/conf/mime.conf",
        "/inc/init.php",
        "/bin/indexer.php",
        "/vendor/autoload.php",
        "/VERSION",
        "/.htaccess",
    ] {
        assert_eq!(stranger.get(path).status, 403, "{path}");
    }
}

fn log_in(base: &str) -> Visitor {
    let ann = Visitor::new(base);
    let login = ann.get("/doku.php?id=start&do=login").expect("the log-in form", "name=\"p\"");
    let wrong = [("u", "ann"), ("p", "wrong")];
    let failed = ann.post("/doku.php?id=start&do=login", &login.form("name=\"p\"").filled(&wrong));
    assert!(!failed.text().contains("Logged in as"), "a wrong password");
    let fields = [("u", "ann"), ("p", "a wick burns")];
    let fields = failed.form("name=\"p\"").filled(&fields);
    ann.post("/doku.php?id=start&do=login", &fields).expect("a log-in", "Logged in as");
    ann.get("/doku.php?id=second").expect("she stays logged in", "Logged in as");
    let stranger = Visitor::new(base).get("/doku.php?id=second").expect("a stranger", "Old words.");
    assert!(!stranger.text().contains("Logged in as"), "a member's page is hers alone");
    ann
}

fn edit(base: &str, ann: &Visitor) {
    let path = "/doku.php?id=second";
    let form = ann.get(&format!("{path}&do=edit")).expect("the editor", "Old words.");
    let words = "====== Second page ======\nNew words & a \"quote\".\n";
    let fields = form.form("wikitext").filled(&[("wikitext", words), ("do[save]", "Save")]);
    ann.post(path, &fields).expect("her edit", "New words &amp;");
    Visitor::new(base).get(path).expect("what strangers see of it", "New words &amp;");
}

fn files(base: &str, ann: &Visitor, app: &App) {
    let file = app.folder.beside("large.zip");
    let bytes = large_file();
    fs::write(&file, &bytes).expect("a file can be written");
    let manager = "/lib/exe/mediamanager.php?ns=";
    let form = ann.get(manager).expect("the media manager", "name=\"upload\"");
    let fields = form.form("name=\"upload\"").filled(&[("mediaid", "large.zip")]);
    let done = ann.upload(manager, &fields, "upload", &file).expect("an upload", "large.zip");
    assert!(done.text().contains("Upload successful"), "{}", done.text());
    let stranger = Visitor::new(base);
    // Read by PHP, by X-Sendfile, and by X-Accel-Redirect.
    for (sendfile, is_by_wick) in [(0, false), (2, true), (3, true)] {
        let page = stranger.get(&format!("/lib/exe/fetch.php?media=large.zip&sendfile={sendfile}"));
        assert_eq!(page.status, 200, "by {sendfile}");
        assert_eq!(page.field("content-length"), bytes.len().to_string(), "by {sendfile}");
        assert!(page.body == bytes, "the file is the same, by {sendfile}");
        let is_ours = page.field("etag").matches('-').count() == 2;
        assert_eq!(is_ours, is_by_wick, "{} by {sendfile}", page.field("etag"));
    }
    assert_eq!(stranger.get("/data/media/large.zip").status, 403);
}

//! DokuWiki: pages in files, a `.htaccess` before what is private, files by X-Sendfile.

use std::fs;

use crate::app_folder::AppFolder;
use crate::large_file;
use crate::visitor::{Visitor, filled};
use crate::wick::Wick;

const LOCAL: &str = r#"<?php
$conf['title'] = 'Candle works';
$conf['savedir'] = DOKU_INC . 'data';
$conf['useacl'] = 1;
$conf['superuser'] = '@admin';
// By the request, as settings are kept in the opcode cache for a moment.
$conf['xsendfile'] = (int) ($_GET['sendfile'] ?? 0);
"#;
const ACL: &str = "# <?php exit()?>\n* @ALL 1\n* @user 16\n";
/// `ann`, whose password is `a wick burns`.
const USERS: &str =
    "# <?php exit()?>\nann:358a741dd12eb3431a4813151523863e:Ann:ann@example.org:admin,user\n";

/// The folders that DokuWiki's installation makes in `data`.
const DATA: [&str; 11] = [
    "attic",
    "cache",
    "index",
    "locks",
    "log",
    "media",
    "media_attic",
    "media_meta",
    "meta",
    "pages",
    "tmp",
];

fn installed() -> Option<AppFolder> {
    let app = AppFolder::copy("DokuWiki", "/usr/share/dokuwiki", &[])?;
    // Debian's own looks for settings and data in /etc and /var/lib.
    app.write("site/inc/preload.php", "<?php\n");
    for entry in fs::read_dir("/etc/dokuwiki").expect("its settings can be read").flatten() {
        let is_private = entry.file_name().to_string_lossy().contains(".auth.php");
        if !is_private && entry.path().is_file() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let bytes = fs::read(entry.path()).expect("a setting can be read");
            app.write(&format!("site/conf/{name}"), bytes);
        }
    }
    app.write("site/conf/local.php", LOCAL);
    app.write("site/conf/acl.auth.php", ACL);
    app.write("site/conf/users.auth.php", USERS);
    for folder in DATA {
        app.write(&format!("site/data/{folder}/_dummy"), "");
    }
    // As the package has it before its own.
    app.write("site/data/.htaccess", fs::read(app.root().join("inc/.htaccess")).expect("it ships"));
    app.write("site/data/pages/start.txt", "====== Welcome ======\nSee [[second]].\n");
    app.write("site/data/pages/second.txt", "====== Second page ======\nOld words.\n");
    app.let_write("site/data");
    app.let_write("site/conf");
    Some(app)
}

#[test]
fn dokuwiki_is_read_edited_and_given_files() {
    let Some(app) = installed() else { return };
    let wick = Wick::serve(&app.root());
    strangers_read(&wick.base);
    let ann = log_in(&wick.base);
    edit(&wick.base, &ann);
    files(&wick.base, &ann, &app);
    wick.stop();
    app.remove();
}

fn strangers_read(base: &str) {
    let stranger = Visitor::new(base);
    for path in ["/", "/doku.php", "/doku.php?id=start", "/doku.php/start"] {
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
    let failed = ann.post("/doku.php?id=start&do=login", &filled(login.form("name=\"p\""), &wrong));
    assert!(!failed.text().contains("Logged in as"), "a wrong password");
    let fields = [("u", "ann"), ("p", "a wick burns")];
    let fields = filled(failed.form("name=\"p\""), &fields);
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
    let fields = filled(form.form("wikitext"), &[("wikitext", words), ("do[save]", "Save")]);
    ann.post(path, &fields).expect("her edit", "New words &amp;");
    Visitor::new(base).get(path).expect("what strangers see of it", "New words &amp;");
}

fn files(base: &str, ann: &Visitor, app: &AppFolder) {
    let file = app.beside("large.zip");
    let bytes = large_file();
    fs::write(&file, &bytes).expect("a file can be written");
    let manager = "/lib/exe/mediamanager.php?ns=";
    let form = ann.get(manager).expect("the media manager", "name=\"upload\"");
    let fields = filled(form.form("name=\"upload\""), &[("mediaid", "large.zip")]);
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

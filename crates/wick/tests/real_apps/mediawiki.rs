//! MediaWiki: a database, tokens in every form, style sheets made by a script.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::app_folder::{AppFolder, run};
use crate::large_file;
use crate::visitor::{Visitor, filled};
use crate::wick::Wick;

/// What an owner would write below the settings that the installer made.
const SETTINGS: &str = r#"
$wgServer = WebRequest::detectServer();
$wgCacheDirectory = "$IP/cache";
$wgEnableUploads = true;
$wgFileExtensions[] = 'bin';
$wgVerifyMimeType = false;
"#;

fn installed() -> Option<AppFolder> {
    // Links to /var/lib, and extensions that are not switched on.
    let left_out = ["LocalSettings.php", "config", "extensions", "extensions-core", "images"];
    let app = AppFolder::copy("MediaWiki", "/usr/share/mediawiki", &left_out)?;
    fs::create_dir(app.root().join("extensions")).expect("a folder can be made");
    let mut install = Command::new("php");
    install.arg(app.root().join("maintenance/install.php"));
    install.args(["--dbtype=sqlite", "--dbname=wiki", "--scriptpath=", "--lang=en"]);
    install.args(["--server=http://localhost", "--skins=Vector", "--pass=a wick burns bright"]);
    install.arg(format!("--dbpath={}", app.beside("database").display()));
    run(install.args(["Candle works", "Ann"]));
    let settings = app.root().join("LocalSettings.php");
    let made = fs::read_to_string(&settings).expect("the installer wrote them");
    app.write("site/LocalSettings.php", made + SETTINGS);
    for folder in ["database", "site/images", "site/cache"] {
        app.let_write(folder);
    }
    Some(app)
}

#[test]
fn mediawiki_is_read_edited_and_given_files() {
    if !Path::new("/usr/share/doc/php-sqlite3").exists() {
        eprintln!("\n*** php-sqlite3 is not installed: THIS TEST CHECKS NOTHING ***\n");
        return;
    }
    let Some(app) = installed() else { return };
    let wick = Wick::serve(&app.root());
    strangers_read(&wick.base);
    let ann = log_in(&wick.base);
    edit(&wick.base, &ann);
    upload(&wick.base, &ann, &app);
    wick.stop();
    app.remove();
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
    let failed = ann.post(PATH, &filled(form.form("wpPassword"), &wrong));
    let failed = failed.expect("a wrong password", "Incorrect username or password");
    let right = [("wpName", "Ann"), ("wpPassword", "a wick burns bright")];
    let fields = filled(failed.form("wpPassword"), &right);
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
        let fields = filled(form, &[("wpTextbox1", words), ("wpSave", "Save page")]);
        let shown = words.replace('&', "&amp;");
        let path = "/index.php?title=Second_page&action=submit";
        ann.post(path, &fields).expect("her edit", &shown);
        let stranger = Visitor::new(base);
        stranger.get("/index.php/Second_page").expect("what strangers see of it", &shown);
    }
}

fn upload(base: &str, ann: &Visitor, app: &AppFolder) {
    let file = app.beside("large.bin");
    let bytes = large_file();
    fs::write(&file, &bytes).expect("a file can be written");
    const PATH: &str = "/index.php?title=Special:Upload";
    let form = ann.get(PATH).expect("the upload form", "wpUploadFile").form("wpUploadFile");
    let written =
        [("wpDestFile", "Large.bin"), ("wpIgnoreWarning", "1"), ("wpUpload", "Upload file")];
    let done = ann.upload(PATH, &filled(form, &written), "wpUploadFile", &file);
    let text = done.expect("an upload", "File:Large.bin").text();
    let link = text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let mut link = link.filter(|link| link.contains("/images/") && link.ends_with("/Large.bin"));
    let link = link.next().expect("a link to the file");
    let path = link.strip_prefix(base).unwrap_or(link);
    let page = Visitor::new(base).get(path);
    assert_eq!(page.status, 200, "{path}");
    assert!(page.body == bytes, "the file is the same");
}

//! What paths stand for in a folder that has a bit of everything.

use super::*;

const FILES: [&str; 29] = [
    "/site/index.php",
    "/site/doku.php",
    "/site/style.css",
    "/site/photo.jpg",
    "/site/README",
    "/site/secret.PHP",
    "/site/config.php.bak",
    "/site/config.php~",
    "/site/lib.inc",
    "/site/.env",
    "/site/.well-known/security.txt",
    "/site/wiki/.hidden",
    "/site/docs/index.html",
    "/site/admin/index.php",
    "/site/empty/inner/readme.txt",
    "/site/uploads/photo.jpg",
    "/site/uploads/shell.php",
    "/site/wp-content/Uploads/2020/shell.php",
    "/site/sites/default/files/shell.php",
    "/site/a b/c.php",
    "/site/theme/index.php",
    "/site/x.php/inside.txt",
    "/site/sockets/app.sock",
    "/site/q?a/index.html",
    "/site/private/index.php",
    "/site/private/inner/page.txt",
    "/site/private/open.txt",
    "/site/debug.log",
    "/site/docs/debug.log",
];

/// Files are those of the list; what they lie in are folders. A folder called
/// `private` is denied to everybody, and logs are in all of them.
struct Listed<'a>(&'a [&'a str]);

impl Ground for Listed<'_> {
    fn kind(&self, path: &Path) -> Kind {
        let path = path.to_string_lossy();
        match self.0.iter().find(|file| path == **file) {
            Some(file) if file.ends_with(".sock") => Kind::Other,
            Some(_) => Kind::File,
            None if self.0.iter().any(|file| file.starts_with(&format!("{path}/"))) => Kind::Folder,
            None => Kind::Missing,
        }
    }

    fn rules(&self, folder: &Path) -> Result<Option<Arc<Rules>>, Refusal> {
        let text = if folder.ends_with("private") {
            "Deny from all\n<Files open.txt>\nAllow from all\n</Files>"
        } else if folder == "/site" {
            "<Files *.log>\nRequire all denied\n</Files>"
        } else {
            return Ok(None);
        };
        Ok(Some(Arc::new(Rules::parse(text))))
    }
}

fn show(raw: &str, files: &[&str], runs_php: bool) -> String {
    let upload_folders = UPLOAD_FOLDERS.iter().map(|&name| name.to_owned()).collect();
    let layout = Layout { root: "/site".into(), runs_php, upload_folders };
    let target = SitePath::parse(raw).and_then(|path| resolve(&path, &layout, &Listed(files)));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match target {
        Err(refusal) => format!("refused: {refusal}"),
        Ok(Target::Missing) => "missing".to_owned(),
        Ok(Target::Slash(to)) => format!("slash {to}"),
        Ok(Target::File(file)) => format!("file {}", file.display()),
        Ok(Target::Script(script)) => {
            let info = script.path_info.map_or(String::new(), |info| format!(" + {}", text(&info)));
            let file = if script.is_for_a_file { " for a file" } else { "" };
            format!("run {} as {}{info}{file}", script.file.display(), text(&script.name))
        }
    }
}

#[test]
fn paths_stand_for_what_php_sites_are_used_to() {
    const FRONT: &str = "run /site/index.php as /index.php";
    const UPLOADED: &str = "refused: PHP in an upload folder is not run";
    const SOURCE: &str = "refused: PHP source is not served as text";
    const DENIED: &str = "refused: denied to everybody by a .htaccess";
    const HIDDEN: &str = "refused: dot files are not served";
    for (raw, seen) in [
        ("/", FRONT),
        ("/index.php", FRONT),
        ("/doku.php", "run /site/doku.php as /doku.php"),
        ("/doku.php/start/x", "run /site/doku.php as /doku.php + /start/x"),
        ("/doku.php/", "run /site/doku.php as /doku.php + /"),
        ("/doku.php/a/", "run /site/doku.php as /doku.php + /a/"),
        ("/doku.php/AC%2FDC", "run /site/doku.php as /doku.php + /AC/DC"),
        ("/a%20b/c.php", "run /site/a b/c.php as /a b/c.php"),
        ("/style.css", "file /site/style.css"),
        ("/README", "file /site/README"),
        ("/some/pretty/page", FRONT),
        ("/style.css/", FRONT),
        ("/photo.jpg/x", FRONT),
        ("/photo.jpg/x.php", "missing"),
        ("/photo.jpg%2Fx.php", "missing"),
        ("/photo.jpg%00.php", "refused: the path holds a NUL byte"),
        ("/uploads/photo.jpg", "file /site/uploads/photo.jpg"),
        ("/uploads/photo.jpg/x.php", "missing"),
        ("/uploads/shell.php", UPLOADED),
        ("/uploads/shell.php/x", UPLOADED),
        ("/wp-content/Uploads/2020/shell.php", UPLOADED),
        ("/sites/default/files/shell.php", UPLOADED),
        ("/x.php/inside.txt", "file /site/x.php/inside.txt"),
        ("/docs", "slash /docs/"),
        ("//docs", "slash /docs/"),
        ("/docs/", "file /site/docs/index.html"),
        ("/q%3Fa", "slash /q%3Fa/"),
        ("/admin", "slash /admin/"),
        ("/admin/", "run /site/admin/index.php as /admin/index.php"),
        ("/empty/", FRONT),
        ("/empty", FRONT),
        ("/secret.PHP", SOURCE),
        ("/config.php.bak", SOURCE),
        ("/config.php~", SOURCE),
        ("/lib.inc", SOURCE),
        ("/.env", HIDDEN),
        ("/wiki/.hidden", HIDDEN),
        ("/wiki/.NET", FRONT),
        ("/.well-known/security.txt", "file /site/.well-known/security.txt"),
        ("/.well-known/none", FRONT),
        ("/private", DENIED),
        ("/private/", DENIED),
        ("/private/index.php", DENIED),
        ("/private/index.php/x", DENIED),
        ("/private/open.txt", "file /site/private/open.txt"),
        ("/private/inner/page.txt", DENIED),
        ("/private/inner", DENIED),
        ("/private/no/such/page", DENIED),
        ("//private/./inner/page.txt", DENIED),
        ("/priv%61te/inner/page.txt", DENIED),
        ("/debug.log", DENIED),
        ("/docs/debug.log", DENIED),
        ("/docs/debug.log/x", DENIED),
        ("/no/such/debug.log", FRONT),
        ("/sockets/app.sock", "refused: not a regular file"),
        ("/../etc/passwd", "refused: the path climbs out of its folder"),
    ] {
        assert_eq!(show(raw, &FILES, true), seen, "{raw}");
    }
}

#[test]
fn a_script_that_is_missing_is_answered_by_no_other() {
    for raw in [
        "/missing.php",
        "/missing.php/",
        "/missing.php/path",
        "/missing.php/style.css",
        "/theme/missing.php",
        "/no/such/missing.php/a/b",
        "/x.php/missing.php",
        "/index.php.php",
    ] {
        assert_eq!(show(raw, &FILES, true), "missing", "{raw}");
    }
}

#[test]
fn what_is_asked_in_place_of_a_missing_file_is_told_from_pages_with_such_names() {
    const FRONT: &str = "run /site/index.php as /index.php";
    for (raw, is_for_a_file) in [
        ("/missing.css", true),
        ("/favicon.ico", true),
        ("/theme/missing.PNG", true),
        ("/theme/missing.js", true),
        ("/sites/default/files/missing.jpg", true),
        // Pages of wikis, and of apps that show files' sources.
        ("/Node.js", false),
        ("/File:Photo.jpg", false),
        ("/File%3APhoto.jpg", false),
        ("/theme/File:Photo.jpg", false),
        ("/Manual:LocalSettings.php", false),
        ("/articles/Node.js", false),
        ("/AC%2FDC.png", false),
        ("/source/main/style.css", false),
        ("/media/photo.jpg.12/", false),
        // What apps answer themselves.
        ("/robots.txt", false),
        ("/sitemap.xml", false),
        ("/feed.xml", false),
        ("/nothere.html", false),
        ("/theme/report.csv", false),
        ("/missing.php5", false),
        ("/css", false),
    ] {
        let seen = if is_for_a_file { format!("{FRONT} for a file") } else { FRONT.to_owned() };
        assert_eq!(show(raw, &FILES, true), seen, "{raw}");
    }
}

#[test]
fn without_an_index_at_the_root_the_outermost_one_answers() {
    let files = ["/site/blog/index.php", "/site/blog/theme/index.php", "/site/a.txt"];
    for (raw, seen) in [
        ("/", "missing"),
        ("/nothing", "missing"),
        ("/blog/2020/post", "run /site/blog/index.php as /blog/index.php"),
        ("/blog/theme/none.png", "run /site/blog/index.php as /blog/index.php for a file"),
        ("/blog/none.php", "missing"),
    ] {
        assert_eq!(show(raw, &files, true), seen, "{raw}");
    }
}

#[test]
fn a_folder_without_php_runs_nothing_and_shows_no_source() {
    for (raw, seen) in [
        ("/", "missing"),
        ("/docs/", "file /site/docs/index.html"),
        ("/style.css", "file /site/style.css"),
        ("/nothing", "missing"),
        ("/index.php", "refused: PHP source is not served as text"),
        ("/doku.php/x", "missing"),
        ("/private/inner/page.txt", "refused: denied to everybody by a .htaccess"),
    ] {
        assert_eq!(show(raw, &FILES, false), seen, "{raw}");
    }
}

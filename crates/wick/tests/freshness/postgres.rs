//! The same edits on a PostgreSQL, by its log: a page whose reading counts and begins sessions.

use std::fs;
use std::time::Instant;

use tempfile::TempDir;

use crate::browser::Outcome;
use crate::client::Answer;
use crate::figures::{Figures, Times};
use crate::postgres_server::{LOGICAL, PASSWORD, Server};
use crate::served::Served;
use crate::site::{explain, settings_of};
use crate::stranger::{PATIENCE, Stranger};

const TABLES: &str = "\
    CREATE TABLE posts (id serial PRIMARY KEY, title text, views int DEFAULT 0); \
    INSERT INTO posts (title) VALUES ('First'), ('Second'); \
    CREATE TABLE sessions (id varchar(40) PRIMARY KEY, seen int);";

/// The app: every reading counts a view and begins or renews a session.
const APP: &str = r#"<?php
declare(strict_types=1);
$database = new PDO('pgsql:host=FOLDER;dbname=site', 'app', 'app');
$session = $_COOKIE['session'] ?? bin2hex(random_bytes(16));
setcookie('session', $session, ['path' => '/', 'httponly' => true]);
header('Cache-Control: no-store');
$database->prepare('INSERT INTO sessions VALUES (?, 1)
    ON CONFLICT (id) DO UPDATE SET seen = sessions.seen + 1')->execute([$session]);
$database->exec('UPDATE posts SET views = views + 1 WHERE id = 1');
echo '<!doctype html><title>Posts</title><ul>';
foreach ($database->query('SELECT title FROM posts ORDER BY id') as $post) {
    echo '<li>', htmlspecialchars($post['title']), '</li>';
}
echo '</ul>';
"#;

/// Edits behind Wick's back, each seen by a stranger; none where PostgreSQL is missing.
pub(crate) fn edit_to_seen(figures: &Figures, edits: usize, title: &'static str) -> Outcome<()> {
    let Some(database) = Server::start(LOGICAL) else { return Ok(()) };
    database.ask(TABLES);
    let folder = TempDir::new().map_err(|error| error.to_string())?;
    let failed = |error: std::io::Error| error.to_string();
    let app = APP.replace("FOLDER", &database.folder().display().to_string());
    fs::write(folder.path().join("index.php"), app).map_err(failed)?;
    open_to_all(folder.path()).map_err(failed)?;
    open_to_all(database.folder()).map_err(failed)?;
    let password = PASSWORD.replace('%', "%25").replace(':', "%3A").replace('@', "%40");
    let socket = database.folder().display();
    let changes = format!("postgres://wick:{password}@localhost/site?socket={socket}");
    let wick = Served::with(folder.path(), &settings_of(&changes), &[])?;
    let told = |error: String| format!("{error}\n{}", explain(&wick, "/"));
    let mut stranger = Stranger::new(wick.port);
    let mut times = Times::default();
    for number in 0..edits {
        stranger.until_kept("/").map_err(told)?;
        database.ask(&format!("UPDATE posts SET title = 'Edited {number}.' WHERE id = 2"));
        let shows = |answer: &Answer| answer.body.contains(&format!("Edited {number}."));
        let seen = stranger.until("/", Instant::now(), PATIENCE, shows).map_err(told)?;
        times.add(seen.after);
    }
    let mut row = vec!["a page on PostgreSQL".to_owned(), times.len().to_string()];
    row.extend(times.cells());
    row.push("–".to_owned());
    figures.add(title, crate::edit_to_seen::COLUMNS, row);
    let swept = crate::site::sweeps(&wick)?;
    // Once each, and some while it was learned what reading writes.
    match swept <= 2 * edits + 200 {
        true => Ok(()),
        false => Err(told(format!("{swept} sweeps for {edits} edits"))),
    }
}

/// PHP runs as a user of its own, and its socket lies here.
fn open_to_all(folder: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
}

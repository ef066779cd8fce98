//! The same edits in a file of SQLite, by its pages: a page whose reading counts and begins
//! sessions, which sweeps nothing once it is known.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tempfile::TempDir;

use crate::browser::Outcome;
use crate::client::Answer;
use crate::figures::{Figures, Times};
use crate::served::Served;
use crate::site::{explain, settings_of, sweeps};
use crate::stranger::{PATIENCE, Stranger};

/// So long it takes until the file is looked at.
const SEEN_WITHIN: Duration = Duration::from_millis(250);
/// Reading has to sweep nothing for so long.
const QUIET: Duration = Duration::from_secs(5);
const LEARNING_MAX: Duration = Duration::from_secs(240);

const TABLES: &str = "\
    CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT, views INTEGER DEFAULT 0); \
    INSERT INTO posts (title) VALUES ('First'), ('Second'); \
    CREATE TABLE sessions (id TEXT PRIMARY KEY, seen INTEGER);";

/// The app: every reading counts a view and begins or renews a session.
const APP: &str = r#"<?php
declare(strict_types=1);
$database = new PDO('sqlite:FILE');
$session = $_COOKIE['session'] ?? bin2hex(random_bytes(16));
setcookie('session', $session, ['path' => '/', 'httponly' => true]);
header('Cache-Control: no-store');
$database->prepare('INSERT INTO sessions VALUES (?, 1)
    ON CONFLICT (id) DO UPDATE SET seen = seen + 1')->execute([$session]);
$database->exec('UPDATE posts SET views = views + 1 WHERE id = 1');
echo '<!doctype html><title>Posts</title><ul>';
foreach ($database->query('SELECT title FROM posts ORDER BY id') as $post) {
    echo '<li>', htmlspecialchars($post['title']), '</li>';
}
echo '</ul>';
"#;

/// Edits behind Wick's back, each seen by a stranger.
pub(crate) fn edit_to_seen(figures: &Figures, edits: usize, title: &'static str) -> Outcome<()> {
    let (folder, data) = (open_folder()?, open_folder()?);
    let file = data.path().join("site.sqlite");
    let failed = |error: std::io::Error| error.to_string();
    let database = Connection::open(&file).map_err(|error| error.to_string())?;
    let ask = |sql: &str| database.execute_batch(sql).map_err(|error| error.to_string());
    ask(TABLES)?;
    // PHP runs as a user of its own.
    fs::set_permissions(&file, Permissions::from_mode(0o666)).map_err(failed)?;
    let app = APP.replace("FILE", &file.display().to_string());
    fs::write(folder.path().join("index.php"), app).map_err(failed)?;
    let changes = format!("sqlite:{}", file.display());
    let wick = Served::with(folder.path(), &settings_of(&changes), &[])?;
    let told = |error: String| format!("{error}\n{}", explain(&wick, "/"));
    let mut stranger = Stranger::new(wick.port);
    let mut times = Times::default();
    for number in 0..edits {
        stranger.until_kept("/").map_err(told)?;
        ask(&format!("UPDATE posts SET title = 'Edited {number}.' WHERE id = 2"))?;
        let shows = |answer: &Answer| answer.body.contains(&format!("Edited {number}."));
        let seen = stranger.until("/", Instant::now(), PATIENCE, shows).map_err(told)?;
        times.add(seen.after);
    }
    let mut row = vec!["a page on SQLite, by its pages".to_owned(), times.len().to_string()];
    row.extend(times.cells());
    row.push("–".to_owned());
    figures.add(title, crate::edit_to_seen::COLUMNS, row);
    until_readings_sweep_nothing(&wick, &mut stranger).map_err(told)
}

/// Reads pages that nobody read, one after the other without a pause, so that the app is asked
/// and writes, until that is known for what it is.
fn until_readings_sweep_nothing(wick: &Served, stranger: &mut Stranger) -> Outcome<()> {
    let begun = Instant::now();
    let (mut swept, mut since) = (sweeps(wick)?, Instant::now());
    let mut number = 0;
    while since.elapsed() < QUIET {
        if begun.elapsed() > LEARNING_MAX {
            return Err("readings sweep and sweep".to_owned());
        }
        let until = Instant::now() + SEEN_WITHIN;
        while Instant::now() < until {
            stranger.read(&format!("/?read={number}"))?;
            number += 1;
        }
        let now = sweeps(wick)?;
        if std::mem::replace(&mut swept, now) != now {
            since = Instant::now();
        }
    }
    Ok(())
}

fn open_folder() -> Outcome<TempDir> {
    let folder = TempDir::new().map_err(|error| error.to_string())?;
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777))
        .map_err(|error| error.to_string())?;
    Ok(folder)
}

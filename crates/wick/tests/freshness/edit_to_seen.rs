//! Edits of real apps by their own code on the command line, and when strangers see them.
//!
//! Before each edit its page is a hit that stays fresh for more than ten minutes, so that
//! only the edit itself can have made a newer one. The time runs from the moment at which
//! the app says that the edit is done.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use libtest_mimic::Trial;

use crate::apps::{self, App, InstallError, MariaDb};
use crate::browser::Outcome;
use crate::edits::{Edit, Measured, Shown};
use crate::figures::Figures;
use crate::mediawiki_install::{self, Content};
use crate::served::Served;
use crate::site::{LOG, address, explain, settings_of};
use crate::stranger::Stranger;
use crate::{amount, postgres, sqlite, trial};

const TITLE: &str = "Edit to seen";
pub(crate) const COLUMNS: &[&str] =
    &["app", "edits", "p50", "p99", "max", "older answers after the edit"];
/// Edits of each app.
const EDITS: usize = 100;
/// What does WordPress's edits.
const EDITOR: &str = include_str!("edit_wordpress.php");
const FOLLOWER: &str = "wick";

pub(crate) fn trials(figures: &Arc<Figures>) -> Vec<Trial> {
    vec![
        trial(figures, "edit_to_seen::wordpress".to_owned(), wordpress),
        trial(figures, "edit_to_seen::mediawiki".to_owned(), mediawiki),
        trial(figures, "edit_to_seen::postgres".to_owned(), |figures| {
            postgres::edit_to_seen(figures, amount("FRESHNESS_EDITS", EDITS).min(30), TITLE)
        }),
        trial(figures, "edit_to_seen::sqlite".to_owned(), |figures| {
            sqlite::edit_to_seen(figures, amount("FRESHNESS_EDITS", EDITS).min(30), TITLE)
        }),
    ]
}

fn wordpress(figures: &Figures) -> Outcome<()> {
    let Some(app) = ready(apps::wordpress(LOG))? else { return Ok(()) };
    let wick = serve(&app)?;
    let mut editor = Editor::start(&app)?;
    let mut stranger = Stranger::new(wick.port);
    let mut measured = Measured::default();
    for number in 0..amount("FRESHNESS_EDITS", EDITS) {
        let edit = wordpress_edit(&mut editor, number);
        let target = edit.target.clone();
        let done = measured.measure(&mut stranger, edit);
        done.map_err(|error| told(&wick, number, &target, &error))?;
    }
    write_down(figures, "WordPress", &measured);
    Ok(())
}

/// Five kinds of edits in turn, of posts that stand on the front page.
fn wordpress_edit(editor: &mut Editor, number: usize) -> Edit<'_> {
    let post = number % 6 + 1;
    let mark = format!("Edited {number} behind the back");
    let page = format!("/candle-number-{post}/");
    let (kind, target) = match number % 5 {
        0 => ("body", page),
        1 => ("title", "/".to_owned()),
        2 => ("name", "/".to_owned()),
        3 => ("comment", page),
        _ => ("tag", page),
    };
    let order = format!("{kind}\t{post}\t{mark}");
    let make = Box::new(move || editor.order(&order).map(drop));
    Edit { target, make, is_shown: Shown::Text(mark) }
}

fn mediawiki(figures: &Figures) -> Outcome<()> {
    let Some(app) = ready(mediawiki_install::installed(&Content::Server(LOG)))? else {
        return Ok(());
    };
    let wrong = |error: InstallError| error.to_string();
    mediawiki_install::fill(&app).map_err(wrong)?;
    let count = amount("FRESHNESS_EDITS", EDITS);
    for number in 0..count {
        // What will be moved away or deleted.
        if let 3 | 4 = number % 5 {
            maintain(&app, "edit", &["--user=Ann", &format!("Doomed {number}")], "It stands.")?;
        }
    }
    let wick = serve(&app)?;
    let mut stranger = Stranger::new(wick.port);
    let mut measured = Measured::default();
    for number in 0..count {
        let edit = mediawiki_edit(&app, number);
        let target = edit.target.clone();
        let done = measured.measure(&mut stranger, edit);
        done.map_err(|error| told(&wick, number, &target, &error))?;
    }
    write_down(figures, "MediaWiki", &measured);
    Ok(())
}

/// Three edits, a move and a deletion in turn.
fn mediawiki_edit(app: &App, number: usize) -> Edit<'_> {
    let mark = format!("Edited {number} behind the back");
    let doomed = format!("Doomed {number}");
    let page = |title: &str| format!("/index.php/{}", title.replace(' ', "_"));
    match number % 5 {
        3 => Edit {
            target: page(&doomed),
            is_shown: Shown::Text(format!("Moved {number}")),
            make: Box::new(move || {
                maintain(app, "moveBatch", &["--u=Ann"], &format!("{doomed}|Moved {number}\n"))
            }),
        },
        4 => Edit {
            target: page(&doomed),
            is_shown: Shown::Gone,
            make: Box::new(move || maintain(app, "deleteBatch", &["--u=Ann"], &doomed)),
        },
        _ => {
            let title = format!("Candle {}", number % 16 + 1);
            Edit {
                target: page(&title),
                is_shown: Shown::Text(mark.clone()),
                make: Box::new(move || maintain(app, "edit", &["--user=Ann", &title], &mark)),
            }
        }
    }
}

/// Runs one of MediaWiki's maintenance scripts with this input.
fn maintain(app: &App, script: &str, arguments: &[&str], input: &str) -> Outcome<()> {
    let failed = |why: &dyn std::fmt::Display| format!("{script} {arguments:?}: {why}");
    let mut command = Command::new("php");
    command.arg(app.folder.root().join(format!("maintenance/{script}.php"))).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(&error))?;
    let mut to = child.stdin.take().ok_or("no input")?;
    to.write_all(input.as_bytes()).map_err(|error| failed(&error))?;
    drop(to);
    let output = child.wait_with_output().map_err(|error| failed(&error))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed(&String::from_utf8_lossy(&[output.stdout, output.stderr].concat()))),
    }
}

/// An app that was installed, and followed by a user of Wick's own; none where a package
/// is missing.
pub(crate) fn ready(installed: Result<App, InstallError>) -> Outcome<Option<App>> {
    let app = match installed {
        Ok(app) => app,
        Err(missing @ InstallError::Missing { .. }) => {
            eprintln!("\n*** {missing}: THIS TRIAL CHECKS NOTHING ***\n");
            return Ok(None);
        }
        Err(error) => return Err(error.to_string()),
    };
    let grants = format!(
        "CREATE USER {FOLLOWER}@localhost IDENTIFIED BY '{FOLLOWER}'; \
         GRANT REPLICATION SLAVE ON *.* TO {FOLLOWER}@localhost; \
         GRANT SELECT ON {}.* TO {FOLLOWER}@localhost;",
        MariaDb::NAME
    );
    database(&app)?.ask(&grants).map_err(|error| error.to_string())?;
    Ok(Some(app))
}

fn database(app: &App) -> Outcome<&MariaDb> {
    app.database.as_ref().ok_or_else(|| "the app has no database".to_owned())
}

/// Wick before an app, following its database by the log.
pub(crate) fn serve(app: &App) -> Outcome<Served> {
    serve_with(app, "")
}

/// The same with more settings for the site.
pub(crate) fn serve_with(app: &App, more: &str) -> Outcome<Served> {
    let socket = database(app)?.socket().display().to_string();
    let settings = settings_of(&address(FOLLOWER, FOLLOWER, &socket)) + more;
    Served::with(&app.folder.root(), &settings, &[])
}

/// What went wrong, with all that helps to find out why.
fn told(wick: &Served, number: usize, target: &str, error: &str) -> String {
    let complaints = wick.complaints();
    let lines: Vec<&str> = complaints.lines().rev().take(20).collect();
    format!("edit {number}: {error}\n{}\nwick said: {lines:#?}", explain(wick, target))
}

fn write_down(figures: &Figures, app: &str, measured: &Measured) {
    let mut row = vec![app.to_owned(), measured.times.len().to_string()];
    row.extend(measured.times.cells());
    row.push(measured.older.to_string());
    figures.add(TITLE, COLUMNS, row);
}

/// WordPress on the command line: takes an order a line, and answers each when it is done.
pub(crate) struct Editor {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Editor {
    pub(crate) fn start(app: &App) -> Outcome<Self> {
        let wrong = |error: std::io::Error| format!("WordPress on the command line: {error}");
        app.folder.write("edit.php", EDITOR).map_err(|error| error.to_string())?;
        let mut command = Command::new("php");
        command.arg(app.folder.beside("edit.php")).arg(app.folder.root());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(wrong)?;
        let (orders, answers) = (child.stdin.take(), child.stdout.take());
        let orders = orders.ok_or("no input")?;
        let answers = BufReader::new(answers.ok_or("no output")?);
        Ok(Self { child, orders, answers })
    }

    /// Has something done; what WordPress says when it is.
    pub(crate) fn order(&mut self, order: &str) -> Outcome<String> {
        let failed = |why: &dyn std::fmt::Display| format!("{order:?}: {why}");
        writeln!(self.orders, "{order}").map_err(|error| failed(&error))?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|error| failed(&error))?;
        match line.trim().strip_prefix("done ") {
            Some(said) => Ok(said.to_owned()),
            None => Err(failed(&line)),
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

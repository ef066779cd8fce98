//! How much stays in memory while pages are edited, and whether any of it is old.
//!
//! A specimen with a hundred posts and tokens in its forms, edited behind Wick's back by one
//! statement, and WordPress, edited by its own code on the command line. After each edit its
//! page has to show it, and then a stranger reads pages by chance, each of which has to show
//! its last edit. Once a change sweeps the whole site, and once what it was proved to touch.

use std::sync::Arc;
use std::time::Instant;

use libtest_mimic::Trial;

use crate::apps;
use crate::browser::Outcome;
use crate::edit_to_seen::{Editor, ready, serve_with};
use crate::edits::SEEN_MAX;
use crate::figures::Figures;
use crate::served::Served;
use crate::site::{Followed, LOG, Site, explain};
use crate::stranger::{self, PATIENCE, Stranger};
use crate::{amount, trial};

const TITLE: &str = "Hits kept while pages are edited";
const COLUMNS: &[&str] = &[
    "site",
    "a change sweeps",
    "edits",
    "reads after them",
    "from memory",
    "share",
    "old pages",
    "proofs",
];
/// Posts of the specimen, and of WordPress.
const POSTS: usize = 100;
const CANDLES: usize = 12;
/// Edits before it is counted.
const LEARNING: usize = 60;
const EDITS: usize = 80;
/// What is read after each edit, a page every [`stranger::EACH`].
const READS: usize = 20;

pub(crate) fn trials(figures: &Arc<Figures>) -> Vec<Trial> {
    let trials = ["site", "proved"].into_iter().flat_map(|scope| {
        [
            trial(figures, format!("scope::specimen_{scope}"), move |f| specimen(scope, f)),
            trial(figures, format!("scope::wordpress_{scope}"), move |f| wordpress(scope, f)),
        ]
    });
    trials.collect()
}

fn setting(scope: &str) -> String {
    format!("changes_scope = \"{scope}\"\n")
}

fn specimen(scope: &str, figures: &Figures) -> Outcome<()> {
    let site = Site::start_with("token-hidden-field", LOG, Followed::ByLog, &setting(scope))?;
    // The first request makes the tables.
    Stranger::new(site.wick.port).until_kept("/post/1")?;
    let values: Vec<String> =
        (9..=POSTS).map(|id| format!("({id}, 'Post {id}', 'Text {id}')")).collect();
    site.ask(&format!("INSERT INTO posts (id, title, body) VALUES {}", values.join(",")));
    let edit = |id: usize, mark: &str| {
        site.ask(&format!("UPDATE posts SET body = '{mark}' WHERE id = {id}"));
        Ok(())
    };
    let address = |id: usize| format!("/post/{id}");
    Edited::new(&site.wick, POSTS, &address, Box::new(edit)).check("specimen", scope, figures)
}

fn wordpress(scope: &str, figures: &Figures) -> Outcome<()> {
    let Some(app) = ready(apps::wordpress(LOG))? else { return Ok(()) };
    let wick = serve_with(&app, &setting(scope))?;
    let mut editor = Editor::start(&app)?;
    let edit = move |id: usize, mark: &str| editor.order(&format!("body\t{id}\t{mark}")).map(drop);
    let address = |id: usize| format!("/candle-number-{id}/");
    Edited::new(&wick, CANDLES, &address, Box::new(edit)).check("WordPress", scope, figures)
}

/// Puts a mark on the page of this number.
type Editing<'a> = Box<dyn FnMut(usize, &str) -> Outcome<()> + 'a>;

/// A site whose pages are edited.
struct Edited<'a> {
    wick: &'a Served,
    address: &'a dyn Fn(usize) -> String,
    edit: Editing<'a>,
    reader: Stranger,
    /// What each page shows last.
    marks: Vec<String>,
    dice: u64,
    reads: usize,
    hits: usize,
    old: usize,
}

impl<'a> Edited<'a> {
    fn new(
        wick: &'a Served,
        pages: usize,
        address: &'a dyn Fn(usize) -> String,
        edit: Editing<'a>,
    ) -> Self {
        let (reader, marks) = (Stranger::new(wick.port), vec![String::new(); pages]);
        Self { wick, address, edit, reader, marks, dice: 1, reads: 0, hits: 0, old: 0 }
    }

    fn check(mut self, site: &str, scope: &str, figures: &Figures) -> Outcome<()> {
        let edits = amount("FRESHNESS_EDITS", EDITS);
        let done = self.run(edits);
        let said = explain(self.wick, &(self.address)(1));
        done.map_err(|error| format!("{error}\n{said}\nwick said:\n{}", self.wick.complaints()))?;
        let Self { reads, hits, old, .. } = self;
        let proofs = said.split("proofs ").nth(1).and_then(|rest| rest.split(',').next());
        let proofs = proofs.unwrap_or("none").to_owned();
        let share = format!("{} %", hits * 100 / reads.max(1));
        let counts = [edits, reads, hits].map(|count| count.to_string());
        let row = [vec![site.to_owned(), scope.to_owned()], counts.to_vec()].concat();
        let row = [row, vec![share, old.to_string(), proofs.clone()]].concat();
        figures.add(TITLE, COLUMNS, row);
        match old {
            0 if scope == "site" || proofs.parse().is_ok_and(|proofs: u32| proofs > 0) => Ok(()),
            0 => Err(format!("nothing was proved:\n{said}")),
            _ => Err(format!("{old} pages were older than their last edit:\n{said}")),
        }
    }

    fn run(&mut self, edits: usize) -> Outcome<()> {
        for id in 1..=self.marks.len() {
            self.reader.until_kept(&(self.address)(id))?;
        }
        for number in 0..LEARNING {
            self.edit(number)?;
            // Most pages are read again before the next edit, as on a site with visitors.
            let read = stranger::each(PATIENCE, || {
                let mut kept = 0;
                for _ in 0..READS {
                    kept += usize::from(self.read_any()?);
                }
                Ok((kept == READS).then_some(()))
            })?;
            read.ok_or("the pages are never in memory again")?;
        }
        (self.reads, self.hits) = (0, 0);
        for number in 0..edits {
            self.edit(LEARNING + number)?;
            for _ in 0..READS {
                std::thread::sleep(stranger::EACH);
                self.read_any()?;
            }
        }
        Ok(())
    }

    fn edit(&mut self, number: usize) -> Outcome<()> {
        let id = self.any();
        let mark = format!("Edited {number} behind the back.");
        (self.edit)(id, &mark)?;
        let shows = |answer: &crate::client::Answer| answer.body.contains(&mark);
        self.reader.until(&(self.address)(id), Instant::now(), SEEN_MAX, shows)?;
        self.marks[id - 1] = mark;
        Ok(())
    }

    /// Reads a page; whether it came from memory.
    fn read_any(&mut self) -> Outcome<bool> {
        let id = self.any();
        let answer = self.reader.read(&(self.address)(id))?;
        self.reads += 1;
        let is_hit = answer.is_from_memory();
        self.hits += usize::from(is_hit);
        self.old += usize::from(!answer.body.contains(&self.marks[id - 1]));
        Ok(is_hit)
    }

    /// The number of a page, by chance.
    fn any(&mut self) -> usize {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice >> 20) as usize % self.marks.len() + 1
    }
}

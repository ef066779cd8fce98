//! How much stays in memory while pages are edited, and whether any of it is old.
//!
//! A specimen with a hundred posts, and tokens in its forms. Posts are edited behind Wick's
//! back, by one statement as an editor's command line would; after each edit its page has to
//! show it, and then a stranger reads pages by chance, each of which has to show its last
//! edit. Once a change sweeps the whole site, and once what it was proved to touch.

use std::sync::Arc;
use std::time::Instant;

use libtest_mimic::Trial;

use crate::browser::Outcome;
use crate::edits::SEEN_MAX;
use crate::figures::Figures;
use crate::site::{Followed, LOG, Site, explain};
use crate::stranger::{self, PATIENCE, Stranger};
use crate::{amount, trial};

const TITLE: &str = "Hits kept while pages are edited";
const COLUMNS: &[&str] =
    &["a change sweeps", "edits", "reads after them", "from memory", "share", "old pages"];
const POSTS: usize = 100;
/// Edits before it is counted.
const LEARNING: usize = 60;
const EDITS: usize = 200;
/// What is read after each edit, a page every [`stranger::EACH`].
const READS: usize = 20;

pub(crate) fn trials(figures: &Arc<Figures>) -> Vec<Trial> {
    let trials = ["site", "proved"].into_iter();
    trials
        .map(|scope| {
            trial(figures, format!("scope::{scope}"), move |figures| check(scope, figures))
        })
        .collect()
}

/// A site whose posts are edited.
struct Edited {
    site: Site,
    reader: Stranger,
    /// What each post shows last.
    marks: Vec<String>,
    dice: u64,
    reads: usize,
    hits: usize,
    old: usize,
}

fn check(scope: &str, figures: &Figures) -> Outcome<()> {
    let more = format!("changes_scope = \"{scope}\"\n");
    let site = Site::start_with("token-hidden-field", LOG, Followed::ByLog, &more)?;
    let reader = Stranger::new(site.wick.port);
    let marks = vec![String::new(); POSTS];
    let mut edited = Edited { site, reader, marks, dice: 1, reads: 0, hits: 0, old: 0 };
    let edits = amount("FRESHNESS_EDITS", EDITS);
    edited.run(edits).map_err(|error| {
        let site = &edited.site;
        format!(
            "{error}\n{}\nwick said:\n{}",
            explain(&site.wick, "/post/9"),
            site.wick.complaints()
        )
    })?;
    let Edited { site, reads, hits, old, .. } = edited;
    let share = format!("{} %", hits * 100 / reads.max(1));
    let row = [edits.to_string(), reads.to_string(), hits.to_string(), share, old.to_string()];
    figures.add(TITLE, COLUMNS, [vec![scope.to_owned()], row.to_vec()].concat());
    let said = explain(&site.wick, "/post/9");
    println!("{scope}:\n{said}");
    match old {
        0 if scope == "site" || said.contains("proofs 1") => Ok(()),
        0 => Err(format!("nothing was proved:\n{said}")),
        _ => Err(format!("{old} pages were older than their last edit:\n{said}")),
    }
}

impl Edited {
    fn run(&mut self, edits: usize) -> Outcome<()> {
        // The first request makes the tables.
        self.reader.until_kept("/post/1")?;
        let values: Vec<String> =
            (9..=POSTS).map(|id| format!("({id}, 'Post {id}', 'Text {id}')")).collect();
        self.site.ask(&format!("INSERT INTO posts (id, title, body) VALUES {}", values.join(",")));
        for id in 1..=POSTS {
            self.reader.until_kept(&format!("/post/{id}"))?;
        }
        for number in 0..LEARNING {
            self.edit(number)?;
            // Most pages are read again before the next edit, as on a site with visitors.
            let read = stranger::each(PATIENCE, || {
                let mut kept = 0;
                for _ in 0..READS {
                    kept += usize::from(self.read_any()?.1);
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
        self.site.ask(&format!("UPDATE posts SET body = '{mark}' WHERE id = {id}"));
        let shows = |answer: &crate::client::Answer| answer.body.contains(&mark);
        self.reader.until(&format!("/post/{id}"), Instant::now(), SEEN_MAX, shows)?;
        self.marks[id - 1] = mark;
        Ok(())
    }

    /// Reads a page; its number, and whether it came from memory.
    fn read_any(&mut self) -> Outcome<(usize, bool)> {
        let id = self.any();
        let answer = self.reader.read(&format!("/post/{id}"))?;
        self.reads += 1;
        let is_hit = answer.is_from_memory();
        self.hits += usize::from(is_hit);
        self.old += usize::from(!answer.body.contains(&self.marks[id - 1]));
        Ok((id, is_hit))
    }

    /// The number of a post, by chance.
    fn any(&mut self) -> usize {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice >> 20) as usize % POSTS + 1
    }
}

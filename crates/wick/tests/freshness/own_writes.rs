//! What somebody posts through Wick, the very next stranger reads.
//!
//! Members, and strangers whose session begins with their first comment, in turn.

use std::net::Ipv4Addr;
use std::sync::Arc;

use libtest_mimic::Trial;

use crate::browser::Outcome;
use crate::client::{Client, Request};
use crate::figures::Figures;
use crate::site::{Followed, LOG, Site, explain};
use crate::stranger::Stranger;
use crate::trial;
use crate::walk::Walk;

const TITLE: &str = "Read your writes";
const COLUMNS: &[&str] = &["who posts", "posts", "seen by the very next stranger"];
/// Comments, half of them by a member.
const COMMENTS: usize = 50;
const PAGE: &str = "/post/2";
const AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
     Chrome/126.0.0.0 Safari/537.36";

pub(crate) fn trials(figures: &Arc<Figures>) -> Vec<Trial> {
    vec![trial(figures, "own_writes".to_owned(), check)]
}

fn check(figures: &Figures) -> Outcome<()> {
    // Tokens in the forms of everybody, so that a stranger's comment has to be translated.
    let site = Site::start("token-hidden-field", LOG, Followed::ByLog)?;
    let told = |error: String| {
        format!("{error}\n{}\nwick said:\n{}", explain(&site.wick, PAGE), site.wick.complaints())
    };
    let mut reader = Stranger::new(site.wick.port);
    let visitor = |number: u8| Client::new(site.wick.port, Ipv4Addr::new(127, 0, 1, number), AGENT);
    let mut member = Walk::new(visitor(1), &site.specimen);
    member.log_in().map_err(told)?;
    let mut seen = [0, 0];
    for number in 0..COMMENTS {
        reader.until_kept(PAGE).map_err(told)?;
        let words = format!("Comment number {number}.");
        let is_member = number % 2;
        let mut guest = Walk::new(visitor(10 + number as u8), &site.specimen);
        let writer = if is_member == 1 { &mut member } else { &mut guest };
        comment(writer, &words).map_err(told)?;
        seen[is_member] += usize::from(reader.read(PAGE)?.body.contains(&words));
    }
    for (who, seen) in ["strangers", "a member"].into_iter().zip(seen) {
        let row = vec![who.to_owned(), (COMMENTS / 2).to_string(), seen.to_string()];
        figures.add(TITLE, COLUMNS, row);
    }
    match seen.iter().sum::<usize>() {
        COMMENTS => Ok(()),
        all => Err(told(format!("the next stranger read {all} of {COMMENTS} comments"))),
    }
}

/// Sends a comment from the page that its writer has read, and follows no redirect: the
/// next to ask is the stranger. An answer may ask to send the same again.
fn comment(writer: &mut Walk<'_>, words: &str) -> Outcome<()> {
    const TRIES_MAX: usize = 5;
    writer.read(PAGE)?;
    let pairs = writer.form("body")?.filled(&[("body", words), ("author", "Bill")]);
    let request = writer.client.same_origin(Request::form(PAGE, &pairs), PAGE);
    for _ in 0..TRIES_MAX {
        let answer = writer.client.send(&request)?;
        match answer.status {
            307 => {}
            300..400 => return Ok(()),
            _ => return Err(format!("a comment was refused: {}\n{}", answer.head, answer.body)),
        }
    }
    Err(format!("a comment was to be sent again {TRIES_MAX} times"))
}

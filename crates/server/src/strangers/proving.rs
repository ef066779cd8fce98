//! Proving: a page that was made anew after a change is held against what it was.
//!
//! What differs from fetch to fetch (tokens, counters of views) is no change: where nothing
//! else differs the page is fetched once more, and what differs then as well doesn't count.
//! Invariant: a page counts as changed only if the site was left alone for a while after, so
//! that what was read is not a change that will be heard of in a moment.
//! Bounds: [`LOOKS_MAX`] comparisons of a site that wait or are under way; more are let be.

use std::sync::Arc;
use std::time::Duration;

use align::{Class, Comparison, Document, Span};
use base::task;
use policy::scope::{Route, Seen, Spelled};
use tokio::sync::Semaphore;
use tokio::time::sleep;
use wire::Name;

use crate::following::Following;
use crate::following::scope::route_of;
use crate::page::Page;
use crate::purge::generations::Moment;

use super::again;
use super::fill::Order;
use super::persona::{Persona, Sample, document_of, is_redirect};
use super::verify::apart;

/// Comparisons that wait or are under way.
const LOOKS_MAX: usize = 300;
/// Of so many at a time the page is fetched once more.
const FETCHES_MAX: usize = 1;
/// So long after it was made a change would have been heard that is in it already.
const QUIET: Duration = changes::FENCE.saturating_add(Duration::from_millis(20));

/// Places for those who compare.
pub(crate) struct Looks {
    all: Arc<Semaphore>,
    fetching: Semaphore,
}

impl Default for Looks {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(LOOKS_MAX)), fetching: Semaphore::new(FETCHES_MAX) }
    }
}

/// What is compared: a page before some batches, and after them.
struct Pair {
    order: Order,
    following: Arc<Following>,
    spelled: Spelled,
    route: Route,
    /// The counts of content at which both were made.
    counts: (u64, u64),
    old: Arc<Page>,
}

/// Looks what a page that was just made anew says about the batches since `old` was made;
/// `sample` is none where it couldn't be made any more.
pub(crate) fn prove(order: &Order, old: &Arc<Page>, sample: Option<&Sample>, began: Moment) {
    let brief = &order.brief;
    let Some(following) = brief.site.following.as_ref().filter(|one| one.scope.is_on()) else {
        return;
    };
    let (Some(sharing), Some(route), Some(stored)) = (&old.sharing, old.route(), old.as_stored())
    else {
        return;
    };
    let counts = (sharing.content, began.content);
    // Another parameter that isn't part of the key may have made it another page.
    let Some((spelled, own)) = route_of(&brief.host, &brief.target) else { return };
    if own != *route || counts.0 == counts.1 || !following.scope.wants(&spelled, counts.0, counts.1)
    {
        return;
    }
    let Ok(place) = following.looks.all.clone().try_acquire_owned() else { return };
    let pair = Pair {
        order: order.clone(),
        following: following.clone(),
        spelled,
        route: own,
        counts,
        old: old.clone(),
    };
    let sample = sample.map(|sample| After {
        status: sample.status,
        location: sample.fields.first(Name::Location).map(<[u8]>::to_vec),
        is_same: sample.body == stored.body,
        document: sample.document.clone(),
    });
    task::spawn_counted(&brief.server.counters.panics, async move {
        pair.look(sample).await;
        drop(place);
    });
}

/// What the page is now.
struct After {
    status: u16,
    location: Option<Vec<u8>>,
    /// Byte for byte what it was.
    is_same: bool,
    document: Option<Arc<Document>>,
}

impl Pair {
    async fn look(&self, sample: Option<After>) {
        let seen = match sample {
            Some(after) => self.compare(after).await,
            None => Some(Seen::Changed),
        };
        let Some(seen) = seen else { return };
        if seen == Seen::Changed && !self.stays_alone().await {
            return;
        }
        let address = (&self.spelled, &self.route);
        if let Some(why) = self.following.scope.observe(address, self.counts, seen) {
            sweep(&self.order, &why);
        }
    }

    async fn compare(&self, after: After) -> Option<Seen> {
        let stored = self.old.as_stored()?;
        let location = stored.fields().first(Name::Location).map(<[u8]>::to_vec);
        if stored.status != after.status || location != after.location {
            return Some(Seen::Changed);
        }
        if after.is_same || is_redirect(after.status) {
            return Some(Seen::Same);
        }
        let (Some(old), Some(new)) = (document_of(stored), after.document) else {
            return Some(Seen::Changed);
        };
        let Some(found) = differences(old, new.clone()).await else { return Some(Seen::Changed) };
        if found.spans.is_empty() {
            return Some(Seen::Same);
        }
        let again = self.fetch_again().await?;
        // Or a later change would look like what differs by itself.
        if !self.stays_alone().await {
            return None;
        }
        let by_itself = differences(new, again).await;
        Some(judge(&found, by_itself.as_ref()))
    }

    /// Whether nothing is written or changed until what was read by now would have been heard.
    async fn stays_alone(&self) -> bool {
        is_left_alone(&self.order, self.counts.1).await
    }

    /// The page as one more stranger is given it.
    async fn fetch_again(&self) -> Option<Arc<Document>> {
        let brief = &self.order.brief;
        if !self.following.may_ask_unasked(&brief.site, &brief.target) {
            return None;
        }
        let _one = self.following.looks.fetching.acquire().await.ok()?;
        let mut persona = Persona::new(brief.strangers()?.persona_address());
        again::look(&self.order, &mut persona).await?.document
    }
}

/// Whether a stranger is given what this copy was, but for what differs at the next look as well;
/// none if that couldn't be told.
pub(crate) async fn is_as_before(order: &Order, page: &Page) -> Option<bool> {
    let strangers = order.brief.strangers()?;
    let mut persona = Persona::new(strangers.persona_address());
    let sample = again::look(order, &mut persona).await?;
    let stored = page.as_stored().filter(|stored| stored.status == sample.status)?;
    let (old, new) = (document_of(stored)?, sample.document?);
    let Some(found) = differences(old, new.clone()).await else { return Some(false) };
    let again = again::look(order, &mut persona).await?.document?;
    let by_itself = differences(new, again).await;
    Some(judge(&found, by_itself.as_ref()) == Seen::Same)
}

/// A page that is shared was found to be another than a stranger is given. If batches kept it,
/// they shouldn't have.
pub(crate) async fn doubt_kept(order: &Order, page: &Page, content: u64) {
    let brief = &order.brief;
    let (Some(following), Some(sharing)) = (&brief.site.following, &page.sharing) else { return };
    let Some((spelled, route)) = route_of(&brief.host, &brief.target) else { return };
    if page.route() != Some(&route)
        || sharing.content == content
        || !is_left_alone(order, content).await
    {
        return;
    }
    let counts = (sharing.content, content);
    if let Some(why) = following.scope.observe((&spelled, &route), counts, Seen::Changed) {
        sweep(order, &why);
    }
}

/// Whether nothing was written or changed since this count, nor is told of a little later.
pub(crate) async fn is_left_alone(order: &Order, content: u64) -> bool {
    sleep(QUIET).await;
    let generations = &order.brief.site.generations;
    generations.content() == content && !generations.is_settling()
}

/// What was proved is not so: nothing that was kept may be served any more.
fn sweep(order: &Order, why: &str) {
    let (server, site) = (&order.brief.server, &order.brief.site);
    site.generations.note_change();
    if let Some(complain) = &server.complaints {
        complain(&format!(
            "{}: {why}; all pages were swept, and such changes sweep all of them from now on",
            site.name
        ));
    }
}

/// Whether a page has changed that differs so from what it was, and so from the next look.
fn judge(found: &Comparison, by_itself: Option<&Comparison>) -> Seen {
    let by_itself = by_itself.map(|found| found.spans.as_slice()).unwrap_or_default();
    match found.spans.iter().all(|span| differs_by_itself(span, by_itself)) {
        true => Seen::Same,
        false => Seen::Changed,
    }
}

/// Whether a difference to an older copy is one that the next copy has as well.
fn differs_by_itself(span: &Span, by_itself: &[Span]) -> bool {
    by_itself.iter().filter(|next| next.old_place == span.new_place).any(|next| {
        // Of several numbers in one text each has to.
        next.class == span.class
            && (span.class != Class::Counter || {
                let before = numbers_that_differ(&span.old, &span.new);
                let after = numbers_that_differ(&next.old, &next.new);
                before.len() == after.len()
                    && before.iter().zip(&after).all(|(before, after)| !before || *after)
            })
    })
}

/// For each number in two texts that differ in numbers only, whether it does.
fn numbers_that_differ(one: &[u8], other: &[u8]) -> Vec<bool> {
    let numbers = |text: &[u8]| {
        let runs = text.split(|byte| !byte.is_ascii_digit()).filter(|run| !run.is_empty());
        runs.map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    let (one, other) = (numbers(one), numbers(other));
    // Where there are more of them on one side it isn't known which is which.
    match one.len() == other.len() {
        true => one.into_iter().zip(other).map(|(one, other)| one != other).collect(),
        false => vec![true; one.len()],
    }
}

/// What two copies differ in, if that is nothing but what may differ by itself.
async fn differences(old: Arc<Document>, new: Arc<Document>) -> Option<Comparison> {
    apart(move || differences_of(&old, &new)).await
}

fn differences_of(old: &Document, new: &Document) -> Option<Comparison> {
    let found = align::compare(old, new).ok()?;
    let reads = |class| matches!(class, Class::Visible | Class::Content);
    let is_other = found.left > 0 || found.spans.iter().any(|span| reads(span.class));
    (!is_other).then_some(found)
}

#[cfg(test)]
mod tests {
    use align::Kind;
    use wire::Fields;

    use super::*;

    /// Whether a page that was `old` and is `new`, and `next` at the next look, has changed.
    fn check(old: &str, new: &str, next: &str, expected: Seen) {
        let read = |text: &str| {
            let text = format!("<h1>Forum</h1><p>{text}</p><ul><li>one<li>two</ul>");
            Document::new(Kind::Html, &Fields::new(), text.as_bytes()).expect("a short page")
        };
        let (old, new, next) = (read(old), read(new), read(next));
        let seen = match differences_of(&old, &new) {
            None => Seen::Changed,
            Some(found) => judge(&found, differences_of(&new, &next).as_ref()),
        };
        assert_eq!(seen, expected);
    }

    #[test]
    fn what_differs_at_every_look_is_no_change_and_hides_none_beside_it() {
        check("read 5 times", "read 6 times", "read 7 times", Seen::Same);
        check("read 5 times", "read 6 times", "read 6 times", Seen::Changed);
        check("2 posts, read 5", "2 posts, read 6", "2 posts, read 7", Seen::Same);
        check("2 posts, read 5", "3 posts, read 6", "3 posts, read 7", Seen::Changed);
        check(
            "3 posts</p><p>read 5",
            "4 posts</p><p>read 6",
            "4 posts</p><p>read 7",
            Seen::Changed,
        );
        let token = |token: &str| format!("<input type=hidden name=k value={token}>");
        let (one, two) = (token("a81bc3d4e5f60718"), token("0f1e2d3c4b5a6978"));
        check(&one, &two, &token("99aa88bb77cc66dd"), Seen::Same);
        check(&one, &two, &two, Seen::Changed);
    }

    #[test]
    fn what_reads_differently_is_a_change_whatever_the_next_look_shows() {
        check("the dog", "the cat", "the cow", Seen::Changed);
        check("the dog", "the dog</p><p>and the cat", "the dog", Seen::Changed);
        check("the dog", "the dog", "the cat", Seen::Same);
    }
}

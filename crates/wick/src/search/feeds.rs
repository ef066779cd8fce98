//! Feeds of a query: RSS and Atom. One that is asked for again costs a 304 and no search, until
//! something that fits comes, changes or goes.
//!
//! The index keeps the queries of feeds that were asked for lately and tells whether anything
//! concerns one since it was answered. An answer from which something had to be left out isn't
//! kept. Whoever has nothing is always searched for, since what is shown must be vouched for.
//! Bound: an answer is believed for [`HOLDS`], for what no notice tells of.

use std::sync::Arc;
use std::time::Duration;

use ::search::site::SHAPE_HOST;
use ::search::site::show::{self, Feed, Shown};
use ::search::{FeedKind, Index, Topic, Version};
use bytes::Bytes;
use server::CompanionAnswer;
use wire::{Fields, Name};
use xxhash_rust::xxh3::xxh3_64;

use super::answering::{Wanted, tagged_fields};
use super::finding::{Asker, Wish, query_of};
use super::websub::Hub;
use super::{Kept, SiteSearch, unix};

/// Pages whose time is over are read again when somebody searches: so often at least.
const HOLDS: Duration = Duration::from_secs(15 * 60);

/// What a wish is kept as.
pub(super) fn topic(origin: &str, path: &str, wish: &Wish) -> Topic {
    Topic { address: format!("{origin}{path}"), query: wish.query.clone() }
}

/// The fields of a feed's last answer, if it would be the same now.
pub(super) fn known(
    index: &Index,
    topic: &Topic,
    kind: FeedKind,
    (media_type, hub): (&str, Option<&Hub>),
) -> Option<Fields> {
    let version = index.feed_version(topic, kind, HOLDS)?;
    let mut fields = fields(media_type, version);
    // As its 200 has it (RFC 9110 §15.4.5).
    fields.push("Vary", "Accept-Encoding");
    name_hub(&mut fields, topic, kind, hub);
    Some(fields)
}

/// As WebSub §4 has it.
fn name_hub(fields: &mut Fields, topic: &Topic, kind: FeedKind, hub: Option<&Hub>) {
    if let Some(hub) = hub {
        let own = show::feed_address(&topic.address, kind, &topic.query);
        fields.push("Link", format!("<{}>; rel=\"hub\"", hub.url));
        fields.push("Link", format!("<{own}>; rel=\"self\""));
    }
}

fn fields(media_type: &str, version: Version) -> Fields {
    let mut fields = tagged_fields(media_type, version.tag);
    // The second of two versions in one second has a moment that is still to come.
    if version.since <= unix() {
        fields.put(Name::LastModified, show::http_date(version.since));
    }
    fields
}

impl SiteSearch {
    /// A feed, made anew.
    pub(super) async fn fed(
        self: &Arc<Self>,
        index: &Kept,
        asker: &Asker,
        wish: &Wish,
        kind: FeedKind,
    ) -> CompanionAnswer {
        let origin = format!("{}://{}", asker.scheme, asker.host);
        let plan = self.plan();
        let topic = topic(&origin, &plan.path, wish);
        let only = (!self.hosts.is_empty()).then(|| (SHAPE_HOST, self.host_of(&asker.host)));
        let query = query_of(wish, index).widened(&plan.synonyms);
        let seen = index.own().map(|own| {
            let seen = own.keep_feed(&topic, &query, only);
            own.want_feed(&topic, kind);
            (own, seen)
        });
        let finding = match self.find(index, asker, wish).await {
            Ok(finding) => finding,
            Err(why) => return self.failed(&why),
        };
        let hub = plan.websub.as_ref().map(|hub| hub.url.clone());
        let shown = Shown { query: wish.query.clone(), hub, ..finding.shown };
        let feed = Feed::of(&shown, self.began);
        let (text, wanted) = match kind {
            FeedKind::Rss => (show::rss(&shown, &feed), Wanted::Rss),
            FeedKind::Atom => (show::atom(&shown, &feed), Wanted::Atom),
        };
        let tag = xxh3_64(text.as_bytes());
        let version = seen
            .zip(finding.all)
            .and_then(|((own, seen), all)| own.note_feed(&topic, kind, seen, (tag, unix()), &all));
        let mut fields = match version {
            Some(version) => fields(wanted.media_type(), version),
            None => tagged_fields(wanted.media_type(), tag),
        };
        name_hub(&mut fields, &topic, kind, plan.websub.as_ref());
        CompanionAnswer { status: 200, fields, body: Bytes::from(text) }
    }
}

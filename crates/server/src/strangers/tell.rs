//! What is known about strangers and an address, for the owner who asks.

use base::amount::show_bytes;
use policy::strangers::{Errand, Standing, Visitor, errand, pairs, shape, taste};
use wire::RequestHead;

use super::Strangers;
use super::brief::page_name;
use super::guests::Reader;
use super::verify::refused_unseen;
use crate::pipeline;

/// Says, topic by topic, what decides about sharing this address with strangers.
pub(crate) fn tell(
    strangers: &Strangers,
    head: &RequestHead,
    reader: &Reader,
    ticks_ms: u64,
    say: &mut dyn FnMut(&'static str, String),
) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for (name, _) in pairs(&head.fields) {
        let standing = match strangers.names.standing(name) {
            Standing::App => "the app's own: whoever bears it is a member and passes",
            Standing::Foreign => "means nothing to the app: ignored",
            Standing::Unknown => {
                "not seen before: its bearer passes until pages were the same without it"
            }
        };
        say("cookie", format!("{}: {standing}", text(name)));
    }
    let app: Vec<String> = strangers.names.app_names().iter().map(|name| text(name)).collect();
    say(
        "cookies",
        match app.is_empty() {
            true => "the app was not seen to set any".to_owned(),
            false => format!("the app's own: {}", app.join(", ")),
        },
    );
    let visitor = match reader.visitor {
        Visitor::Stranger => "a stranger: pages for strangers are looked up",
        Visitor::Holder => "has a session or credentials: never given what is shared",
        Visitor::Unproven => "bears a cookie of unknown meaning: passes",
    };
    say("visitor", visitor.to_owned());
    if errand(&head.fields) == Errand::Background {
        say("errand", "sent in the background: shared only with requests like it".to_owned());
    }
    tell_class(strangers, head, ticks_ms, say);
    let (copies, bytes) = strangers.copies.size();
    say(
        "copies",
        format!(
            "{copies} in {}, for those who may write from one; cookies of sessions begun here: {}",
            show_bytes(bytes as u64),
            strangers.holders.count(),
        ),
    );
    let counts = &strangers.counts;
    say(
        "counts",
        format!(
            "found shareable {}, not shareable {}; requests by personas {}; sessions begun {}; \
         values without counterpart {}; alarms {}",
            counts.shared.read(),
            counts.refused.read(),
            counts.persona_requests.read(),
            counts.bound.read(),
            counts.unaligned.read(),
            counts.alarms.read(),
        ),
    );
}

fn tell_class(
    strangers: &Strangers,
    head: &RequestHead,
    ticks_ms: u64,
    say: &mut dyn FnMut(&'static str, String),
) {
    let target = &head.target;
    say("class", shape(target));
    let [none, revalidate, private, no_store] = strangers.constancy.lock().summary();
    say(
        "headers",
        format!(
            "pages of the site that say nothing {none}, no-cache {revalidate}, private {private}, \
         no-store {no_store}; what most say means nothing"
        ),
    );
    let page = pipeline::hash(&page_name(&head.host, target));
    let remembered = strangers.classes.refusal_for(&taste(&head.fields), target, page, ticks_ms);
    match (refused_unseen(strangers, target), remembered) {
        (Some(refusal), _) => say("sharing", format!("never: {refusal}")),
        (None, Some(refusal)) => say("sharing", format!("not at the moment: {refusal}")),
        (None, None) if strangers.classes.is_shared(target) => {
            say(
                "sharing",
                "pages of this class are shared: two personas were given the same".into(),
            );
        }
        (None, None) => say("sharing", "not tried yet: the next stranger's visit tries it".into()),
    }
    if let Some(table) = strangers.classes.wrote(target) {
        let what = if table.is_empty() { "a table".into() } else { format!("the table {table}") };
        say("mark", format!("fetching a page of this class was seen to change {what}"));
    }
    let copy = strangers.copies.of_page(&head.host, target);
    say(
        "binding",
        match copy {
            None => "no copy is kept: nothing in the page would have to be translated".to_owned(),
            Some(copy) => format!(
                "a copy with {} values is kept, by which a write from it is recognised",
                copy.known.len()
            ),
        },
    );
}

//! Several sources of one site: none cuts short what another has to settle.

use base::Clock;
use changes::{Change, Source};
use origin::{FilesOrigin, Origin};

use super::*;
use crate::{ServerConfig, SiteConfig};

/// A listener to two sources that are heard by these means, with nothing to settle.
fn listener(means: [Means; 2]) -> Listener {
    let mut site = SiteConfig::new(Origin::Files(FilesOrigin::new("/nowhere")));
    site.changes = vec![Source::Other("told".into()); means.len()];
    let config = ServerConfig { sites: vec![site], ..ServerConfig::default() };
    let server = Server::new(config, Clock::manual(0));
    let site = server.sites.only().expect("one site").clone();
    let following = site.following.clone().expect("it has sources");
    let count = means.len();
    let mut listener = Listener::new(server, site, following, count, Omission::Nothing);
    for (index, means) in means.into_iter().enumerate() {
        listener.take(index, Heard::By(means));
        listener.take(index, Heard::Event(Event::Recovered));
        listener.take(index, Heard::Event(Event::Idle));
    }
    listener.settle();
    assert!(listener.due().is_none() && !listener.site.generations.is_settling());
    listener
}

fn change() -> Heard {
    Heard::Event(Event::Change(Change::anything("site", "posts")))
}

#[tokio::test(start_paused = true)]
async fn a_source_that_stands_still_doesnt_speak_for_another_that_moves() {
    let mut listener = listener([Means::Poll, Means::Poll]);
    listener.take(0, change());
    listener.take(1, change());
    listener.take(1, Heard::Event(Event::Idle));
    assert!(listener.due().is_none(), "the first has not come to rest");
    listener.take(0, Heard::Event(Event::Idle));
    assert!(listener.due().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_lost_is_waited_for_no_more() {
    let mut listener = listener([Means::Poll, Means::Log]);
    listener.take(0, change());
    assert!(listener.due().is_none());
    for why in [Lost::Disconnected, Lost::Silent] {
        listener.take(0, Heard::Event(Event::Lost(why)));
        assert!(listener.due().is_some());
        listener.take(0, change());
        assert!(listener.due().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_turns_restless_doesnt_end_what_another_has_to_settle() {
    let mut listener = listener([Means::Poll, Means::Log]);
    listener.take(1, change());
    let is_restless = (0..100).any(|_| {
        listener.take(0, change());
        listener.take(0, Heard::Event(Event::Commit(None)));
        listener.ears[0].calm.is_restless()
    });
    assert!(is_restless && !listener.following.is_heard());
    assert!(listener.due().is_some() && listener.site.generations.is_settling());
    listener.settle();
    assert!(listener.due().is_none() && !listener.site.generations.is_settling());
}

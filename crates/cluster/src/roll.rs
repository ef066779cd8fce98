//! Who may be asked for pages, and who of two nodes has heard more.
//!
//! A place in the stream says what a node has heard. Who asks another one says up to where it
//! has heard at the most, and who is asked answers when it has obeyed all of that: so nobody is
//! given by another what it knows to be old itself. What a node has told and not heard back has
//! no place yet, and as long as there is such a thing nobody is asked.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::timeout;

use crate::node::Node;
use crate::status::Member;

/// A place in a stream of all that nodes say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Which stream it is.
    pub stream: u64,
    /// The message.
    pub sequence: u64,
}

/// Who there is to be asked at this moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roll {
    /// This node's own name; none: it has a share of nothing, as it is about to be taken off.
    pub own: Option<String>,
    /// The others that may be asked, and where.
    pub others: Vec<(String, SocketAddr)>,
    /// Up to where this node has heard at the most; none: something that it told is on its way.
    pub heard: Option<Place>,
}

impl Node {
    /// Who may be asked for pages now.
    #[must_use]
    pub fn roll(&self) -> Roll {
        let inner = self.inner.lock();
        let has_told =
            inner.outbox.is_empty() && inner.hearing.returned_number() >= inner.told_number;
        let sequence = inner.hearing.sequence().filter(|_| has_told);
        let heard = sequence.map(|sequence| Place { stream: inner.stream, sequence });
        let members = inner.hearing.members();
        drop(inner);
        // At an upgrade there is another run of this node.
        let is_other = |member: &Member| !member.is_missing && member.node != self.settings.node;
        let others = members.into_iter().filter(is_other);
        let others = others.filter_map(|member| Some((member.node, member.listen?)));
        let own = (!self.is_draining()).then(|| self.settings.node.clone());
        Roll { own, others: others.collect(), heard }
    }

    /// Returns once all is obeyed that was said up to there; never if that is of another stream.
    pub async fn obeyed(&self, place: Place) {
        let mut obeyed = self.obeyed.subscribe();
        let is_there = |own: &Place| own.stream == place.stream && own.sequence >= place.sequence;
        // The sender is this node's own.
        let _ = obeyed.wait_for(is_there).await;
    }

    /// Waits until all that this node has told until now was heard by every node that isn't
    /// missing, but so long at most; whether it was.
    pub async fn heard_by_all(&self, patience: Duration) -> bool {
        let count = self.inner.lock().outbox.put_count();
        let heard = async {
            let mut acknowledged = self.acknowledged.subscribe();
            // The senders are this node's own.
            let _ = acknowledged.wait_for(|gone_out| *gone_out >= count).await;
            let number = self.inner.lock().number;
            let (mut obeyed, mut place) = (self.obeyed.subscribe(), 0);
            loop {
                obeyed.borrow_and_update();
                let others = {
                    let hearing = &self.inner.lock().hearing;
                    if place == 0 && hearing.returned_number() >= number {
                        place = hearing.own_sequence();
                    }
                    hearing.heard_by_others()
                };
                if place != 0 && others.is_none_or(|others| others >= place) {
                    return;
                }
                let _ = obeyed.changed().await;
            }
        };
        timeout(patience, heard).await.is_ok()
    }

    /// Tells all others that nothing new is to come to this node, or that it may again.
    pub fn drain(&self, is_draining: bool) {
        self.draining.store(is_draining, Ordering::Release);
        self.waits.notify_one();
    }

    /// Whether nothing new is to come to it.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use base::Clock;

    use super::*;
    use crate::hearing::Arrival;
    use crate::node::{Ears, Run};
    use crate::said::Said;
    use crate::settings::Settings;

    /// Looks at the node while it obeys.
    struct Looking(Arc<Node>, parking_lot::Mutex<Vec<(Option<Place>, Place)>>);

    impl Ears for Looking {
        fn hear(&self, _news: &str) {
            self.1.lock().push((self.0.roll().heard, *self.0.obeyed.borrow()));
        }

        fn missed(&self) {}
    }

    fn node() -> (Arc<Node>, Looking) {
        let settings = Settings::new("a.test", "c", "a", Duration::from_secs(1), None);
        let settings = settings.expect("they are good");
        let settings = Settings { listen: Some(([10, 0, 0, 1], 7070).into()), ..settings };
        let run = Run { instance: 1, is_successor: false };
        let node = Node::new(settings, Clock::manual(100), run, Arc::new(AtomicU64::new(0)));
        let looking = Looking(node.clone(), parking_lot::Mutex::default());
        node.note_stream(7);
        node.begin_anew(10, &looking);
        (node, looking)
    }

    fn place(sequence: u64) -> Place {
        Place { stream: 7, sequence }
    }

    /// It says what it has to say, and hears that back.
    fn speak(node: &Node, ears: &dyn Ears, sequence: u64) -> Said {
        let said = node.next_said(false);
        node.note_said();
        node.take(Arrival { sequence, said: Some(said.clone()) }, ears);
        said
    }

    fn other(number: u64, listen: &str) -> Said {
        let listen = Some(listen.to_owned());
        Said { form: 1, node: "b".into(), instance: 2, number, listen, ..Said::default() }
    }

    #[test]
    fn nobody_is_asked_as_long_as_something_told_is_on_its_way() {
        let (node, ears) = node();
        speak(&node, &ears, 11);
        let told: [fn(&Node); 2] =
            [|node| node.tell("x".to_owned()), |node| node.tell_read("a", 7, "x".to_owned())];
        for (sequence, tell) in (12..).zip(told) {
            assert_eq!(node.roll().heard, Some(place(sequence - 1)));
            tell(&node);
            assert_eq!(node.roll().heard, None, "it waits");
            let said = node.next_said(false);
            assert_eq!(node.roll().heard, None, "it is on its way");
            node.note_said();
            assert_eq!(node.roll().heard, None, "it is there, and others may not have heard it");
            node.take(Arrival { sequence, said: Some(said) }, &ears);
            assert_eq!(node.roll().heard, Some(place(sequence)));
        }
    }

    #[test]
    fn what_is_being_obeyed_is_heard_and_not_obeyed() {
        let (node, ears) = node();
        let said = Said { news: vec!["x".to_owned()], ..other(1, "10.0.0.2:7070") };
        node.take(Arrival { sequence: 11, said: Some(said) }, &ears);
        assert_eq!(*ears.1.lock(), [(Some(place(11)), place(10))]);
        assert_eq!(*node.obeyed.borrow(), place(11));
    }

    #[test]
    fn who_says_where_it_listens_is_on_the_roll_until_it_drains() {
        let (node, ears) = node();
        let hear = |sequence, said| node.take(Arrival { sequence, said: Some(said) }, &ears);
        let of_b = |text: &str| vec![("b".to_owned(), text.parse().expect("an address"))];
        assert_eq!(speak(&node, &ears, 11).listen.as_deref(), Some("10.0.0.1:7070"));
        hear(12, other(1, "10.0.0.2:7070"));
        assert_eq!(node.roll().others, of_b("10.0.0.2:7070"));
        hear(13, other(2, "[::1]:1"));
        assert_eq!(node.roll().others, of_b("[::1]:1"));
        hear(14, other(3, "quic:later"));
        assert_eq!(node.roll().others, [], "what can't be read is none");
        hear(15, other(4, "10.0.0.2:7070"));
        hear(16, Said { listen: None, is_draining: true, ..other(5, "") });
        assert_eq!(node.roll().others, []);
        assert!(node.status().members[0].is_draining);
        assert_eq!(node.roll().own.as_deref(), Some("a"));
        node.drain(true);
        let said = speak(&node, &ears, 17);
        assert_eq!((said.listen, said.is_draining), (None, true));
        assert_eq!(node.roll().own, None);
        node.drain(false);
        assert!(speak(&node, &ears, 18).listen.is_some());
        // Another run of this node is no other.
        hear(19, Said { node: "a".into(), instance: 9, ..other(1, "10.0.0.1:7070") });
        assert_eq!(node.roll().others, []);
    }

    #[tokio::test]
    async fn who_has_obeyed_enough_is_not_waited_for_and_another_stream_is_never_heard() {
        let (node, ears) = node();
        node.obeyed(place(10)).await;
        let mut waits = Box::pin(node.obeyed(place(11)));
        let other = Place { stream: 8, sequence: 1 };
        tokio::select! {
            biased;
            () = &mut waits => unreachable!("it has heard 10"),
            () = node.obeyed(other) => unreachable!("it has heard nothing of that"),
            () = std::future::ready(()) => {}
        }
        speak(&node, &ears, 11);
        waits.await;
    }

    #[tokio::test]
    async fn what_was_told_is_heard_by_all_when_everybody_who_is_there_says_so() {
        let (node, ears) = node();
        let hears = |node: &str, number, told_until, sequence| {
            let said = Said { node: node.into(), told_until, ..other(number, "") };
            (Arrival { sequence, said: Some(said) }, &ears)
        };
        let take = |(arrival, ears): (Arrival, &Looking)| node.take(arrival, ears);
        speak(&node, &ears, 11);
        take(hears("b", 1, 0, 12));
        take(hears("c", 1, 0, 13));
        node.tell("look".to_owned());
        let mut waits = Box::pin(node.heard_by_all(Duration::from_secs(600)));
        let mut is_over = async || {
            tokio::select! {
                biased;
                heard = &mut waits => Some(heard),
                () = tokio::task::yield_now() => None,
            }
        };
        assert_eq!(is_over().await, None, "it waits to be said");
        speak(&node, &ears, 14);
        assert_eq!(is_over().await, None, "nobody says that it was heard");
        take(hears("b", 2, 14, 15));
        // What it says was said before.
        take(hears("c", 2, 13, 16));
        assert_eq!(is_over().await, None, "c hasn't heard it");
        take(hears("c", 3, 14, 17));
        assert_eq!(is_over().await, Some(true));
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_missing_is_not_waited_for_and_nobody_forever() {
        let (node, ears) = node();
        speak(&node, &ears, 11);
        node.take(Arrival { sequence: 12, said: Some(other(1, "")) }, &ears);
        node.tell("look".to_owned());
        speak(&node, &ears, 13);
        assert!(!node.heard_by_all(Duration::from_secs(5)).await, "b is there and silent");
        node.clock.advance_ms(2000);
        speak(&node, &ears, 14);
        assert!(node.status().members[0].is_missing);
        assert!(node.heard_by_all(Duration::from_secs(5)).await);
    }
}

//! What waits to be said.
//!
//! Bounded: past it what waits is given up for the one word that something is lost, which
//! makes others take it that everything may have changed.

use std::collections::VecDeque;
use std::mem;

use crate::said::{Lead, Said};

/// Bytes that may wait.
const BYTES_MAX: usize = 8 << 20;
/// Bytes of one message, about; NATS takes a million.
const MESSAGE_BYTES: usize = 256 << 10;
/// Bytes of one thing that is told: written into a message it may be twice as long.
const NEWS_BYTES_MAX: usize = 480 << 10;

/// The queue, in its order.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    news: VecDeque<News>,
    bytes: usize,
    has_lost: bool,
    gone: Vec<String>,
    /// How many were ever put.
    put: u64,
}

/// One thing that is told, and of which source and epoch it is, if it is of one that this node
/// reads for all.
#[derive(Debug)]
struct News {
    source: Option<(String, u64)>,
    text: String,
}

impl Outbox {
    pub(crate) fn put(&mut self, text: String) {
        self.put += 1;
        self.keep(News { source: None, text });
    }

    pub(crate) fn put_read(&mut self, source: &str, epoch: u64, text: String) {
        self.put += 1;
        self.keep(News { source: Some((source.to_owned(), epoch)), text });
    }

    pub(crate) fn put_count(&self) -> u64 {
        self.put
    }

    /// How many of those that were put no longer wait.
    pub(crate) fn gone_out(&self) -> u64 {
        self.put - self.news.len() as u64
    }

    fn keep(&mut self, news: News) {
        if self.has_lost {
            return;
        }
        if news.text.len() > NEWS_BYTES_MAX || self.bytes + news.text.len() > BYTES_MAX {
            (self.news, self.bytes, self.has_lost) = (VecDeque::new(), 0, true);
            return;
        }
        self.bytes += news.text.len();
        self.news.push_back(news);
    }

    pub(crate) fn put_gone(&mut self, node: String) {
        if !self.gone.contains(&node) {
            self.gone.push(node);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.news.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.news.is_empty() && self.gone.is_empty() && !self.has_lost
    }

    /// Moves what one message bears into it.
    pub(crate) fn fill(&mut self, said: &mut Said) {
        said.has_lost = mem::take(&mut self.has_lost);
        said.gone = mem::take(&mut self.gone);
        let mut bytes = 0;
        while let Some(next) = self.news.front()
            && (bytes == 0 || bytes + next.text.len() <= MESSAGE_BYTES)
            && let Some(News { source, text }) = self.news.pop_front()
        {
            bytes += text.len();
            match source {
                Some((key, epoch)) => put_lead(&mut said.leads, key, epoch, text),
                None => said.news.push(text),
            }
        }
        self.bytes -= bytes;
    }
}

fn put_lead(leads: &mut Vec<Lead>, key: String, epoch: u64, text: String) {
    let is_it = |lead: &&mut Lead| lead.key == key && lead.epoch == epoch;
    match leads.iter_mut().find(is_it) {
        Some(lead) => lead.news.push(text),
        None => leads.push(Lead { key, epoch, news: vec![text], ..Lead::default() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(outbox: &mut Outbox) -> Vec<Said> {
        let mut messages = Vec::new();
        while !outbox.is_empty() {
            let mut said = Said::default();
            outbox.fill(&mut said);
            messages.push(said);
        }
        messages
    }

    #[test]
    fn what_waits_keeps_its_order_over_messages() {
        let mut outbox = Outbox::default();
        let news: Vec<_> = (0..10).map(|at| format!("{at}{}", "x".repeat(100_000))).collect();
        news.iter().for_each(|news| outbox.put(news.clone()));
        let messages = all(&mut outbox);
        assert_eq!(messages.len(), 5);
        let told: Vec<_> = messages.into_iter().flat_map(|said| said.news).collect();
        assert_eq!(told, news);
        assert_eq!((outbox.bytes, outbox.gone_out()), (0, 10));
    }

    #[test]
    fn too_much_becomes_the_word_that_something_is_lost() {
        let mut outbox = Outbox::default();
        (0..100).for_each(|_| outbox.put("x".repeat(100_000)));
        outbox.put("later".to_owned());
        let messages = all(&mut outbox);
        assert_eq!(messages, [Said { has_lost: true, ..Said::default() }]);
        outbox.put("x".repeat(NEWS_BYTES_MAX + 1));
        assert!(all(&mut outbox)[0].has_lost);
        outbox.put("again".to_owned());
        assert_eq!(all(&mut outbox)[0].news, ["again"]);
    }
}

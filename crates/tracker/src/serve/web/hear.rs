//! What a client says over WebSocket, and what is made of it.
//!
//! An announce goes to the store, and only if that lets it are its offers handed on. An answer is
//! handed to who offered. Nothing of what is handed on is looked into or kept.

use base::clock::Now;
use wire::tracker::query::QueryError;
use wire::tracker::web::{self, Said, WebAnnounce, WebAnswer};
use wire::tracker::{Announce, Event, InfoHash, PeerId, Told};
use wire::websocket::{self, code};

use super::hall::{Entered, Place};
use super::{Client, PLACES_MAX, PLACES_USUAL, SHARE};
use crate::refusal::Refusal;
use crate::serve::{Desk, Service};

/// Announces over WebSocket for one by other ways: who offers is found only by those who come
/// while an offer is good, which is less than a minute.
const TIMES_AS_OFTEN: u32 = 5;
/// But no more often.
const INTERVAL_SECONDS_MIN: u32 = 60;

impl Service {
    /// Takes a message, and appends what is said to it.
    ///
    /// # Errors
    /// The connection ends, with this code.
    pub(super) fn hear(
        &self,
        client: &mut Client,
        text: &str,
        now: Now,
        desk: &mut Desk,
        out: &mut Vec<u8>,
    ) -> Result<(), u16> {
        let said = web::read(text);
        let offers = match &said {
            Ok(Said::Announce(said)) => said.offers.len() as u64,
            _ => 0,
        };
        self.allow(client, 1 + offers, now)?;
        let mut body = std::mem::take(&mut desk.text);
        body.clear();
        match said {
            Ok(Said::Announce(said)) => self.hear_announce(client, said, now, &mut body),
            Ok(Said::Answer(answer)) => self.hear_answer(client, &answer, &mut body),
            Ok(Said::Scrape(hashes)) => self.hear_scrape(client, hashes, now, desk, &mut body),
            Err(wrong) => {
                self.counters.malformed.bump();
                web::put_failure(&mut body, false, None, &wrong.to_string());
            }
        }
        if !body.is_empty() {
            websocket::put_text(out, &body);
        }
        desk.text = body;
        Ok(())
    }

    /// Takes so much of what a client may say.
    ///
    /// # Errors
    /// It said too much, and its connection ends with this code.
    pub(super) fn allow(&self, client: &mut Client, cost: u64, now: Now) -> Result<(), u16> {
        if client.allowance.takes(cost, now) {
            return Ok(());
        }
        self.counters.web_too_fast.bump();
        Err(code::POLICY)
    }

    fn hear_announce(
        &self,
        client: &mut Client,
        said: WebAnnounce<'_>,
        now: Now,
        body: &mut Vec<u8>,
    ) {
        let (hash, peer_id) = (said.announce.info_hash, said.announce.peer_id);
        let passkey = match &client.passkey {
            // Without counters the next that has them would look like all since the beginning.
            Ok(Some(_)) if !said.has_counters => Err(QueryError::Missing("uploaded")),
            Ok(passkey) => Ok(passkey.clone()),
            Err(wrong) => Err(*wrong),
        };
        let passkey = match passkey {
            Ok(passkey) => passkey,
            Err(wrong) => {
                self.counters.malformed.bump();
                return web::put_failure(body, false, Some(&hash), &wrong.to_string());
            }
        };
        // Whom it meets is not told by address.
        let announce = Announce { passkey, peers_wanted: Some(0), ..said.announce };
        match self.heart.announce_web(&announce, client.from, now) {
            Ok(told) => {
                self.counters.web_announces.bump();
                let wanted = said.announce.peers_wanted.map_or(usize::MAX, |it| it as usize);
                let warning = self.place(client, &announce, &said, wanted);
                let told = Told { interval: interval(told.interval), ..told };
                web::put_announce(body, &hash, &told, warning);
            }
            Err(refusal) => {
                self.counters.refused.bump();
                if !matches!(refusal, Refusal::TooOften { .. }) {
                    self.unseat(client, &hash, &peer_id);
                }
                web::put_failure(body, false, Some(&hash), &refusal.to_string());
            }
        }
    }

    /// Gives a client that announced its place, and hands on what it offers. Tells what its user
    /// should know.
    fn place(
        &self,
        client: &mut Client,
        announce: &Announce,
        said: &WebAnnounce<'_>,
        wanted: usize,
    ) -> Option<&'static str> {
        let (hash, peer_id) = (&announce.info_hash, announce.peer_id);
        if announce.event == Event::Stopped {
            self.unseat(client, hash, &peer_id);
            return None;
        }
        let (is_complete, owner) = (announce.left == 0, client.owner);
        let place = || Place { peer_id, owner, is_complete, seat: client.seat.clone() };
        let is_known = client.has(hash, &peer_id);
        let entered = match is_known || client.places.len() < PLACES_MAX {
            true => {
                let max = self.rules().connections_max / SHARE * PLACES_USUAL;
                self.hall.enter(hash, place(), max)
            }
            false => Entered::Full,
        };
        match entered {
            Entered::Well => {}
            Entered::Full => {
                self.counters.web_unplaced.bump();
                return Some("there is no room to hand on your offers; try again later");
            }
            Entered::Taken => {
                self.counters.web_unplaced.bump();
                return Some("somebody else has this peer id; start your client again");
            }
        }
        let seats = self.hall.choose(hash, &place(), said.offers.len().min(wanted));
        if !is_known {
            client.places.push((*hash, peer_id));
        }
        for (seat, offer) in seats.iter().zip(&said.offers) {
            let mut text = Vec::new();
            web::put_offer(&mut text, hash, &peer_id, offer);
            match seat.send(text) {
                true => self.counters.web_offers.bump(),
                false => self.counters.web_dropped.bump(),
            }
        }
        (said.more_offers > 0).then_some("only ten offers of an announce are handed on")
    }

    fn unseat(&self, client: &mut Client, hash: &InfoHash, peer_id: &PeerId) {
        self.hall.leave(hash, peer_id, client.seat.serial);
        client.places.retain(|place| place != &(*hash, *peer_id));
    }

    fn hear_answer(&self, client: &Client, answer: &WebAnswer<'_>, body: &mut Vec<u8>) {
        let hash = &answer.info_hash;
        if !client.has(hash, &answer.peer_id) {
            self.counters.refused.bump();
            let why = "announce this torrent before you answer offers of others";
            return web::put_failure(body, false, Some(hash), why);
        }
        let is_sent = self.hall.find(hash, &answer.to).is_some_and(|seat| {
            let mut text = Vec::new();
            web::put_answer(&mut text, answer);
            seat.send(text)
        });
        match is_sent {
            true => self.counters.web_answers.bump(),
            false => self.counters.web_dropped.bump(),
        }
    }

    fn hear_scrape(
        &self,
        client: &Client,
        mut hashes: Vec<InfoHash>,
        now: Now,
        desk: &mut Desk,
        body: &mut Vec<u8>,
    ) {
        let passkey = client.passkey.as_ref().ok().and_then(Option::as_ref);
        match self.scraped(passkey, &hashes, client.from, now) {
            Ok(rules) => {
                hashes.sort_unstable();
                hashes.dedup();
                self.find_torrents(&hashes, desk);
                web::put_scrape(body, &desk.torrents, rules.scrape_interval);
            }
            Err((why, _)) => web::put_failure(body, true, hashes.first(), why),
        }
    }
}

/// When a client is to announce over WebSocket, where by other ways it is then.
fn interval(told: u32) -> u32 {
    (told / TIMES_AS_OFTEN).max(INTERVAL_SECONDS_MIN).min(told)
}

//! Memory never passes the figure that the owner set, and nothing of it leaks.
//!
//! Pages of all sizes and variants, several on their way at once, more than the cache can
//! hold; bodies too large to keep, without a length, broken off; visitors who go away; a
//! limit that is moved while all this goes on. After every step of anybody, what is stored
//! and what is set aside are within the limit of the moment. Once all is quiet nothing is
//! set aside and no fetch is under way.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use origin::HttpOptions;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use server::{ServerConfig, SiteConfig};
use testkit::message::{Received, State};
use tokio::task::JoinSet;

use crate::author::{self, Author, Script, Step, chunk, head};
use crate::caller::{Caller, Got};
use crate::stage::{self, Outcome, Stage, dice};

const VISITORS: usize = 8;
const REQUESTS: usize = 25;
const LIMIT_BYTES: u64 = 256 << 10;
/// In every fourth simulation, so that there is room for coding what comes.
const LARGE_LIMIT_BYTES: u64 = 4 << 20;
/// Longer than all time-outs, so that whatever hangs has come to its end.
const QUIET: Duration = Duration::from_secs(300);

/// Looks at the figures, and knows by how much the checker is mistaken about the limit.
#[derive(Clone)]
struct Scales {
    stage: Arc<OnceLock<Stage>>,
    understated_by: u64,
}

impl Scales {
    fn look(&self, when: &str) {
        let Some(stage) = self.stage.get() else { return };
        let memory = stage.server.memory();
        let held = memory.used_bytes + memory.reserved_bytes;
        let limit = memory.limit_bytes / self.understated_by;
        if held > limit {
            let (used, reserved) = (memory.used_bytes, memory.reserved_bytes);
            stage.complain(format!("{when}: {used} used and {reserved} set aside of {limit}"));
        }
    }
}

struct Site {
    dice: Mutex<StdRng>,
    scales: Scales,
}

impl Author for Site {
    fn answer(&self, _request: &Received) -> Script {
        let mut dice = self.dice.lock().unwrap_or_else(PoisonError::into_inner);
        let mut script = Script::default();
        let most = *[10, 2_000, 20_000, 40_000, 90_000].choose(&mut dice).unwrap_or(&10);
        let body = vec![b'x'; dice.random_range(0..most)];
        let is_chunked = dice.random_bool(0.5);
        let control =
            ["max-age=600", "max-age=2, stale-while-revalidate=60", "private", "no-store"];
        let mut fields = vec![("Cache-Control", *control.choose(&mut dice).unwrap_or(&"private"))];
        let length = body.len().to_string();
        match is_chunked {
            true => fields.push(("Transfer-Encoding", "chunked")),
            false => fields.push(("Content-Length", &length)),
        }
        if dice.random_bool(0.5) {
            fields.push(("Vary", "Accept-Language"));
        }
        if dice.random_bool(0.7) {
            fields.push(("Content-Type", "text/html"));
        }
        let filler = "f".repeat(dice.random_range(0..2000));
        fields.push(("X-Filler", &filler));
        let fields: Vec<_> =
            fields.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        script.steps.push(Step::Send(head(200, &fields)));
        let breaks_off = dice.random_bool(0.1);
        let piece_bytes = body.len().div_ceil(dice.random_range(1..20)).max(1);
        for (at, piece) in body.chunks(piece_bytes).enumerate() {
            if breaks_off && at == 3 {
                script.closes = true;
                return script;
            }
            if dice.random_bool(0.3) {
                script.steps.push(Step::Wait(Duration::from_millis(100 * dice.random_range(0..5))));
            }
            let scales = self.scales.clone();
            script.steps.push(Step::Apply(Box::new(move || scales.look("a piece of a body"))));
            script.steps.push(Step::Send(if is_chunked { chunk(piece) } else { piece.to_vec() }));
        }
        if is_chunked {
            script.steps.push(Step::Send(chunk(b"")));
        }
        script
    }
}

async fn visit(stage: Stage, scales: Scales, limit_bytes: u64, number: usize, mut dice: StdRng) {
    let mut caller = Caller::new(stage.connect(number));
    for _ in 0..REQUESTS {
        if stage.is_over() {
            return;
        }
        if !caller.is_open() {
            caller = Caller::new(stage.connect(number));
        }
        let page: u32 = dice.random_range(0..40);
        let language: u32 = dice.random_range(0..80);
        let codings = ["", "gzip", "br", "gzip, br, zstd", "zstd;q=0.5, *"];
        let coding = codings.choose(&mut dice).unwrap_or(&"");
        let text = format!(
            "GET /{page} HTTP/1.1\r\nHost: example.test\r\nAccept-Language: l{language}\r\n\
             Accept-Encoding: {coding}\r\n\r\n"
        );
        stage.world.tell(&format!("visitor {number}"), &text);
        caller.send(text.as_bytes()).await;
        if dice.random_bool(0.15) {
            tokio::time::sleep(Duration::from_millis(100 * dice.random_range(0..5))).await;
            caller = Caller::new(stage.connect(number));
        } else {
            read_body(&stage, &caller.response(&stage, "GET").await);
        }
        scales.look("an answer");
        if dice.random_bool(0.05) {
            // Half of it may be set aside, and can't be taken back by a lower one.
            let bytes = limit_bytes * dice.random_range(6..=10) / 10;
            stage.world.tell("owner", &format!("sets the limit to {bytes}"));
            stage.server.set_memory_limit(bytes);
            scales.look("a new limit");
        }
    }
}

/// What is coded, decoded, is what the origin made.
fn read_body(stage: &Stage, got: &Got) {
    let Got::Response(message) = got else { return };
    let Some(coding) = message.fields.text(wire::Name::ContentEncoding) else { return };
    if matches!(message.state, State::Whole(_)) {
        let body = testkit::coding::decoded(message);
        if body.is_none_or(|body| body.iter().any(|&byte| byte != b'x')) {
            stage.complain(format!("a body in {coding} is not what it was before"));
        }
    }
}

fn simulate(seed: u64, understated_by: u64) -> Outcome {
    let scales = Scales { stage: Arc::default(), understated_by };
    let site = Site { dice: Mutex::new(dice(seed, 1)), scales: scales.clone() };
    let origin = author::origin(Arc::new(site), HttpOptions::default());
    let sites = vec![SiteConfig::new(origin)];
    let limit_bytes = if seed % 4 == 3 { LARGE_LIMIT_BYTES } else { LIMIT_BYTES };
    let config = ServerConfig { sites, memory_bytes: limit_bytes, ..ServerConfig::default() };
    stage::play(config, |stage| async move {
        drop(scales.stage.set(stage.clone()));
        let mut actors = JoinSet::new();
        for number in 0..VISITORS {
            let dice = dice(seed, 10 + number as u64);
            actors.spawn(visit(stage.clone(), scales.clone(), limit_bytes, number, dice));
        }
        stage.until_done(actors).await;
        tokio::time::sleep(QUIET).await;
        scales.look("the end");
        let (memory, flights) = (stage.server.memory(), stage.server.flights());
        if memory.reserved_bytes > 0 || flights > 0 {
            let reserved = memory.reserved_bytes;
            stage.complain(format!("all is quiet: {reserved} set aside, {flights} fetches"));
        }
    })
}

#[test]
fn memory_stays_within_its_limit_and_nothing_of_it_leaks() -> Result<(), String> {
    stage::hunt(
        300,
        &["hit", "miss(uri-miss)", "miss(vary-miss)", "pass", "sent as br", "sent as zstd"],
        |seed| simulate(seed, 1),
    )
}

#[test]
fn a_limit_that_is_passed_is_seen_by_the_checker() {
    let seen = stage::first_seen(10, |seed| simulate(seed, 2));
    assert!(seen.is_some_and(|(_, what)| what.contains("set aside of")));
}

//! Several servers of which one after the other falls and comes back, in virtual time.
//!
//! Each seed is a story of its own; one that fails names its seed. What must never happen:
//! a request that is safe to repeat fails while somebody could have answered it, or one that
//! isn't safe is seen twice.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::{Instant, sleep};

use super::*;

const STEP: Duration = Duration::from_millis(5);

/// A server that may be down.
#[derive(Default)]
struct Simulated {
    /// Odd while it is down; who finds it changed lost the server that it spoke to.
    falls: AtomicU64,
    /// Takes connections and requests, and answers none while it is down.
    is_mute: bool,
    /// It speaks HTTP/2, so all requests that are with it fall together.
    is_http2: bool,
    answered: AtomicUsize,
    /// When it answered, in milliseconds of the story.
    times: Mutex<Vec<u64>>,
    /// How often each request was seen.
    seen: Arc<Mutex<HashMap<String, usize>>>,
}

impl Simulated {
    fn is_down(&self) -> bool {
        self.falls.load(Ordering::SeqCst) % 2 == 1
    }

    fn turn(&self) {
        self.falls.fetch_add(1, Ordering::SeqCst);
    }

    fn dial(self: &Arc<Self>) -> Dial {
        let own = self.clone();
        Dial::Memory(Arc::new(move || {
            let own = own.clone();
            async move {
                if own.is_down() && !own.is_mute {
                    return Err(io::ErrorKind::ConnectionRefused.into());
                }
                let (ours, theirs) = tokio::io::duplex(1 << 12);
                match own.is_http2 {
                    true => tokio::spawn(own.serve_streams(theirs)),
                    false => tokio::spawn(own.serve(theirs)),
                };
                Ok(ours)
            }
            .boxed()
        }))
    }

    async fn serve(self: Arc<Self>, mut io: DuplexStream) {
        let born = self.falls.load(Ordering::SeqCst);
        let mut input = VecDeque::new();
        while let Some(target) = next_target(&mut io, &mut input).await {
            if !self.work(&target, born).await
                || io.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.is_err()
            {
                return;
            }
        }
    }

    async fn serve_streams(self: Arc<Self>, io: DuplexStream) {
        let born = self.falls.load(Ordering::SeqCst);
        let over = Arc::new(tokio::sync::Notify::new());
        let Ok(mut connection) = h2::server::handshake(io).await else { return };
        loop {
            let accepted = tokio::select! {
                accepted = connection.accept() => accepted,
                () = over.notified() => return,
            };
            let Some(Ok((request, mut respond))) = accepted else { return };
            let (own, over) = (self.clone(), over.clone());
            tokio::spawn(async move {
                if !own.work(request.uri().path(), born).await {
                    return over.notify_one();
                }
                let head = http::Response::new(());
                if let Ok(mut body) = respond.send_response(head, false) {
                    let _ = body.send_data(bytes::Bytes::from_static(b"ok"), true);
                }
            });
        }
    }

    /// Makes an answer; false: it fell meanwhile.
    async fn work(&self, target: &str, born: u64) -> bool {
        *self.seen.lock().entry(target.to_owned()).or_default() += 1;
        // Requests take between 5 and 35 milliseconds, by their numbers.
        let number: u64 = target.trim_start_matches('/').parse().unwrap_or(0);
        sleep(Duration::from_millis(5 + number * 7 % 31)).await;
        if self.is_down() || self.falls.load(Ordering::SeqCst) != born {
            if self.is_mute {
                std::future::pending::<()>().await;
            }
            return false;
        }
        self.answered.fetch_add(1, Ordering::SeqCst);
        let since = |start| Instant::now().duration_since(start).as_millis() as u64;
        self.times.lock().push(STORY.with(|start| start.get()).map_or(0, since));
        true
    }
}

thread_local! {
    static STORY: std::cell::Cell<Option<Instant>> = const { std::cell::Cell::new(None) };
}

/// Reads a request with its body of known length; gives its target.
async fn next_target(io: &mut DuplexStream, input: &mut VecDeque<u8>) -> Option<String> {
    loop {
        let text = String::from_utf8_lossy(input.make_contiguous()).into_owned();
        if let Some((head, rest)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.and_then(|text| text.parse().ok()).unwrap_or(0);
            if rest.len() >= length {
                input.drain(..head.len() + 4 + length);
                return head.split(' ').nth(1).map(str::to_owned);
            }
        }
        let mut piece = [0; 1024];
        match io.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(bytes) => input.extend(&piece[..bytes]),
        }
    }
}

fn call(method: &Method, number: usize) -> Call {
    // A POST without a body could be had again, and must not be.
    let has_body = *method == Method::POST && number % 16 == 7;
    super::tests::call(&format!("{method} /{number}"), has_body.then_some("body"))
}

/// What became of a story.
#[derive(Default)]
struct Outcome {
    failures: Mutex<Vec<String>>,
    next: AtomicUsize,
}

/// Visitors who ask again and again until `end`; one request in eight is a POST.
async fn visitors(origin: &Arc<HttpOrigin>, count: usize, pause_ms: u64, end: Instant) -> Outcome {
    let outcome = Arc::new(Outcome::default());
    let visitors: Vec<_> = (0..count)
        .map(|_| {
            let (origin, outcome) = (origin.clone(), outcome.clone());
            tokio::spawn(async move {
                while Instant::now() < end {
                    let number = outcome.next.fetch_add(1, Ordering::SeqCst);
                    let method = if number % 8 == 7 { Method::POST } else { Method::GET };
                    let answer = match origin.send(call(&method, number)).await {
                        Ok(answer) => {
                            answer.body.collect().await.map_err(|error| error.to_string())
                        }
                        Err(error) => Err(error.to_string()),
                    };
                    if let Err(error) = answer
                        && method == Method::GET
                    {
                        outcome.failures.lock().push(format!("{number}: {error}"));
                    }
                    sleep(Duration::from_millis(1 + number as u64 * 13 % pause_ms)).await;
                }
            })
        })
        .collect();
    for visitor in visitors {
        visitor.await.expect("a visitor doesn't panic");
    }
    Arc::into_inner(outcome).expect("all visitors are gone")
}

struct Stage {
    origin: Arc<HttpOrigin>,
    servers: Vec<Arc<Simulated>>,
}

fn stage(weights: &[u32], is_mute: bool, seed: u64) -> Stage {
    stage_of(Speech::Http1, weights, is_mute, seed)
}

fn stage_of(speech: Speech, weights: &[u32], is_mute: bool, seed: u64) -> Stage {
    let seen = Arc::<Mutex<HashMap<String, usize>>>::default();
    let is_http2 = speech == Speech::Http2;
    let server = |_| {
        let seen = seen.clone();
        Arc::new(Simulated { is_mute, is_http2, seen, ..Simulated::default() })
    };
    let servers: Vec<_> = weights.iter().map(server).collect();
    let dials = servers.iter().zip(weights).map(|(server, weight)| (server.dial(), *weight));
    let clock = Clock::manual(1_000_000);
    let mut options = HttpOptions::default();
    options.timeouts.first_byte = Duration::from_secs(2);
    options.limits.slots = 32;
    let mut origin =
        HttpOrigin::speaking(speech, dials.collect(), options).with_clock(clock.clone());
    origin.dice = Dice::seeded(seed);
    tokio::spawn(async move {
        loop {
            sleep(STEP).await;
            clock.advance_ms(STEP.as_millis() as u64);
        }
    });
    STORY.with(|start| start.set(Some(Instant::now())));
    Stage { origin: Arc::new(origin), servers }
}

impl Stage {
    /// One server after the other is down for a while; two are never down in the time that a
    /// request may take at both.
    fn trouble(&self, seed: u64) -> tokio::task::JoinHandle<()> {
        let (servers, dice) = (self.servers.clone(), Dice::seeded(seed ^ 0x5eed));
        tokio::spawn(async move {
            // What a mute one swallowed is given up after two seconds.
            let pause_ms = if servers[0].is_mute { 4_500 } else { 200 };
            let roll = move |below| dice.roll(below).expect("it is not 0");
            loop {
                sleep(Duration::from_millis(pause_ms + roll(4_000))).await;
                let server = &servers[roll(servers.len() as u64) as usize];
                server.turn();
                sleep(Duration::from_millis(50 + roll(6_000))).await;
                server.turn();
            }
        })
    }
}

fn seeds() -> Vec<u64> {
    match std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => vec![seed],
        None => (1..=6).collect(),
    }
}

#[test]
fn nobody_notices_that_one_of_several_servers_falls_and_comes_back() {
    let all = seeds().into_iter().flat_map(|seed| [(seed, Speech::Http1), (seed, Speech::Http2)]);
    for (seed, speech) in all {
        let weights: &[u32] = [&[1, 1][..], &[1, 1, 1], &[3, 1], &[2, 1, 4, 1]][seed as usize % 4];
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let stage = stage_of(speech, weights, seed % 3 == 2, seed);
            let trouble = stage.trouble(seed);
            let end = Instant::now() + Duration::from_secs(60);
            let outcome = visitors(&stage.origin, 20, 200, end).await;
            trouble.abort();
            let failures = outcome.failures.lock();
            assert!(failures.is_empty(), "SEED={seed} {speech:?}: {failures:?}");
            let all = outcome.next.load(Ordering::SeqCst);
            let counters = stage.origin.counters();
            let (retries, out) = (counters.retries.read(), counters.ejections.read());
            assert!(
                retries > 0 && out > 0 && counters.returns.read() > 0,
                "SEED={seed} {speech:?}: no story"
            );
            assert!(retries * 5 < all as u64 + 5 * 32, "SEED={seed}: {retries} of {all}");
            for number in (7..all).step_by(8) {
                let times = stage.servers[0].seen.lock().get(&format!("/{number}")).copied();
                assert!(
                    times.unwrap_or(0) <= 1,
                    "SEED={seed} {speech:?}: POST {number} was seen twice"
                );
            }
        });
    }
}

#[tokio::test(start_paused = true)]
async fn requests_are_spread_by_weight() {
    for (weights, seed) in [(&[1, 1][..], 1), (&[3, 1], 2), (&[1, 2, 5], 3)] {
        let stage = stage(weights, false, seed);
        let end = Instant::now() + Duration::from_secs(40);
        let outcome = visitors(&stage.origin, 30, 100, end).await;
        let all = outcome.next.load(Ordering::SeqCst);
        let sum: u32 = weights.iter().sum();
        for (server, weight) in stage.servers.iter().zip(weights) {
            let due = all * *weight as usize / sum as usize;
            let seen = server.answered.load(Ordering::SeqCst);
            assert!(seen.abs_diff(due) < all / 10, "{weights:?}: {seen} of {all}, {due} were due");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_comes_back_is_not_overrun() {
    let stage = stage(&[1, 1], false, 5);
    let (fallen, other) = (stage.servers[0].clone(), stage.servers[1].clone());
    tokio::spawn({
        let fallen = fallen.clone();
        async move {
            sleep(Duration::from_secs(5)).await;
            fallen.turn();
            sleep(Duration::from_secs(10)).await;
            fallen.turn();
        }
    });
    let end = Instant::now() + Duration::from_secs(70);
    let outcome = visitors(&stage.origin, 30, 60, end).await;
    assert!(outcome.failures.lock().is_empty());
    let within = |server: &Simulated, from: u64, to: u64| {
        server.times.lock().iter().filter(|at| (from..to).contains(*at)).count()
    };
    let share = |from, to| {
        let (own, others) = (within(&fallen, from, to), within(&other, from, to));
        100 * own / (own + others).max(1)
    };
    let first = fallen.times.lock().iter().copied().find(|at| *at > 15_000).expect("it is back");
    assert!(first < 23_000, "it is tried again soon: {first}");
    assert!(share(first, first + 3_000) < 20, "{}", share(first, first + 3_000));
    let middle = share(first + 12_000, first + 18_000);
    assert!((20..50).contains(&middle), "{middle}");
    let end = share(first + 32_000, first + 42_000);
    assert!((40..60).contains(&end), "{end}");
}

#[tokio::test(start_paused = true)]
async fn when_all_are_down_every_one_of_them_is_still_asked() {
    let stage = stage(&[1, 1], false, 9);
    stage.servers.iter().for_each(|server| server.turn());
    for number in 0..20 {
        assert!(stage.origin.send(call(&Method::GET, number)).await.is_err());
    }
    stage.servers[1].turn();
    for number in 20..40 {
        assert!(stage.origin.send(call(&Method::GET, number)).await.is_ok(), "{number}");
    }
}

fn check() -> HealthCheck {
    HealthCheck {
        path: "/0".to_owned(),
        host: String::new(),
        every: Duration::from_secs(5),
        timeout: Duration::from_secs(1),
        status: None,
    }
}

#[tokio::test(start_paused = true)]
async fn where_checks_say_that_nobody_is_well_all_are_asked_and_an_answer_makes_nobody_well() {
    let Stage { origin, .. } = stage(&[1, 1], false, 8);
    let mut origin = Arc::into_inner(origin).expect("it is ours");
    origin.options.check = Some(check());
    for member in origin.members.iter().chain(&origin.members) {
        let _ = member.health.lock().checked(false, 1_000_000);
    }
    for number in 0..10 {
        assert!(origin.send(call(&Method::GET, number)).await.is_ok());
    }
    assert!(origin.members.iter().all(|member| member.health.lock().is_out()));
    assert_eq!(origin.counters.trials.read(), 0);
}

#[tokio::test(start_paused = true)]
async fn checks_take_a_server_out_and_bring_it_back_before_any_visitor_notices() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = {
        let lines = lines.clone();
        Arc::new(move |line: &str| lines.lock().push(line.to_owned()))
    };
    let Stage { origin, servers } = stage(&[1, 1], true, 4);
    let mut origin = Arc::into_inner(origin).expect("it is ours").with_log(sink);
    origin.options.check = Some(check());
    let origin = Arc::new(origin);
    let watched = origin.clone();
    let watch = tokio::spawn(async move { watched.watch().await });
    sleep(Duration::from_secs(1)).await;
    servers[0].turn();
    sleep(Duration::from_secs(14)).await;
    assert_eq!(origin.counters.ejections.read(), 1);
    let before = servers[1].answered.load(Ordering::SeqCst);
    let began = Instant::now();
    for number in 0..20 {
        assert!(origin.send(call(&Method::GET, number)).await.is_ok());
    }
    assert!(began.elapsed() < Duration::from_secs(1), "nobody waited for the mute one");
    assert!(servers[1].answered.load(Ordering::SeqCst) >= before + 20);
    servers[0].turn();
    sleep(Duration::from_secs(15)).await;
    assert_eq!((origin.counters.returns.read(), origin.counters.trials.read()), (1, 0));
    watch.abort();
    assert_eq!(
        *lines.lock(),
        [
            "wick: origin memory is out of use until its checks pass: /0 isn't answered within 1 s",
            "wick: origin memory is back, with its whole share in 30 s",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn who_finds_all_connections_taken_waits_for_the_first_that_is_free() {
    let Stage { origin, servers } = stage(&[1, 1], false, 6);
    let mut origin = Arc::into_inner(origin).expect("it is ours");
    origin.members.iter_mut().for_each(|member| {
        member.slots = Slots::behind(1, origin.queue.clone());
    });
    let held: Vec<_> =
        origin.members.iter().map(|member| member.slots.try_take().expect("it is free")).collect();
    let refused = origin.send(call(&Method::GET, 1)).await.err();
    assert_eq!(refused.as_ref().map(OriginError::status), Some(503));
    assert_eq!(refused, Some(OriginError::QueueTimeout { seconds: 30 }));
    assert!(refused.and_then(|error| error.retry_after_seconds()).is_some());
    let freed = async {
        tokio::task::yield_now().await;
        drop(held);
    };
    let (answer, ()) = tokio::join!(origin.send(call(&Method::GET, 2)), freed);
    assert!(answer.is_ok());
    assert_eq!((origin.counters.queue_timeouts.read(), origin.counters.queue_waits.read()), (1, 2));
    assert_eq!(servers.iter().map(|one| one.answered.load(Ordering::SeqCst)).sum::<usize>(), 1);
    assert!(origin.standing().iter().all(|line| line.contains("memory is in use; ")));
}

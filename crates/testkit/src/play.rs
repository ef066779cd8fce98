//! Plays a scene: step by step, until it is over or something is not as it says.
//!
//! In virtual time everything (clients, Wick and the origin) runs on one thread,
//! and nothing moves but what the driver lets move, so a scene that fails fails
//! every time. Start at [`virtually`]; [`against`] plays to a running server.

use std::collections::BTreeMap;
use std::path::Path;

use base::Clock;

use crate::client::Client;
use crate::dates::{HOST, START_UNIX_MS};
use crate::scene::{Deed, Position, Scene};
use crate::simulated_origin::SimulatedOrigin;
use crate::story::Failure;
use crate::subject::{OriginPort, Subject};
use crate::world::World;

/// A scene that failed: why, and all that happened until then.
#[derive(Debug)]
pub struct Broken {
    /// The first thing that was not as the scene says.
    pub failure: Failure,
    /// What happened, line by line.
    pub story: Vec<String>,
}

impl Broken {
    /// The failure with its file, line and difference, and the story below.
    #[must_use]
    pub fn report(&self, path: &Path) -> String {
        let mut report = format!("{}:{}\n", path.display(), self.failure);
        for line in &self.story {
            report.push_str("    ");
            report.push_str(line);
            report.push('\n');
        }
        report
    }
}

/// Plays a scene in virtual time, to a Wick in this process.
///
/// Returns its story.
///
/// # Errors
/// What was not as the scene says, with its story.
pub fn virtually(scene: &Scene) -> Result<Vec<String>, Box<Broken>> {
    let clock = Clock::manual(START_UNIX_MS);
    let world = World::new(clock, false, HOST);
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().start_paused(true).max_blocking_threads(1);
    let runtime = builder.build().map_err(|error| {
        let message = format!("no runtime for the scene: {error}");
        Broken { failure: Failure::new(Position::default(), message), story: Vec::new() }
    })?;
    runtime.block_on(async {
        let origin = SimulatedOrigin::new(world.clone());
        let subject = Subject::in_house(scene, &world, &origin);
        let result = match subject {
            Ok(subject) => play(scene, &world, &origin, &subject).await,
            Err(failure) => Err(failure),
        };
        told(&world, result)
    })
}

/// Plays a scene in real time, to the server at `address` whose origin is `port`.
///
/// Returns its story.
///
/// # Errors
/// What was not as the scene says, with its story.
pub async fn against(
    scene: &Scene,
    address: &str,
    port: &OriginPort,
) -> Result<Vec<String>, Box<Broken>> {
    let host = own_host();
    let world = World::new(Clock::machine(), true, &host);
    let origin = SimulatedOrigin::new(world.clone());
    let listening = port.serve(origin.clone());
    let subject = Subject::Running(address.to_owned());
    let result = play(scene, &world, &origin, &subject).await;
    listening.abort();
    origin.set_down(true);
    told(&world, result)
}

/// A result with its story.
fn told(world: &World, result: Result<(), Failure>) -> Result<Vec<String>, Box<Broken>> {
    let story = world.story.all();
    match result {
        Ok(()) => Ok(story),
        Err(failure) => Err(Box::new(Broken { failure, story })),
    }
}

/// A host name that no scene before had.
fn own_host() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static SCENES: AtomicU32 = AtomicU32::new(0);
    let started = Clock::machine().now().unix_ms;
    format!("s{}-{started}.{HOST}", SCENES.fetch_add(1, Ordering::Relaxed))
}

async fn play(
    scene: &Scene,
    world: &World,
    origin: &SimulatedOrigin,
    subject: &Subject,
) -> Result<(), Failure> {
    let mut clients = BTreeMap::new();
    for step in &scene.steps {
        let result = take_step(scene, world, origin, subject, &mut clients, step).await;
        // What went wrong at the origin is nearer to the cause than what a client saw of it.
        if let Some(mut failure) = origin.failure() {
            if failure.at == Position::default() {
                failure.at = step.at;
            }
            return Err(failure);
        }
        result?;
    }
    world.settle().await;
    let end = scene.steps.last().map(|step| step.at).unwrap_or_default();
    for client in clients.values_mut() {
        if let Some(failure) = client.left_over(end).await {
            return Err(failure);
        }
    }
    match origin.failure().or_else(|| origin.left_over()).or_else(|| subject.failure(end)) {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

async fn take_step(
    scene: &Scene,
    world: &World,
    origin: &SimulatedOrigin,
    subject: &Subject,
    clients: &mut BTreeMap<String, Client>,
    step: &crate::scene::Step,
) -> Result<(), Failure> {
    match &step.deed {
        Deed::Script(exchange) => origin.expect(exchange.clone()),
        Deed::OriginDown | Deed::OriginUp => {
            let is_down = step.deed == Deed::OriginDown;
            world.tell("origin", if is_down { "goes down" } else { "comes up" });
            origin.set_down(is_down);
            world.settle().await;
        }
        Deed::Change(table) => {
            world.tell("database", &format!("{table} changes"));
            origin.database().change(table);
            world.settle().await;
        }
        Deed::ChangesLost | Deed::ChangesHeard => {
            let is_heard = step.deed == Deed::ChangesHeard;
            world.tell("database", if is_heard { "is heard" } else { "is lost" });
            origin.database().set_heard(is_heard);
            world.settle().await;
        }
        Deed::Wait(time) => {
            world.wait(*time).await;
            world.tell("time", &format!("{time:?} have passed"));
        }
        Deed::Open(gate) => {
            world.tell("gate", &format!("{gate} opens"));
            origin.open(gate);
            world.settle().await;
        }
        Deed::Settle => world.settle().await,
        Deed::Restart => {
            world.settle().await;
            world.tell("wick", "stops, and begins anew");
            subject.restart(scene, world, origin, step.at).await?;
            world.settle().await;
        }
        Deed::Act { who, act, expected } => {
            // `ann2` is another connection of ann's.
            let person = who.trim_end_matches(|c: char| c.is_ascii_digit());
            let first = clients.get(person).map(Client::number);
            let number = first.unwrap_or(clients.len() + 1);
            let client = clients
                .entry(who.clone())
                .or_insert_with(|| Client::new(who, number, world.clone()));
            let asked_before = origin.requests();
            client.act(step.at, subject, act).await?;
            for expectation in expected {
                client.expect(expectation, || origin.requests() > asked_before).await?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "play_tests.rs"]
mod tests;

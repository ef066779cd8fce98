//! `scene`: plays scene files, and tells the story of those that fail.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use testkit::{OriginPort, SceneFile, play};

/// Plays scenes in virtual time to a Wick in this process, or in real time to a running server.
#[derive(Parser)]
struct Arguments {
    /// The running server to play to, as HOST:PORT.
    #[arg(long, value_name = "HOST:PORT", requires = "origin_listen")]
    real: Option<String>,
    /// Where that server finds its origin: the address that is listened on here.
    #[arg(long, value_name = "ADDR:PORT")]
    origin_listen: Option<SocketAddr>,
    /// Plays scenes with `site` settings too: the running server was given them.
    #[arg(long)]
    with_settings: bool,
    /// Leaves out scenes that would wait for longer than this in real time.
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = base::amount::parse_duration)]
    longest_wait: Duration,
    /// Tells the story of scenes that pass as well.
    #[arg(long)]
    story: bool,
    /// Scene files, and folders of them.
    #[arg(required = true)]
    scenes: Vec<PathBuf>,
}

/// What became of one scene.
enum Outcome {
    Passed(Vec<String>),
    Skipped(String),
    Failed(String),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut files = Vec::new();
    for path in &arguments.scenes {
        match testkit::find(path) {
            Ok(found) if found.is_empty() => return complain(path, "there is no scene here"),
            Ok(found) => files.extend(found),
            Err(error) => return complain(path, &error.to_string()),
        }
    }
    let (mut passed, mut skipped, mut failed) = (0, 0, 0);
    for file in &files {
        match outcome(&arguments, file) {
            Outcome::Passed(story) => {
                passed += 1;
                println!("ok       {}", file.name());
                if arguments.story {
                    story.iter().for_each(|line| println!("    {line}"));
                }
            }
            Outcome::Skipped(reason) => {
                skipped += 1;
                println!("skipped  {} ({reason})", file.name());
            }
            Outcome::Failed(report) => {
                failed += 1;
                println!("FAILED   {}\n{report}", file.name());
            }
        }
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn complain(path: &Path, what: &str) -> ExitCode {
    eprintln!("{}: {what}", path.display());
    ExitCode::FAILURE
}

fn outcome(arguments: &Arguments, file: &SceneFile) -> Outcome {
    let scene = match file.scene() {
        Ok(scene) => scene,
        Err(error) => return Outcome::Failed(format!("{}:{error}", file.path.display())),
    };
    let result = match (&arguments.real, arguments.origin_listen) {
        (Some(address), Some(listen)) => {
            if let Some(reason) = &scene.only_virtual {
                return Outcome::Skipped(format!("only in virtual time: {reason}"));
            }
            if !scene.settings.is_empty() && !arguments.with_settings {
                return Outcome::Skipped("it has settings; --with-settings plays it".into());
            }
            if scene.waits() > arguments.longest_wait {
                return Outcome::Skipped(format!("it waits for {:?}", scene.waits()));
            }
            let mut builder = tokio::runtime::Builder::new_current_thread();
            let runtime = match builder.enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return Outcome::Failed(error.to_string()),
            };
            runtime.block_on(play::against(&scene, address, &OriginPort::new(listen)))
        }
        _ => play::virtually(&scene),
    };
    match result {
        Ok(story) => Outcome::Passed(story),
        Err(broken) => Outcome::Failed(broken.report(&file.path)),
    }
}

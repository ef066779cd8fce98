//! Repository tasks: `cargo xtask ci` and each of its steps alone.
//!
//! The steps and their order are in [`steps`]; what a step checks is in the
//! module of its name. A step that fails does not stop the others, so that one
//! run tells everything that is wrong.

mod fuzz;
mod layers;
mod licences;
mod metadata;
mod package;
mod spdx;
mod steps;
mod testing;
mod tidy;

use std::process::ExitCode;
use std::time::Instant;

use steps::{STEPS, Step, TASKS};

fn main() -> ExitCode {
    if let Some(why) = fuzz::stand_in() {
        eprintln!("{why}");
        return ExitCode::FAILURE;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((word, rest)) = arguments.split_first() else {
        return usage();
    };
    let of_ci = STEPS.iter().filter(|step| word == step.name || word == "ci");
    let chosen: Vec<&Step> = of_ci.chain(TASKS.iter().filter(|task| word == task.name)).collect();
    if chosen.is_empty() {
        return usage();
    }
    run(&chosen, rest)
}

/// Runs the steps in order, each under its heading, and tells at the end which failed.
fn run(chosen: &[&Step], rest: &[String]) -> ExitCode {
    let mut failed = Vec::new();
    let start = Instant::now();
    for step in chosen {
        println!("\n==> {}: {}", step.name, step.about);
        let step_start = Instant::now();
        let result = (step.run)(rest);
        let seconds = step_start.elapsed().as_secs_f32();
        match result {
            Ok(()) => println!("<== {}: good, {seconds:.1} s", step.name),
            Err(why) => {
                println!("{why}\n<== {}: FAILED, {seconds:.1} s", step.name);
                failed.push(step.name);
            }
        }
    }
    let seconds = start.elapsed().as_secs_f32();
    if failed.is_empty() {
        println!("\nAll good: {} of {} steps, {seconds:.0} s.", chosen.len(), chosen.len());
        return ExitCode::SUCCESS;
    }
    println!("\nFailed: {} ({seconds:.0} s). Alone: cargo xtask NAME.", failed.join(", "));
    ExitCode::FAILURE
}

fn usage() -> ExitCode {
    eprintln!("cargo xtask ci          every step below, in this order");
    for step in STEPS {
        eprintln!("cargo xtask {:<11} {}", step.name, step.about);
    }
    eprintln!("besides:");
    for task in TASKS {
        eprintln!("cargo xtask {:<11} {}", task.name, task.about);
    }
    ExitCode::FAILURE
}

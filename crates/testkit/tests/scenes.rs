//! Every file in `scenes/` is a test: `cargo test -p testkit --test scenes [NAME]`.

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use testkit::{SceneFile, play};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let scenes = match testkit::find(&folder) {
        Ok(scenes) if !scenes.is_empty() => scenes,
        Ok(_) => return complain("scenes/ holds no scene"),
        Err(error) => return complain(&format!("scenes/ can't be read: {error}")),
    };
    let trials = scenes.into_iter().map(|file| Trial::test(file.name(), move || run(&file)));
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn complain(what: &str) -> ExitCode {
    eprintln!("{what}");
    ExitCode::FAILURE
}

fn run(file: &SceneFile) -> Result<(), Failed> {
    let scene = file.scene().map_err(|error| format!("{}:{error}", file.path.display()))?;
    play::virtually(&scene).map_err(|broken| broken.report(&file.path))?;
    Ok(())
}

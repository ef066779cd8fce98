//! What is made of the command line's definitions: completions for shells, manual pages.

use std::io;
use std::path::Path;

use clap::CommandFactory;

use crate::announce::say;
use crate::arguments::{Arguments, Completions, Manual};

/// `wick completions`.
pub(crate) fn completions(arguments: &Completions) {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "wick", &mut text);
    say(&String::from_utf8_lossy(&text));
}

/// `wick manual`.
pub(crate) fn manual(arguments: &Manual) -> io::Result<()> {
    let command = Arguments::command();
    match &arguments.folder {
        Some(folder) => {
            clap_mangen::generate_to(command, folder).map_err(|error| told(folder, &error))
        }
        None => {
            let mut text = Vec::new();
            clap_mangen::Man::new(command).render(&mut text)?;
            say(&String::from_utf8_lossy(&text));
            Ok(())
        }
    }
}

fn told(folder: &Path, error: &io::Error) -> io::Error {
    let why = format!("can't write manual pages into {}: {error}", folder.display());
    io::Error::new(error.kind(), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_and_is_completed() {
        let folder = tempfile::tempdir().expect("a folder");
        let arguments = Manual { folder: Some(folder.path().to_owned()) };
        manual(&arguments).expect("it can be written");
        let page = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
        let main = page("wick.1");
        for command in Arguments::command().get_subcommands().map(clap::Command::get_name) {
            let own = page(&format!("wick-{command}.1"));
            assert!(own.contains("SYNOPSIS") && main.contains(command), "{command}");
        }
        let nowhere = Manual { folder: Some("/nowhere".into()) };
        let error = manual(&nowhere).expect_err("no such folder").to_string();
        assert!(error.contains("manual pages into /nowhere"), "{error}");
        let mut text = Vec::new();
        let shell = clap_complete::Shell::Bash;
        clap_complete::generate(shell, &mut Arguments::command(), "wick", &mut text);
        assert!(String::from_utf8_lossy(&text).contains("--access-log"));
    }
}

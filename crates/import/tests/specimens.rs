//! Configurations in the style of what people have, and all that is made of them.
//!
//! Beside each in `tests/specimens/` lies a `.told` with the settings and the list of
//! what was left; `WRITE_TOLD=1 cargo test -p import --test specimens` writes them anew.

use std::fs;
use std::path::{Path, PathBuf};

use import::{Abilities, Language, Nothing, Source, report, write};

fn specimens() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/specimens");
    let entries = fs::read_dir(folder).expect("there are specimens");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("they can be listed").path())
        .filter(|path| path.extension().is_none_or(|end| end != "told"))
        .collect();
    paths.sort();
    paths
}

fn told(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("it can be read");
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let language = Language::of(&name, &text).expect("it is known");
    // A `.htaccess` is for the folder that it lies in.
    let name = if language == Language::Htaccess { format!("/srv/site/{name}") } else { name };
    let source = Source { name, text };
    let imported = import::read(language, &source, &Nothing, Abilities::NOW).expect("it is whole");
    format!("{}\n----\n{}", write(&imported), report(&imported))
}

#[test]
fn each_becomes_what_lies_beside_it() {
    for path in specimens() {
        let beside = path.with_extension(format!(
            "{}.told",
            path.extension().unwrap_or_default().to_string_lossy()
        ));
        let told = told(&path);
        if std::env::var_os("WRITE_TOLD").is_some() {
            fs::write(&beside, &told).expect("it can be written");
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        assert_eq!(told, expected, "{}", path.display());
    }
}

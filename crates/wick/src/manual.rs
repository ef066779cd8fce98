//! `docs/settings.md`, made from the doc comments in `settings.rs`; and what README.md says
//! of verdicts, held against the code.
//!
//! A test fails when the page and the code differ, and says how to write it anew; another
//! one sets every documented default and expects that nothing changes.

use std::fmt::Write as _;

use crate::arguments::Serve;
use crate::plan::Plan;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");

const INTRODUCTION: &str = "\
# Settings

None is needed: `wick serve FOLDER` and `wick serve http://HOST:PORT` work without a file. One \
comes in when there are several sites, or when a default does not fit: \
`wick serve --config wick.toml`. What is said on the command line wins over the file.

```toml
listen = [\"0.0.0.0:80\", \"[::]:80\"]
memory = \"256M\"

[[site]]
hosts = [\"forum.example.org\", \"www.forum.example.org\"]
origin = \"/var/www/forum\"
ignore_query = [\"ref\"]
never_share = [\"/contact\"]

[[site]]
hosts = [\"shop.example.org\"]
origin = \"http://127.0.0.1:3000\"
stale_if_error = \"1h\"
```

Sizes are written `\"64K\"`, `\"64M\"` or `\"2G\"`, times `\"250ms\"`, `\"30s\"`, `\"5m\"`, `\"2h\"`, \
`\"1d\"` or `\"1y\"`. A name that doesn't exist is an error with its line, its column and the nearest name \
that does. `wick check --config wick.toml` tries everything out without serving. If SITE stands \
on the command line, what the file's only `[[site]]` says holds for it.
";

/// One setting as its doc comment tells it.
struct Setting {
    name: String,
    meaning: String,
    default: String,
}

/// The settings of one table of the file, in the code's order.
fn settings_of(structure: &str) -> Vec<Setting> {
    let code = concat!(
        include_str!("settings.rs"),
        include_str!("settings/tracker.rs"),
        include_str!("settings/sphinx.rs"),
        include_str!("settings/cluster.rs"),
        include_str!("settings/search_source.rs")
    );
    let start = format!("pub(crate) struct {structure} {{\n");
    let (_, body) = code.split_once(&start).expect("the structure is there");
    let mut settings = Vec::new();
    let mut told = String::new();
    for line in body.lines().map(str::trim).take_while(|line| *line != "}") {
        if let Some(text) = line.strip_prefix("/// ") {
            told.push_str(text);
            told.push(' ');
        } else if let Some((name, kind)) = line.trim_start_matches("pub(crate) ").split_once(": ") {
            let comment = std::mem::take(&mut told);
            if kind.contains("Settings") {
                continue;
            }
            let (meaning, default) = comment.split_once("Default: ").unwrap_or((&comment, ""));
            settings.push(Setting {
                name: name.to_owned(),
                meaning: meaning.trim().to_owned(),
                default: default.trim().trim_end_matches('.').to_owned(),
            });
        }
    }
    settings
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for (title, note, structure) in [
        ("At the top of the file", "", "Settings"),
        ("`[traces]`", "What a collector is told of single requests.", "TraceSettings"),
        (
            "`[tracker]`",
            "A BitTorrent tracker. Being there, even empty, it begins one.",
            "TrackerSettings",
        ),
        (
            "`[sphinx]`",
            "Clients of Sphinx's, answered as searchd would. Being there, even empty, it begins.",
            "SphinxSettings",
        ),
        (
            "`[cluster]`",
            "Other Wicks that serve the same sites, each with a `wick.toml` of its own.",
            "ClusterSettings",
        ),
        ("`[limits]`", "What one client may take.", "LimitSettings"),
        ("`[[site]]`, once for each site", "", "SiteSettings"),
        (
            "`[[site.search_source]]`, once for each source of a site's search",
            "Rows that are found beside the site's pages, where it has `search = true`.",
            "SearchSourceSettings",
        ),
    ] {
        let _ = writeln!(page, "\n## {title}\n");
        if !note.is_empty() {
            let _ = writeln!(page, "{note}\n");
        }
        page.push_str("| setting | meaning | default |\n| --- | --- | --- |\n");
        for setting in settings_of(structure) {
            let Setting { name, meaning, default } = setting;
            let _ = writeln!(page, "| `{name}` | {meaning} | {default} |");
        }
    }
    page.push_str(
        "\nThis page is made from the code by `WRITE_MANUAL=1 cargo test -p wick manual`.\n",
    );
    page
}

#[test]
fn the_page_of_settings_says_what_the_code_says() {
    let made = page();
    if std::env::var_os("WRITE_MANUAL").is_some() {
        std::fs::write(PAGE, &made).expect("the page can be written");
    }
    let written = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        written == made,
        "docs/settings.md is not what settings.rs says; write it anew with \
         WRITE_MANUAL=1 cargo test -p wick manual"
    );
}

#[test]
fn every_setting_has_a_meaning_and_a_default() {
    for structure in [
        "Settings",
        "TraceSettings",
        "TrackerSettings",
        "SphinxSettings",
        "ClusterSettings",
        "LimitSettings",
        "SiteSettings",
        "SearchSourceSettings",
    ] {
        let settings = settings_of(structure);
        assert!(settings.len() > 1, "{structure} was not read");
        for Setting { name, meaning, default } in settings {
            assert!(meaning.ends_with('.') && !default.is_empty(), "{structure}.{name}");
        }
    }
}

#[test]
fn the_documented_defaults_are_the_true_ones() {
    let folder = tempfile::tempdir().expect("a folder for the settings");
    let plan = |text: &str| {
        let file = folder.path().join("wick.toml");
        std::fs::write(&file, text).expect("the settings are written");
        let serve = Serve { config: Some(file), ..Serve::default() };
        Plan::of(&serve).map(|plan| format!("{plan:#?}")).map_err(|error| error.to_string())
    };
    let mut count = 0;
    let mut defaults = |structure| {
        let mut lines = String::new();
        for Setting { name, default, .. } in settings_of(structure) {
            let plain = default.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
            if let Some(value) = plain {
                let is_bare = matches!(value, "true" | "false")
                    || value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
                let quote = if is_bare { "" } else { "\"" };
                let _ = writeln!(lines, "{name} = {quote}{value}{quote}");
                count += 1;
            }
        }
        lines
    };
    let (top, limits) = (defaults("Settings"), defaults("LimitSettings"));
    let traces = defaults("TraceSettings");
    let (tracker, site) = (defaults("TrackerSettings"), defaults("SiteSettings"));
    let sphinx = defaults("SphinxSettings");
    let cluster = format!("nats = \"nats://a.test\"\n{}", defaults("ClusterSettings"));
    let all = format!(
        "{top}[traces]\n{traces}[tracker]\n{tracker}[sphinx]\n{sphinx}[cluster]\n{cluster}[limits]\n{limits}[[site]]\norigin = \"/a\"\n{site}"
    );
    assert_eq!(
        plan(&all),
        plan(
            "[tracker]\n[sphinx]\n[cluster]\nnats = \"nats://a.test\"\n[[site]]\norigin = \"/a\"\n"
        )
    );
    let one_is_wrong = all.replace("idle_timeout = \"60s\"", "idle_timeout = \"61s\"");
    assert_ne!(plan(&one_is_wrong), plan(&all), "the comparison sees a difference");
    assert!(count >= 15, "only {count} defaults were compared");
}

#[test]
fn the_readme_names_every_verdict_and_every_reason() {
    let readme = include_str!("../../../README.md");
    let not_kept = policy::NoStore::ALL.iter().map(|reason| ("not kept", reason.reason()));
    let verdicts = policy::Verdict::ALL.iter().map(|verdict| (verdict.word(), verdict.reason()));
    for (word, reason) in verdicts.chain(not_kept) {
        let wanted = match reason {
            "" => format!("`{word}`"),
            reason => format!("| {word} | `{reason}` |"),
        };
        assert!(readme.contains(&wanted), "README.md lacks {wanted}");
    }
}

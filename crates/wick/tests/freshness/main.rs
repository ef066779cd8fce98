//! Fresh after an edit: sites whose database is followed, before the built binary.
//!
//! - `edit_to_seen::APP` ([`edit_to_seen`]): edits behind Wick's back, by the app's own code,
//!   and the time until a stranger sees them.
//! - `zero_sweeps::SPECIMEN` ([`zero_sweeps`]): what readings write sweeps nothing, and an
//!   edit sweeps at once.
//! - `scheduled` ([`scheduled`]): what an app does when somebody comes by is done though all
//!   strangers are served from memory.
//! - `trouble::WHICH` ([`trouble`]): a database that dies, a log that goes, a right that is
//!   taken away.
//! - `ladder::RUNG` ([`ladder`]): the same without a log, and with nothing at all.
//! - `own_writes` ([`own_writes`]): what somebody posts, the very next stranger reads.
//! - `scope::WHAT` ([`scope`]): how much stays in memory while pages are edited, where a change
//!   sweeps the whole site and where it sweeps what it was proved to touch.
//!
//! Each runs a MariaDB of its own on a private socket, one after the other, since they
//! measure. The figures are printed as tables, which `target/freshness.md` keeps; the only
//! times asserted are bounds against hanging and those that were promised. Fewer edits and
//! reads: `FRESHNESS_EDITS=10 FRESHNESS_READS=500`. Where a server or an app is missing its
//! trials check nothing, loudly; `scripts/setup test` brings them.

#[allow(dead_code, reason = "the demo needs more of it")]
#[path = "../../src/demo/apps/mod.rs"]
mod apps;
#[allow(dead_code, reason = "the tests that people do with Chromium need it")]
#[path = "../strangers/browser.rs"]
mod browser;
#[allow(dead_code, reason = "attackers need more of it")]
#[path = "../strangers/client.rs"]
mod client;
#[path = "../../../changes/tests/shared/daemon.rs"]
mod daemon;
mod edit_to_seen;
mod edits;
mod figures;
mod ladder;
#[allow(dead_code, reason = "the tests of real apps need more of it")]
#[path = "../real_apps/mediawiki_install.rs"]
mod mediawiki_install;
mod own_writes;
#[allow(dead_code, reason = "the tests of strangers compare pages with it")]
#[path = "../strangers/page.rs"]
mod page;
mod postgres;
#[allow(dead_code, reason = "the tests of feeds need more of it")]
#[path = "../../../changes/tests/postgres/server.rs"]
mod postgres_server;
mod queries;
mod scheduled;
mod scope;
#[allow(dead_code, reason = "the tests of strangers serve in more manners")]
#[path = "../strangers/served.rs"]
mod served;
#[allow(dead_code, reason = "the tests of feeds need more of it")]
#[path = "../../../changes/tests/mariadb/server.rs"]
mod server;
mod site;
#[allow(dead_code, reason = "the tests of strangers read more of it")]
#[path = "../strangers/specimen.rs"]
mod specimen;
mod sqlite;
mod stranger;
mod trouble;
#[allow(dead_code, reason = "the tests of strangers go further")]
#[path = "../strangers/walk.rs"]
mod walk;
mod zero_sweeps;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};

use crate::browser::Outcome;
use crate::figures::Figures;

/// What a run can't do without, and the package that brings it.
const NEEDED: [(&str, &str); 3] = [
    ("/usr/sbin/mariadbd", "mariadb-server"),
    ("/usr/bin/php", "php-cli"),
    ("/usr/lib/php", "php-fpm and php-mysql"),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    if let Some((path, package)) = NEEDED.iter().find(|(path, _)| !Path::new(path).exists()) {
        eprintln!("\n*** {path} is missing ({package}): FRESHNESS IS NOT TESTED ***\n");
        return ExitCode::SUCCESS;
    }
    arguments.test_threads.get_or_insert(1);
    let figures = Arc::new(Figures::default());
    let trials = [
        edit_to_seen::trials(&figures),
        zero_sweeps::trials(&figures),
        scheduled::trials(&figures),
        trouble::trials(&figures),
        ladder::trials(&figures),
        queries::trials(&figures),
        own_writes::trials(&figures),
        scope::trials(&figures),
    ];
    let conclusion = libtest_mimic::run(&arguments, trials.into_iter().flatten().collect());
    match figures.show() {
        Ok(()) => conclusion.exit_code(),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A trial that writes its figures down.
fn trial(
    figures: &Arc<Figures>,
    name: String,
    run: impl FnOnce(&Figures) -> Outcome<()> + Send + 'static,
) -> Trial {
    let figures = figures.clone();
    Trial::test(name, move || run(&figures).map_err(Failed::from))
}

/// A number that the environment may lower.
fn amount(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

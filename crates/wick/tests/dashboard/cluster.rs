//! How the nodes of a cluster are, in a real browser, on the dashboard of one of them.

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::browser::{self, Browser, Outcome};
use crate::load::TOKEN;
use crate::look::Looker;
use crate::nats::Nats;
use crate::wick::{Wick, open_folder, until};

/// A node, and where its dashboard is.
fn node(name: &str, nats: &Nats) -> (Wick, SocketAddr, tempfile::TempDir) {
    let (folder, admin) = (open_folder(), loopback::address());
    let settings = format!(
        "admin = \"{admin}\"\nadmin_token = \"{TOKEN}\"\n[[site]]\norigin = \"http://127.0.0.1:9\"\n\
         [cluster]\nnats = \"nats://{}\"\nnode = \"{name}\"\nlag = \"600ms\"\n",
        nats.address(0)
    );
    let file = folder.path().join("wick.toml");
    fs::write(&file, settings).expect("the folder takes files");
    let state = folder.path().join("state").display().to_string();
    let arguments = ["--config", &file.display().to_string(), "--state", &state];
    let (wick, _) = Wick::serve(&arguments);
    let status = || Wick::run(&["cluster", "status", "--state", &state]).end();
    until("it is in touch", || status().output.contains("in touch, for"));
    (wick, admin, folder)
}

#[test]
fn the_dashboard_of_one_node_shows_all() {
    if !browser::is_installed() {
        eprintln!("SKIPPED: Chromium is not installed (scripts/setup test installs it)");
        return;
    }
    let Some(nats) = Nats::start(1) else { return };
    let (one, admin, _folder) = node("one", &nats);
    let (other, _, _other_folder) = node("other", &nats);
    let browser = Arc::new(Browser::start().expect("Chromium starts"));
    let outcome = look(&browser, &admin.to_string(), other);
    browser.end().expect("Chromium ends");
    one.stop();
    if let Err(fault) = outcome {
        panic!("{fault}");
    }
}

fn look(browser: &Arc<Browser>, admin: &str, other: Wick) -> Outcome<()> {
    let looker = Looker::new(browser, admin)?;
    looker.open()?;
    looker.view("cluster", "[data-node=other].on")?;
    looker.is("[data-node=one]", "in touch")?;
    looker.tab.wait_for_text("All of them: ")?;
    looker.tab.wait_for_text("No database is read by one node for all.")?;
    looker.looks_well("cluster")?;
    other.stop();
    looker.tab.wait_until(
        "document.querySelectorAll('[data-node]').length === 1",
        "the node that said goodbye goes",
    )?;
    looker.view("now", "[data-tile=nodes]")?;
    looker.complains_of_nothing()
}

//! Shaarli: bookmarks in a file, a session and a token for every stranger.

use std::fs;

use crate::apps::{App, AppFolder, InstallError, PASSWORD, USER};
use crate::person::{GuestHands, Hands};
use crate::strangers::{self, Case, LogIn};
use crate::visitor::{Page, Visitor};
use crate::wick::Wick;
use crate::{ready, removed};

const SOURCE: &str = "/usr/share/shaarli";
const BOOKMARKS: u32 = 30;

const CASE: Case = Case {
    name: "Shaarli",
    start: &["/", "/picwall", "/tags/cloud", "/tags/list", "/daily"],
    pages: [30, 15],
    own: &[],
    log_in: LogIn {
        page: "/login",
        is_shared: true,
        mark: "id=\"longlastingsessionform\"",
        fields: &[("login", USER), ("password", PASSWORD)],
        known_on: "/tags/cloud",
        proof: "/admin/logout",
    },
    hands: Some(Hands {
        fields: &[
            ("#login-form input[name=login]", USER),
            ("#login-form input[name=password]", PASSWORD),
        ],
        button: "#login-form input[type=submit]",
        proof: "a[href*='admin/logout']",
        is_never_kept: false,
    }),
    guest_hands: Some(GuestHands {
        page: "/tags/cloud",
        fields: &[("input[name=searchterm]", "candle 7")],
        proof: "candle 7",
    }),
    guest_page: "/tags/cloud",
    guest,
};

/// A search by the form on the page.
fn guest(guest: &Visitor, page: Page) {
    let found = guest.submit(&page, "name=\"searchterm\"", &[("searchterm", "candle 7")]);
    found.expect("a search", "https://example.org/candle/7");
}

/// Debian has the code, the data and the caches in three places; here they are in one.
fn installed() -> Result<App, InstallError> {
    let folder = AppFolder::copy("shaarli", SOURCE, &[])?;
    let root = folder.root().display().to_string();
    for name in ["index.php", "init.php", "application/config/ConfigManager.php"] {
        let text = fs::read_to_string(folder.root().join(name)).expect("the package brings it");
        // Today's PHP warns of so much in it that nothing else could be seen.
        let text = text.replace("error_reporting(E_ALL^E_WARNING)", "error_reporting(E_ERROR)");
        let text = text.replace(SOURCE, &root).replace("/var/lib/shaarli", &root);
        folder.write(&format!("site/{name}"), text.replace("/var/cache/shaarli", &root))?;
    }
    for name in ["data", "cache", "tmp", "pagecache"] {
        folder.let_write(&format!("site/{name}"))?;
    }
    Ok(App { database: None, folder })
}

/// Goes through the installation and keeps bookmarks, as an owner does with a browser.
fn fill(site: &str) {
    let wick = Wick::serve(site, false);
    let owner = Visitor::new(&wick.base);
    let form = owner.get("/install").expect("the installation", "setpassword");
    let written = [("setlogin", USER), ("setpassword", PASSWORD), ("title", "Candle works")];
    let login = owner.submit(&form, "setpassword", &written);
    let LogIn { mark, fields, .. } = CASE.log_in;
    owner.submit(&login.expect("what follows it", mark), mark, fields);
    for number in 1..=BOOKMARKS {
        let form = owner.get(&format!("/admin/shaare?post=https://example.org/candle/{number}"));
        let form = form.expect("a new bookmark", "lf_description");
        let title = format!("About candle {number}");
        let tags = format!("wax colour-{} shelf-{}", number % 4, number % 3);
        let written =
            [("lf_title", title.as_str()), ("lf_description", "Words."), ("lf_tags", &tags)];
        let url = format!("https://example.org/candle/{number}");
        let written = [&written[..], &[("lf_url", &url), ("save_edit", "Save")]].concat();
        owner.submit(&form, "lf_description", &written);
    }
    owner.get("/").expect("the last of them", &format!("About candle {BOOKMARKS}"));
    wick.stop();
}

#[test]
fn strangers_of_shaarli_are_served_from_memory() {
    let Some(app) = ready(installed()) else { return };
    let site = app.folder.root().display().to_string();
    fill(&site);
    strangers::check(&CASE, &site);
    removed(app);
}

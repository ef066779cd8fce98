//! What the demo shows: the board of this repository, another folder, or an app of the field.

use std::path::{Path, PathBuf};

use crate::announce::say;
use crate::arguments::{Demo, DemoApp};
use crate::run::RunError;
use crate::sites::SiteError;

use super::apps::{self, App, InstallError};
use super::log_in::LogIn;

/// A site that is ready to be served; dropping it removes what was installed for it.
pub(super) struct Exhibit {
    /// Its name, at the beginning of a sentence.
    pub(super) title: String,
    /// The site's folder.
    pub(super) root: PathBuf,
    /// The pages that are asked for in turn.
    pub(super) paths: &'static [&'static str],
    /// Variables for its scripts.
    pub(super) environment: Vec<(String, String)>,
    /// How somebody logs in, if the site knows somebody.
    pub(super) log_in: Option<LogIn>,
    app: Option<App>,
}

const BOARD: &str = "specimens/board";
const BOARD_PATHS: &[&str] = &["/", "/thread/1", "/thread/2", "/thread/3"];
const BOARD_LOG_IN: LogIn = LogIn {
    page: "/login",
    fields: ["name", "password"],
    user: "ann",
    password: "lantern-oil",
    known_on: "/",
    proof: "/logout",
};

const DOKUWIKI_PATHS: &[&str] = &[
    "/doku.php?id=start",
    "/doku.php?id=second",
    "/doku.php?id=candles:1",
    "/doku.php?id=candles:2",
];
const DOKUWIKI_LOG_IN: LogIn = LogIn {
    page: "/doku.php?id=start&do=login",
    fields: ["u", "p"],
    user: apps::USER,
    password: apps::PASSWORD,
    known_on: "/doku.php?id=start",
    proof: "Logged in as",
};

const WORDPRESS_PATHS: &[&str] =
    &["/", "/candle-number-1/", "/candle-number-2/", "/category/shelf-1/"];
const WORDPRESS_LOG_IN: LogIn = LogIn {
    page: "/wp-login.php",
    fields: ["log", "pwd"],
    user: apps::USER,
    password: apps::PASSWORD,
    known_on: "/",
    proof: "id=\"wpadminbar\"",
};

impl Exhibit {
    /// What was asked for; an app is installed now. `data` is a folder that scripts may
    /// write.
    pub(super) fn of(demo: &Demo, data: &Path) -> Result<Self, RunError> {
        match (demo.app, &demo.site) {
            (Some(DemoApp::Dokuwiki), _) => {
                installed("DokuWiki", apps::dokuwiki, DOKUWIKI_PATHS, DOKUWIKI_LOG_IN)
            }
            (Some(DemoApp::Wordpress), _) => {
                let install = || apps::wordpress(&[]);
                installed("WordPress", install, WORDPRESS_PATHS, WORDPRESS_LOG_IN)
            }
            (Some(DemoApp::Board), _) | (None, None) => {
                folder(Path::new(BOARD), data, Some(BOARD_LOG_IN))
            }
            (None, Some(site)) => folder(site, data, None),
        }
    }

    /// The process group of the app's database, if it has one.
    pub(super) fn database_group(&self) -> Option<u32> {
        self.app.as_ref()?.database.as_ref().map(apps::MariaDb::group)
    }
}

fn folder(site: &Path, data: &Path, log_in: Option<LogIn>) -> Result<Exhibit, RunError> {
    if !site.join("index.php").is_file() {
        let why = "there is no index.php in it; run the demo from Wick's own folder, \
                   or name a folder with a PHP site: wick demo FOLDER";
        return Err(SiteError::Folder(site.to_owned(), why.into()).into());
    }
    Ok(Exhibit {
        title: format!("The PHP site in {}", site.display()),
        root: site.to_owned(),
        paths: BOARD_PATHS,
        environment: vec![("BOARD_DATA".into(), data.display().to_string())],
        log_in,
        app: None,
    })
}

fn installed(
    name: &str,
    install: fn() -> Result<App, InstallError>,
    paths: &'static [&'static str],
    log_in: LogIn,
) -> Result<Exhibit, RunError> {
    say(&format!("\nInstalling {name} in a temporary folder.\n"));
    let app = install().map_err(|error| {
        let cure = match &error {
            InstallError::Missing { .. } => {
                format!("; scripts/setup demo {} installs it", name.to_ascii_lowercase())
            }
            _ => String::new(),
        };
        RunError::Demo(format!("can't install {name}: {error}{cure}"))
    })?;
    Ok(Exhibit {
        title: format!("{name} as Debian packages it"),
        root: app.folder.root(),
        paths,
        environment: Vec::new(),
        log_in: Some(log_in),
        app: Some(app),
    })
}

//! MediaWiki, installed from Debian's package by its own programs, with pages in it.

use std::fs;
use std::process::Command;

use crate::apps::{App, AppFolder, InstallError, MariaDb, require, run};

/// What an owner would write below the settings that the installer made.
const SETTINGS: &str = r#"
$wgServer = WebRequest::detectServer();
$wgCacheDirectory = "$IP/cache";
$wgEnableUploads = true;
$wgFileExtensions[] = 'bin';
$wgVerifyMimeType = false;
"#;
/// The password of its user Ann.
pub(crate) const PASSWORD: &str = "a wick burns bright";

/// Where its content is kept.
pub(crate) enum Content<'a> {
    /// In a MariaDB of its own that has these settings.
    Server(&'a [&'a str]),
    /// In a file.
    Sqlite,
}

/// The app with its front page alone.
pub(crate) fn installed(content: &Content<'_>) -> Result<App, InstallError> {
    // Links to /var/lib, and extensions that are not switched on.
    let left_out = ["LocalSettings.php", "config", "extensions", "extensions-core", "images"];
    let folder = AppFolder::copy("mediawiki", "/usr/share/mediawiki", &left_out)?;
    fs::create_dir(folder.root().join("extensions")).expect("a folder can be made");
    let mut install = Command::new("php");
    install.arg(folder.root().join("maintenance/install.php"));
    install.args(["--scriptpath=", "--lang=en", "--server=http://localhost", "--skins=Vector"]);
    install.arg(format!("--pass={PASSWORD}"));
    let database = match content {
        Content::Server(settings) => {
            let name = MariaDb::NAME;
            let database = MariaDb::start(&folder.beside("mariadb"), settings)?;
            install.arg(format!("--dbserver=localhost:{}", database.socket().display()));
            install.args(["--dbtype=mysql", &format!("--dbname={name}")]);
            install.args([format!("--dbuser={name}"), format!("--dbpass={name}")]);
            Some(database)
        }
        Content::Sqlite => {
            require("php-sqlite3", "/usr/share/doc/php-sqlite3")?;
            install.args(["--dbtype=sqlite", "--dbname=wiki"]);
            install.arg(format!("--dbpath={}", folder.beside("database").display()));
            None
        }
    };
    run(install.args(["Candle works", "Ann"]))?;
    let settings = folder.root().join("LocalSettings.php");
    let made = fs::read_to_string(&settings).expect("the installer wrote them");
    folder.write("site/LocalSettings.php", made + SETTINGS)?;
    for name in ["database", "site/images", "site/cache"] {
        folder.let_write(name)?;
    }
    Ok(App { database, folder })
}

/// Writes pages that lead to each other.
pub(crate) fn fill(app: &App) -> Result<(), InstallError> {
    const CANDLES: u32 = 16;
    for number in 1..=CANDLES {
        let next = number % CANDLES + 1;
        let words = format!("What is to be said of candle {number}.\n\n").repeat(6);
        let category = number % 3;
        let text =
            format!("{words}After it comes [[Candle {next}]]. [[Category:Shelf {category}]]");
        app.folder.write(&format!("texts/Candle {number}"), text)?;
    }
    let mut import = Command::new("php");
    import.arg(app.folder.root().join("maintenance/importTextFiles.php"));
    import.arg("--user=Ann");
    for number in 1..=CANDLES {
        import.arg(app.folder.beside("texts").join(format!("Candle {number}")));
    }
    run(&mut import).map(drop)
}

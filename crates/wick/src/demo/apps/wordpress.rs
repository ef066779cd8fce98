//! WordPress: a database, pretty addresses, comments of guests.

use std::process::Command;

use super::{App, AppFolder, InstallError, MariaDb, PASSWORD, USER, require, run};

/// What visitors need to find; see `install.php` for the rest of it.
const INSTALLER: &str = include_str!("wordpress_install.php");

/// The app with posts, pages and an account, as its own installer makes them.
pub(super) fn install(database: &[&str]) -> Result<App, InstallError> {
    require("wordpress-theme-twentytwentythree", "/usr/share/wordpress/wp-content/themes")?;
    // Debian's settings look for a file under /etc, and its rewriting is commented out.
    let left_out = ["wp-config.php", ".htaccess"];
    let folder = AppFolder::copy("wordpress", "/usr/share/wordpress", &left_out)?;
    let database = MariaDb::start(&folder.beside("mariadb"), database)?;
    folder.write("site/wp-config.php", settings(&database))?;
    folder.write("install.php", INSTALLER)?;
    folder.let_write("site/wp-content/uploads")?;
    let mut install = Command::new("php");
    run(install.arg(folder.beside("install.php")).arg(folder.root()).args([USER, PASSWORD]))?;
    Ok(App { database: Some(database), folder })
}

fn settings(database: &MariaDb) -> String {
    let (name, socket) = (MariaDb::NAME, database.socket().display());
    format!(
        r#"<?php
define('DB_NAME', '{name}');
define('DB_USER', '{name}');
define('DB_PASSWORD', '{name}');
define('DB_HOST', 'localhost:{socket}');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
// Whatever port it is served on.
define('WP_HOME', 'http://' . ($_SERVER['HTTP_HOST'] ?? 'localhost'));
define('WP_SITEURL', WP_HOME);
// No look for updates: the world may not be there.
define('WP_HTTP_BLOCK_EXTERNAL', true);
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $use) {{
    define($use . '_KEY', $use . ' key of an app that is gone in a minute');
    define($use . '_SALT', $use . ' salt of an app that is gone in a minute');
}}
$table_prefix = 'wp_';
defined('ABSPATH') || define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"#
    )
}

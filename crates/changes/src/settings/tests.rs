//! Settings of every app that a hint knows, as their installers write them.

use super::*;

/// The settings `text` in `file` are those of an app, shown as `app: database prefix`.
fn check(file: &str, text: &str, password: &str, expected: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(file);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
    std::fs::write(&path, text).expect("a file");
    let found = find_settings(folder.path()).unwrap_or_else(|| panic!("nothing in {file}"));
    assert_eq!(found.file, path);
    let shown = match &found.source {
        Source::MySql(address) | Source::PostgreSql(address) => {
            assert_eq!(address.password.reveal(), password, "{file}");
            let engine = matches!(found.source, Source::PostgreSql(_)).then_some("PostgreSQL ");
            format!("{}: {}{address:?} {}", found.app, engine.unwrap_or_default(), found.prefix)
        }
        Source::Sqlite(path) => {
            let path = path.strip_prefix(folder.path()).unwrap_or(path);
            format!("{}: {} {}", found.app, path.display(), found.prefix)
        }
        other => format!("{}: {other:?} {}", found.app, found.prefix),
    };
    assert_eq!(shown, expected, "{file}");
    assert!(password.is_empty() || !format!("{found:?}").contains(password), "{file}");
}

#[test]
fn every_hint_can_be_read() {
    for text in HINTS {
        let hint: Hint = toml::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(!hint.files.is_empty(), "{}", hint.app);
        assert!(hint.values.is_some() != hint.folders.is_some(), "{}", hint.app);
    }
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/hints")).expect("hints");
    assert_eq!(files.count(), HINTS.len(), "a hint in the folder that nobody reads");
}

#[test]
fn wordpress() {
    check(
        "wp-config.php",
        "<?php\n/** The name of the database */\ndefine( 'DB_NAME', 'blog' );\n\
         define( 'DB_USER', 'wp' );\ndefine( 'DB_PASSWORD', 'it\\'s $ecret' );\n\
         define( 'DB_HOST', '127.0.0.1' );\n$table_prefix = 'wp_';\n",
        "it's $ecret",
        "WordPress: wp@127.0.0.1:3306/blog wp_",
    );
    check(
        "wp-config.php",
        "<?php define('DB_NAME','b'); define('DB_USER','w'); define('DB_PASSWORD','');\
         define('DB_HOST', 'localhost:/srv/my.sock');",
        "",
        "WordPress: w@/srv/my.sock/b ",
    );
}

#[test]
fn mediawiki() {
    let head = "<?php\n$wgDBname = \"wiki\";\n$wgDBuser = \"w\"; $wgDBprefix = \"mw_\";\n";
    check(
        "LocalSettings.php",
        &format!(
            "{head}$wgDBtype = \"mysql\"; $wgDBserver = \"db.example:3307\"; $wgDBpassword = \"s3cret\";"
        ),
        "s3cret",
        "MediaWiki: w@db.example:3307/wiki mw_",
    );
    check(
        "LocalSettings.php",
        &format!("{head}$wgDBtype = 'sqlite'; $wgSQLiteDataDir = 'data';"),
        "",
        "MediaWiki: data/wiki.sqlite mw_",
    );
}

#[test]
fn boards() {
    check(
        "config.php",
        "<?php $dbms = 'phpbb\\\\db\\\\driver\\\\mysqli'; $dbhost = '127.0.0.1'; $dbport = '';\n\
         $dbname = 'b'; $dbuser = 'u'; $dbpasswd = 's3cret'; $table_prefix = 'phpbb_';\n\
         @define('PHPBB_INSTALLED', true);",
        "s3cret",
        "phpBB: u@127.0.0.1:3306/b phpbb_",
    );
    check(
        "inc/config.php",
        "<?php $config['database']['type'] = 'mysqli'; $config['database']['database'] = 'b';\n\
         $config['database']['table_prefix'] = 'mybb_'; $config['database']['hostname'] = '127.0.0.1';\n\
         $config['database']['username'] = 'u'; $config['database']['password'] = 's3cret';",
        "s3cret",
        "MyBB: u@127.0.0.1:3306/b mybb_",
    );
    check(
        "Settings.php",
        "<?php $db_type = 'mysql'; $db_port = 3307; $db_server = '127.0.0.1'; $db_name = 'b';\n\
         $db_user = 'u'; $db_passwd = 's3cret'; $db_prefix = 'smf_';",
        "s3cret",
        "SMF: u@127.0.0.1:3307/b smf_",
    );
    check(
        "data/dbconfig.php",
        "<?php if (!defined('_GNUBOARD_')) exit; define('G5_MYSQL_HOST', '127.0.0.1');\n\
         define('G5_MYSQL_USER', 'u'); define('G5_MYSQL_PASSWORD', 's3cret'); define('G5_MYSQL_DB', 'b');\n\
         define('G5_TABLE_PREFIX', 'g5_');",
        "s3cret",
        "gnuboard5: u@127.0.0.1:3306/b g5_",
    );
}

#[test]
fn shops_and_frameworks() {
    check(
        "config.php",
        "<?php define('DB_DRIVER', 'mysqli'); define('DB_HOSTNAME', '127.0.0.1'); define('DB_USERNAME', 'u');\n\
         define('DB_PASSWORD', 's3cret'); define('DB_DATABASE', 'b'); define('DB_PORT', '3306');\n\
         define('DB_PREFIX', 'oc_');",
        "s3cret",
        "OpenCart: u@127.0.0.1:3306/b oc_",
    );
    check(
        "configuration.php",
        "<?php class JConfig { public $dbtype = 'mysqli'; public $host = '127.0.0.1'; public $user = 'u';\n\
         public $password = 's3cret'; public $db = 'b'; public $dbprefix = 'j_'; }",
        "s3cret",
        "Joomla: u@127.0.0.1:3306/b j_",
    );
    check(
        "sites/default/settings.php",
        "<?php\n/* $databases['default']['default'] = ['database' => 'no']; */\n\
         $databases['default']['default'] = array ( 'database' => 'b', 'username' => 'u',\n\
         'password' => 's3cret', 'prefix' => '', 'host' => '127.0.0.1', 'port' => '3306',\n\
         'driver' => 'mysql', 'collation' => 'utf8mb4_general_ci', );",
        "s3cret",
        "Drupal: u@127.0.0.1:3306/b ",
    );
    check(
        ".env",
        "APP_NAME=x\nDB_CONNECTION=mysql\nDB_HOST=127.0.0.1\nDB_PORT=3306\nDB_DATABASE=b\n\
         DB_USERNAME=u\nDB_PASSWORD=\"s3 cret\"\n",
        "s3 cret",
        "Laravel: u@127.0.0.1:3306/b ",
    );
    check(".env", "DB_CONNECTION=sqlsrv\nDB_DATABASE=b\n", "", "Laravel: Other(\"sqlsrv\") ");
}

#[test]
fn postgres() {
    check(
        "LocalSettings.php",
        "<?php $wgDBtype = 'postgres'; $wgDBserver = 'localhost'; $wgDBport = '5433';\n\
         $wgDBname = 'wiki'; $wgDBuser = 'w'; $wgDBpassword = 's3cret'; $wgDBprefix = '';",
        "s3cret",
        "MediaWiki: PostgreSQL w@localhost:5433/wiki ",
    );
    check(
        ".env",
        "DB_CONNECTION=pgsql\nDB_HOST=127.0.0.1\nDB_DATABASE=b\nDB_USERNAME=u\nDB_PASSWORD=s3cret\n",
        "s3cret",
        "Laravel: PostgreSQL u@127.0.0.1:5432/b ",
    );
    check(
        "config.php",
        "<?php $dbms = 'phpbb\\\\db\\\\driver\\\\postgres'; $dbhost = 'db'; $dbport = '';\n\
         $dbname = 'b'; $dbuser = 'u'; $dbpasswd = 's3cret'; $table_prefix = 'phpbb_';\n\
         @define('PHPBB_INSTALLED', true);",
        "s3cret",
        "phpBB: PostgreSQL u@db:5432/b phpbb_",
    );
    check(
        "configuration.php",
        "<?php class JConfig { public $dbtype = 'pgsql'; public $host = 'db:5434'; public $user = 'u';\n\
         public $password = 's3cret'; public $db = 'b'; public $dbprefix = 'j_'; }",
        "s3cret",
        "Joomla: PostgreSQL u@db:5434/b j_",
    );
    check(
        "sites/default/settings.php",
        "<?php $databases['default']['default'] = ['database' => 'b', 'username' => 'u',\n\
         'password' => 's3cret', 'host' => '/run/pg', 'port' => '5433', 'driver' => 'pgsql'];",
        "s3cret",
        "Drupal: PostgreSQL u@/run/pg/.s.PGSQL.5433/b ",
    );
    check(
        "config.php",
        "<?php putenv('TTRSS_DB_HOST=db'); putenv('TTRSS_DB_USER=u'); putenv('TTRSS_DB_NAME=b');\n\
         putenv('TTRSS_DB_PASS=s3=cret');",
        "s3=cret",
        "Tiny Tiny RSS: PostgreSQL u@db:5432/b ",
    );
}

#[test]
fn values_may_stand_in_a_file_beside() {
    let text = HINTS.iter().find(|text| text.contains("database.php")).expect("a hint");
    let mut hint: Hint = toml::from_str(text).expect("it can be read");
    hint.overrides = vec!["database.php".into()];
    let folder = tempfile::tempdir().expect("a folder");
    let write = |file: &str, text: &str| {
        std::fs::write(folder.path().join(file), text).expect("a file");
    };
    write(
        "config.php",
        "<?php include_once('/etc/tt-rss/database.php'); define('DB_TYPE', $dbtype);",
    );
    assert_eq!(hint.find(folder.path()), None);
    write(
        "database.php",
        "<?php $dbuser='u'; $dbpass='p'; $basepath=''; $dbname='b'; $dbserver='db'; $dbport=''; $dbtype='pgsql';",
    );
    let found = hint.find(folder.path()).expect("settings");
    assert_eq!(format!("{:?}", found.source), "PostgreSql(u@db:5432/b)");
}

#[test]
fn postgres_is_found_as_php_finds_it() {
    let socket = |path: &Path| path == Path::new("/var/run/postgresql/.s.PGSQL.5432");
    for (host, port, expected) in [
        ("", "", "/var/run/postgresql/.s.PGSQL.5432"),
        ("", "5433", "localhost:5433"),
        ("localhost", "", "localhost:5432"),
        ("db:5434", "", "db:5434"),
        ("/srv/pg", "", "/srv/pg/.s.PGSQL.5432"),
        ("[::1]", "5433", "::1:5433"),
    ] {
        assert_eq!(postgres_door(host, port, socket).to_string(), expected, "{host} {port}");
    }
}

#[test]
fn a_folder_without_settings_or_with_foreign_ones_says_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(find_settings(folder.path()), None);
    std::fs::write(folder.path().join("config.php"), "<?php $a = 'b';").expect("a file");
    std::fs::write(folder.path().join("wp-config.php"), "<?php define('DB_NAME', f());")
        .expect("a file");
    assert_eq!(find_settings(folder.path()), None);
}

#[test]
fn hosts_are_meant_as_php_means_them() {
    let socket = |path: &Path| path == Path::new("/var/lib/mysql/mysql.sock");
    for (host, port, named, expected) in [
        ("localhost", "", "", "/var/lib/mysql/mysql.sock"),
        ("", "", "", "/var/lib/mysql/mysql.sock"),
        ("p:127.0.0.1", "", "", "127.0.0.1:3306"),
        ("127.0.0.1:3307", "", "", "127.0.0.1:3307"),
        ("db", "3308", "", "db:3308"),
        ("localhost", "/a.sock", "", "/a.sock"),
        (":/b.sock", "", "", "/b.sock"),
        ("db", "", "/c.sock", "/c.sock"),
        ("::1", "", "", "::1:3306"),
        ("[::1]:3307", "", "", "::1:3307"),
    ] {
        assert_eq!(door(host, port, named, socket).to_string(), expected, "{host} {port} {named}");
    }
    assert_eq!(door("localhost", "", "", |_| false).to_string(), "localhost:3306");
}

/// An app in files, and its sources below its folder.
fn check_files(files: &[(&str, &str)], app: &str, expected: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    for (file, text) in files {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(&path, text).expect("a file");
    }
    let found = find_settings(folder.path()).expect("an app");
    let shown: Vec<String> = found
        .sources()
        .iter()
        .map(|source| match source {
            Source::Files(path) => {
                path.strip_prefix(folder.path()).unwrap_or(path).display().to_string()
            }
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(
        (found.app.as_str(), shown),
        (app, expected.iter().map(|&one| one.into()).collect())
    );
}

#[test]
fn apps_that_keep_their_content_in_files() {
    let settings =
        "<?php\n$conf['savedir']     = './data';          //where to store all the files\n";
    let dokuwiki = [
        ("doku.php", ""),
        ("conf/dokuwiki.php", settings),
        ("data/pages/start.txt", ""),
        ("data/media/lamp.png", ""),
        ("data/meta/start.meta", ""),
        ("data/cache/a/b.i", ""),
    ];
    check_files(&dokuwiki, "DokuWiki", &["data/pages", "data/media", "data/meta", "conf"]);
    // The owner's own settings count more, and one folder may lie apart.
    let elsewhere = [
        dokuwiki.as_slice(),
        &[
            (
                "conf/local.php",
                "<?php\n$conf['savedir'] = 'notes';\n$conf['mediadir'] = 'pictures';\n",
            ),
            ("notes/pages/start.txt", ""),
            ("pictures/lamp.png", ""),
        ],
    ]
    .concat();
    check_files(&elsewhere, "DokuWiki", &["notes/pages", "pictures", "conf"]);
    let shaarli = [
        ("shaarli_version.php", ""),
        ("data/config.json.php", "<?php /*\n{}\n*/ ?>"),
        ("data/datastore.php", ""),
        ("cache/x", ""),
    ];
    check_files(&shaarli, "Shaarli", &["data"]);
}

#[test]
fn an_app_with_a_database_has_its_settings_watched_too() {
    let settings = "<?php define('DB_NAME','b'); define('DB_USER','w'); define('DB_PASSWORD','');\
                    define('DB_HOST', 'localhost:/a.sock');";
    let expected = ["MySql(w@/a.sock/b)", "wp-config.php"];
    check_files(&[("wp-config.php", settings)], "WordPress", &expected);
}

//! Help for a site's own code: `clients/php` under a real php-fpm, with Wick and without.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::wick::{Wick, ask, body, has_php, open_folder};

/// What the site's page does, by its query.
const SITE: &str = r#"<?php
require __DIR__ . '/wick.php';
function own($text) { return 'own:' . htmlspecialchars($text); }
$what = $_GET['do'] ?? '';
switch ($what) {
case 'render':
    $html = wick_render(['a' => '[b]bold[/b]', 7 => '<script>x</script>'], 'mybb', 'own');
    foreach ($html as $key => $each) { echo "$key=$each\n"; }
    break;
case 'unknown':
    echo implode(wick_render(['[b]x[/b]'], 'nothing-such', 'own'));
    break;
case 'site':
    echo implode(wick_render(['[lamp]x[/lamp]'], 'site', 'own'));
    break;
case 'block':
    header('Cache-Control: max-age=600');
    echo '<p>', wick_block($_GET['text'], 'mybb', 'own'), '</p><p>', wick_block('[i]2[/i]', 'mybb', 'own'), '</p>';
    break;
case 'get':
    var_export(wick_cache_get('forum', 'k'));
    break;
case 'set':
    var_export(wick_cache_set('forum', 'k', ['n' => 1, 's' => "\xff\0"]));
    break;
case 'late':
    // Read before somebody else's write, kept after it.
    wick_cache_get('forum', 'k');
    file_get_contents("http://{$_SERVER['HTTP_HOST']}/index.php?do=bump");
    wick_cache_set('forum', 'k', 'old');
    break;
case 'bump':
    var_export(wick_cache_bump('forum'));
    break;
case 'delete':
    var_export(wick_cache_delete('forum', 'k'));
    break;
case 'tagged':
    header('Cache-Control: max-age=600');
    wick_tag('post 1', 'list');
    echo 'made ', hrtime(true);
    break;
case 'purge':
    var_export(wick_purge_tags('post 1'));
    break;
case 'purge-url':
    var_export(wick_purge_urls("http://{$_SERVER['HTTP_HOST']}/index.php?do=tagged"));
    break;
default:
    header('X-Here: ' . var_export(wick_is_here(), true));
    echo isset($_SERVER['HTTP_WICK_SOCKET']) ? 'a field' : 'no field';
}
"#;

/// A dialect with a tag that no forum has.
const DIALECT: &str = r#"name = "Lamps"
form = "typed"

[tag.lamp]
does = "wrap"
html = [{ element = "em", class = "lamp" }]
"#;

fn client() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/php/wick.php")
}

fn lay_out(outer: &Path) -> (String, String) {
    let root = outer.join("site");
    fs::create_dir(&root).expect("a folder");
    fs::write(root.join("index.php"), SITE).expect("a file");
    fs::copy(client(), root.join("wick.php")).expect("the client is copied");
    let dialect = outer.join("dialect.toml");
    fs::write(&dialect, DIALECT).expect("a file");
    let settings = outer.join("wick.toml");
    let text =
        format!("[[site]]\nstrangers = false\nmarkup = {:?}\n", dialect.display().to_string());
    fs::write(&settings, text).expect("a file");
    (root.display().to_string(), settings.display().to_string())
}

fn done(address: SocketAddr, what: &str) -> String {
    body(&ask(address, &format!("GET /index.php?do={what}"))).to_owned()
}

#[test]
fn a_sites_own_code_has_markup_rendered_values_kept_and_pages_purged() {
    if !has_php() {
        eprintln!("SKIPPED: php-fpm is not installed (scripts/setup test installs it)");
        return;
    }
    let outer = open_folder();
    let (root, settings) = lay_out(outer.path());
    let (wick, address) = Wick::serve(&[&root, "--config", &settings]);
    let own = |what: &str| done(address, what);

    let rendered = own("render");
    assert!(rendered.starts_with("a=<span class=\"mycode_b\""), "{rendered}");
    assert!(rendered.contains(">bold</span>\n7=&lt;script&gt;x&lt;/script&gt;\n"), "{rendered}");
    assert_eq!(own("unknown"), "own:[b]x[/b]");
    assert_eq!(own("site"), "<em class=\"lamp\">x</em>");

    // A block is filled once, and stored as it was filled.
    let page = ask(address, "GET /index.php?do=block&text=%5Bb%5D%3Ci%3E%5B%2Fb%5D");
    let filled = body(&page).to_owned();
    assert!(filled.contains("&lt;i&gt;</span></p><p><span class=\"mycode_i\""), "{filled}");
    assert!(
        !page.to_ascii_lowercase().contains("x-wick-fill") && !filled.contains("<!--"),
        "{page}"
    );
    let again = ask(address, "GET /index.php?do=block&text=%5Bb%5D%3Ci%3E%5B%2Fb%5D");
    assert!(again.contains("; hit;") && filled.contains(body(&again)), "{again}");

    // Values, and the race of a bump with who read before it.
    assert_eq!(own("get"), "NULL");
    assert_eq!(own("set"), "true");
    assert!(own("get").contains("'n' => 1"), "{}", own("get"));
    assert_eq!(own("bump"), "true");
    assert_eq!(own("get"), "NULL");
    own("late");
    assert_eq!(own("get"), "NULL", "what was read before the bump isn't found after it");
    own("set");
    assert_eq!((own("delete").as_str(), own("get").as_str()), ("true", "NULL"));

    // Tags and addresses.
    let first = own("tagged");
    assert_eq!(own("tagged"), first);
    assert_eq!(own("purge"), "true");
    let second = own("tagged");
    assert_ne!(second, first);
    assert_eq!(own("purge-url"), "true");
    assert_ne!(own("tagged"), second);

    // No visitor makes a page believe that Wick is there, or elsewhere.
    let answer = ask(address, "GET /index.php\nWick-Socket: /tmp/mine\nWick-Key: k");
    assert!(answer.contains("X-Here: true") && body(&answer) == "a field", "{answer}");
    wick.stop();
}

#[test]
fn without_wick_a_site_does_it_itself() {
    if !Path::new("/usr/bin/php").exists() {
        eprintln!("SKIPPED: php-cli is not installed (scripts/setup test installs it)");
        return;
    }
    let outer = open_folder();
    let (root, _) = lay_out(outer.path());
    for (variables, what, expected) in [
        ("", "render", "a=own:[b]bold[/b]\n7=own:&lt;script&gt;x&lt;/script&gt;\n"),
        ("", "block", "<p>own:</p><p>own:[i]2[/i]</p>"),
        ("", "get", "NULL"),
        ("", "set", "false"),
        ("", "purge", "false"),
        // Nobody listens there.
        ("@wick-gone", "render", "a=own:[b]bold[/b]\n7=own:&lt;script&gt;x&lt;/script&gt;\n"),
        ("@wick-gone", "get", "NULL"),
        ("/nowhere", "purge", "false"),
    ] {
        let prepare = match variables {
            "" => String::new(),
            socket => format!("$_SERVER['WICK_SOCKET'] = '{socket}'; $_SERVER['WICK_KEY'] = 'k';"),
        };
        let script =
            format!("{prepare} $_GET = ['do' => '{what}', 'text' => '']; require 'index.php';");
        let output = Command::new("/usr/bin/php").args(["-r", &script]).current_dir(&root).output();
        let output = output.expect("php runs");
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(told, expected, "{variables} {what}: {:?}", output.stderr);
    }
}

//! Files as apps bring them and people write them.

use super::*;

/// Whether the folder and a file of this name are denied.
fn seen(texts: &[&str], name: &str) -> (bool, bool) {
    let rules: Vec<_> = texts.iter().map(|text| Rules::parse(text)).collect();
    (denies(rules.iter(), None), denies(rules.iter(), Some(name.as_bytes())))
}

const DOKUWIKI: &str = "<IfModule mod_authz_core.c>\n    Require all denied\n</IfModule>\n\
    <IfModule !mod_authz_core.c>\n    Order allow,deny\n    Deny from all\n</IfModule>\n";

#[test]
fn a_folder_is_denied_when_everybody_plainly_is() {
    for (text, is_denied) in [
        ("", false),
        ("Require all denied", true),
        ("require ALL Denied\r\n", true),
        ("# Require all denied", false),
        ("Deny from all", true),
        ("deny from all # not a comment for Apache either", true),
        ("Order deny,allow\nDeny from all", true),
        ("order allow,deny\ndeny from all", true),
        ("Order Deny, Allow\nDeny from all\nAllow from 10.0.0.1", false),
        ("Order allow,deny\nAllow from all\nDeny from all", true),
        ("Order allow,deny", true),
        ("Order allow,deny\nAllow from all", false),
        ("Order allow,deny\nAllow from all\nDeny from 10.0.0.1", false),
        ("Deny from 10.0.0.1", false),
        ("Require all denied\nSatisfy All", true),
        ("Require all denied\nRequire ip 10.0.0.1", false),
        ("Require valid-user", false),
        ("Deny from all\nRequire valid-user\nSatisfy any", false),
        ("Deny from all\nSatisfy any", true),
        ("Require \\\n  all denied", true),
        ("Require 'all' \"denied\"", true),
        (DOKUWIKI, true),
        ("<IfModule !mod_authz_core.c>\nDeny from all\n</IfModule>\nRequire all granted", false),
        ("<IfModule authz_core_module>\nRequire all denied\n</IfModule>", true),
        ("<IfModule mod_rewrite.c>\nRequire all denied\n</IfModule>", false),
        ("<IfModule !mod_rewrite.c>\nRequire all denied\n</IfModule>", false),
        ("<IfVersion >= 2.4>\nRequire all denied\n</IfVersion>", true),
        ("<IfVersion < 2.4>\nDeny from all\n</IfVersion>", false),
        ("<IfVersion ~ 2>\nDeny from all\n</IfVersion>", false),
        ("<RequireAll>\nRequire all denied\n</RequireAll>", true),
        ("<RequireAll>\nRequire all granted\nRequire not ip 10.0.0.1\n</RequireAll>", false),
        ("<RequireNone>\nRequire all denied\n</RequireNone>", false),
        ("<Limit POST>\nRequire all denied\n</Limit>", false),
        ("<LimitExcept GET>\nDeny from all\n</LimitExcept>", false),
        ("<If \"-n %{QUERY_STRING}\">\nRequire all denied\n</If>", false),
        ("Deny from all\n<If \"true\">\nAllow from all\n</If>", false),
        ("Deny from all\n<If \"true\">\nDeny from all\n</If>", true),
        ("<Files x>\nDeny from all\n</Files>", false),
        ("<FilesMatch \"(\">\nDeny from all\n</FilesMatch>", false),
        ("<Limit POST>\n<IfModule mod_authz_core.c>\nDeny from all\n</IfModule>\n</Limit>", false),
        ("Options -Indexes\nRewriteEngine on\nRewriteRule .* index.php [L]", false),
        ("</Files>\nDeny from all\n<Files", true),
        ("<\n<>\n</\n\\\n\"\n'", false),
    ] {
        assert_eq!(seen(&[text], "a.txt").0, is_denied, "{text}");
    }
}

#[test]
fn what_is_said_of_files_counts_for_files_of_that_name() {
    const LOGS: &str = "<FilesMatch \"\\.(log|db)$\">\nRequire all denied\n</FilesMatch>";
    const PICTURES: &str =
        "Deny from all\n<FilesMatch \"\\.(jpe?g|png)$\">\nAllow from all\n</FilesMatch>";
    const README: &str = "<Files ~ \"^([\\._]ht|README$|VERSION$|COPYING$)\">\n<IfModule \
        mod_authz_core.c>\nRequire all denied\n</IfModule>\n<IfModule !mod_authz_core.c>\n\
        Order allow,deny\nDeny from all\n</IfModule>\n</Files>";
    // Of Drupal; it looks ahead.
    const DRUPAL: &str = "<FilesMatch \"\\.(engine|module|yml)(~|\\.bak)?$|^(\\.(?!well-known).*\
        |composer\\.(json|lock))$\">\n<IfModule mod_authz_core.c>\nRequire all denied\n\
        </IfModule>\n</FilesMatch>";
    for (text, name, is_denied) in [
        (LOGS, "a.log", true),
        (LOGS, "a.log.txt", false),
        (LOGS, "LOG", false),
        (PICTURES, "a.jpg", false),
        (PICTURES, "a.php", true),
        (README, "README", true),
        (README, "README.md", false),
        (README, "doku.php", false),
        (DRUPAL, "node.module", true),
        (DRUPAL, "composer.lock", true),
        (DRUPAL, "index.php", false),
        ("<Files secret.txt>\nDeny from all\n</Files>", "secret.txt", true),
        ("<Files secret.txt>\nDeny from all\n</Files>", "secretxtxt", false),
        ("<Files \"*.s?l\">\nDeny from all\n</Files>", "dump.sql", true),
        ("<Files \"*.s?l\">\nDeny from all\n</Files>", "dump.sql2", false),
        ("<Files \"[!a-c]x\">\nDeny from all\n</Files>", "dx", true),
        ("<Files \"[!a-c]x\">\nDeny from all\n</Files>", "ax", false),
        ("<Files \"a[x\">\nDeny from all\n</Files>", "a[x", true),
        ("<Files \"*\">\nRequire all denied\n</Files>", "any", true),
        ("<Files>\nDeny from all\n</Files>", "any", false),
        ("<Files a>\nRequire ip 10.0.0.1\n</Files>", "a", false),
        ("<Files a>\n<Files b>\nDeny from all\n</Files>\n</Files>", "b", false),
        ("<FilesMatch \"(a+)+\\1$\">\nDeny from all\n</FilesMatch>", &"a".repeat(255), true),
    ] {
        assert_eq!(seen(&[text], name).1, is_denied, "{name} under {text}");
    }
}

#[test]
fn a_pattern_that_takes_for_ever_matches_nothing() {
    const SLOW: &str = "^((a|a)*)*\\1b$";
    let name = "a".repeat(255);
    let slow = pattern(SLOW).expect("it is a pattern");
    assert!(slow.is_match(name.as_str()).is_err(), "it is given up");
    let text = format!("<FilesMatch \"{SLOW}\">\nDeny from all\n</FilesMatch>");
    assert!(!seen(&[&text], &name).1);
}

#[test]
fn the_deeper_folder_has_the_last_word_and_files_come_after_folders() {
    const DENIED: &str = "Require all denied";
    const GRANTED: &str = "Require all granted";
    for (texts, folder, file) in [
        (&[DENIED, "Options -Indexes"][..], true, true),
        (&[DENIED, GRANTED], false, false),
        (&[GRANTED, DENIED], true, true),
        (&[DENIED, "Allow from all"], true, true),
        (&["Deny from all", "Allow from all"], false, false),
        (&[DENIED, "Require ip 10.0.0.1"], false, false),
        (&["<Files a.txt>\nRequire all granted\n</Files>", DENIED], true, false),
        (&["<Files a.txt>\nRequire all denied\n</Files>", GRANTED], false, true),
    ] {
        assert_eq!(seen(texts, "a.txt"), (folder, file), "{texts:?}");
    }
}

//! Directives of a `.htaccess`, and what is said of them.

use super::Line;
use crate::found::Why::{Cannot, NotNeeded, Protection, Unknown};
use crate::found::{COMPRESSED, FIELDS, Why};

const OBEYED: &str = "Wick reads this where it lies, and obeys it";
const ADDRESSES: &str = "who may come is not decided by address or host: to Wick this lets \
                         everybody in; let the firewall or the app decide";
const PHP: &str = "write NAME = VALUE into .user.ini in the same folder: php-fpm reads it";
const ELSEWHERE: &str = "Wick sends nobody elsewhere: let the app do it";

const TABLE: &[(&[&str], Why, &str)] = &[
    (&["order", "satisfy"], NotNeeded, OBEYED),
    (
        &[
            "authname",
            "authuserfile",
            "authgroupfile",
            "authbasicprovider",
            "authdigest*",
            "authldap*",
            "authn*",
            "authz*",
        ],
        NotNeeded,
        "it belongs to AuthType",
    ),
    (
        &["authtype"],
        Protection,
        "Wick asks for no password: let the app ask, or something before Wick",
    ),
    (&["expires*", "header", "requestheader", "fileetag"], Cannot, FIELDS),
    (&["redirect*"], Cannot, ELSEWHERE),
    (&["php_*"], Cannot, PHP),
    (
        &["setenv", "passenv", "unsetenv"],
        Cannot,
        "write env[NAME] = VALUE into the pool of php-fpm",
    ),
    (&["errordocument"], Cannot, "let the app make its error pages"),
    (
        &["rewriteengine", "rewritebase", "rewriteoptions", "rewritemap"],
        NotNeeded,
        "files first, then the nearest index.php: so does Wick",
    ),
    (
        &[
            "adddefaultcharset",
            "addcharset",
            "addtype",
            "addencoding",
            "addlanguage",
            "defaulttype",
            "removetype",
            "forcetype",
            "languagepriority",
            "forcelanguagepriority",
            "serversignature",
            "contentdigest",
            "acceptpathinfo",
            "checkspelling",
            "directoryslash",
            "allowoverride*",
        ],
        NotNeeded,
        "Wick does by itself what this is for, or it means nothing here",
    ),
    (&["fallbackresource"], NotNeeded, "files first, then the nearest index.php: so does Wick"),
    (
        &["indexoptions", "indexignore*", "addicon*", "adddescription", "headername", "readmename"],
        NotNeeded,
        "Wick shows no listings of folders",
    ),
    (&["cache*"], NotNeeded, "Wick caches by itself, and finds out what may be shared with whom"),
    (&["sec*", "modsecurity*"], Protection, "there is no such filter in Wick"),
    (&["browsermatch*", "setenvif*"], Cannot, "Wick asks no such questions: let the app do it"),
    (&["substitute", "action", "sethandler", "script"], Cannot, "Wick changes no pages"),
];

/// What is said of a line; nothing if it goes without saying.
pub(super) fn say(line: &Line<'_>) -> (Why, Option<&'static str>) {
    let told = |(why, advice): (Why, &'static str)| (why, Some(advice));
    let name = line.name.as_str();
    if name.starts_with('<') {
        return section(line);
    }
    match name {
        "require" if line.has("denied") || line.has("granted") => (NotNeeded, Some(OBEYED)),
        "require" if is_password(line) => (
            Protection,
            Some("Wick asks for no password: let the app ask, or something before Wick"),
        ),
        "require" => (Protection, Some(ADDRESSES)),
        "deny" | "allow" if line.has("all") => (NotNeeded, Some(OBEYED)),
        "deny" | "allow" => (Protection, Some(ADDRESSES)),
        "options" => options(line),
        "directoryindex" => {
            let is_usual =
                |word: &String| ["index.php", "index.html", "index.htm"].contains(&word.as_str());
            match line.words.iter().all(is_usual) {
                true => (NotNeeded, Some("index.php, index.html and index.htm are looked for")),
                false => (Cannot, Some("only index.php, index.html and index.htm are looked for")),
            }
        }
        "setenvif" | "setenvifnocase" if line.word(0).eq_ignore_ascii_case("authorization") => {
            (NotNeeded, Some("PHP is told of Authorization"))
        }
        "cgipassauth" => (NotNeeded, Some("PHP is told of Authorization")),
        "addhandler" | "sethandler" if line.words.concat().contains("php") => {
            (NotNeeded, Some("files that end in .php are run"))
        }
        "setenv" | "setenvif" | "browsermatch" if line.has("no-gzip") => told(COMPRESSED),
        "addoutputfilterbytype" | "setoutputfilter" | "addoutputfilter" => told(COMPRESSED),
        _ if name.starts_with("deflate") || name.starts_with("brotli") => told(COMPRESSED),
        _ => match TABLE.iter().find(|(names, ..)| names.iter().any(|each| fits(each, name))) {
            Some((_, why, advice)) => (*why, Some(advice)),
            None => (Unknown, Some("it means nothing to Wick: let the app do what it is for")),
        },
    }
}

/// Whether its words may be passwords.
pub(super) fn is_secret(name: &str) -> bool {
    ["setenv", "php_value", "php_admin_value", "requestheader", "authldapbindpassword"]
        .contains(&name)
}

/// A section: what is in it is told line by line, its conditions are not.
fn section(line: &Line<'_>) -> (Why, Option<&'static str>) {
    let name = line.name.trim_start_matches(['<', '/']).trim_end_matches('>');
    match name {
        "if" | "elseif" | "else" if !line.name.starts_with("</") => (
            Unknown,
            Some("Wick asks no such questions: what is within is told as if it always held"),
        ),
        _ => (NotNeeded, None),
    }
}

fn is_password(line: &Line<'_>) -> bool {
    ["valid-user", "user", "group", "ldap-user", "ldap-group"].iter().any(|word| line.has(word))
}

fn options(line: &Line<'_>) -> (Why, Option<&'static str>) {
    let word = |word: &String| word.to_ascii_lowercase();
    let is_plain = |word: String| {
        word.starts_with('-')
            || [
                "+followsymlinks",
                "followsymlinks",
                "+symlinksifownermatch",
                "symlinksifownermatch",
                "none",
                "+multiviews",
                "multiviews",
            ]
            .contains(&word.as_str())
    };
    match line.words.iter().map(word).all(is_plain) {
        true => (NotNeeded, Some("Wick shows no listings of folders and follows symbolic links")),
        false => (Cannot, Some("Wick shows no listings of folders and runs nothing but PHP")),
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

//! Purity: the crates that decide touch no socket, file, clock, task or thread.
//!
//! Facts go in and an answer comes out; what would let the world in is not named
//! there at all, not even in their tests. Imports are read as trees, so that
//! `use std::{fs, net}` is seen; everything else as a row of tokens, so that a
//! path within a macro is seen too. Only their examples, which are programs around
//! them, may know of files.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{File, ItemUse, UseTree};

/// The crates that must stay pure.
const PURE: &[&str] = &["policy", "align", "import", "transform", "markup", "crawl", "conformance"];

/// The doors to the world.
const WORLD: &[&str] = &[
    "tokio",
    "std::net",
    "std::os",
    "std::fs",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "std::env",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "std::time::*",
    "std::*",
];

/// Plain values that happen to live behind a door.
const VALUES: &[&str] =
    &["std::net::IpAddr", "std::net::Ipv4Addr", "std::net::Ipv6Addr", "std::net::SocketAddr"];

/// A finding for each door that a file of a pure crate names.
pub(crate) fn check(path: &str, text: &str, file: &File) -> Vec<String> {
    let is_pure = PURE.iter().any(|name| path.starts_with(&format!("crates/{name}/")));
    if !is_pure || path.contains("/examples/") {
        return Vec::new();
    }
    let mut named = Imports::default();
    named.visit_file(file);
    if let Ok(stream) = text.parse::<TokenStream>() {
        paths_of(stream, &mut named.paths);
    }
    named.paths.sort();
    named.paths.dedup();
    let doors = named.paths.iter().filter(|(_, path)| is_door(path));
    doors.map(|(line, door)| format!("{path}:{line}: a pure crate names {door}")).collect()
}

fn is_door(path: &str) -> bool {
    let is_below = |path: &str, door: &str| {
        path.strip_prefix(door).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let is_value = VALUES.iter().any(|value| is_below(path, value));
    !is_value && WORLD.iter().any(|door| is_below(path, door))
}

/// The whole paths that imports name, with their lines.
#[derive(Default)]
struct Imports {
    paths: Vec<(usize, String)>,
}

impl Imports {
    fn add(&mut self, tree: &UseTree, prefix: &str) {
        let joined = |name: &dyn std::fmt::Display| match prefix {
            "" => name.to_string(),
            _ => format!("{prefix}::{name}"),
        };
        let mut end = |name: &syn::Ident| {
            // `use std::net::{self}` names the module itself.
            let whole = if name == "self" { prefix.to_owned() } else { joined(name) };
            self.paths.push((name.span().start().line, whole));
        };
        match tree {
            UseTree::Path(path) => self.add(&path.tree, &joined(&path.ident)),
            UseTree::Name(name) => end(&name.ident),
            UseTree::Rename(rename) => end(&rename.ident),
            UseTree::Glob(glob) => {
                self.paths.push((glob.star_token.spans[0].start().line, joined(&"*")));
            }
            UseTree::Group(group) => group.items.iter().for_each(|item| self.add(item, prefix)),
        }
    }
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.add(&item.tree, "");
        visit::visit_item_use(self, item);
    }
}

/// Collects each row of words joined by `::`, in groups and macros too.
fn paths_of(stream: TokenStream, found: &mut Vec<(usize, String)>) {
    let mut path: Option<(usize, String)> = None;
    let mut colons = 0;
    for token in stream {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
            TokenTree::Ident(word) if colons == 2 && path.is_some() => {
                if let Some((_, path)) = &mut path {
                    path.push_str(&format!("::{word}"));
                }
                colons = 0;
            }
            other => {
                // An import's group begins after `::`; its tree was read already.
                if colons != 2 {
                    found.extend(path.take());
                }
                (path, colons) = (None, 0);
                match other {
                    TokenTree::Ident(word) => {
                        path = Some((word.span().start().line, word.to_string()));
                    }
                    TokenTree::Group(group) => paths_of(group.stream(), found),
                    _ => {}
                }
            }
        }
    }
    found.extend(path);
}

#[cfg(test)]
mod tests {
    use super::check as check_purity;

    fn check(text: &str, expected: &[&str]) {
        let file = syn::parse_file(text).expect("the sample is Rust");
        let found = check_purity("crates/policy/src/a.rs", text, &file);
        let expected: Vec<String> = expected
            .iter()
            .map(|door| format!("crates/policy/src/a.rs:1: a pure crate names {door}"))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_door_to_the_world_is_told_however_it_is_written() {
        check("use std::fs;", &["std::fs"]);
        check("use std::{fmt, fs::File};", &["std::fs::File"]);
        check("use std::time::{Duration, Instant};", &["std::time::Instant"]);
        check("use std::net::{self};", &["std::net"]);
        check("use std::net::*;", &["std::net::*"]);
        check("use tokio::sync::Notify as Bell;", &["tokio::sync::Notify"]);
        check("fn f() { let t = std::time::SystemTime::now(); }", &["std::time::SystemTime::now"]);
        check("fn f() { assert!(std::env::var(\"A\").is_ok()); }", &["std::env::var"]);
        check("fn f() { std::thread::spawn(|| {}); }", &["std::thread::spawn"]);
    }

    #[test]
    fn values_words_and_comments_are_no_doors() {
        check("use std::net::{IpAddr, Ipv6Addr};", &[]);
        check("use std::time::Duration;", &[]);
        check("fn f(peer: std::net::IpAddr) {}", &[]);
        check("fn f() { /* std::fs */ g(\"std::fs\"); }", &[]);
        check("struct Fs { tokio_like: u8 }", &[]);
    }

    #[test]
    fn other_crates_may_open_doors() {
        let text = "use std::fs;";
        let file = syn::parse_file(text).expect("the sample is Rust");
        let found = check_purity("crates/origin/src/a.rs", text, &file);
        assert_eq!(found, Vec::<String>::new());
    }
}

//! A site with a little of everything, and visitors who count what they are given.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;

use crate::origin::Origin;
use crate::wick::{Wick, ask, body, open_folder};

/// What opens the admin listener.
pub(crate) const TOKEN: &str = "a-token-of-many-letters";
/// All requests, and those of them that the origin fails at.
const REQUESTS: u64 = 300;
pub(crate) const FAILURES: u64 = 3;

/// A Wick before the site.
pub(crate) struct Site {
    wick: Wick,
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
    _origin: Origin,
    _folder: TempDir,
}

/// What visitors were given, as they counted it.
#[derive(Debug, Default)]
pub(crate) struct Given {
    pub(crate) answers: u64,
    pub(crate) hits: u64,
    /// Bytes of bodies, and those of them that memory gave.
    pub(crate) bytes: u64,
    pub(crate) hit_bytes: u64,
    /// Requests for `/page/…`.
    pub(crate) pages: u64,
    /// By the word that Wick has for it.
    pub(crate) verdicts: BTreeMap<String, u64>,
}

impl Site {
    pub(crate) fn serve() -> Self {
        let asked = AtomicU64::new(0);
        let origin = Origin::new(move |head, stream| {
            let path = head.split(' ').nth(1).unwrap_or("/");
            let (status, fields) = match path {
                path if path.starts_with("/page/") => (200, "Cache-Control: max-age=600"),
                path if path.starts_with("/fail") => (500, "Cache-Control: no-store"),
                path if path.starts_with("/board/") => (200, "Set-Cookie: sid=1; Path=/"),
                // What says nothing may be for anybody, and is found out by personas.
                "/lobby" | "/ticker" => (200, "X-App: forum"),
                _ => (200, "Cache-Control: no-store"),
            };
            let mut page = "<!doctype html><title>A page</title><p>With some words.".repeat(9);
            if path == "/ticker" {
                let turn = asked.fetch_add(1, Ordering::Relaxed);
                page.push_str(&format!("\n<p>Turn {turn} <script>window.ran = true</script>"));
            }
            let answer = format!(
                "HTTP/1.1 {status} Status\r\nContent-Type: text/html\r\n{fields}\r\n\
                 Content-Length: {}\r\nConnection: close\r\n\r\n{page}",
                page.len()
            );
            // A visitor who went away is the test's affair.
            let _ = stream.write_all(answer.as_bytes());
        });
        let admin = loopback::address();
        let folder = open_folder();
        let file = folder.path().join("wick.toml");
        let settings = format!("admin = \"{admin}\"\nadmin_token = \"{TOKEN}\"\n");
        fs::write(&file, settings).expect("the settings are written");
        let file = file.display().to_string();
        let (wick, address) = Wick::serve(&["--config", &file, &origin.url()]);
        Self { wick, address, admin, _origin: origin, _folder: folder }
    }

    /// Makes all requests, one after the other.
    pub(crate) fn visit(&self) -> Given {
        let mut given = Given::default();
        for number in 0..REQUESTS {
            let path = match number % 10 {
                9 if number % 100 == 9 => format!("/fail/{number}"),
                9 => format!("/board/{number}"),
                7 | 8 => format!("/account/{}", number % 5),
                _ => format!("/page/{}", number % 13),
            };
            given.pages += u64::from(path.starts_with("/page/"));
            let answer = ask(self.address, &format!("GET {path}"));
            given.count(&answer);
        }
        given
    }

    /// Sends a request so often; how many of the answers were hits.
    pub(crate) fn ask(&self, given: &mut Given, request: &str, times: u64) -> u64 {
        let before = given.hits;
        (0..times).for_each(|_| given.count(&ask(self.address, request)));
        given.hits - before
    }

    pub(crate) fn stop(self) {
        self.wick.stop();
    }
}

impl Given {
    fn count(&mut self, answer: &str) {
        let field = answer.lines().find_map(|line| line.strip_prefix("cache-status: "));
        assert!(field.is_some(), "no cache-status in {answer}");
        let field = field.unwrap_or_default();
        self.answers += 1;
        let is_hit = field.contains("; hit");
        self.hits += u64::from(is_hit);
        let bytes = body(answer).len() as u64;
        self.bytes += bytes;
        self.hit_bytes += if is_hit { bytes } else { 0 };
        // The reasons of passes stand elsewhere.
        let reason = field.split("; ").find_map(|part| part.strip_prefix("fwd="));
        let verdict = match (is_hit, reason) {
            // A page for strangers is fresh for ten seconds, and served while it is made anew.
            (true, _) if field.contains("; ttl=-") => return,
            (true, _) => "hit".to_owned(),
            (false, Some("uri-miss")) => "miss(uri-miss)".to_owned(),
            (false, _) => return,
        };
        *self.verdicts.entry(verdict).or_default() += 1;
    }
}

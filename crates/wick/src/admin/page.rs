//! The files of the admin page, compiled in.
//!
//! Invariant: no file asks for anything of another server; the policy that goes with each
//! wouldn't let it.

use std::hash::{DefaultHasher, Hash, Hasher};

/// What a browser lets the page do.
pub(crate) const SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// One of them.
#[derive(Debug)]
pub(crate) struct PageFile {
    pub(crate) path: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) content: &'static [u8],
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! file {
    ($content_type:expr, $name:literal) => {
        PageFile {
            path: concat!("/", $name),
            content_type: $content_type,
            content: include_bytes!(concat!("page/", $name)),
        }
    };
}

/// All of them, by their paths.
pub(crate) const FILES: &[PageFile] = &[
    PageFile { path: "/", content_type: HTML, content: include_bytes!("page/index.html") },
    file!(CSS, "page.css"),
    file!(SCRIPT, "app.js"),
    file!(SCRIPT, "audit.js"),
    file!(SCRIPT, "chart.js"),
    file!(SCRIPT, "cluster.js"),
    file!(SCRIPT, "dom.js"),
    file!(SCRIPT, "format.js"),
    file!(SCRIPT, "history.js"),
    file!(SCRIPT, "learned.js"),
    file!(SCRIPT, "machine.js"),
    file!(SCRIPT, "misses.js"),
    file!(SCRIPT, "now.js"),
    file!(SCRIPT, "recent.js"),
    file!(SCRIPT, "routes.js"),
    file!(SCRIPT, "search.js"),
    file!(SCRIPT, "sites.js"),
    file!(SCRIPT, "url.js"),
];

impl PageFile {
    pub(crate) fn at(path: &str) -> Option<&'static Self> {
        FILES.iter().find(|file| file.path == path)
    }

    /// Its entity tag: another for other content, the same after a restart.
    pub(crate) fn tag(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.content.hash(&mut hasher);
        format!("\"{:016x}\"", hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_is_small() {
        let bytes: usize = FILES.iter().map(|file| file.content.len()).sum();
        assert!(bytes <= 200_000, "{bytes}");
    }

    #[test]
    fn no_file_names_another_server_or_holds_a_script_within() {
        for PageFile { path, content, content_type } in FILES {
            let text = std::str::from_utf8(content).expect("it is text");
            assert!(!text.contains("http://") && !text.contains("https://"), "{path}");
            assert!(!text.contains("=\"//"), "{path}");
            if content_type.starts_with("text/html") {
                assert!(!text.contains("<script>") && !text.contains(" style="), "{path}");
            }
        }
    }
}

//! Somebody with a browser: curl, a jar for cookies, and an eye for forms.
//!
//! What a browser says of itself and of where it comes from is said here too, since
//! apps and Wick act on it: `Referer`, `Origin`, `Sec-Fetch-*`.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::crawl::words;
use crate::forms::{Form, encoded};

pub(crate) const BROWSER: &str =
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
/// As many as browsers follow before they complain.
const REDIRECTS_MAX: usize = 20;

/// A visitor with cookies of their own.
pub(crate) struct Visitor {
    base: String,
    folder: TempDir,
    options: Vec<String>,
    /// The page that is open.
    open: RefCell<Option<String>>,
}

/// What a visitor got, redirects followed.
pub(crate) struct Page {
    pub(crate) status: u16,
    /// Where it was in the end.
    pub(crate) url: String,
    /// The heads of all answers on the way to it.
    pub(crate) heads: Vec<String>,
    pub(crate) body: Vec<u8>,
}

impl Visitor {
    /// Somebody who was never here.
    pub(crate) fn new(base: &str) -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        Self { base: base.to_owned(), folder, options: Vec::new(), open: RefCell::new(None) }
    }

    /// The same, from another address of this machine, as 127.0.0.2.
    pub(crate) fn from(mut self, address: &str) -> Self {
        self.options.extend(["--interface".to_owned(), address.to_owned()]);
        self
    }

    /// Asks another server than the base names, which hears the name of the base.
    pub(crate) fn at(mut self, server: &str) -> Self {
        let (to, from) = (plain(server), plain(&self.base));
        self.options.extend(["--connect-to".to_owned(), format!("{from}:{to}")]);
        self
    }

    /// The cookies of another visitor, who may be at another server.
    pub(crate) fn with_cookies_of(self, other: &Self) -> Self {
        std::fs::copy(other.place("jar"), self.place("jar")).expect("there are cookies");
        self
    }

    /// Reads a page by its path or its whole address.
    pub(crate) fn get(&self, path: &str) -> Page {
        self.visit("GET", path, &[])
    }

    /// Sends a form.
    pub(crate) fn post(&self, path: &str, fields: &[(String, String)]) -> Page {
        self.visit("POST", path, &["--data-raw", &encoded(fields)])
    }

    /// Sends JSON, as a script does.
    pub(crate) fn post_json(&self, path: &str, json: &str) -> Page {
        self.visit(
            "POST",
            path,
            &["--header", "Content-Type: application/json", "--data-raw", json],
        )
    }

    /// Fills in the form of a page that `mark` stands in, and sends it where it goes.
    pub(crate) fn submit(&self, page: &Page, mark: &str, written: &[(&str, &str)]) -> Page {
        let form = page.form(mark);
        let fields = form.filled(written);
        let action = resolve(&page.url, form.action.as_deref().unwrap_or(&page.url));
        if form.is_post {
            return self.post(&action, &fields);
        }
        let path = action.split('?').next().unwrap_or_default();
        self.get(&format!("{path}?{}", encoded(&fields)))
    }

    /// Sends a form with a file in it.
    pub(crate) fn upload(
        &self,
        path: &str,
        fields: &[(String, String)],
        file_field: &str,
        file: &Path,
    ) -> Page {
        let pairs: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut options: Vec<_> =
            pairs.iter().flat_map(|pair| ["--form-string", pair.as_str()]).collect();
        let file = format!("{file_field}=@{}", file.display());
        options.extend(["--form", &file]);
        self.visit("POST", path, &options)
    }

    /// Follows redirects as a browser does: 307 and 308 keep the request, others read on.
    fn visit(&self, method: &str, path: &str, options: &[&str]) -> Page {
        let mut url = resolve(&format!("{}/", self.base), path);
        let (mut is_write, mut heads) = (method != "GET", Vec::new());
        for _ in 0..=REDIRECTS_MAX {
            let (head, body) = self.ask(&url, if is_write { options } else { &[] }, is_write);
            let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
            let status: u16 = status.expect("a status");
            let location = field(&head, "location").map(|location| resolve(&url, location));
            heads.push(head);
            match location {
                Some(next) if (300..400).contains(&status) => {
                    is_write &= matches!(status, 307 | 308);
                    url = next;
                }
                _ => {
                    self.open.replace(url.split('#').next().map(str::to_owned));
                    return Page { status, url, heads, body };
                }
            }
        }
        unreachable!("{path}: an endless way of redirects; the last answer: {:?}", heads.last())
    }

    /// One request: the head and the body of its answer.
    fn ask(&self, url: &str, options: &[&str], is_write: bool) -> (String, Vec<u8>) {
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--globoff", "--max-time", "100"]);
        for option in ["--cookie", "--cookie-jar"] {
            command.arg(option).arg(self.place("jar"));
        }
        command.arg("--dump-header").arg(self.place("head")).args(["--user-agent", BROWSER]);
        let origin = url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        let open = self.open.borrow().clone();
        let is_ours = open.as_ref().is_some_and(|open| open.starts_with(&origin));
        let site = if is_ours || is_write { "same-origin" } else { "none" };
        for line in ["Accept: text/html,*/*;q=0.8", "Accept-Language: en-GB,en;q=0.5", "Expect:"] {
            command.args(["--header", line]);
        }
        for line in ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"] {
            command.args(["--header", line]);
        }
        command.args(["--header", &format!("Sec-Fetch-Site: {site}")]);
        if let Some(open) = open.filter(|_| is_ours) {
            command.args(["--referer", &open]);
        }
        if is_write {
            command.args(["--header", &format!("Origin: {origin}")]);
        }
        let output = command.args(&self.options).args(options).arg(url).output();
        let output = output.expect("curl can be run");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{url}: {complaint}");
        let heads = std::fs::read(self.place("head")).expect("curl wrote the heads");
        let heads = String::from_utf8_lossy(&heads);
        // Behind those of interim answers.
        let head = heads.trim_end().rsplit("\r\n\r\n").next().unwrap_or_default().to_owned();
        (head, output.stdout)
    }

    fn place(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Page {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The last head on the way.
    pub(crate) fn head(&self) -> &str {
        self.heads.last().map_or("", String::as_str)
    }

    /// A field of the head; empty if there is none.
    pub(crate) fn field(&self, name: &str) -> &str {
        field(self.head(), name).unwrap_or_default()
    }

    /// Whether it came from Wick's memory, and not from the origin for this visitor.
    pub(crate) fn is_from_memory(&self) -> bool {
        let status = self.field("cache-status");
        status.starts_with("wick; hit") || status.contains("; collapsed")
    }

    /// The names of the cookies that its last answer sets.
    pub(crate) fn cookies(&self) -> Vec<&str> {
        let fields = self.head().lines().filter_map(|line| line.split_once(": "));
        let cookies = fields.filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
        cookies.map(|(_, value)| value.split('=').next().unwrap_or_default()).collect()
    }

    /// Sees that it came and holds `text`.
    pub(crate) fn expect(self, what: &str, text: &str) -> Self {
        let is_there = self.status == 200 && self.text().contains(text);
        assert!(
            is_there,
            "{what}: no {text:?} on {}: {:#?}\n{}",
            self.url,
            self.heads,
            words(&self)
        );
        self
    }

    /// The form that `mark` stands in.
    pub(crate) fn form(&self, mark: &str) -> Form {
        let text = self.text();
        Form::find(&text, mark)
            .unwrap_or_else(|| unreachable!("no form with {mark}: {}\n{text}", self.head()))
    }
}

/// What a link on a page leads to.
pub(crate) fn resolve(page: &str, link: &str) -> String {
    // `http:`, `mailto:`, `javascript:`
    if link.split(['/', '?']).next().is_some_and(|first| first.contains(':')) {
        return link.to_owned();
    }
    let origin = page.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    let path = page.split(['?', '#']).next().unwrap_or_default();
    let folder = path.rsplit_once('/').map_or(path, |(folder, _)| folder);
    let folder = if folder.len() < origin.len() { &origin } else { folder };
    match link.chars().next() {
        Some('/') => format!("{origin}{link}"),
        Some('?') => format!("{path}{link}"),
        _ => format!("{folder}/{}", link.trim_start_matches("./")),
    }
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(": "));
    fields.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// Host and port of a base.
fn plain(base: &str) -> &str {
    base.trim_start_matches("http://").trim_end_matches('/')
}

#[test]
fn links_are_resolved_as_browsers_do() {
    for (link, url) in [
        ("/x?y", "http://a:1/x?y"),
        ("x", "http://a:1/b/x"),
        ("./x", "http://a:1/b/x"),
        ("?x", "http://a:1/b/c?x"),
        ("http://d/", "http://d/"),
    ] {
        assert_eq!(resolve("http://a:1/b/c?d/e", link), url);
    }
    assert_eq!(resolve("http://a:1/", "x"), "http://a:1/x");
}

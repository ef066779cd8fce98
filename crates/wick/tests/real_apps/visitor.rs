//! Somebody with a browser: curl, a jar for cookies, and an eye for forms.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A visitor with cookies of their own.
pub(crate) struct Visitor {
    base: String,
    folder: TempDir,
}

/// What a visitor got, redirects followed.
pub(crate) struct Page {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Visitor {
    /// Somebody who was never here.
    pub(crate) fn new(base: &str) -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        Self { base: base.to_owned(), folder }
    }

    /// Reads a page.
    pub(crate) fn get(&self, path: &str) -> Page {
        self.curl(path, &[])
    }

    /// Sends a form.
    pub(crate) fn post(&self, path: &str, fields: &[(String, String)]) -> Page {
        let pairs: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let options: Vec<_> = pairs.iter().flat_map(|pair| ["--data-urlencode", pair]).collect();
        self.curl(path, &options)
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
        self.curl(path, &options)
    }

    fn curl(&self, path: &str, options: &[&str]) -> Page {
        let place = |name: &str| -> PathBuf { self.folder.path().join(name) };
        let output = Command::new("curl")
            .args(["--silent", "--show-error", "--location", "--globoff", "--max-time", "100"])
            .arg("--cookie")
            .arg(place("jar"))
            .arg("--cookie-jar")
            .arg(place("jar"))
            .arg("--dump-header")
            .arg(place("head"))
            .args(options)
            .arg(format!("{}{path}", self.base))
            .output()
            .expect("curl can be run");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{path}: {complaint}");
        let heads = std::fs::read_to_string(place("head")).expect("curl wrote the heads");
        let head = heads.trim_end().rsplit("\r\n\r\n").next().unwrap_or_default().to_owned();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Page { status: status.expect("a status"), head, body: output.stdout }
    }
}

impl Page {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A field of the head; empty if there is none.
    pub(crate) fn field(&self, name: &str) -> &str {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        let named = fields.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value).next().unwrap_or_default()
    }

    /// Sees that it came and holds `text`.
    pub(crate) fn expect(self, what: &str, text: &str) -> Self {
        let body = self.text();
        assert!(self.status == 200 && body.contains(text), "{what}: {}\n{body}", self.head);
        self
    }

    /// The hidden fields of the form that `mark` stands in.
    pub(crate) fn form(&self, mark: &str) -> Vec<(String, String)> {
        let text = self.text();
        let mut forms = text.split("<form").skip(1).filter_map(|rest| rest.split("</form>").next());
        let form = forms.find(|form| form.contains(mark));
        let form =
            form.unwrap_or_else(|| unreachable!("no form with {mark}: {}\n{text}", self.head));
        let inputs = form.split("<input").skip(1).filter_map(|rest| rest.split('>').next());
        let hidden = inputs.filter(|input| attribute(input, "type").as_deref() == Some("hidden"));
        hidden
            .filter_map(|input| {
                let value = attribute(input, "value").unwrap_or_default();
                Some((attribute(input, "name")?, value))
            })
            .collect()
    }
}

/// Fields of a form, those that a person fills in behind the hidden ones.
pub(crate) fn filled(
    hidden: Vec<(String, String)>,
    written: &[(&str, &str)],
) -> Vec<(String, String)> {
    let is_written = |name: &str| written.iter().any(|(other, _)| *other == name);
    let kept = hidden.into_iter().filter(|(name, _)| !is_written(name));
    kept.chain(written.iter().map(|&(n, v)| (n.to_owned(), v.to_owned()))).collect()
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let start = [format!(" {name}=\""), format!(" {name}='")];
    let rest = start.iter().find_map(|start| tag.split_once(start.as_str()));
    let value = rest?.1.split(['"', '\'']).next()?;
    Some(value.replace("&quot;", "\"").replace("&#039;", "'").replace("&amp;", "&"))
}

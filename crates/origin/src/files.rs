//! Static files below a folder.
//!
//! Answers are whole, with validators and the open file beside them: turning them
//! into 304 or 206 is the caller's, who does the same to what it keeps in memory.
//! Start at [`FilesOrigin::send`].

mod file_at;
mod open_file;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::Method;
use wire::{Fields, Name, RequestHead, ResponseHead, body};

pub use file_at::FileAt;
pub use open_file::OpenFile;

use crate::ground::Disk;
use crate::path::SitePath;
use crate::script::{self, Layout, Target};
use crate::{Answer, Call, Counters, OriginError, Refusal};

/// A folder of static files.
pub struct FilesOrigin {
    layout: Layout,
    disk: Disk,
    counters: Arc<Counters>,
}

impl FilesOrigin {
    /// The files below `root`.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let layout = Layout { root: root.into(), runs_php: false, upload_folders: Vec::new() };
        Self { layout, disk: Disk::default(), counters: Arc::default() }
    }

    /// Opens the file that `path` stands for, given as sent, without its query; none
    /// if there is none or a slash is missing.
    ///
    /// # Errors
    /// The path is never served, or the file can't be opened.
    pub fn open(&self, path: &str) -> Result<Option<OpenFile>, OriginError> {
        match script::resolve(&SitePath::parse(path)?, &self.layout, &self.disk)? {
            Target::File(file) => OpenFile::open(&file),
            _ => Ok(None),
        }
    }

    pub(crate) fn file_at(&self, path: &str) -> Option<FileAt> {
        FileAt::find(path, &self.layout, &self.disk)
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn send(&self, call: &Call) -> Result<Answer, OriginError> {
        self.counters.requests.bump();
        self.answer(&call.head).inspect_err(|_| self.counters.refused_paths.bump())
    }

    fn answer(&self, head: &RequestHead) -> Result<Answer, OriginError> {
        let target = script::resolve(&SitePath::parse(head.path())?, &self.layout, &self.disk)?;
        match target {
            Target::File(file) => serve(&file, head),
            Target::Slash(path) => Ok(redirect(path, head)),
            // Scripts are refused in this layout before they get here.
            Target::Missing | Target::Script(_) => {
                Ok(Answer::not_found(head.method == Method::HEAD))
            }
        }
    }
}

/// Answers with a file: GET and HEAD only.
pub(crate) fn serve(file: &Path, request: &RequestHead) -> Result<Answer, OriginError> {
    let is_head = request.method == Method::HEAD;
    if !is_head && request.method != Method::GET {
        let mut fields = Fields::new();
        fields.put(Name::Allow, "GET, HEAD");
        return Ok(Answer::short(405, "Method Not Allowed", fields, false));
    }
    let Some(file) = OpenFile::open(file)? else { return Ok(Answer::not_found(is_head)) };
    let mut fields = Fields::new();
    fields.put(Name::ContentType, &file.content_type);
    file.describe(&mut fields);
    let head = ResponseHead { status: 200, fields };
    Ok(answer_with(file, head, is_head))
}

/// An answer that `head` begins and the whole of `file` follows.
pub(crate) fn answer_with(file: OpenFile, head: ResponseHead, is_head: bool) -> Answer {
    if is_head {
        return Answer { head, body: body::empty(), length: Some(0), file: Some(file) };
    }
    let body = file.body(0, file.length());
    Answer { head, body, length: Some(file.length()), file: Some(file) }
}

/// Sends a visitor to the same path with a slash, its query kept. A redirect that
/// keeps the method where that matters.
pub(crate) fn redirect(path: String, request: &RequestHead) -> Answer {
    let location = match request.query() {
        Some(query) => format!("{path}?{query}"),
        None => path,
    };
    let mut fields = Fields::new();
    fields.put(Name::Location, location);
    match request.method {
        Method::GET => Answer::short(301, "Moved Permanently", fields, false),
        Method::HEAD => Answer::short(301, "Moved Permanently", fields, true),
        _ => Answer::short(308, "Permanent Redirect", fields, false),
    }
}

/// What an error of the file system means for a visitor; none: there is no such file.
pub(crate) fn file_error(error: &std::io::Error) -> Option<OriginError> {
    match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => None,
        std::io::ErrorKind::PermissionDenied => Some(Refusal::Permission.into()),
        _ => Some(OriginError::Ours(format!("a file can't be opened: {error}"))),
    }
}

#[cfg(test)]
mod tests;

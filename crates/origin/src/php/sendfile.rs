//! Answers that name a file instead of holding it: `X-Accel-Redirect`, `X-Sendfile`.
//!
//! In: the head of an answer. Out: the answer that the file makes of it.
//! Invariant: a file outside the site's folder is sent only from a folder that the
//! owner named, also when links lead there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use wire::{Fields, Name, ResponseHead};

use crate::files::answer_with;
use crate::path::SitePath;
use crate::{Answer, OpenFile, OriginError};

/// Folders that an app may send files from, beside the site's own.
#[derive(Clone, Debug, Default)]
pub struct SendFolders {
    /// For `X-Sendfile`: absolute folders.
    pub sendfile: Vec<PathBuf>,
    /// For `X-Accel-Redirect`: a path's beginning, as `/protected/`, and its folder.
    pub accel: Vec<(String, PathBuf)>,
}

/// The file that the head asks for, if it asks for one.
pub(crate) fn named(head: &ResponseHead) -> Option<(Name, &[u8])> {
    [Name::XAccelRedirect, Name::XSendfile]
        .into_iter()
        .find_map(|name| head.fields.first(name).map(|value| (name, value)))
}

impl SendFolders {
    /// Answers with the file that the field `name` of an answer names by `value`.
    pub(crate) fn send(
        &self,
        root: &Path,
        name: Name,
        value: &[u8],
        head: &ResponseHead,
        is_head: bool,
    ) -> Result<Answer, OriginError> {
        let wrong = |what: &str| {
            let value = String::from_utf8_lossy(value);
            OriginError::Malformed(format!("{} {value:?}: {what}", name.as_str()))
        };
        let path = match name {
            Name::XAccelRedirect => {
                self.accel_path(root, value).ok_or_else(|| wrong("no usable path"))?
            }
            _ => PathBuf::from(OsStr::from_bytes(value)),
        };
        if !path.is_absolute() {
            return Err(wrong("not an absolute path"));
        }
        let Ok(real) = path.canonicalize() else { return Ok(Answer::not_found(is_head)) };
        if !self.allows(root, &real) {
            return Err(wrong("outside the site's folder and those that may be sent from"));
        }
        if real.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("php")) {
            return Err(wrong("a script is not sent as a file"));
        }
        let Some(file) = OpenFile::open(&real)? else { return Ok(Answer::not_found(is_head)) };
        let mut fields = kept(name, &head.fields);
        if !fields.has(Name::ContentType) {
            fields.put(Name::ContentType, &file.content_type);
        }
        fields.remove(Name::AcceptRanges);
        file.describe(&mut fields);
        Ok(answer_with(file, ResponseHead { status: head.status, fields }, is_head))
    }

    /// A path of the site, by the longest beginning that the owner named.
    fn accel_path(&self, root: &Path, value: &[u8]) -> Option<PathBuf> {
        let value = std::str::from_utf8(value).ok()?;
        let raw = value.split_once('?').map_or(value, |(path, _)| path);
        let named = self.accel.iter().filter(|(beginning, _)| raw.starts_with(beginning.as_str()));
        let (folder, rest) = match named.max_by_key(|(beginning, _)| beginning.len()) {
            Some((beginning, folder)) => (folder.as_path(), &raw[beginning.len()..]),
            None => (root, raw),
        };
        let path = SitePath::parse(&format!("/{}", rest.trim_start_matches('/'))).ok()?;
        if path.is_folder || path.file_segments().len() != path.segments.len() {
            return None;
        }
        let mut file = folder.to_path_buf();
        file.extend(path.segments.iter().map(|segment| OsStr::from_bytes(segment)));
        Some(file)
    }

    fn allows(&self, root: &Path, real: &Path) -> bool {
        let accel = self.accel.iter().map(|(_, folder)| folder.as_path());
        let folders = self.sendfile.iter().map(PathBuf::as_path);
        std::iter::once(root)
            .chain(folders)
            .chain(accel)
            .filter_map(|folder| folder.canonicalize().ok())
            .any(|folder| real.starts_with(folder))
    }
}

/// What of the app's fields stays. For `X-Accel-Redirect` it is nginx's list; for
/// `X-Sendfile`, as in Apache and lighttpd, all that doesn't describe the bytes.
fn kept(name: Name, fields: &Fields) -> Fields {
    let mut kept = fields.clone();
    kept.retain(|known, _, _| match (name, known) {
        (_, Some(Name::ContentType | Name::ContentDisposition | Name::SetCookie)) => true,
        (_, Some(Name::CacheControl | Name::Expires)) => true,
        (Name::XAccelRedirect, _) => false,
        (_, Some(Name::XSendfile | Name::ContentLength | Name::ContentEncoding)) => false,
        (_, Some(Name::ContentRange | Name::TransferEncoding)) => false,
        (_, Some(Name::Etag | Name::LastModified)) => false,
        _ => true,
    });
    kept
}

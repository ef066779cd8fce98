//! One open file and any stretch of it as a body.
//!
//! Invariant: every stretch is of the file that was opened, also if another takes
//! its name meanwhile. What is in the page cache is read at once where it is asked for: a
//! thread's help would cost more than the read. What has to be waited for is read by a thread
//! that serves nobody.

use std::fs::File;
use std::future::Future;
use std::io::{self, IoSliceMut};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use tokio::task::JoinHandle;
use wire::{Body, BodyError, Coding, Fields, Name};

use super::{FileAt, file_error};
use crate::OriginError;
use crate::stamp::Stamp;

/// The most that is read in one piece.
const PIECE_BYTES: u64 = 64 * 1024;

/// An open file; clones share it.
#[derive(Clone, Debug)]
pub struct OpenFile {
    file: Arc<File>,
    /// Where it was when it was opened, and by what it is known.
    pub at: FileAt,
    /// A strong validator, quoted: time of the last write and length.
    pub etag: String,
    /// By the ending of its name.
    pub content_type: String,
}

impl OpenFile {
    /// Opens the regular file at `path`; none if there is none.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, OriginError> {
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (data, file) = match opened {
            Ok((data, file)) if data.is_file() => (data, file),
            Ok(_) => return Ok(None),
            Err(error) => return file_error(&error).map_or(Ok(None), Err),
        };
        let stamp = Stamp::of(&data);
        Ok(Some(Self {
            file: Arc::new(file),
            etag: stamp.etag(),
            content_type: content_type(path),
            at: FileAt { path: path.to_owned(), stamp },
        }))
    }

    /// Bytes of the whole file.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.at.stamp.length
    }

    /// The same content as it lies in this coding beside the file (`app.css.br`), if it is no
    /// older. Its tag is that of its own bytes.
    #[must_use]
    pub fn beside(&self, coding: Coding) -> Option<Self> {
        let mut beside = Self::open(&beside(&self.at.path, coding)).ok().flatten()?;
        if beside.at.stamp.is_older_than(&self.at.stamp) {
            return None;
        }
        beside.etag.truncate(beside.etag.len() - 1);
        beside.etag.push_str(&format!("-{}\"", coding.as_str()));
        Some(beside)
    }

    /// The bytes from `first` to before `end`.
    #[must_use]
    pub fn body(&self, first: u64, end: u64) -> Body {
        let end = end.min(self.length());
        let body = FileBody { file: self.file.clone(), at: first.min(end), end, reading: None };
        body.boxed_unsync()
    }

    /// All of it in one piece.
    ///
    /// # Errors
    /// It can't be read, or became shorter.
    pub async fn whole(&self) -> io::Result<Bytes> {
        let length = self.length();
        match read_now(&self.file, 0, length)? {
            Now::Read(bytes) if bytes.len() as u64 == length => return Ok(bytes),
            Now::Unknown if length <= PIECE_BYTES => return read(&self.file, 0, length),
            _ => {}
        }
        let file = self.file.clone();
        apart(move || read(&file, 0, length)).await
    }

    /// The file itself, for the kernel to send from.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Whether the bytes from `first` to before `end`, of which there is one at least, seem to be
    /// in the page cache.
    #[must_use]
    pub fn is_warm(&self, first: u64, end: u64) -> bool {
        let is_there = |at| {
            let mut byte = [0];
            let read =
                preadv2(&self.file, &mut [IoSliceMut::new(&mut byte)], at, ReadWriteFlags::NOWAIT);
            read == Ok(1)
        };
        is_there(first) && is_there(end - 1)
    }

    /// Has the bytes from `first` to before `end` in the page cache, as far as that has room,
    /// so that nobody waits for a disk who sends them.
    ///
    /// # Errors
    /// They can't be read.
    pub async fn warm(&self, first: u64, end: u64) -> io::Result<()> {
        if end <= first || self.is_warm(first, end) {
            return Ok(());
        }
        let file = self.file.clone();
        apart(move || {
            let pieces = (first..end).step_by(PIECE_BYTES as usize);
            pieces
                .map(|at| read(&file, at, PIECE_BYTES.min(end - at)))
                .try_for_each(|it| it.map(drop))
        })
        .await
    }

    /// Adds length and validators to an answer's fields.
    pub(crate) fn describe(&self, fields: &mut Fields) {
        fields.put(Name::ContentLength, self.length().to_string());
        fields.put(Name::LastModified, httpdate::fmt_http_date(self.at.stamp.modified()));
        fields.put(Name::Etag, &self.etag);
        fields.put(Name::AcceptRanges, "bytes");
    }
}

/// Where the same content would lie in this coding.
pub(super) fn beside(path: &Path, coding: Coding) -> PathBuf {
    let mut path = path.to_owned().into_os_string();
    path.push(coding.file_ending());
    path.into()
}

/// The type by the file's ending; text is said to be UTF-8.
fn content_type(path: &Path) -> String {
    let Some(mime) = mime_guess::from_path(path).first() else {
        return "application/octet-stream".to_owned();
    };
    let is_text = mime.type_() == "text"
        || matches!(mime.subtype().as_str(), "javascript" | "json" | "xml")
        || mime.suffix().is_some_and(|suffix| suffix == "xml" || suffix == "json");
    if is_text { format!("{mime}; charset=utf-8") } else { mime.to_string() }
}

struct FileBody {
    file: Arc<File>,
    at: u64,
    end: u64,
    reading: Option<JoinHandle<io::Result<Bytes>>>,
}

impl http_body::Body for FileBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        let left = this.end - this.at;
        if left == 0 {
            return Poll::Ready(None);
        }
        let wanted = left.min(PIECE_BYTES);
        let now = match this.reading {
            None => read_now(&this.file, this.at, wanted),
            Some(_) => Ok(Now::Cold),
        };
        let piece = match now {
            Ok(Now::Read(bytes)) => Ok(bytes),
            Ok(Now::Unknown) if left <= PIECE_BYTES => read(&this.file, this.at, left),
            Ok(Now::Cold | Now::Unknown) => {
                let reading = this.reading.get_or_insert_with(|| {
                    let (file, at) = (this.file.clone(), this.at);
                    tokio::task::spawn_blocking(move || read(&file, at, wanted))
                });
                let joined = ready!(Pin::new(reading).poll(context));
                this.reading = None;
                joined.unwrap_or_else(|error| Err(io::Error::other(error)))
            }
            Err(error) => Err(error),
        };
        Poll::Ready(Some(match piece {
            Ok(bytes) => {
                this.at += bytes.len() as u64;
                Ok(Frame::data(bytes))
            }
            Err(error) => {
                this.at = this.end;
                Err(BodyError::Ours(format!("a file could not be read to its end: {error}")))
            }
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.at == self.end
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.end - self.at)
    }
}

/// What can be read without waiting.
enum Now {
    /// The beginning of what was wanted, at least one byte of it.
    Read(Bytes),
    /// It would have to be waited for.
    Cold,
    /// This file system doesn't tell.
    Unknown,
}

/// Reads up to `length` bytes, at least one, as far as they are in the page cache.
fn read_now(file: &File, at: u64, length: u64) -> io::Result<Now> {
    let mut bytes = vec![0; length as usize];
    match preadv2(file, &mut [IoSliceMut::new(&mut bytes)], at, ReadWriteFlags::NOWAIT) {
        Ok(0) if length > 0 => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(read) => {
            bytes.truncate(read);
            Ok(Now::Read(bytes.into()))
        }
        Err(Errno::AGAIN) => Ok(Now::Cold),
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(Now::Unknown),
        Err(error) => Err(error.into()),
    }
}

/// Has a thread that serves nobody read.
async fn apart<T: Send + 'static>(
    read: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let reading = tokio::task::spawn_blocking(read);
    reading.await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// Reads exactly `length` bytes; a file that became shorter is an error.
fn read(file: &File, at: u64, length: u64) -> io::Result<Bytes> {
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, at)?;
    Ok(bytes.into())
}

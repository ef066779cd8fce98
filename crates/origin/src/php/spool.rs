//! Request bodies, gathered before a child is taken: PHP must be told the length
//! first, and a slow upload must hold up no child.
//!
//! Invariants: 1. No more than the memory share of a body is held in memory. 2. A
//! file is unlinked as soon as it exists, so nothing is left behind.

use std::io::{self, SeekFrom};
use std::path::PathBuf;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use tokio::fs::File;
use tokio::io::{AsyncSeekExt, AsyncWriteExt};
use wire::{Body, BodyError};

use crate::{Counters, OriginError};

/// Where request bodies wait.
#[derive(Clone, Debug)]
pub struct Spool {
    /// Bodies up to this many bytes stay in memory.
    pub memory_bytes: usize,
    /// The most that a body may have; beyond it the visitor gets 413.
    pub limit_bytes: u64,
    /// Where larger ones go.
    pub folder: PathBuf,
}

impl Default for Spool {
    fn default() -> Self {
        let shared_memory = PathBuf::from("/dev/shm");
        let folder = if shared_memory.is_dir() { shared_memory } else { std::env::temp_dir() };
        Self { memory_bytes: 64 * 1024, limit_bytes: 1 << 30, folder }
    }
}

/// A whole request body.
pub(crate) enum Stored {
    Memory(Bytes),
    File { file: File, length: u64 },
}

impl Stored {
    pub(crate) fn length(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File { length, .. } => *length,
        }
    }
}

impl Spool {
    /// Gathers `body`, of which `announced` bytes are expected if that was said.
    pub(crate) async fn store(
        &self,
        body: Option<Body>,
        announced: Option<u64>,
        counters: &Counters,
    ) -> Result<Stored, OriginError> {
        let Some(mut body) = body else { return Ok(Stored::Memory(Bytes::new())) };
        if announced.is_some_and(|length| length > self.limit_bytes) {
            return Err(self.too_large(counters));
        }
        let mut memory = BytesMut::new();
        let mut file = None;
        let mut length = 0u64;
        while let Some(frame) = body.frame().await {
            let Ok(piece) = frame.map_err(OriginError::Client)?.into_data() else { continue };
            length += piece.len() as u64;
            if length > self.limit_bytes {
                return Err(self.too_large(counters));
            }
            if file.is_none() && length <= self.memory_bytes as u64 {
                memory.extend_from_slice(&piece);
                continue;
            }
            let file = match &mut file {
                Some(file) => file,
                none => {
                    counters.spooled_bodies.bump();
                    none.insert(self.open(&memory).await.map_err(|e| self.failed(&e))?)
                }
            };
            file.write_all(&piece).await.map_err(|error| self.failed(&error))?;
        }
        if announced.is_some_and(|announced| announced != length) {
            let text = "it is not as long as was announced".to_owned();
            return Err(OriginError::Client(BodyError::Client(text)));
        }
        let Some(mut file) = file else { return Ok(Stored::Memory(memory.freeze())) };
        file.flush().await.map_err(|error| self.failed(&error))?;
        file.seek(SeekFrom::Start(0)).await.map_err(|error| self.failed(&error))?;
        Ok(Stored::File { file, length })
    }

    async fn open(&self, memory: &[u8]) -> io::Result<File> {
        let folder = self.folder.clone();
        let file = tokio::task::spawn_blocking(move || tempfile::tempfile_in(folder)).await;
        let mut file = File::from_std(file.map_err(io::Error::other)??);
        file.write_all(memory).await?;
        Ok(file)
    }

    fn too_large(&self, counters: &Counters) -> OriginError {
        counters.bodies_too_large.bump();
        OriginError::Client(BodyError::TooLarge { limit: self.limit_bytes })
    }

    fn failed(&self, error: &io::Error) -> OriginError {
        let folder = self.folder.display();
        OriginError::Ours(format!("a request body can't be kept in {folder}: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;
    use http_body::Frame;
    use http_body_util::StreamBody;
    use tokio::io::AsyncReadExt;

    fn body(pieces: usize, bytes: usize) -> Body {
        let piece = move |n: usize| Ok(Frame::data(Bytes::from(vec![n as u8; bytes])));
        StreamBody::new(stream::iter((0..pieces).map(piece))).boxed_unsync()
    }

    async fn check(pieces: usize, announced: Option<u64>) -> String {
        let spool = Spool { memory_bytes: 250, limit_bytes: 500, ..Spool::default() };
        let counters = Counters::default();
        match spool.store(Some(body(pieces, 100)), announced, &counters).await {
            Err(error) => format!("{} {}", error.status(), counters.bodies_too_large.read()),
            Ok(Stored::Memory(bytes)) => format!("memory {}", bytes.len()),
            Ok(Stored::File { mut file, length }) => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).await.expect("the file can be read");
                let expected: Vec<u8> = (0..pieces).flat_map(|n| vec![n as u8; 100]).collect();
                assert_eq!(bytes, expected);
                format!("file {length}")
            }
        }
    }

    #[tokio::test]
    async fn small_bodies_stay_in_memory_larger_ones_go_to_a_file_and_huge_ones_are_refused() {
        for (pieces, announced, seen) in [
            (0, None, "memory 0"),
            (2, Some(200), "memory 200"),
            (3, None, "file 300"),
            (5, Some(500), "file 500"),
            (6, None, "413 1"),
            (1, Some(501), "413 1"),
            (1, Some(99), "400 0"),
            (1, Some(101), "400 0"),
        ] {
            assert_eq!(check(pieces, announced).await, seen, "{pieces} {announced:?}");
        }
    }
}

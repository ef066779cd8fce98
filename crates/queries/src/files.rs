//! Where logs come from: files, compressed or not, standard input, and files that grow.
//!
//! Invariants: 1. a file is read in pieces. 2. a followed file that is replaced or emptied
//! is read from its new beginning, once the old one has been read to its end.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

const PIECE_BYTES: usize = 128 << 10;
/// Of what is packed by zstd so much is kept to unpack the rest by, as a power of two: 32 MiB, four
/// times what `zstd -19` wants.
const ZSTD_WINDOW_LOG_MAX: u32 = 25;

/// What is in `path`, or in standard input for `-`, unpacked if it is gzip or zstd.
///
/// # Errors
/// Those of the file, and of what is no sound gzip or zstd, or was packed by zstd with a window that
/// would take too much memory.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    let raw: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path)?),
    };
    let mut buffered = BufReader::with_capacity(PIECE_BYTES, raw);
    let begin = buffered.fill_buf()?;
    if begin.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(MultiGzDecoder::new(buffered)));
    }
    if begin.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let mut decoder = zstd::Decoder::with_buffer(buffered)?;
        decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
        return Ok(Box::new(Unpacked(decoder)));
    }
    Ok(Box::new(buffered))
}

/// What zstd packed; where it refuses to take so much memory it is said what to do.
struct Unpacked<R: BufRead>(zstd::Decoder<'static, R>);

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes).map_err(|error| match error.to_string().contains("memory") {
            true => io::Error::new(
                io::ErrorKind::InvalidData,
                "it was packed by zstd with a window of more than 32 MiB (--long, --ultra): unpack it \
                 first, as in zstd -dc --long=31 FILE | wick queries -",
            ),
            false => error,
        })
    }
}

/// A log that grows.
#[derive(Debug)]
pub struct Growing {
    path: PathBuf,
    file: File,
}

impl Growing {
    /// The log at `path`, from its beginning.
    ///
    /// # Errors
    /// Those of the file.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), file: File::open(path)? })
    }

    /// Whether another file has taken the place of this one, or its content is gone; then
    /// reading goes on at the beginning. To be asked when there was nothing more to read.
    ///
    /// # Errors
    /// Those of the file. That there is none at the moment is no error.
    pub fn turn_over(&mut self) -> io::Result<bool> {
        let own = self.file.metadata()?;
        if own.len() < self.file.stream_position()? {
            self.file.seek(SeekFrom::Start(0))?;
            return Ok(true);
        }
        let there = match std::fs::metadata(&self.path) {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        if (there.dev(), there.ino()) == (own.dev(), own.ino()) {
            return Ok(false);
        }
        self.file = File::open(&self.path)?;
        Ok(true)
    }
}

impl Read for Growing {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn all(mut reader: impl Read) -> String {
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("it can be read");
        text
    }

    #[test]
    fn a_log_is_unpacked() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"one\n").expect("it is written");
        let one = packed.finish().expect("it is packed");
        // Two that were put together are one.
        std::fs::write(&path, [one.clone(), one].concat()).expect("a file");
        assert_eq!(all(open(&path).expect("a log")), "one\none\n");
        std::fs::write(&path, zstd::encode_all(&b"two\n"[..], 3).expect("packed")).expect("a file");
        assert_eq!(all(open(&path).expect("a log")), "two\n");
        std::fs::write(&path, "three").expect("a file");
        assert_eq!(all(open(&path).expect("a log")), "three");
        assert!(open(&folder.path().join("none")).is_err());
    }

    #[test]
    fn what_takes_too_much_memory_to_unpack_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        for (window, is_read) in [(25, true), (27, false)] {
            let mut packed = zstd::Encoder::new(Vec::new(), 3).expect("an encoder");
            packed.window_log(window).expect("a window");
            packed.write_all(b"one\n").expect("it is written");
            // So that its length isn't known when the window is written down.
            packed.flush().expect("it is written");
            packed.write_all(b"two\n").expect("it is written");
            std::fs::write(&path, packed.finish().expect("it is packed")).expect("a file");
            let mut text = String::new();
            match open(&path).expect("a log").read_to_string(&mut text) {
                Ok(_) => assert!(is_read && text == "one\ntwo\n", "{window}: {text}"),
                Err(error) => {
                    assert!(!is_read && error.to_string().contains("--long=31"), "{error}");
                }
            }
        }
    }

    #[test]
    fn a_log_that_grows_is_followed_over_its_rotation() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        std::fs::write(&path, "one\n").expect("a file");
        let mut growing = Growing::open(&path).expect("a log");
        assert_eq!(all(&mut growing), "one\n");
        assert!(!growing.turn_over().expect("it is there"));
        let mut file = File::options().append(true).open(&path).expect("the file");
        file.write_all(b"two\n").expect("it grows");
        assert_eq!(all(&mut growing), "two\n");
        std::fs::rename(&path, folder.path().join("log.1")).expect("it is rotated");
        assert!(!growing.turn_over().expect("nothing is there yet"));
        file.write_all(b"late\n").expect("it grows");
        assert_eq!(all(&mut growing), "late\n");
        std::fs::write(&path, "new\n").expect("a file");
        assert!(growing.turn_over().expect("it is there"));
        assert_eq!(all(&mut growing), "new\n");
        std::fs::write(&path, "").expect("it is emptied");
        assert!(growing.turn_over().expect("it is there"));
        std::fs::write(&path, "anew\n").expect("it grows");
        assert_eq!(all(&mut growing), "anew\n");
    }
}

//! The thread that writes: segments one behind the other, and room made for the next.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Weak};

use super::index::Place;
use super::journal::Said;
use super::record::{Entry, write_footer, write_record};
use super::{Inner, LARGEST_PART, Put, State, folder};

/// What the thread is asked for.
pub(super) enum Message {
    Write(Put),
    /// See whether there is more than there should be.
    MakeRoom,
    /// Remove all that was kept.
    GiveUp,
    /// Write everything, end in good order, then answer.
    Finish(Sender<()>),
}

pub(super) struct Writer {
    inner: Weak<Inner>,
    messages: Receiver<Message>,
    current: Option<Segment>,
    buffer: Vec<u8>,
}

/// The segment that is being written.
struct Segment {
    number: u32,
    file: File,
    bytes: u64,
    entries: Vec<Entry>,
}

impl Writer {
    pub(super) fn new(inner: Weak<Inner>, messages: Receiver<Message>) -> Self {
        Self { inner, messages, current: None, buffer: Vec::new() }
    }

    /// Until nobody is left to ask for anything.
    pub(super) fn work(mut self) {
        while let Ok(message) = self.messages.recv() {
            let Some(inner) = self.inner.upgrade() else { return };
            let done = match message {
                Message::Write(put) => self.write(&inner, put),
                Message::MakeRoom => self.make_room(&inner),
                Message::GiveUp => {
                    self.current = None;
                    // Best effort: without their journal they are of no use to anybody.
                    let _ = folder::remove_all(&inner.folder, None);
                    inner.shelf.lock().lock = None;
                    Ok(())
                }
                Message::Finish(done) => {
                    let finished = self.finish(&inner);
                    if let Err(error) = finished {
                        inner.fail(&error.to_string());
                    }
                    inner.shelf.lock().lock = None;
                    // Whoever asked may have gone.
                    let _ = done.send(());
                    Ok(())
                }
            };
            if let Err(error) = done {
                inner.fail(&error.to_string());
            }
        }
    }

    fn write(&mut self, inner: &Inner, put: Put) -> io::Result<()> {
        let Put { sequence, hash, key, floor, fingerprint, bytes, write } = put;
        let mut entry = Entry { hash, sequence, floor, offset: 0, length: 0, fingerprint };
        self.buffer.clear();
        // One that was removed while it waited need not be written.
        let is_wanted =
            inner.shelf.lock().index.places(hash).any(|place| place.sequence == sequence);
        let length = match is_wanted {
            true => write_record(&mut self.buffer, inner.secret, &entry, &key, write),
            false => None,
        };
        inner.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
        let Some(length) =
            length.filter(|&length| u64::from(length) <= inner.size_bytes / LARGEST_PART)
        else {
            if inner.shelf.lock().index.remove(hash, sequence) {
                inner.counters.dropped.bump();
            }
            return Ok(());
        };
        self.begin_segment_for(inner, u64::from(length))?;
        let Some(segment) = &mut self.current else { return Ok(()) };
        // A segment is far shorter than what 32 bits count.
        entry.offset = u32::try_from(segment.bytes).map_err(|_| io::ErrorKind::FileTooLarge)?;
        entry.length = length;
        segment.file.write_all(&self.buffer)?;
        segment.bytes += u64::from(length);
        segment.entries.push(entry);
        let place = Place::of(segment.number, &entry);
        let (number, bytes) = (segment.number, segment.bytes);
        let mut shelf = inner.shelf.lock();
        shelf.index.settle(place);
        if shelf.state == State::Open {
            shelf.segments.insert(number, bytes);
        }
        drop(shelf);
        inner.counters.written.bump();
        // One large record must not be held for ever.
        self.buffer.shrink_to(1 << 20);
        self.make_room(inner)
    }

    /// Sees to it that there is a segment for a record of this length.
    fn begin_segment_for(&mut self, inner: &Inner, length: u64) -> io::Result<()> {
        let is_full =
            |segment: &Segment| segment.bytes > 0 && segment.bytes + length > inner.segment_bytes;
        if self.current.as_ref().is_some_and(is_full) {
            self.seal(inner)?;
        }
        if self.current.is_none() {
            let last = inner.shelf.lock().segments.keys().next_back().copied();
            let number = last.map_or(0, |last| last.wrapping_add(1));
            let path = folder::segment_path(&inner.folder, number);
            let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
            self.current = Some(Segment { number, file, bytes: 0, entries: Vec::new() });
        }
        Ok(())
    }

    /// Ends the segment that is being written.
    fn seal(&mut self, inner: &Inner) -> io::Result<()> {
        let Some(mut segment) = self.current.take() else { return Ok(()) };
        let mut footer = Vec::new();
        write_footer(&mut footer, inner.secret, segment.number, &segment.entries);
        segment.file.write_all(&footer)?;
        let bytes = segment.bytes + footer.len() as u64;
        inner.shelf.lock().segments.insert(segment.number, bytes);
        Ok(())
    }

    /// Lets the oldest segments go until all is within its bounds.
    fn make_room(&mut self, inner: &Inner) -> io::Result<()> {
        loop {
            let (segments, entries) = {
                let shelf = inner.shelf.lock();
                (shelf.segments.clone(), shelf.index.len())
            };
            let is_over = within(&segments) + inner.segment_bytes > inner.size_bytes
                || entries > inner.entries_max / 16 * 15;
            let Some((&oldest, &bytes)) = segments.first_key_value() else { return Ok(()) };
            if !is_over {
                return Ok(());
            }
            if self.current.as_ref().is_some_and(|current| current.number == oldest) {
                self.seal(inner)?;
            }
            self.drop_segment(inner, oldest, bytes)?;
        }
    }

    fn drop_segment(&mut self, inner: &Inner, number: u32, bytes: u64) -> io::Result<()> {
        // It may have got its footer just now.
        let path = folder::segment_path(&inner.folder, number);
        let bytes = std::fs::metadata(&path).map_or(bytes, |about| about.len());
        let entries = folder::entries_of(&inner.folder, inner.secret, number, bytes)?;
        for some in entries.chunks(256) {
            let mut shelf = inner.shelf.lock();
            let gone = some.iter().filter(|entry| shelf.index.remove(entry.hash, entry.sequence));
            let gone = gone.count() as u64;
            inner.counters.evicted.add(gone);
        }
        let last = entries.iter().map(|entry| entry.sequence).max().unwrap_or(0);
        inner.oldest.fetch_max(last + 1, Ordering::Relaxed);
        inner.shelf.lock().segments.remove(&number);
        std::fs::remove_file(path)
    }

    fn finish(&mut self, inner: &Inner) -> io::Result<()> {
        self.seal(inner)?;
        let mut shelf = inner.shelf.lock();
        if shelf.state == State::Ended {
            return Ok(());
        }
        shelf.state = State::Ended;
        drop(shelf);
        let journal: Arc<_> = inner.journal.read().clone();
        journal.say(inner.secret, &Said::Closed)?;
        journal.sync()
    }
}

fn within(segments: &BTreeMap<u32, u64>) -> u64 {
    segments.values().sum()
}

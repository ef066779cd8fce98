//! The thread that writes: segments one behind the other, and room made for the next.
//!
//! Pages are in segments of even numbers, pieces of what is large in those of odd ones.
//! Invariant: what is about to be written has room before it is, but for footers.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Weak};

use super::folder::is_of_bulk;
use super::index::Place;
use super::journal::Said;
use super::record::{Entry, read_record, write_footer, write_record};
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
    /// Those that are being written: of pages, and of pieces.
    current: [Option<Segment>; 2],
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
        Self { inner, messages, current: [None, None], buffer: Vec::new() }
    }

    /// Until nobody is left to ask for anything.
    pub(super) fn work(mut self) {
        while let Ok(message) = self.messages.recv() {
            let Some(inner) = self.inner.upgrade() else { return };
            let done = match message {
                Message::Write(put) => self.write(&inner, put),
                Message::MakeRoom => self.make_room(&inner, 0),
                Message::GiveUp => {
                    self.current = [None, None];
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
        let Put { sequence, hash, key, floor, fingerprint, bytes, is_bulk, done, write } = put;
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
        entry.length = length;
        self.make_room(inner, u64::from(length))?;
        let mut buffer = std::mem::take(&mut self.buffer);
        let appended = self.append(inner, entry, &buffer, is_bulk);
        // One large record must not be held for ever.
        buffer.shrink_to(1 << 20);
        self.buffer = buffer;
        appended?;
        inner.counters.written.bump();
        drop(done);
        Ok(())
    }

    /// Writes a record behind the newest of its kind, and has it found there.
    fn append(
        &mut self,
        inner: &Inner,
        mut entry: Entry,
        bytes: &[u8],
        is_bulk: bool,
    ) -> io::Result<()> {
        self.begin_segment_for(inner, u64::from(entry.length), is_bulk)?;
        let Some(segment) = &mut self.current[usize::from(is_bulk)] else { return Ok(()) };
        // A segment is far shorter than what 32 bits count.
        entry.offset = u32::try_from(segment.bytes).map_err(|_| io::ErrorKind::FileTooLarge)?;
        segment.file.write_all(bytes)?;
        segment.bytes += u64::from(entry.length);
        segment.entries.push(entry);
        let place = Place::of(segment.number, &entry);
        let (number, bytes) = (segment.number, segment.bytes);
        let mut shelf = inner.shelf.lock();
        shelf.index.settle(place);
        if shelf.state == State::Open {
            shelf.segments.insert(number, bytes);
        }
        Ok(())
    }

    /// Sees to it that there is a segment for a record of this length.
    fn begin_segment_for(&mut self, inner: &Inner, length: u64, is_bulk: bool) -> io::Result<()> {
        let kind = usize::from(is_bulk);
        let is_full =
            |segment: &Segment| segment.bytes > 0 && segment.bytes + length > inner.segment_bytes;
        if self.current[kind].as_ref().is_some_and(is_full) {
            self.seal(inner, kind)?;
        }
        if self.current[kind].is_none() {
            let last = inner.shelf.lock().segments.keys().next_back().copied();
            let next = last.map_or(0, |last| last.wrapping_add(1));
            // The next one of its kind.
            let number = next.wrapping_add(u32::from(is_of_bulk(next) != is_bulk));
            let path = folder::segment_path(&inner.folder, number);
            let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
            self.current[kind] = Some(Segment { number, file, bytes: 0, entries: Vec::new() });
        }
        Ok(())
    }

    /// Ends the segment that is being written.
    fn seal(&mut self, inner: &Inner, kind: usize) -> io::Result<()> {
        let Some(mut segment) = self.current[kind].take() else { return Ok(()) };
        let mut footer = Vec::new();
        write_footer(&mut footer, inner.secret, segment.number, &segment.entries);
        segment.file.write_all(&footer)?;
        let bytes = segment.bytes + footer.len() as u64;
        inner.shelf.lock().segments.insert(segment.number, bytes);
        Ok(())
    }

    /// Lets the oldest segments go until there is room for so many bytes more.
    fn make_room(&mut self, inner: &Inner, bytes: u64) -> io::Result<()> {
        loop {
            let (segments, entries) = {
                let shelf = inner.shelf.lock();
                (shelf.segments.clone(), shelf.index.len())
            };
            let more = inner.segment_bytes.max(bytes);
            let has_room = segments.values().sum::<u64>() + more <= inner.size_bytes;
            let is_crowded = entries > inner.entries_max / 16 * 15;
            if has_room && !is_crowded {
                return Ok(());
            }
            let Some((oldest, bytes)) = to_go(&segments, inner.size_bytes, is_crowded) else {
                return Ok(());
            };
            for kind in 0..self.current.len() {
                if self.current[kind].as_ref().is_some_and(|current| current.number == oldest) {
                    self.seal(inner, kind)?;
                }
            }
            let taken_bytes = segments.values().sum::<u64>();
            let room_bytes = match is_crowded {
                true => 0,
                false => inner.size_bytes.saturating_sub(taken_bytes),
            };
            self.drop_segment(inner, oldest, bytes, room_bytes)?;
        }
    }

    /// Lets a segment go. Pieces that were asked for again stay, as far as there is room for
    /// both, and no more than half of it: the other half is for what nobody knows yet.
    fn drop_segment(
        &mut self,
        inner: &Inner,
        number: u32,
        bytes: u64,
        room_bytes: u64,
    ) -> io::Result<()> {
        // It may have got its footer just now.
        let path = folder::segment_path(&inner.folder, number);
        let bytes = std::fs::metadata(&path).map_or(bytes, |about| about.len());
        let entries = folder::entries_of(&inner.folder, inner.secret, number, bytes)?;
        if is_of_bulk(number) {
            self.carry(inner, number, &entries, room_bytes.min(bytes / 2))?;
        }
        for some in entries.chunks(256) {
            let mut shelf = inner.shelf.lock();
            let gone = some.iter().filter(|entry| {
                let Entry { hash, sequence, .. } = **entry;
                shelf.index.remove_from(hash, sequence, number)
            });
            let gone = gone.count() as u64;
            inner.counters.evicted.add(gone);
        }
        if !is_of_bulk(number) {
            let last = entries.iter().map(|entry| entry.sequence).max().unwrap_or(0);
            inner.oldest.fetch_max(last + 1, Ordering::Relaxed);
        }
        inner.shelf.lock().segments.remove(&number);
        std::fs::remove_file(path)
    }

    /// Copies the pieces of a segment that were asked for again, as they are.
    fn carry(
        &mut self,
        inner: &Inner,
        number: u32,
        entries: &[Entry],
        mut room_bytes: u64,
    ) -> io::Result<()> {
        let file = File::open(folder::segment_path(&inner.folder, number))?;
        for &entry in entries {
            let Entry { hash, sequence, offset, length, .. } = entry;
            let is_wanted = inner.shelf.lock().index.take_asked(hash, sequence, number);
            if !is_wanted || u64::from(length) > room_bytes {
                continue;
            }
            let mut bytes = vec![0; length as usize];
            file.read_exact_at(&mut bytes, offset.into())?;
            // One that is damaged goes with the rest.
            if read_record(&bytes, inner.secret).is_some() {
                room_bytes -= u64::from(length);
                self.append(inner, entry, &bytes, true)?;
                inner.counters.carried.bump();
            }
        }
        Ok(())
    }

    fn finish(&mut self, inner: &Inner) -> io::Result<()> {
        for kind in 0..self.current.len() {
            self.seal(inner, kind)?;
        }
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

/// The segment that gives way: the oldest of that kind that has more than half of the folder.
/// Where there are too many records rather than bytes, it is one of pages, which are the many.
fn to_go(segments: &BTreeMap<u32, u64>, size_bytes: u64, is_crowded: bool) -> Option<(u32, u64)> {
    let bulk = segments.iter().filter(|(number, _)| is_of_bulk(**number));
    let bulk_goes = !is_crowded && bulk.map(|(_, bytes)| bytes).sum::<u64>() > size_bytes / 2;
    let of_its_kind = segments.iter().find(|(number, _)| is_of_bulk(**number) == bulk_goes);
    of_its_kind.or(segments.first_key_value()).map(|(number, bytes)| (*number, *bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_of_that_kind_that_has_more_than_half() {
        for (segments, is_crowded, expected) in [
            (&[(0, 60), (1, 20), (2, 20)][..], false, Some(0)),
            (&[(0, 20), (1, 30), (2, 20), (3, 30)], false, Some(1)),
            (&[(0, 20), (1, 25), (2, 20), (3, 25)], false, Some(0)),
            (&[(1, 50), (3, 50)], true, Some(1)),
            (&[(1, 50), (2, 10), (3, 50)], true, Some(2)),
            (&[(1, 40)], false, Some(1)),
            (&[], false, None),
        ] {
            let segments: BTreeMap<u32, u64> = segments.iter().copied().collect();
            let gone = to_go(&segments, 100, is_crowded).map(|(number, _)| number);
            assert_eq!(gone, expected, "{segments:?}");
        }
    }
}

//! Segments of the disk tier: whatever lies in one, what is read is whole and written by us.

use store::disk::{Entry, read_footer, read_record, scan, write_footer, write_record};

/// The secret of every input.
const SECRET: u64 = 7;

/// The bytes as a segment, as a footer, and between two records that are sound.
pub(crate) fn run(input: &[u8]) {
    for entry in scan(input, SECRET) {
        let (start, end) = (entry.offset as usize, (entry.offset + entry.length) as usize);
        let (record, length) = read_record(&input[start..end], SECRET).expect("it was found");
        assert_eq!((length, record.sequence), (end - start, entry.sequence));
        assert!(record.key.len() + record.payload.len() < length);
    }
    if let Some(entries) = read_footer(input, SECRET, 0) {
        let mut again = Vec::new();
        write_footer(&mut again, SECRET, 0, &entries);
        assert_eq!(again.len(), input.len());
    }
    let mut segment = Vec::new();
    let (mut first, mut last) = (entry(1), entry(2));
    first.length = write_record(&mut segment, SECRET, &first, b"first", |_| {}).expect("short");
    segment.extend_from_slice(input);
    last.offset = u32::try_from(segment.len()).expect("short");
    let write = |out: &mut Vec<u8>| out.extend_from_slice(input);
    last.length = write_record(&mut segment, SECRET, &last, b"last", write).expect("short");
    let found = scan(&segment, SECRET);
    assert_eq!((found.first(), found.last()), (Some(&first), Some(&last)));
}

fn entry(sequence: u64) -> Entry {
    Entry { hash: 0, sequence, floor: 0, offset: 0, length: 0, fingerprint: 0 }
}

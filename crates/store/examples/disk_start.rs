//! How long a start takes with so many records on the disk:
//! `cargo run --release -p store --example disk_start -- FOLDER RECORDS BYTES`.

use std::error::Error;
use std::time::Instant;

use store::disk::{Disk, DiskOptions, Put, boot};

fn begin(folder: &str) -> std::io::Result<Disk> {
    Disk::begin(DiskOptions {
        folder: folder.into(),
        size_bytes: 64 << 30,
        index_bytes_max: 256 << 20,
        boot: boot(),
        unix_seconds: 1_800_000_000,
        complain: Box::new(|line| eprintln!("{line}")),
        secret: &|known| known.unwrap_or(7),
    })
}

fn open(folder: &str) -> Result<Disk, Box<dyn Error>> {
    let start = Instant::now();
    let disk = begin(folder)?;
    let past = disk.open()?.ok_or("another process has the folder")?;
    let (records, bytes) = (past.records, past.bytes);
    disk.settle(past);
    let index = disk.index_bytes();
    println!("{:?} for {records} records in {bytes} bytes; the index has {index}", start.elapsed());
    Ok(disk)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("name a folder")?;
    let records: u64 = arguments.next().ok_or("say how many records")?.parse()?;
    let bytes: usize = arguments.next().ok_or("say how large each is")?.parse()?;
    let disk = open(&folder)?;
    for number in 0..records {
        let key = format!("http|example.org|/articles/{number}/some-title");
        while !disk.has_room() {
            std::thread::yield_now();
        }
        let put = |sequence| Put {
            sequence,
            hash: number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            key: key.clone().into_bytes().into(),
            floor: 0,
            fingerprint: 0,
            bytes: bytes + 4096,
            is_bulk: false,
            done: None,
            write: Box::new(move |out| out.resize(out.len() + bytes, b'x')),
        };
        while !disk.put(put(disk.next_sequence())) {
            std::thread::yield_now();
        }
    }
    disk.close();
    drop(disk);
    open(&folder).map(drop)
}

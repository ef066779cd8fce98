//! Disks: what moved to and from them since the machine's start.
//!
//! In: the text of `/proc/diskstats`. Out: sums over whole disks, without their parts and
//! without what lies on top of them, so that nothing is counted twice.

use super::numbers::numbers;

/// What a sector is in the kernel's counts, whatever the disk has.
const SECTOR_BYTES: u64 = 512;

/// What moved since the machine's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskTraffic {
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Bytes that were written.
    pub written_bytes: u64,
    /// How long something was under way, in milliseconds, of the busiest disk.
    pub busy_ms: u64,
}

impl DiskTraffic {
    /// Of the text of `/proc/diskstats`; none where no disk is seen.
    #[must_use]
    pub fn parse(diskstats: &str) -> Option<Self> {
        let mut sum: Option<Self> = None;
        for line in diskstats.lines() {
            let mut words = line.split_ascii_whitespace().skip(2);
            let Some(name) = words.next().filter(|name| is_whole_disk(name)) else { continue };
            let (_, rest) = line.split_once(name).unwrap_or_default();
            let each: Vec<u64> = numbers(rest).take(10).collect();
            let &[_, _, read, _, _, _, written, _, _, busy_ms] = each.as_slice() else { continue };
            let so_far = sum.get_or_insert_default();
            let add = |sum: &mut u64, sectors: u64| {
                *sum = sum.saturating_add(sectors.saturating_mul(SECTOR_BYTES));
            };
            add(&mut so_far.read_bytes, read);
            add(&mut so_far.written_bytes, written);
            so_far.busy_ms = so_far.busy_ms.max(busy_ms);
        }
        sum
    }
}

/// `sda`, `vda`, `xvda`, `nvme0n1`, `mmcblk0`; not `sda1`, `nvme0n1p1`, `dm-0`, `loop0`.
fn is_whole_disk(name: &str) -> bool {
    let by_letters = ["sd", "vd", "hd", "xvd"];
    if by_letters.iter().any(|kind| {
        name.strip_prefix(kind)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_lowercase()))
    }) {
        return true;
    }
    let is_numbers_around = |rest: &str, between: char| {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        rest.split_once(between).is_some_and(|(one, other)| digits(one) && digits(other))
    };
    name.strip_prefix("nvme").is_some_and(|rest| is_numbers_around(rest, 'n'))
        || name
            .strip_prefix("mmcblk")
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_disks_are_added_up_and_their_parts_are_not() {
        let text = "   7       0 loop0 9 0 9 9 0 0 0 0 0 9 9\n \
             254       0 vda 1000 5 2000 300 400 6 800 500 0 70 80 0 0 0 0 0 0\n \
             254       1 vda1 999 5 1999 300 400 6 800 500 0 70 80\n \
             259       0 nvme0n1 10 0 20 3 4 0 8 5 0 90 8 0 0 0 0\n \
             259       1 nvme0n1p1 10 0 20 3 4 0 8 5 0 90 8\n \
             253       0 dm-0 1 0 1 1 1 0 1 1 0 1 1\n";
        let expected =
            DiskTraffic { read_bytes: 2020 * 512, written_bytes: 808 * 512, busy_ms: 90 };
        assert_eq!(DiskTraffic::parse(text), Some(expected));
    }

    #[test]
    fn no_disk_is_no_traffic() {
        for text in
            ["", "8 0 sda\n", "8 0 sda 1 2 3\n", "8 0 sda 1 x 3 4 5 6 7 8 9 10\n", "sda", "\0"]
        {
            assert_eq!(DiskTraffic::parse(text), None, "{text:?}");
        }
        let most = format!("8 0 sda 1 2 {0} 4 5 6 {0} 8 9 {0}\n", u64::MAX);
        assert_eq!(DiskTraffic::parse(&most).map(|disk| disk.read_bytes), Some(u64::MAX));
    }

    #[test]
    fn names_of_whole_disks() {
        for (name, is_whole) in [
            ("sda", true),
            ("sdaa", true),
            ("sda1", false),
            ("vdb", true),
            ("xvda", true),
            ("mmcblk0", true),
            ("mmcblk0p1", false),
            ("nvme1n1", true),
            ("nvme1n1p2", false),
            ("sd", false),
            ("md0", false),
            ("sr0", false),
            ("zram0", false),
        ] {
            assert_eq!(is_whole_disk(name), is_whole, "{name}");
        }
    }
}

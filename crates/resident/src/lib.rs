//! Gives back the memory of code that only the start ran.
//!
//! Pages of a program and its libraries stay mapped once they were touched. Most of what a
//! start touches (settings, command line, checks) is never run again. Let go, a page costs
//! nothing until it is run, and then a look into the page cache.
//! Invariant: only mappings of files that nobody may write to and nobody ever did are let
//! go, so what is read again is what was there.

use std::ffi::c_void;
use std::fs;
use std::io;
use std::ops::Range;

use rustix::mm::{Advice, madvise};

/// Lets go of all code that can be read again; how many bytes were mapped in and are not any
/// more.
///
/// # Errors
/// `/proc` can't be read.
pub fn give_back_code() -> io::Result<usize> {
    let mut given = 0;
    for mapping in code_of(&fs::read_to_string("/proc/self/smaps")?) {
        given += match let_go(&mapping.addresses) {
            Ok(()) => mapping.resident_bytes,
            // It stays, which does no harm.
            Err(_) => 0,
        };
    }
    Ok(given)
}

/// A mapping that can be read again from its file.
#[derive(Debug, PartialEq, Eq)]
struct Code {
    addresses: Range<usize>,
    resident_bytes: usize,
}

/// Those that a text in the form of `/proc/self/smaps` tells of.
fn code_of(smaps: &str) -> Vec<Code> {
    let mut found: Vec<Code> = Vec::new();
    // Whether the lines that follow tell of the last one that was found.
    let mut is_code = false;
    for line in smaps.lines() {
        if let Some(head) = Head::of(line) {
            is_code = head.is_read_only_file();
            if is_code {
                found.push(Code { addresses: head.addresses, resident_bytes: 0 });
            }
        } else if is_code && let Some((name, bytes)) = amount(line) {
            match name {
                "Rss" => {
                    if let Some(code) = found.last_mut() {
                        code.resident_bytes = bytes;
                    }
                }
                // Somebody wrote: relocations, or a debugger. That stands in no file. (A page that is
                // merely dirty does: its file was written a moment ago.)
                "Anonymous" | "Swap" if bytes > 0 => {
                    found.pop();
                    is_code = false;
                }
                _ => {}
            }
        }
    }
    found.retain(|code| code.resident_bytes > 0);
    found
}

/// The line that a mapping begins with.
struct Head<'a> {
    addresses: Range<usize>,
    rights: &'a str,
    inode: &'a str,
    path: &'a str,
}

impl<'a> Head<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let start = usize::from_str_radix(start, 16).ok()?;
        let end = usize::from_str_radix(end, 16).ok()?;
        let rights = words.next()?;
        let (_offset, _device, inode) = (words.next()?, words.next()?, words.next()?);
        let path = words.next().unwrap_or_default();
        Some(Self { addresses: start..end, rights, inode, path })
    }

    fn is_read_only_file(&self) -> bool {
        matches!(self.rights, "r-xp" | "r--p") && self.inode != "0" && self.path.starts_with('/')
    }
}

/// The name and the bytes of a line like `Rss:      12 kB`.
fn amount(line: &str) -> Option<(&str, usize)> {
    let (name, rest) = line.split_once(':')?;
    let kilobytes: usize = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some((name, kilobytes << 10))
}

#[allow(unsafe_code, reason = "there is no safe way to say it")]
fn let_go(addresses: &Range<usize>) -> rustix::io::Result<()> {
    let start = std::ptr::with_exposed_provenance_mut::<c_void>(addresses.start);
    // SAFETY: the range is a whole mapping of this process, private, of a file, without the
    // right to write, and without a page that differs from the file's. The next access, by
    // whichever thread, reads the same bytes from the file again; a program that runs can't be
    // written to. Mappings of code aren't taken away while a process runs, so the range is what
    // it was when it was read.
    unsafe { madvise(start, addresses.len(), Advice::LinuxDontNeed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
55e0a000-55e0b000 r--p 00000000 fe:00 1234  /usr/bin/wick
Size:                  4 kB
Rss:                   4 kB
Shared_Dirty:          4 kB
Anonymous:             0 kB
55e0b000-55e1b000 r-xp 00001000 fe:00 1234  /usr/bin/wick
Rss:                  60 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me sd
55e1b000-55e1c000 r--p 00011000 fe:00 1234  /usr/bin/wick
Rss:                   4 kB
Private_Dirty:         4 kB
Anonymous:             4 kB
55e1c000-55e1d000 rw-p 00012000 fe:00 1234  /usr/bin/wick
Rss:                   4 kB
7f00000-7f01000 r-xp 00000000 00:00 0  [vdso]
Rss:                   4 kB
7f02000-7f03000 r--p 00000000 00:00 0
Rss:                   4 kB
7f04000-7f05000 r--p 00000000 fe:00 99  /usr/share/locale
Rss:                   0 kB
";

    #[test]
    fn only_what_stands_in_a_file_as_it_is_in_memory_is_let_go() {
        let found = code_of(SMAPS);
        let kept: Vec<_> =
            found.iter().map(|code| (code.addresses.start, code.resident_bytes)).collect();
        assert_eq!(kept, [(0x55e0_a000, 4 << 10), (0x55e0_b000, 60 << 10)]);
    }

    #[test]
    fn what_was_let_go_runs_on() {
        let sum = |text: &str| text.bytes().map(u64::from).sum::<u64>();
        let before = sum(SMAPS);
        let given = give_back_code().expect("there is /proc");
        assert!(given > 100 << 10, "{given}");
        assert_eq!(sum(SMAPS), before, "the text stands in the program's file");
        let again = give_back_code().expect("there is /proc");
        assert!(again < given, "{again} of {given} came back");
    }
}

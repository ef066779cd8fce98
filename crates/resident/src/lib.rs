//! Gives back the memory of code that only the start ran, and of the stack that it used.
//!
//! Pages of a program and its libraries stay mapped once they were touched. Most of what a
//! start touches (settings, command line, checks) is never run again. Let go, a page costs
//! nothing until it is run, and then a look into the page cache.
//! A stack that was once deep stays as deep: what lies below the calls that are under way is read
//! by nobody.
//! Invariants: 1. only mappings of files that nobody may write to and nobody ever did are let
//! go, so what is read again is what was there. 2. of a stack only what is well below the caller.

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

/// Bytes below the caller that stay: what is called from here, and a signal's handler, use them.
const STACK_BYTES_KEPT: usize = 128 << 10;

/// Lets go of what the main thread's stack has below the caller; to be called on that thread. Does
/// nothing on another. How many bytes of addresses that was.
///
/// # Errors
/// `/proc` can't be read.
pub fn give_back_stack() -> io::Result<usize> {
    let here = 0u8;
    let here = std::ptr::from_ref(std::hint::black_box(&here)).addr();
    let below = stack_below(&fs::read_to_string("/proc/self/maps")?, here);
    let Some(addresses) = below else { return Ok(0) };
    // It stays, which does no harm.
    Ok(drop_stack(&addresses).map_or(0, |()| addresses.len()))
}

/// What a text in the form of `/proc/self/maps` tells of the stack below an address in it, but for
/// the nearest.
fn stack_below(maps: &str, here: usize) -> Option<Range<usize>> {
    let heads = maps.lines().filter_map(Head::of);
    let stack = heads.filter(|head| head.path == "[stack]").map(|head| head.addresses);
    let stack = stack.into_iter().find(|addresses| addresses.contains(&here))?;
    let page = rustix::param::page_size();
    let end = here.saturating_sub(STACK_BYTES_KEPT) / page * page;
    (end > stack.start).then_some(stack.start..end)
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

#[allow(unsafe_code, reason = "there is no safe way to say it")]
fn drop_stack(addresses: &Range<usize>) -> rustix::io::Result<()> {
    let start = std::ptr::with_exposed_provenance_mut::<c_void>(addresses.start);
    // SAFETY: the range lies in the mapping of the stack on which this call runs, and ends
    // [`STACK_BYTES_KEPT`] below one of its callers' frames. Stacks grow downwards, so no frame that
    // is under way reaches it, nor what this call or a handler of a signal puts below; whoever comes
    // so deep again writes before they read. No other thread runs on it.
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
    fn only_the_stack_well_below_the_caller_is_let_go() {
        let maps = "7ff000000000-7ff000100000 rw-p 00000000 00:00 0\n\
                    7ffe00000000-7ffe00100000 rw-p 00000000 00:00 0  [stack]\n";
        for (here, expected) in [
            (0x7ffe_000f_f123, Some(0x7ffe_0000_0000..0x7ffe_000d_f000)),
            (0x7ffe_0002_0fff, None),
            (0x7ff0_0000_8000, None),
        ] {
            assert_eq!(stack_below(maps, here), expected, "{here:x}");
        }
    }

    #[test]
    fn another_thread_s_stack_stays() {
        assert_eq!(give_back_stack().expect("there is /proc"), 0, "tests run on threads");
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

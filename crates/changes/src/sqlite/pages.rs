//! Pages: which of a file's pages hold the rows of a table, and those rows.
//!
//! In: pages by their numbers, as SQLite gives them. Out: the leaves of one b-tree, each with
//! the pages that its longer rows run on into; and the rows in a leaf.
//! Law: SQLite's file format, §1.6 (b-tree pages) and §1.7 (overflow).
//! Invariants: 1. Nothing that stands in a page is believed: what leads astray is an error, and
//! so is what leads to one page twice. 2. Each page that a row lies in is part of a leaf, so rows
//! that changed change their leaf.

use std::collections::HashSet;

/// Larger files are not looked into: that would take too long, and too much memory. Of them it is
/// known only that something changed.
pub const FILE_BYTES_MAX: usize = 16 << 20;
/// SQLite's own trees are no deeper.
const DEPTH_MAX: usize = 20;

const INDEX_INTERIOR: u8 = 2;
const TABLE_INTERIOR: u8 = 5;
const INDEX_LEAF: u8 = 10;
const TABLE_LEAF: u8 = 13;

/// Gives pages.
pub(crate) trait Pages {
    /// Why a page can't be had.
    type Error: From<Astray>;

    /// The page of this number, from 1.
    fn page(&mut self, number: u32) -> Result<Vec<u8>, Self::Error>;
}

/// What stands in a page isn't what SQLite writes, or is written right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Astray;

/// A page that holds rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) number: u32,
    /// The page, and behind it those that its rows run on into, in order.
    pub(crate) bytes: Vec<u8>,
}

/// How the pages of a file are laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    page_bytes: usize,
    /// What of a page SQLite itself uses.
    usable: usize,
}

impl Layout {
    /// What the first page says.
    pub(crate) fn of(first: &[u8]) -> Result<Self, Astray> {
        let reserved = usize::from(*first.get(20).ok_or(Astray)?);
        let usable = first.len().checked_sub(reserved).filter(|usable| *usable >= 480);
        let is_size = (512..=65_536).contains(&first.len()) && first.len().is_power_of_two();
        match usable {
            Some(usable) if is_size => Ok(Self { page_bytes: first.len(), usable }),
            _ => Err(Astray),
        }
    }

    /// How much of a row lies in its leaf, and in how many pages the rest of it.
    fn parts(self, bytes: usize, is_table: bool) -> (usize, usize) {
        let Self { usable, .. } = self;
        let most = if is_table { usable - 35 } else { (usable - 12) * 64 / 255 - 23 };
        if bytes <= most {
            return (bytes, 0);
        }
        let least = (usable - 12) * 32 / 255 - 23;
        let local = least + (bytes - least) % (usable - 4);
        let local = if local <= most { local } else { least };
        (local, (bytes - local).div_ceil(usable - 4))
    }
}

/// Calls `take` with each page of a tree that holds rows: the leaves of a table, and each page of
/// one that is its own index (`WITHOUT ROWID`). Says whether it was a table's.
pub(crate) fn leaves<P: Pages>(
    pages: &mut P,
    layout: Layout,
    root: u32,
    take: &mut dyn FnMut(Leaf),
) -> Result<bool, P::Error> {
    let mut waiting = vec![(root, 0)];
    let (mut visited, mut is_table) = (HashSet::new(), true);
    let mut page = |number| match visited.insert(number) {
        true => pages.page(number),
        false => Err(Astray.into()),
    };
    while let Some((number, depth)) = waiting.pop() {
        let mut bytes = page(number)?;
        let tree = Page::of(&bytes, number, layout)?;
        is_table = tree.is_table();
        if depth > DEPTH_MAX {
            return Err(Astray.into());
        }
        // The first one is looked at first.
        for child in tree.children()?.into_iter().rev() {
            waiting.push((child, depth + 1));
        }
        if tree.kind == TABLE_INTERIOR {
            continue;
        }
        for (mut next, count) in tree.overflows()? {
            for _ in 0..count {
                let more = page(next)?;
                let link = more.first_chunk().ok_or(Astray)?;
                if more.len() != layout.page_bytes {
                    return Err(Astray.into());
                }
                next = u32::from_be_bytes(*link);
                bytes.extend_from_slice(&more);
            }
        }
        take(Leaf { number, bytes });
    }
    Ok(is_table)
}

/// The rows of a table's leaf: the number of each, and its content.
pub(crate) fn rows(leaf: &Leaf, layout: Layout) -> Result<Vec<(i64, Vec<u8>)>, Astray> {
    let (first, more) = leaf.bytes.split_at_checked(layout.page_bytes).ok_or(Astray)?;
    let page = Page::of(first, leaf.number, layout)?;
    if page.kind != TABLE_LEAF {
        return Err(Astray);
    }
    let mut more = more.chunks_exact(layout.page_bytes);
    let mut rows = Vec::with_capacity(page.cells);
    for at in 0..page.cells {
        let cell = page.cell(at)?;
        let mut content = Vec::with_capacity(cell.bytes);
        content.extend_from_slice(cell.local);
        for _ in 0..cell.overflow_pages {
            let next = more.next().ok_or(Astray)?;
            let left = (cell.bytes - content.len()).min(layout.usable - 4);
            content.extend_from_slice(next.get(4..4 + left).ok_or(Astray)?);
        }
        rows.push((cell.row, content));
    }
    Ok(rows)
}

/// A page of a b-tree.
struct Page<'a> {
    bytes: &'a [u8],
    layout: Layout,
    kind: u8,
    /// Where its head begins: the first page of a file has another before it.
    head: usize,
    cells: usize,
}

/// What a page holds of one row.
struct Cell<'a> {
    row: i64,
    /// How long all of it is.
    bytes: usize,
    local: &'a [u8],
    overflow: u32,
    overflow_pages: usize,
}

impl<'a> Page<'a> {
    fn of(bytes: &'a [u8], number: u32, layout: Layout) -> Result<Self, Astray> {
        let head = if number == 1 { 100 } else { 0 };
        let kind = *bytes.get(head).ok_or(Astray)?;
        let is_known = matches!(kind, INDEX_INTERIOR | TABLE_INTERIOR | INDEX_LEAF | TABLE_LEAF);
        if !is_known || bytes.len() != layout.page_bytes {
            return Err(Astray);
        }
        let cells = usize::from(number_at(bytes, head + 3)?);
        Ok(Self { bytes, layout, kind, head, cells })
    }

    fn is_table(&self) -> bool {
        matches!(self.kind, TABLE_INTERIOR | TABLE_LEAF)
    }

    fn is_interior(&self) -> bool {
        matches!(self.kind, INDEX_INTERIOR | TABLE_INTERIOR)
    }

    /// What stands where a cell begins.
    fn at_cell(&self, at: usize) -> Result<&'a [u8], Astray> {
        let pointers = self.head + if self.is_interior() { 12 } else { 8 };
        let start = usize::from(number_at(self.bytes, pointers + 2 * at)?);
        self.bytes.get(start..self.layout.usable).ok_or(Astray)
    }

    fn children(&self) -> Result<Vec<u32>, Astray> {
        if !self.is_interior() {
            return Ok(Vec::new());
        }
        let child = |bytes: &[u8]| bytes.first_chunk().copied().map(u32::from_be_bytes);
        let cells = (0..self.cells).map(|at| child(self.at_cell(at)?).ok_or(Astray));
        let last = self.bytes.get(self.head + 8..).and_then(child).ok_or(Astray);
        cells.chain([last]).collect()
    }

    fn cell(&self, at: usize) -> Result<Cell<'a>, Astray> {
        let mut rest = self.at_cell(at)?;
        if self.kind == INDEX_INTERIOR {
            rest = rest.get(4..).ok_or(Astray)?;
        }
        let bytes = usize::try_from(varint(&mut rest)?).map_err(|_| Astray)?;
        let row = if self.kind == TABLE_LEAF { varint(&mut rest)? } else { 0 };
        if bytes > FILE_BYTES_MAX {
            return Err(Astray);
        }
        let (local, overflow_pages) = self.layout.parts(bytes, self.kind == TABLE_LEAF);
        let (local, rest) = rest.split_at_checked(local).ok_or(Astray)?;
        let overflow = match overflow_pages {
            0 => 0,
            _ => u32::from_be_bytes(*rest.first_chunk().ok_or(Astray)?),
        };
        Ok(Cell { row, bytes, local, overflow, overflow_pages })
    }

    /// Where rows run on, and over how many pages, in order.
    fn overflows(&self) -> Result<Vec<(u32, usize)>, Astray> {
        let mut found = Vec::new();
        for at in 0..self.cells {
            let cell = self.cell(at)?;
            if cell.overflow_pages > 0 {
                found.push((cell.overflow, cell.overflow_pages));
            }
        }
        Ok(found)
    }
}

fn number_at(bytes: &[u8], at: usize) -> Result<u16, Astray> {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or(Astray)?;
    Ok(u16::from_be_bytes(*bytes))
}

/// A number in one to nine bytes.
pub(super) fn varint(bytes: &mut &[u8]) -> Result<i64, Astray> {
    let mut number = 0_u64;
    for place in 0..9 {
        let (&byte, rest) = bytes.split_first().ok_or(Astray)?;
        *bytes = rest;
        if place == 8 {
            number = number << 8 | u64::from(byte);
            break;
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Ok(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_to_nine_bytes() {
        for (bytes, expected) in [
            (&[0][..], Ok(0)),
            (&[0x7f], Ok(127)),
            (&[0x81, 0], Ok(128)),
            (&[0xff; 9], Ok(-1)),
            (&[0x80; 8], Err(Astray)),
            (&[], Err(Astray)),
        ] {
            assert_eq!(varint(&mut &*bytes), expected, "{bytes:?}");
        }
    }
}

//! Numbers in the texts of `/proc`: whatever can't be read is not there.

/// What stands behind a name at the beginning of a line, as in `MemTotal:   2048 kB`.
pub(super) fn behind<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// The same as a number, of which the unit is left out.
pub(super) fn number_behind(text: &str, name: &str) -> Option<u64> {
    behind(text, name)?.split_ascii_whitespace().next()?.parse().ok()
}

/// Kilobytes behind a name, in bytes.
pub(super) fn bytes_behind(text: &str, name: &str) -> Option<u64> {
    number_behind(text, name)?.checked_mul(1024)
}

/// The numbers of a line; it ends at the first word that is none.
pub(super) fn numbers(line: &str) -> impl Iterator<Item = u64> + '_ {
    line.split_ascii_whitespace().map_while(|word| word.parse().ok())
}

//! Real PHP apps, as Debian packages them, behind the built binary.
//!
//! Each app is copied into a temporary folder, so the machine's own installation is
//! not touched, and visited with curl: strangers, log-ins, edits, large uploads.
//! Where an app is not installed its test checks nothing and says so loudly;
//! `scripts/setup test` installs them. Start at [`dokuwiki`] and [`mediawiki`].

mod app_folder;
mod dokuwiki;
mod mediawiki;
mod visitor;
mod wick;

/// A large file: bytes that no layer can guess or shrink.
const LARGE_BYTES: usize = 20 << 20;

/// The content of a large file, the same each time.
fn large_file() -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut bytes = Vec::with_capacity(LARGE_BYTES);
    while bytes.len() < LARGE_BYTES {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes
}

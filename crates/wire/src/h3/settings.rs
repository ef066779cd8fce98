//! Settings: what each side takes.

use bytes::Bytes;

use crate::h3::frames::{Number, push_frame, push_number};
use crate::h3::{frame, stream};

/// The largest head that is taken, as `SETTINGS_MAX_FIELD_SECTION_SIZE` tells it.
const FIELD_SECTION_BYTES_MAX: u64 = 0x6;
/// Settings of one client; a dozen are known.
const SETTINGS_MAX: usize = 64;

/// Settings that there must not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsError {
    /// They end too soon.
    Cut,
    /// One is of HTTP/2, or there twice, or there are too many.
    Wrong,
}

/// Checks a client's settings. None of them changes what we send: it is never more than any
/// client takes, but for a head that is larger than its client wants.
///
/// # Errors
/// See [`SettingsError`].
pub fn check_settings(mut payload: Bytes) -> Result<(), SettingsError> {
    let mut seen = Vec::new();
    while !payload.is_empty() {
        let name = Number::default().take(&mut payload).ok_or(SettingsError::Cut)?;
        Number::default().take(&mut payload).ok_or(SettingsError::Cut)?;
        let is_of_http2 = matches!(name, 0x2..=0x5);
        if is_of_http2 || seen.contains(&name) || seen.len() == SETTINGS_MAX {
            return Err(SettingsError::Wrong);
        }
        seen.push(name);
    }
    Ok(())
}

/// Appends what our control stream begins with. No dynamic table is announced, so there is
/// none, and no request waits for one.
pub fn push_settings(out: &mut Vec<u8>, head_bytes_max: usize) {
    push_number(out, stream::CONTROL);
    let mut payload = Vec::new();
    push_number(&mut payload, FIELD_SECTION_BYTES_MAX);
    push_number(&mut payload, head_bytes_max as u64);
    push_frame(out, frame::SETTINGS, payload.len());
    out.extend_from_slice(&payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_pairs_of_numbers_each_named_once() {
        for (payload, expected) in [
            (&[][..], Ok(())),
            (&[6, 0x40, 0x80, 1, 0], Ok(())),
            (&[0x33, 1, 8, 1], Ok(())),
            (&[6], Err(SettingsError::Cut)),
            (&[6, 0x40], Err(SettingsError::Cut)),
            (&[6, 1, 6, 1], Err(SettingsError::Wrong)),
            (&[2, 1], Err(SettingsError::Wrong)),
            (&[5, 1], Err(SettingsError::Wrong)),
        ] {
            let checked = check_settings(Bytes::copy_from_slice(payload));
            assert_eq!(checked, expected, "{payload:?}");
        }
    }

    #[test]
    fn ours_tell_the_largest_head() {
        let mut out = Vec::new();
        push_settings(&mut out, 1 << 16);
        assert_eq!(out, [0, 4, 5, 6, 0x80, 1, 0, 0]);
        assert_eq!(check_settings(Bytes::copy_from_slice(&out[3..])), Ok(()));
    }
}

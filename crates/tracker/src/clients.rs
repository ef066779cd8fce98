//! Which clients may come, by what their peer ids begin with.

use wire::tracker::PeerId;

/// Lists of beginnings, such as `-qB4` or `-TR2940-`.
#[derive(Clone, Debug, Default)]
pub struct Clients {
    /// Only these, if there are any.
    pub only: Vec<Vec<u8>>,
    /// Not these, even if they are among the others.
    pub denied: Vec<Vec<u8>>,
}

impl Clients {
    /// Whether a client may come.
    #[must_use]
    pub fn allow(&self, peer_id: &PeerId) -> bool {
        let is_among = |list: &[Vec<u8>]| list.iter().any(|start| peer_id.0.starts_with(start));
        !is_among(&self.denied) && (self.only.is_empty() || is_among(&self.only))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_allowed_and_denied_by_how_their_names_begin() {
        let lists = |only: &[&str], denied: &[&str]| {
            let bytes = |list: &[&str]| list.iter().map(|text| text.as_bytes().to_vec()).collect();
            Clients { only: bytes(only), denied: bytes(denied) }
        };
        let peer_id = PeerId(*b"-qB4520-abcdefghijkl");
        for (only, denied, expected) in [
            (&[][..], &[][..], true),
            (&[], &["-qB4"], false),
            (&["-qB"], &[], true),
            (&["-TR"], &[], false),
            (&["-qB"], &["-qB452"], false),
            (&[], &["qB"], true),
        ] {
            assert_eq!(lists(only, denied).allow(&peer_id), expected, "{only:?} {denied:?}");
        }
    }
}

//! What costs nothing to take: by whom a torrent, and by whom any.

use crate::rights::{TorrentId, UserId};

/// The lists of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Free {
    /// In order.
    pairs: Vec<(u32, u32)>,
    users: Vec<u32>,
}

impl Free {
    /// Of users with a torrent each, and of users who take any.
    #[must_use]
    pub fn new(mut pairs: Vec<(UserId, TorrentId)>, mut users: Vec<UserId>) -> Self {
        pairs.sort_unstable();
        pairs.dedup();
        users.sort_unstable();
        users.dedup();
        Self {
            pairs: pairs.into_iter().map(|(user, torrent)| (user.0, torrent.0)).collect(),
            users: users.into_iter().map(|user| user.0).collect(),
        }
    }

    /// Whether a torrent costs a user nothing.
    #[must_use]
    pub fn holds(&self, user: UserId, torrent: TorrentId) -> bool {
        self.users.binary_search(&user.0).is_ok() || self.has_token(user, torrent)
    }

    /// Whether a row names both.
    #[must_use]
    pub fn has_token(&self, user: UserId, torrent: TorrentId) -> bool {
        self.pairs.binary_search(&(user.0, torrent.0)).is_ok()
    }

    /// How many rows there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.pairs.len() + self.users.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torrent_is_free_for_whom_a_row_names_with_it_or_without_any() {
        let pair = |user, torrent| (UserId(user), TorrentId(torrent));
        let free = Free::new(vec![pair(7, 2), pair(3, 9), pair(7, 2)], vec![UserId(5)]);
        assert_eq!(free.count(), 3);
        for (user, torrent, expected) in [
            (7, 2, [true, true]),
            (3, 9, [true, true]),
            (7, 9, [false, false]),
            (2, 7, [false, false]),
            (5, 1, [true, false]),
            (5, 9, [true, false]),
            (6, 2, [false, false]),
        ] {
            let (user, torrent) = pair(user, torrent);
            let found = [free.holds(user, torrent), free.has_token(user, torrent)];
            assert_eq!(found, expected, "{user:?} {torrent:?}");
        }
    }
}

//! Owner: which node of several has a key, as each of them finds out by itself.
//!
//! Rendezvous hashing (Thaler and Ravishankar, 1998): each node's name makes a number of the key,
//! and the highest has it. When a node goes, its keys alone find other owners.

use std::net::SocketAddr;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Roll;

/// The fellow that owns this key; none: this node does, or everybody else rests.
pub(super) fn of(
    seed: u64,
    roll: &Roll,
    key: &[u8],
    is_resting: impl Fn(&SocketAddr) -> bool,
) -> Option<SocketAddr> {
    let number = |name: &str| xxh3_64_with_seed(&[name.as_bytes(), b"\0", key].concat(), seed);
    let others = roll.others.iter().filter(|(_, address)| !is_resting(address));
    let highest = others.max_by_key(|(name, _)| (number(name), name.as_str()))?;
    let own = roll.own.as_deref();
    let is_own = own.is_some_and(|own| (number(own), own) > (number(&highest.0), &highest.0));
    (!is_own).then_some(highest.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(at: usize) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, u8::try_from(at).expect("few nodes")], 7070))
    }

    /// The roll as this node has it; who drains has no share.
    fn roll(node: usize, nodes: &[usize]) -> Roll {
        let is_there = nodes.contains(&node);
        let others = nodes.iter().filter(|other| **other != node);
        let others = others.map(|&other| (format!("n{other}"), address(other))).collect();
        Roll { own: is_there.then(|| format!("n{node}")), others, heard: None }
    }

    /// The owner of a key as this node sees it.
    fn owner(node: usize, nodes: &[usize], key: usize) -> SocketAddr {
        let key = format!("http|a.test|/{key}");
        of(7, &roll(node, nodes), key.as_bytes(), |_| false).unwrap_or(address(node))
    }

    #[test]
    fn all_nodes_find_the_same_owner_and_each_has_its_share() {
        let nodes = [0, 1, 2, 3];
        let mut shares = [0; 4];
        for key in 0..4000 {
            let first = owner(0, &nodes, key);
            assert!(nodes.iter().all(|&node| owner(node, &nodes, key) == first), "{key}");
            shares[nodes.iter().position(|&node| address(node) == first).expect("one")] += 1;
        }
        assert!(shares.iter().all(|&share| (900..1100).contains(&share)), "{shares:?}");
    }

    #[test]
    fn when_a_node_goes_only_its_keys_find_others() {
        for key in 0..1000 {
            let (before, after) = (owner(0, &[0, 1, 2, 3], key), owner(0, &[0, 1, 2], key));
            assert!(before == after || before == address(3), "{key}");
            // Who drains asks the others, and is asked by nobody.
            assert_eq!(owner(3, &[0, 1, 2], key), after);
        }
    }

    #[test]
    fn who_rests_is_left_out_and_alone_nobody_is_asked() {
        let two = roll(0, &[0, 1]);
        assert!((0..100u8).all(|key| of(7, &two, &[key], |_| true).is_none()));
        assert_eq!(of(7, &roll(0, &[0]), b"x", |_| false), None);
        assert_eq!(of(7, &Roll::default(), b"x", |_| false), None);
    }
}

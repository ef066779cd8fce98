//! What somebody keeps isn't changed for them: the files of a php-fpm that a Wick started are written
//! anew at its next start, and others' are their owners'. So advice about those is in words.
//!
//! Invariant: no [`Change`] is left whose place is kept.

use crate::finding::{Change, Fix, Place};
use crate::machine::{Keeper, Machine};

/// Makes words of the changes that nobody but a keeper can make.
pub(super) fn say_instead(fix: &mut Fix, machine: &Machine) {
    let (kept, ours): (Vec<_>, Vec<_>) = std::mem::take(&mut fix.changes)
        .into_iter()
        .map(|change| (keeper(&change.place, machine), change))
        .partition(|(keeper, _)| keeper.is_some());
    fix.changes = ours.into_iter().map(|(_, change)| change).collect();
    let words = kept.iter().filter_map(|(keeper, change)| match keeper {
        Some(Keeper::Wick) => wicks(change),
        _ => Some(others(change)),
    });
    let words: Vec<String> = words.collect();
    if !words.is_empty() {
        fix.words = format!("{}: {}", fix.words, words.join("; "));
    }
}

/// Who keeps the files that a change would be written beside.
fn keeper(place: &Place, machine: &Machine) -> Option<Keeper> {
    let (Place::Php(version) | Place::Pool(version, _)) = place else { return None };
    machine.pools.iter().find(|pool| pool.version == *version)?.keeper
}

/// What to say to a Wick; nothing where it sees to that by itself.
fn wicks(change: &Change) -> Option<String> {
    let Change { place, name, new, .. } = change;
    let whose = match place {
        Place::Php(version) | Place::Pool(version, _) => version,
        _ => return None,
    };
    Some(match name.as_str() {
        "pm.max_children" => format!(
            "php_children = {new} for the site in wick.toml, whose php-fpm Wick runs by {whose}"
        ),
        "request_slowlog_timeout" => format!(
            "php_slow = \"{new}\" for the site in wick.toml, whose php-fpm Wick runs by {whose}"
        ),
        "slowlog" | "pm.min_spare_servers" | "pm.max_spare_servers" | "pm.start_servers" => {
            return None;
        }
        _ if matches!(place, Place::Php(_)) => format!(
            "{name} = {new} in the php.ini of php-fpm, which Wick raises and never lowers, and a \
             restart of Wick"
        ),
        _ => format!(
            "Wick sees to {name} itself: for {new}, run a php-fpm of your own and name it by php (or \
             --php)"
        ),
    })
}

fn others(change: &Change) -> String {
    let Change { place, name, new, .. } = change;
    match place {
        Place::Php(file) => {
            format!("{name} = {new} in the php.ini of the php-fpm that runs by {file}")
        }
        Place::Pool(file, pool) => {
            format!("{name} = {new} for [{pool}], whose php-fpm runs by {file}")
        }
        _ => change.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Pool;

    #[test]
    fn what_is_kept_is_said_and_what_is_not_stays_a_change() {
        let pool =
            |version: &str, keeper| Pool { version: version.into(), keeper, ..Pool::default() };
        let pools = vec![
            pool("8.2", None),
            pool("/w", Some(Keeper::Wick)),
            pool("/o", Some(Keeper::Other)),
        ];
        let machine = Machine { pools, ..Machine::default() };
        let change =
            |place, name: &str| Change { place, name: name.into(), old: None, new: "9".into() };
        let of =
            |version: &str, name: &str| change(Place::Pool(version.into(), "www".into()), name);
        for (change, words, changes) in [
            (of("8.2", "pm.max_children"), "more", 1),
            (change(Place::Kernel, "vm.swappiness"), "more", 1),
            (of("/w", "pm.max_children"), "more: php_children = 9 for the site in wick.toml", 0),
            (of("/w", "pm.start_servers"), "more", 0),
            (of("/w", "pm.max_requests"), "more: Wick sees to pm.max_requests itself", 0),
            (
                change(Place::Php("/w".into()), "opcache.enable"),
                "more: opcache.enable = 9 in the",
                0,
            ),
            (of("/o", "pm.max_children"), "more: pm.max_children = 9 for [www], whose", 0),
        ] {
            let mut fix = Fix { words: "more".into(), changes: vec![change] };
            say_instead(&mut fix, &machine);
            assert!(fix.words.starts_with(words), "{fix:?}");
            assert_eq!(fix.changes.len(), changes, "{fix:?}");
        }
    }
}

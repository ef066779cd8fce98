//! Folklore: recipes that are passed on and don't do what they are believed to.
//!
//! Only what stands in a settings file is told, with its line: what nobody wrote is a default.

use base::amount::parse_bytes;

use super::{Check, Verdict, View, advice, each};
use crate::finding::Class;
use crate::machine::{Directive, Machine};

pub(super) const CHECKS: &[Check] = &[Check {
    number: 55,
    id: "folklore",
    class: Class::Folklore,
    needs: "settings files",
    formula: "a recipe of the list below stands in a settings file",
    source: "kernel ip-sysctl; RFC 7323; MariaDB manual; see docs/doctor.md",
    judge,
}];

/// A recipe that is refused.
pub struct Recipe {
    /// The setting, as the directives of a machine name it.
    pub name: &'static str,
    /// What of it is refused, in words.
    pub what: &'static str,
    /// Why.
    pub why: &'static str,
    is_it: fn(&Machine, &str) -> bool,
}

fn number(value: &str) -> Option<f64> {
    value.trim().parse().ok()
}

fn is_below(value: &str, bound: f64) -> bool {
    number(value).is_some_and(|number| number < bound)
}

/// The largest of `min default max`, or a single number.
fn most(value: &str) -> f64 {
    value.split_ascii_whitespace().filter_map(number).fold(0.0, f64::max)
}

const BUFFERS: &str = "16 MB for every connection is memory that a burst needs for others; the kernel \
    sizes buffers itself, up to 6 MB, as much as a connection needs";

/// The recipes.
pub const RECIPES: &[Recipe] = &[
    Recipe {
        name: "net.ipv4.tcp_tw_recycle",
        what: "any value",
        why: "it broke visitors behind one address, and is gone since Linux 4.12",
        is_it: |_, _| true,
    },
    Recipe {
        name: "net.ipv4.tcp_tw_reuse",
        what: "1",
        why: "it is for connections that this machine makes, not for visitors'; keep those open instead",
        is_it: |_, value| value.trim() == "1",
    },
    Recipe {
        name: "net.ipv4.tcp_fin_timeout",
        what: "less than 60",
        why: "it is about FIN_WAIT2; TIME_WAIT lasts 60 s whatever it says",
        is_it: |_, value| is_below(value, 60.0),
    },
    Recipe {
        name: "net.ipv4.tcp_max_tw_buckets",
        what: "less than 16384",
        why: "it is a guard against attacks; what is above it is cut off without its proper end",
        is_it: |_, value| is_below(value, 16_384.0),
    },
    Recipe {
        name: "net.ipv4.tcp_timestamps",
        what: "0",
        why: "without them round trips are guessed and old segments taken for new (RFC 7323)",
        is_it: |_, value| value.trim() == "0",
    },
    Recipe {
        name: "net.ipv4.tcp_sack",
        what: "0",
        why: "each loss then sends everything behind it again; the bug of 2019 is mended",
        is_it: |_, value| value.trim() == "0",
    },
    Recipe {
        name: "net.core.rmem_max",
        what: "16 MB or more",
        why: BUFFERS,
        is_it: |_, value| most(value) >= 16e6,
    },
    Recipe {
        name: "net.core.wmem_max",
        what: "16 MB or more",
        why: BUFFERS,
        is_it: |_, value| most(value) >= 16e6,
    },
    Recipe {
        name: "net.ipv4.tcp_rmem",
        what: "16 MB or more",
        why: BUFFERS,
        is_it: |_, value| most(value) >= 16e6,
    },
    Recipe {
        name: "net.ipv4.tcp_wmem",
        what: "16 MB or more",
        why: BUFFERS,
        is_it: |_, value| most(value) >= 16e6,
    },
    Recipe {
        name: "net.core.somaxconn",
        what: "less than 4096",
        why: "kernels have 4096 since 5.4: the recipe makes it smaller",
        is_it: |_, value| is_below(value, 4096.0),
    },
    Recipe {
        name: "vm.swappiness",
        what: "10 or less",
        why: "where memory is short, files are dropped and read again instead, which is no quicker; make \
              things fit",
        is_it: |_, value| is_below(value, 11.0),
    },
    Recipe {
        name: "mysqld.query_cache_size",
        what: "more than 64 MB",
        why: "each write searches it under one lock: the larger, the longer",
        is_it: |_, value| parse_bytes(value).is_ok_and(|bytes| bytes > 64 << 20),
    },
    Recipe {
        name: "mysqld.join_buffer_size",
        what: "more than 8 MB",
        why: "it is taken by each connection, for each join; an index makes the join need none",
        is_it: |_, value| parse_bytes(value).is_ok_and(|bytes| bytes > 8 << 20),
    },
    Recipe {
        name: "mysqld.innodb_log_file_size",
        what: "a quarter of the buffer pool",
        why: "the log is to hold an hour of writes, which has nothing to do with the pool's size",
        is_it: |machine, value| {
            let log = parse_bytes(value).unwrap_or(0);
            let pool =
                machine.directives.iter().rfind(|one| one.name == "mysqld.innodb_buffer_pool_size");
            let pool = pool.and_then(|one| parse_bytes(&one.value).ok());
            pool.is_some_and(|pool| log > 0 && log == pool / 4)
        },
    },
];

fn judge(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    if machine.memory_bytes().is_none() && machine.directives.is_empty() {
        return None;
    }
    let mut found = Vec::new();
    for recipe in RECIPES {
        let lines = machine.directives.iter().filter(|one| one.name == recipe.name);
        for line in lines.filter(|one| (recipe.is_it)(machine, &one.value)) {
            found.push(refusal(recipe, line));
        }
    }
    each(found, "no recipe that does harm stands in the settings files that were read")
}

fn refusal(recipe: &Recipe, line: &Directive) -> super::Advice {
    let name = recipe.name.trim_start_matches("mysqld.");
    let Directive { file, line: at, value, .. } = line;
    advice(format!("{file}:{at} says {name} = {value}"))
        .about(name)
        .gain("what the kernel or the server has by itself is better")
        .fix(format!("remove the line: {}", recipe.why))
        .revert("write the line again")
}

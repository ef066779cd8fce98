//! php-fpm's pools: how many children, how they are reached, when they are given up.

use base::amount::{parse_duration, show_bytes};

use super::{Advice, Check, Verdict, View, advice, each, fine, percent, unseen};
use crate::budget::is_saturated;
use crate::finding::{Change, Class, Confidence, Place};
use crate::machine::Pool;

const SOURCE: &str = "PHP manual, FPM configuration";

pub(super) const CHECKS: &[Check] = &[
    Check {
        number: 16,
        id: "children_by_memory",
        class: Class::Danger,
        needs: "pools of php-fpm, and the memory of their children (as root)",
        formula: "max_children ≤ ⌊what others leave ÷ p95 of Private_* of a child⌋; never RSS",
        source: "kernel smaps_rollup; the formula is ours",
        judge: by_memory,
    },
    Check {
        number: 17,
        id: "children_by_load",
        class: Class::Refusing,
        needs: "a pool's status page (pm.status_path)",
        formula: "max_children ≥ 1.3 × requests a second × p95 of their time (Little's law)",
        source: "Little's law; the reserve is ours",
        judge: by_load,
    },
    Check {
        number: 18,
        id: "pool_saturated",
        class: Class::Refusing,
        needs: "a pool's status page, or php-fpm's log",
        formula: "listen queue > 0, or max children reached > 0",
        source: SOURCE,
        judge: saturated,
    },
    Check {
        number: 19,
        id: "database_slots",
        class: Class::Refusing,
        needs: "pools of php-fpm, and max_connections",
        formula: "Σ max_children + 10 ≤ max_connections",
        source: "MariaDB max_connections",
        judge: slots,
    },
    Check {
        number: 20,
        id: "pool_socket",
        class: Class::Latent,
        needs: "pools of php-fpm",
        formula: "a Unix socket; backlog ≥ 2 × the longest queue, ≤ somaxconn",
        source: "unix(7): a full one is an instant EAGAIN; kernel net.core.somaxconn",
        judge: socket,
    },
    Check {
        number: 21,
        id: "pool_mode",
        class: Class::Latent,
        needs: "pools of php-fpm, and the memory of their children",
        formula: "pm = static where one pool has the machine",
        source: SOURCE,
        judge: mode,
    },
    Check {
        number: 23,
        id: "slow_requests",
        class: Class::Latent,
        needs: "pools of php-fpm",
        formula: "request_slowlog_timeout 2 to 5 s; request_terminate_timeout not 0",
        source: SOURCE,
        judge: slow,
    },
    Check {
        number: 24,
        id: "memory_limit",
        class: Class::Latent,
        needs: "a pool's status page (pm.status_path), and memory_limit",
        formula: "the most that a request took > 80 % of memory_limit",
        source: "PHP manual, memory_limit",
        judge: memory_limit,
    },
];

pub(super) fn change(pool: &Pool, name: &str, new: impl ToString) -> Change {
    Change {
        place: Place::Pool(pool.version.clone(), pool.name.clone()),
        name: name.to_owned(),
        old: pool.settings.get(name).cloned(),
        new: new.to_string(),
    }
}

/// `pm.max_children`, with what php-fpm refuses to start with otherwise: the spare ones may
/// not be more than all, and those at the start must be among them.
fn sized(pool: &Pool, children: u64) -> Vec<Change> {
    let mut changes = vec![change(pool, "pm.max_children", children)];
    if pool.settings.get("pm").is_some_and(|mode| mode != "dynamic") {
        return changes;
    }
    let number = |name: &str| pool.settings.get(name).and_then(|text| text.parse::<u64>().ok());
    let spare_max = number("pm.max_spare_servers").unwrap_or(1);
    let spare_min = number("pm.min_spare_servers").unwrap_or(1);
    let start = number("pm.start_servers");
    let (max, min) = (spare_max.min(children), spare_min.min(children));
    for (name, now, new) in
        [("pm.max_spare_servers", spare_max, max), ("pm.min_spare_servers", spare_min, min)]
    {
        changes.extend((now != new).then(|| change(pool, name, new)));
    }
    if let Some(start) = start.filter(|start| !(min..=max).contains(start)) {
        changes.push(change(pool, "pm.start_servers", start.clamp(min, max.max(min))));
    }
    changes
}

/// What the budget says about every pool, where that is another number.
pub(super) fn children_changes(view: &View<'_>) -> Vec<Change> {
    let differing = view.machine.pools.iter().filter_map(|pool| {
        let plan = view.budget.children_of(pool)?;
        (plan.advised != plan.now).then(|| sized(pool, plan.advised))
    });
    differing.flatten().collect()
}

/// Something about each pool, and what else is said.
fn pools(
    view: &View<'_>,
    judge: impl Fn(&Pool) -> Option<Advice>,
    otherwise: &str,
) -> Option<Verdict> {
    view.machine.pools.first()?;
    let found = view.machine.pools.iter();
    let found = found.filter_map(|pool| Some(judge(pool)?.about(pool.name.clone())));
    each(found.collect(), otherwise)
}

fn by_memory(view: &View<'_>) -> Option<Verdict> {
    view.budget.children.first()?;
    let budget = view.budget;
    let fixed: u64 = budget
        .parts
        .iter()
        .filter(|part| !part.name.contains("children of pool"))
        .map(|part| part.advised_bytes)
        .sum();
    let left = budget.spendable_bytes.saturating_sub(fixed);
    let all: u64 = budget.children.iter().map(|one| one.now * one.each_bytes).sum();
    let told: Vec<String> = budget
        .children
        .iter()
        .map(|one| format!("{} × {} of pool {}", one.now, show_bytes(one.each_bytes), one.pool))
        .collect();
    let evidence = format!("{}, and others leave {}", told.join(", "), show_bytes(left));
    if all <= left || budget.fits_now {
        return fine(evidence);
    }
    advice(evidence)
        .gain("a burst of requests waits a little instead of having the database killed")
        .sure(Confidence::Medium)
        .fix("as many children as there is memory for")
        .changes(children_changes(view))
        .found()
}

fn by_load(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let mut found = Vec::new();
    let mut told = Vec::new();
    for pool in &machine.pools {
        let name = format!("fpm.{}", pool.name);
        let rate = machine.rate(&format!("{name}.accepted conn"));
        let time = machine.now(&format!("{name}.request_us"));
        let (Some(rate), Some(us), Some(most)) = (rate, time, pool.children_max()) else {
            continue;
        };
        let wanted = 1.3 * rate * us / 1e6;
        let evidence = format!(
            "{rate:.1} requests a second of {:.0} ms want {} children; pool {} has {most}",
            us / 1e3,
            wanted.ceil(),
            pool.name
        );
        if wanted <= most as f64 {
            told.push(evidence);
            continue;
        }
        let plan = view.budget.children_of(pool).filter(|plan| plan.advised > plan.now);
        let one = advice(evidence)
            .about(pool.name.clone())
            .sure(Confidence::Medium)
            .gain("requests don't wait for a child");
        found.push(match plan {
            Some(plan) => {
                one.fix("as many as there is memory for").changes(sized(pool, plan.advised))
            }
            None => one.fix(
                "there is no memory for more: make requests quicker (wick queries, \
                             opcache), or let more of them be answered by the cache",
            ),
        });
    }
    if found.is_empty() && told.is_empty() {
        return None;
    }
    each(found, told.join("; "))
}

fn saturated(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let was_counted = machine.now.keys().any(|name| name.starts_with("fpm."));
    if !was_counted {
        return None;
    }
    let judge = |pool: &Pool| {
        let count = |name: &str| machine.now(&format!("fpm.{}.{name}", pool.name)).unwrap_or(0.0);
        let queue = count("listen queue");
        let reached = count("max children reached").max(count("log.children_max_reached"));
        if !is_saturated(machine, &pool.name) {
            return None;
        }
        let one = advice(format!(
            "{queue} requests wait for a child, and all {} children were at work {reached} times",
            pool.children_max().unwrap_or(0)
        ))
        .gain("requests don't wait for a child");
        let plan = view.budget.children_of(pool).filter(|plan| plan.advised > plan.now);
        Some(match plan {
            Some(plan) => {
                one.fix("more children, as far as memory goes").changes(sized(pool, plan.advised))
            }
            None => one.fix(
                "there is no memory for more, or it isn't known what a child takes (run \
                             as root): make requests quicker, or have more of them cached",
            ),
        })
    };
    pools(view, judge, "no request had to wait for a child")
}

fn slots(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    view.machine.pools.first()?;
    let mysql = machine.number("mysql.max_connections");
    let most = mysql.or_else(|| machine.number("postgres.max_connections"))?;
    let children: u64 = machine
        .pools
        .iter()
        .filter_map(|pool| match view.budget.children_of(pool) {
            Some(plan) => Some(plan.advised),
            None => pool.children_max(),
        })
        .sum();
    let wanted = children + 10;
    if wanted as f64 <= most {
        return fine(format!(
            "{children} children and 10 others have room in max_connections {most}"
        ));
    }
    let found =
        advice(format!("{children} children may come to a database that takes {most} connections"))
            .gain("no page says \"Too many connections\" in a burst");
    if mysql.is_none() {
        return found
            .fix("a pooler such as pgbouncer in front of PostgreSQL, or fewer children")
            .found();
    }
    found
        .fix("room for all of them; what a connection takes is in the budget")
        .changes([super::database::change(view, "max_connections", wanted)])
        .found()
}

fn socket(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let somaxconn = machine.number("kernel.net.core.somaxconn");
    let judge = |pool: &Pool| {
        let listen = pool.settings.get("listen")?;
        if !listen.starts_with('/') {
            let is_here =
                !listen.contains(':') || listen.starts_with("127.") || listen.starts_with("[::1]");
            return is_here.then(|| {
                advice(format!("it listens on {listen}, which only this machine reaches"))
                    .gain("some hundredths of a millisecond a request, and no ports that run out")
                    .sure(Confidence::Medium)
                    .fix("listen = /run/php/NAME.sock, and the same where the web server names it")
            });
        }
        let backlog = pool.settings.get("listen.backlog").and_then(|text| text.parse::<f64>().ok());
        let queue = machine.now(&format!("fpm.{}.max listen queue", pool.name)).unwrap_or(0.0);
        let held = backlog
            .filter(|&backlog| backlog > 0.0)
            .unwrap_or(511.0)
            .min(somaxconn.unwrap_or(4096.0));
        (queue * 2.0 > held).then(|| {
            advice(format!("{queue} requests waited at once, and {held} may"))
                .gain("a burst waits instead of being refused at once")
                .fix("room for two such bursts")
                .change(change(pool, "listen.backlog", (queue * 2.0).ceil()))
        })
    };
    pools(view, judge, "Unix sockets, with room for twice the longest queue that was seen")
}

fn mode(view: &View<'_>) -> Option<Verdict> {
    let [pool] = view.machine.pools.as_slice() else {
        view.machine.pools.first()?;
        return fine("several pools share the machine: those that are idle give their memory back");
    };
    let mode = pool.settings.get("pm").map_or("dynamic", String::as_str);
    if mode == "static" {
        return fine("the only pool has all its children from the start");
    }
    let plan = view.budget.children_of(pool)?;
    if !view.budget.is_solvent {
        return unseen("memory doesn't suffice for all its children at once: see joint_memory");
    }
    advice(format!(
        "the only pool makes its children when they are wanted (pm = {mode}), although \
                    there is memory for {} of them",
        plan.advised
    ))
    .about(pool.name.clone())
    .gain("a burst doesn't wait for processes to be made, one a second at first")
    .sure(Confidence::Medium)
    .fix("have all of them from the start")
    .change(change(pool, "pm", "static"))
    .found()
}

fn slow(view: &View<'_>) -> Option<Verdict> {
    let seconds = |pool: &Pool, name: &str| {
        let text = pool.settings.get(name).map_or("0", String::as_str);
        parse_duration(text).map_or(0.0, |duration| duration.as_secs_f64())
    };
    let judge = |pool: &Pool| {
        let log = seconds(pool, "request_slowlog_timeout");
        let end = seconds(pool, "request_terminate_timeout");
        let is_logged = log > 0.0 && log <= 5.0;
        if is_logged && end > 0.0 {
            return None;
        }
        let mut one = advice(format!(
            "request_slowlog_timeout is {log} s and request_terminate_timeout {end} s (0: never)"
        ))
        .gain(
            "slow requests are told with the line they wait in, and a hanging one gives its \
               child back",
        )
        .fix("log after 5 s, end after 60 s; jobs that take longer belong on the command line");
        if !is_logged {
            let path = format!("/var/log/php{}-fpm.{}.slow.log", pool.version, pool.name);
            let named = pool.settings.contains_key("slowlog");
            one = one.changes((!named).then(|| change(pool, "slowlog", path)));
            one = one.change(change(pool, "request_slowlog_timeout", "5s"));
        }
        Some(one.changes((end <= 0.0).then(|| change(pool, "request_terminate_timeout", "60s"))))
    };
    pools(view, judge, "slow requests are logged, and hanging ones ended")
}

fn memory_limit(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let limit = machine.size("php.memory_limit").filter(|&limit| limit > 0)?;
    let peaks = machine
        .pools
        .iter()
        .filter_map(|pool| machine.now(&format!("fpm.{}.request_bytes", pool.name)));
    let most = peaks.reduce(f64::max)?;
    let share = most / limit as f64;
    if share <= 0.8 {
        return fine(format!(
            "the largest request took {} of {}",
            percent(share),
            show_bytes(limit)
        ));
    }
    advice(format!("a request took {} of memory_limit {}", percent(share), show_bytes(limit)))
        .gain("a slightly larger page doesn't end in an error")
        .sure(Confidence::Low)
        .fix("find what takes so much; raise memory_limit only together with fewer children")
        .found()
}

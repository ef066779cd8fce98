//! php-fpm's pools: how many children, how they are reached, when they are given up.

use base::amount::{parse_duration, show_bytes};

use super::{Advice, Check, Verdict, View, advice, each, each_php, fine, percent, unseen};
use crate::budget::{Bound, is_saturated};
use crate::finding::{Change, Class, Confidence, Place};
use crate::machine::{Keeper, Pool};

const SOURCE: &str = "PHP manual, FPM configuration";
/// What kernels have since 5.4.
const SOMAXCONN: f64 = 4096.0;

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
        formula: "max_children ≥ 1.3 × requests a second × p95 of their time (Little's law); no more \
                  than cores ÷ the share of a processor that a request takes (16 a core where that \
                  isn't known), and no fewer than 2 a core",
        source: "Little's law; kernel /proc/PID/schedstat; the reserve is ours",
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
        formula: "a Unix socket; backlog ≥ 2 × the longest queue, ≤ somaxconn, which cuts it without a \
                  word",
        source: "unix(7): a full one is an instant EAGAIN; kernel net.core.somaxconn",
        judge: socket,
    },
    Check {
        number: 21,
        id: "pool_mode",
        class: Class::Latent,
        needs: "pools of php-fpm, and the memory of their children",
        formula: "pm = static where one pool has the machine; of several, ondemand for one that has \
                  had fewer than a request a minute for a day",
        source: "PHP manual, FPM configuration; the threshold is ours",
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
        formula: "the most that the last request of any child took > 80 % of memory_limit: php-fpm \
                  tells of no earlier ones",
        source: "PHP manual, memory_limit",
        judge: |view| each_php(view, memory_limit),
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
        let rate = machine.rate(&pool.counter("accepted conn"));
        let time = machine.now(&pool.counter("request_us"));
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
        let one = advice(evidence)
            .about(pool.name.clone())
            .sure(Confidence::Medium)
            .gain("requests don't wait for a child");
        found.push(more_children(view, pool, one));
    }
    if found.is_empty() && told.is_empty() {
        return None;
    }
    each(found, told.join("; "))
}

/// More children, or why there are to be none.
fn more_children(view: &View<'_>, pool: &Pool, one: Advice) -> Advice {
    let plan = view.budget.children_of(pool);
    match plan.map(|plan| (plan.advised, plan.advised > plan.now, &plan.bound)) {
        Some((advised, true, _)) => {
            one.fix("more children, as far as memory goes").changes(sized(pool, advised))
        }
        Some((_, false, Some(Bound::Processor(share)))) => one.fix(format!(
            "not more children: a request takes {} of a processor, so they would only wait for each \
             other; make requests quicker, or have more of them cached",
            percent(*share)
        )),
        Some((_, false, Some(Bound::Cores))) => one.fix(
            "not more children: there are 16 a core already, which mostly wait for each other; see \
             what requests wait for (wick top, the slow log), or have more of them cached",
        ),
        Some((_, false, _)) => one.fix(
            "there is no memory for more children (joint_memory): make requests quicker, or have \
             more of them cached",
        ),
        None => one.fix(
            "it isn't known what a child takes (run as root), so whether there is memory for more: \
             make requests quicker, or have more of them cached",
        ),
    }
}

fn saturated(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let was_counted = machine.now.keys().any(|name| name.starts_with("fpm."));
    if !was_counted {
        return None;
    }
    let judge = |pool: &Pool| {
        let count = |name: &str| machine.now(&pool.counter(name)).unwrap_or(0.0);
        let queue = count("listen queue");
        let reached = count("max children reached").max(count("log.children_max_reached"));
        if !is_saturated(machine, pool) {
            return None;
        }
        let one = advice(format!(
            "{queue} requests wait for a child, and all {} children were at work {reached} times",
            pool.children_max().unwrap_or(0)
        ))
        .gain("requests don't wait for a child");
        Some(more_children(view, pool, one))
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
        let set = pool.settings.get("listen.backlog").and_then(|text| text.parse::<f64>().ok());
        let backlog = set.filter(|&backlog| backlog > 0.0).unwrap_or(511.0);
        let queue = machine.now(&pool.counter("max listen queue")).unwrap_or(0.0);
        backlog_advice(view, pool, (backlog, queue))
    };
    pools(view, judge, "Unix sockets, with room for twice the longest queue that was seen")
}

/// A backlog that the longest queue nearly filled, or that the kernel cuts.
fn backlog_advice(view: &View<'_>, pool: &Pool, (backlog, queue): (f64, f64)) -> Option<Advice> {
    let most = view.machine.number("kernel.net.core.somaxconn").unwrap_or(SOMAXCONN);
    let held = backlog.min(most);
    let somaxconn = |wanted: f64| super::network::sysctl(view, "net.core.somaxconn", wanted);
    if queue * 2.0 > held {
        let wanted = (queue * 2.0).ceil();
        let found = advice(format!("{queue} requests waited at once, and {held} may"))
            .gain("a burst waits instead of being refused at once")
            .fix("room for two such bursts")
            .changes((wanted > backlog).then(|| change(pool, "listen.backlog", wanted)));
        return Some(found.changes((wanted > most).then(|| somaxconn(wanted))));
    }
    (backlog > most).then(|| {
        let found = advice(format!(
            "listen.backlog is {backlog}, and somaxconn cuts it to {most} without a word"
        ))
        .gain("as many may wait as is written");
        match most < SOMAXCONN {
            true => {
                found.fix("what kernels have since 5.4").change(somaxconn(backlog.min(SOMAXCONN)))
            }
            false => found
                .fix("what counts: who waits behind more than that waits for too long anyway")
                .change(change(pool, "listen.backlog", most)),
        }
    })
}

fn mode(view: &View<'_>) -> Option<Verdict> {
    let [pool] = view.machine.pools.as_slice() else {
        view.machine.pools.first()?;
        return idle_pools(view);
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

/// Of several pools those that hardly anybody asks, and that hold memory all the same.
fn idle_pools(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let judge = |pool: &Pool| {
        let mode = pool.settings.get("pm").map_or("dynamic", String::as_str);
        // A Wick starts its children itself, for reasons of its own.
        if mode == "ondemand" || pool.keeper == Some(Keeper::Wick) {
            return None;
        }
        let seconds = machine.now(&pool.counter("start since"))?;
        let requests = machine.now(&pool.counter("accepted conn"))?;
        if seconds < 86_400.0 || requests >= seconds / 60.0 {
            return None;
        }
        let held: u64 = machine.children_of(pool).filter_map(|one| one.private_bytes).sum();
        let found = advice(format!(
            "{requests:.0} requests in {:.1} days, for which its children hold {} all the time",
            seconds / 86_400.0,
            show_bytes(held)
        ));
        Some(
            found
                .gain("that memory is there for others; a request after a pause takes some 10 ms more")
                .sure(Confidence::Medium)
                .fix("have children only while they are wanted")
                .change(change(pool, "pm", "ondemand")),
        )
    };
    pools(view, judge, "several pools share the machine, and none is known to be idle")
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
        // What is slow a Wick tells itself, and php_slow where in PHP; looking costs, so it's off.
        let is_told = is_logged || pool.keeper == Some(Keeper::Wick);
        if is_told && end > 0.0 {
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
    let each = |what: &'static str| {
        machine.pools.iter().filter_map(move |pool| machine.now(&pool.counter(what)))
    };
    let most = each("request_bytes").reduce(f64::max)?;
    let share = most / limit as f64;
    let evidence = format!(
        "of the last requests of {:.0} children, which are all that php-fpm tells of, the largest took \
         {} of memory_limit {}",
        each("requests_seen").sum::<f64>(),
        percent(share),
        show_bytes(limit)
    );
    if share <= 0.8 {
        return fine(evidence);
    }
    advice(evidence)
        .gain("a slightly larger page doesn't end in an error")
        .sure(Confidence::Low)
        .fix("find what takes so much; raise memory_limit only together with fewer children")
        .found()
}

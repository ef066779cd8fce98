//! PHP itself: its opcode cache, its settings, its sessions.
//!
//! All of it as php-fpm says, where it could be asked: the command line's PHP is another.

use base::amount::show_bytes;

use super::{Check, Verdict, View, advice, each_php, fine, percent, unseen};
use crate::finding::{Change, Class, Confidence, Place};
use crate::machine::Keeper;
use crate::trial::jit_is_on;

const SOURCE: &str = "PHP manual, opcache configuration; php-src ext/opcache";

pub(super) const CHECKS: &[Check] = &[
    Check {
        number: 6,
        id: "session_folder",
        class: Class::Slow,
        needs: "session.save_path and its folder",
        formula: "more than 10,000 files, or gc_probability 0 without Debian's timer",
        source: "PHP manual, session configuration; the threshold is ours",
        judge: sessions,
    },
    Check {
        number: 7,
        id: "opcache",
        class: Class::Slow,
        needs: "opcache.enable of php-fpm",
        formula: "off, or the extension is not loaded",
        source: SOURCE,
        judge: |view| each_php(view, is_on),
    },
    Check {
        number: 8,
        id: "opcache_memory",
        class: Class::Slow,
        needs: "opcache_get_status() of php-fpm",
        formula: "used > 90 %, or oom_restarts > 0 → 1.5 × used",
        source: SOURCE,
        judge: |view| each_php(view, memory),
    },
    Check {
        number: 9,
        id: "opcache_keys",
        class: Class::Slow,
        needs: "opcache_get_status() of php-fpm",
        formula: "num_cached_keys > 90 % of max_cached_keys → the next prime that PHP has",
        source: SOURCE,
        judge: |view| each_php(view, keys),
    },
    Check {
        number: 10,
        id: "opcache_strings",
        class: Class::Slow,
        needs: "opcache_get_status() of php-fpm",
        formula: "used > 90 % of the buffer → twice, at most a quarter of the opcode cache",
        source: SOURCE,
        judge: |view| each_php(view, strings),
    },
    Check {
        number: 11,
        id: "opcache_waste",
        class: Class::Latent,
        needs: "opcache_get_status() of php-fpm",
        formula: "current_wasted_percentage > 5",
        source: SOURCE,
        judge: |view| each_php(view, waste),
    },
    Check {
        number: 12,
        id: "opcache_timestamps",
        class: Class::Slow,
        needs: "opcache.validate_timestamps of php-fpm, and where the sites lie",
        formula: "1 although deploys replace a link (…/current/… of nginx, Apache or Wick) → 0, with a \
                  reload at each deploy",
        source: SOURCE,
        judge: |view| each_php(view, timestamps),
    },
    Check {
        number: 13,
        id: "realpath_cache",
        class: Class::Slow,
        needs: "realpath_cache_size() of php-fpm",
        formula: "used > 90 % → twice",
        source: "PHP manual, realpath_cache_size",
        judge: |view| each_php(view, realpath),
    },
    Check {
        number: 14,
        id: "jit",
        class: Class::Slow,
        needs: "opcache.jit of php-fpm",
        formula: "fine if off; if on, not judged but by --try jit: it has to gain 3 % or more",
        source: "PHP RFC: JIT; the threshold is ours",
        judge: |view| each_php(view, jit),
    },
    Check {
        number: 15,
        id: "xdebug",
        class: Class::Slow,
        needs: "the extensions of php-fpm",
        formula: "xdebug is loaded",
        source: "xdebug.org, installation",
        judge: |view| each_php(view, xdebug),
    },
];

fn ini(view: &View<'_>, name: &str, new: impl ToString) -> Option<Change> {
    let pool = view.machine.pools.first()?;
    Some(Change {
        place: Place::Php(pool.version.clone()),
        name: name.to_owned(),
        old: view.machine.set(&format!("php.{name}")).map(str::to_owned),
        new: new.to_string(),
    })
}

fn status(view: &View<'_>, name: &str) -> Option<f64> {
    view.machine.now(&format!("opcache.{name}"))
}

fn sessions(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    if machine.set("php.session.save_handler").is_some_and(|handler| handler != "files") {
        return fine("sessions aren't files");
    }
    let count = machine.now("php.session_files")?;
    let is_cleaned = machine.number("php.session.gc_probability").is_some_and(|times| times > 0.0)
        || machine.is_on("php.session_timer") == Some(true);
    if count <= 10_000.0 && is_cleaned {
        return fine(format!("{count} session files, and old ones are removed"));
    }
    let found = advice(format!(
        "{count} session files{}",
        if is_cleaned { "" } else { ", and nothing removes old ones" }
    ))
    .gain("each new session is made in a folder of ordinary size");
    if is_cleaned {
        return found
            .sure(Confidence::Low)
            .fix(
                "see what makes so many: robots get no session from an app that starts one only \
                  when it writes; then lower session.gc_maxlifetime",
            )
            .found();
    }
    found
        .fix("let PHP remove old sessions, once in a thousand requests")
        .changes(ini(view, "session.gc_probability", 1))
        .changes(ini(view, "session.gc_divisor", 1000))
        .found()
}

fn is_on(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    machine.pools.first()?;
    let is_asked = machine.set("php.asked").is_some();
    let is_loaded = ["opcache", "zend opcache"]
        .iter()
        .any(|name| machine.set(&format!("php.extension.{name}")).is_some());
    // Off is known of files only where they say so: it is on by default.
    let is_off = machine.is_on("php.opcache.enable") == Some(false);
    if !is_off && (is_loaded || !is_asked) {
        let how = if is_asked { "php-fpm says so" } else { "its files don't turn it off" };
        return fine(format!("the opcode cache is on: {how}"));
    }
    let found = advice(match is_off {
        true => "opcache.enable is off in php-fpm: every request compiles every file",
        false => "php-fpm has no opcode cache loaded: every request compiles every file",
    })
    .gain("two to four times less processor for a request that PHP answers");
    match is_loaded || is_off {
        true => found.fix("turn it on").changes(ini(view, "opcache.enable", 1)).found(),
        false => found.fix("install the opcache extension of this PHP (php-opcache)").found(),
    }
}

/// What the budget says about the opcode cache, where that is another size.
pub(super) fn opcache_change(view: &View<'_>) -> Option<Change> {
    let (now, advised) = view.budget.opcache?;
    (advised != now).then(|| ini(view, "opcache.memory_consumption", advised >> 20)).flatten()
}

fn memory(view: &View<'_>) -> Option<Verdict> {
    let used = status(view, "memory_usage.used_memory")?;
    let (now, advised) = view.budget.opcache?;
    let restarts = status(view, "opcache_statistics.oom_restarts").unwrap_or(0.0);
    let share = used / (now as f64).max(1.0);
    if share <= 0.9 && restarts == 0.0 {
        return fine(format!("{} of {} are used", percent(share), show_bytes(now)));
    }
    // It was full once, before it was made larger: nothing more to do.
    if advised == now && share <= 0.9 {
        return fine(format!("{} are used, and it has half as much again", percent(share)));
    }
    let found = advice(format!(
        "{} of {} are used, and it was emptied {restarts} times for lack of room",
        percent(share),
        show_bytes(now)
    ))
    .gain("no file is compiled again because another took its place");
    match opcache_change(view) {
        Some(change) => found.fix("half as much again as is used").change(change).found(),
        None => found.fix("there is no memory for a larger one: see joint_memory").found(),
    }
}

/// The sizes that PHP's table may have.
const PRIMES: &[u64] = &[
    223, 463, 983, 1979, 3907, 7963, 16_229, 32_531, 65_407, 130_987, 262_237, 524_521, 1_048_793,
];

fn keys(view: &View<'_>) -> Option<Verdict> {
    let keys = status(view, "opcache_statistics.num_cached_keys")?;
    let most = status(view, "opcache_statistics.max_cached_keys").filter(|&most| most > 0.0)?;
    if keys <= most * 0.9 {
        return fine(format!("{keys} of {most} keys are used"));
    }
    let found = advice(format!(
        "{keys} of {most} keys are used: further files are compiled at each request"
    ))
    .gain("every file of the site stays compiled");
    match PRIMES.iter().find(|&&prime| prime as f64 > most) {
        Some(next) => found
            .fix("the next size that PHP has")
            .changes(ini(view, "opcache.max_accelerated_files", next))
            .found(),
        None => found.fix("it is the largest: have fewer files, or another pool").found(),
    }
}

fn strings(view: &View<'_>) -> Option<Verdict> {
    let used = status(view, "interned_strings_usage.used_memory")?;
    let size = status(view, "interned_strings_usage.buffer_size").filter(|&size| size > 0.0)?;
    if used <= size * 0.9 {
        return fine(format!("{} of the buffer is used", percent(used / size)));
    }
    let now = view.machine.number("php.opcache.interned_strings_buffer")?;
    let (_, whole) = view.budget.opcache?;
    let advised = (now * 2.0).min(((whole >> 20) / 4) as f64).floor();
    let found = advice(format!("{} of its {now} MB are used", percent(used / size)))
        .gain("strings are kept once instead of once a child");
    match advised > now {
        true => found
            .fix("twice as much, at most a quarter of the opcode cache")
            .changes(ini(view, "opcache.interned_strings_buffer", advised))
            .found(),
        false => found
            .class(Class::Latent)
            .fix("it is a quarter of the opcode cache already: enlarge that first")
            .found(),
    }
}

fn waste(view: &View<'_>) -> Option<Verdict> {
    let share = status(view, "memory_usage.current_wasted_percentage")?;
    if share <= 5.0 {
        return fine(format!("{share:.1} % are old versions of files"));
    }
    advice(format!("{share:.1} % of the opcode cache are old versions of files"))
        .gain("room for what is used")
        .fix("reload php-fpm at the end of each deploy (systemctl reload php-fpm)")
        .found()
}

fn timestamps(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let checks = machine.is_on("php.opcache.validate_timestamps")?;
    let linked = machine.directives.iter().find(|one| {
        let is_root =
            ["nginx.root", "apache.documentroot", "wick.origin"].contains(&one.name.as_str());
        is_root && one.value.split('/').any(|part| part == "current")
    });
    // A Wick has its php-fpm look, so that a deploy needs no reload.
    if checks && machine.pools.first().is_some_and(|pool| pool.keeper == Some(Keeper::Wick)) {
        return fine("Wick has its php-fpm look at files again, so that a deploy counts at once");
    }
    match (checks, linked) {
        (false, _) => fine("files aren't looked at again; see that each deploy reloads php-fpm"),
        (true, None) => fine("files may change where they lie, so PHP has to look at them"),
        (true, Some(one)) => advice(format!(
            "{} is replaced as a whole at a deploy ({}:{}), yet PHP looks at each file again",
            one.value, one.file, one.line
        ))
        .gain("a system call less for each file of each request")
        .sure(Confidence::Medium)
        .fix(
            "first have each deploy end with \"systemctl reload php-fpm\"; then set \
              opcache.validate_timestamps=0. Without the reload nobody would see a deploy",
        )
        .found(),
    }
}

fn realpath(view: &View<'_>) -> Option<Verdict> {
    let used = view.machine.now("php.realpath_cache_bytes")?;
    let size = view.machine.size("php.realpath_cache_size").filter(|&size| size > 0)?;
    let share = used / size as f64;
    if share <= 0.9 {
        return fine(format!("{} of {} are used", percent(share), show_bytes(size)));
    }
    advice(format!("{} of {} are used", percent(share), show_bytes(size)))
        .gain("fewer system calls for each file of each request")
        .fix("twice as much; each child has its own")
        .changes(ini(view, "realpath_cache_size", format!("{}K", size / 512)))
        .found()
}

fn jit(view: &View<'_>) -> Option<Verdict> {
    match jit_is_on(view.machine)? {
        false => fine(
            "it is off: most sites wait for their database, which it doesn't make quicker; whether \
             it gains for yours, wick doctor --try jit --url PAGE measures",
        ),
        true => unseen(
            "it is on, and whether it gains 3 % isn't known without a try: wick doctor --try jit \
             --url PAGE measures a page with and without it, and keeps what is better",
        ),
    }
}

fn xdebug(view: &View<'_>) -> Option<Verdict> {
    view.machine.pools.first()?;
    if view.machine.set("php.extension.xdebug").is_none() {
        return fine("it isn't loaded in php-fpm");
    }
    advice("xdebug is loaded in php-fpm, and slows every call down even where nobody debugs")
        .gain("up to half of PHP's time")
        .fix("phpdismod -s fpm xdebug, then reload php-fpm")
        .revert("phpenmod -s fpm xdebug, then reload php-fpm")
        .found()
}

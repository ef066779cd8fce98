//! `docs/doctor.md`, made from the table of checks: a test fails when the two differ.

use doctor::checks::{RECIPES, all};
use doctor::traffic::SAVINGS;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/doctor.md");

const INTRODUCTION: &str = "\
# wick doctor

`wick doctor` examines the machine that it runs on and says what to change, in order of what it \
saves, each with what was seen, what it gains, how sure that is, the exact change, the way back and the rule's \
source. It changes nothing unless `--apply` tells it to.

```sh
wick doctor                    # two seconds; as root, so that all is seen
wick doctor --window 60s --all # a busy minute; also what is fine and what couldn't be judged
wick doctor --apply 2          # shows the difference, asks, writes, watches for 60 s
wick doctor --rollback         # takes the last one back
wick doctor --try jit --url http://127.0.0.1/page.php   # measures, and keeps what is better
```

It reads `/proc`, `/sys`, sysctl, limits and cgroups (of both versions), the kernel's log of kills, \
php-fpm's pools and php.ini, the settings of nginx, Apache, MariaDB and MySQL; it asks a MariaDB or MySQL that runs here \
through its socket as root, and others by `--mysql` and `--postgres`, or by the variables \
`WICK_DOCTOR_MYSQL` and `WICK_DOCTOR_POSTGRES`, which other users don't see. php-fpm itself is asked \
over its own socket, since the command line's PHP has another opcode cache: for that a script lies \
in the folder for temporary files for a moment. What can't be seen is told with what would help.

A php-fpm that runs by a file of its own is found by what its master calls itself; so is the one that \
Wick starts for each site in a folder. Its file is written anew at each start, so what to do about it is \
said in words: as `php_children` in `wick.toml`, or in the php.ini that it reads. Where several php-fpm's \
run, each is asked for its own opcode cache, and findings say which one they are about.

All who are asked are asked at once, and together they have two seconds beside the window: whoever \
doesn't answer in that time is among what couldn't be seen.

As root, disks are asked for their health by `smartctl`, if it is installed; one that sleeps isn't \
woken, and none is waited for longer than a second. When the last backup was made is judged where a \
folder is named (`--backups DIR`: its newest file), where dumps of several days lie in the usual \
places, or where a timer of systemd makes them.

Counters are read twice, `--window` apart; numbers of a database younger than a day are told with \
less confidence.

## Followed by hand

Of a WordPress that ten visitors load (`wick demo --app wordpress`, whose MariaDB is its own and is named by \
`--mysql`), `wick doctor` says two things. The first is so on purpose: what the demo keeps is gone in a \
minute.

```text
1. durability: danger
   seen    innodb_flush_log_at_trx_commit is 0: a crash of the server alone loses a second of
           what was confirmed
   gain    what was confirmed outlives a crash of the database
   do      2 costs nearly nothing more; 1 also outlives a crash of the machine. It is yours to
           choose, so it isn't applied
   …
2. slow_log: hurts under load or failure
   seen    the slow log is off
   gain    slow queries are known before visitors tell of them; wick queries reads it
   do      log what takes a second or more
           [mysqld] slow_query_log = ON  (now OFF)
           [mysqld] long_query_time = 1  (now 10.000000)
           [mysqld] log_slow_verbosity = query_plan,explain  (now empty)
           wick doctor --apply 2
   undo    wick doctor --rollback
```

The second is followed by `wick doctor --apply 2`:

```text
slow_log: log what takes a second or more

--- /dev/null
+++ /etc/mysql/mariadb.conf.d/zz-wick-doctor.cnf
+# Written by wick doctor; wick doctor --rollback takes it back.
+[mysqld]
+log_slow_verbosity = query_plan,explain
+long_query_time = 1
+slow_query_log = ON

Applied. Watching for 5 s.
Nothing got worse. \"wick doctor --rollback\" takes it back.
```

Nothing of this site takes a second, so `SET GLOBAL long_query_time = 0` has everything logged for twelve \
seconds, and `wick queries LOG --explain mysql://…/site` reads it. It finds no index worth making: the \
query that reads a whole table wants nine rows of ten.

```text
1844 queries in 28 classes took 299 ms, 2026-11-24 15:51:04 to 2026-11-24 15:51:16 UTC.
The first 13 take 82.1 % of the time, of 28.

  # SHARE %      TIME     COUNT      MEAN       P95      ROWS  EXAMINED  QUERY
  1    32.7   97.8 ms       560    175 µs    206 µs         0         0  select option_value from wp_options wher…
  2     7.5   22.4 ms        57    392 µs    463 µs       118       132  select option_name, option_value from wp…
  3     5.5   16.4 ms       145    113 µs    208 µs         0         0  select wp_posts.id from wp_posts where ?…
  …
No index was found that would help these queries.
```

`wick doctor --rollback` says `Taken back: slow_log.`, and the log is off again. A test follows the same \
way each time.

## One budget of memory

The database's buffer pool, definitions of tables and connections, PHP's children (by the 95th percentile of `Private_*` in \
`smaps_rollup`, never RSS), the opcode cache, tmpfs, Wick (what its `memory` lets it become) and all other programs together get at \
most nine tenths of the memory that the machine, or its cgroup, has. Every size that is advised is \
from this one plan. What is short of memory is shrunk between what is set and what was in use at \
once; what has too little grows only into what is left. Where even the least doesn't fit, no size \
is advised, and that is said.

## The order

First comes danger, which isn't measured in time. Then, where Wick has served sites for a minute and \
20 requests of theirs went to an origin, what saves most of what visitors wait for, in milliseconds a \
day: the history of the last day in the state folder (`--state`) is read for it, whether Wick runs or \
not. What saves nothing that can be computed follows by what is at stake.

SAVINGS
Beside these sums the history decides nothing: evidence is from the window, or from what servers count \
since their start. What its last seconds are used for is the watch after `--apply`.

The dashboard shows the same under *Machine*, with the rights that Wick has.

## What --apply does

It shows the exact difference and asks (`--yes` doesn't). It writes files of its own name only: \
`/etc/sysctl.d/99-wick-doctor.conf`, `/etc/php/*/fpm/conf.d/99-wick-doctor.ini`, \
`/etc/php/*/fpm/pool.d/zz-wick-doctor.conf`, `/etc/mysql/*.conf.d/zz-wick-doctor.cnf`, and \
`/etc/systemd/system/UNIT.d/90-wick-doctor.conf`. What was before is kept in the state folder first. \
PostgreSQL has no file of ours: it is told by `ALTER SYSTEM`, for which the login of `--postgres` has to be one \
that may (a superuser), and by `--rollback` what it was told before, or `ALTER SYSTEM RESET`. \
Then sysctl and `SET GLOBAL` take the values at once, and php-fpm is reloaded after `php-fpm -t` \
accepted them; what takes a restart is said and left to you. For `--watch` (60 s) it looks at how \
long programs wait for memory and disks, whether the database and php-fpm still answer, and, where \
Wick serves the site, at its visitors of the last ten seconds: the share of errors (1 percentage \
point more) and what the slowest hundredth waits (half as long again, and 20 ms more). When something \
stays worse for three looks, all is put back.

What decides which confirmed data a crash may lose is never applied.

## What --try does

Some things gain for one site and cost another. `--try jit` applies PHP's JIT (or takes it out, where it \
is on) and takes that back in turns, `--rounds` times each (10), as `--apply` and `--rollback` do, \
while one visitor loads a page of this machine (`--url`) for `--time` (3 s), after as long to warm up. \
What counts is how long PHP's children had a processor (`/proc/PID/schedstat`), for each request that \
they answered: other programs make answers late, but give PHP no more to do. JIT stays only if it takes \
3 % or more off that, with 99 % confidence that it takes off anything; it goes only if it is shown to \
take off less. Otherwise, after an error, and after Ctrl-C, all is as it was. A page that a cache \
answers, that fails, or that isn't of this machine is refused. php-fpm is reloaded for each turn. Exit \
status 0: what was better is in place now, 1: all is as it was.

What happens on the way to visitors, such as `net.ipv4.tcp_slow_start_after_idle`, can't be measured \
here: its check says how to try it from elsewhere.

## JSON

`--format json` writes one object:

| member | what |
| --- | --- |
| `findings` | the worst first; number 1 of `--apply` is the first |
| `findings[].id`, `.subject` | the check, and what it is about (a pool, a program), or an empty text |
| `findings[].evidence`, `.gain` | sentences |
| `findings[].saved_ms_a_day` | what it saves of what visitors wait for, or null: nobody knows |
| `findings[].class` | `danger`, `refusing`, `slow`, `latent`, `folklore` |
| `findings[].confidence` | `high`, `medium`, `low` |
| `findings[].fix` | `words`, and `changes`: `place` (`\"kernel\"`, `\"database\"`, `\"postgres\"`, `{\"php\": version}`, `{\"pool\": [version, name]}`, `{\"unit\": name}`), `name`, `old` (or null), `new` |
| `findings[].revert`, `.source` | sentences |
| `fine`, `unseen` | `id` and `because` of each check without a finding |
| `hidden` | `what` couldn't be read, and the `cure` |
| `budget` | `limit_bytes`, `spendable_bytes`, `parts` (`name`, `now_bytes`, `advised_bytes`), `buffer_pool` and `opcache` (bytes now and advised, or null), `definitions` (places of tables' definitions now and advised, or null), `tmpfs_bytes` (or null), `children`, `is_solvent`, `fits_now` |
| `window_seconds` | how long counters were watched |
| `traffic` | what the savings rest on, or null: `noted_seconds` of the last day, `requests`, `origin_requests`, `origin_ms`, `queue_ms` (for each, or null), `in_window` (requests, and those to an origin; or null) |

## Exit status

| status | what |
| --- | --- |
| 0 | there is nothing to do; or what was asked for is done |
| 1 | there are findings; or a change was declined, or taken back |
| 2 | it could not look, or could not do what it was told to; standard error says why |

";

#[test]
fn the_page_tells_of_every_check() {
    let mut savings = String::from("| check | what it saves a day |\n| --- | --- |\n");
    for saving in SAVINGS {
        savings.push_str(&format!("| `{}` | {} |\n", saving.check, saving.formula));
    }
    let mut page = INTRODUCTION.replace("SAVINGS\n", &format!("{savings}\n"));
    page.push_str("## The checks\n\n| # | check | at stake | formula | source |\n");
    page.push_str("| --- | --- | --- | --- | --- |\n");
    for check in all() {
        page.push_str(&format!(
            "| {} | `{}` | {} | {} | {} |\n",
            check.number,
            check.id,
            check.class.words(),
            check.formula,
            check.source
        ));
    }
    page.push_str(
        "\n## Folklore\n\nRecipes that are told with their line when a settings file has them:\n\n\
         | setting | refused | because |\n| --- | --- | --- |\n",
    );
    for recipe in RECIPES {
        let name = recipe.name.trim_start_matches("mysqld.");
        page.push_str(&format!("| `{name}` | {} | {} |\n", recipe.what, recipe.why));
    }
    page.push_str(
        "\nThe tables are made from the code by `WRITE_MANUAL=1 cargo test -p doctor --test manual`.\n",
    );
    if std::env::var_os("WRITE_MANUAL").is_some() {
        std::fs::write(PAGE, &page).expect("the page can be written");
    }
    let there = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        there == page,
        "docs/doctor.md isn't what the code says; write it anew with \
         WRITE_MANUAL=1 cargo test -p doctor --test manual"
    );
}

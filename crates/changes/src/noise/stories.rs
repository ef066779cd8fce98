//! Stories of what was asked for and what was seen, and what is noise after them.
//!
//! A line each: `F` and `R` are probes by a fresh and a returning persona, `read` and
//! `write` are others, `idle` is nobody; then an address (for probes) and the changes
//! that were seen. `wait` lets time pass. Where others ask what is behind the same database they
//! ask until `asked`, and say at `calm` that they have asked for nothing since. A change is `+` insert, `~` update, `-` delete,
//! `!` a definition, with its table, its kind of rows in brackets and its columns:
//! `~options[blogname].value`. Rows without brackets have no key with text; `[?]` isn't known.

use super::{Foreign, Learner, Persona, State};
use crate::{Column, KeyClass, Operation, Rows, Signature};

fn signature(text: &str) -> Signature {
    let (operation, rest) = match text.split_at(1) {
        ("+", rest) => (Operation::Insert, rest),
        ("~", rest) => (Operation::Update, rest),
        ("-", rest) => (Operation::Delete, rest),
        ("!", rest) => (Operation::Schema, rest),
        _ => panic!("{text} is no change"),
    };
    let (rows, columns) = match rest
        .rfind(']')
        .or(Some(0))
        .and_then(|from| rest[from..].find('.').map(|at| rest.split_at(from + at)))
    {
        Some((rows, columns)) => (rows, &columns[1..]),
        None => (rest, ""),
    };
    let (table, key) = match rows.split_once('[') {
        None => (rows, KeyClass::Plain),
        Some((table, "?]")) => (table, KeyClass::Unknown),
        Some((table, key)) => (table, KeyClass::Of(key.trim_end_matches(']').into())),
    };
    let columns = columns.split('.').filter(|name| !name.is_empty()).map(Column::named).collect();
    Signature {
        rows: Rows { database: "site".into(), table: table.into(), key },
        operation,
        columns,
    }
}

/// Plays a story; a line takes a tenth of a second, a wait five.
fn play(learner: &mut Learner, story: &str, now: &mut u64) {
    for line in story.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        let who = words.next().unwrap_or_default();
        *now += 50;
        let foreign = if who == "write" { Foreign::Write } else { Foreign::Read };
        match who {
            "F" | "R" => {
                let persona = if who == "F" { Persona::Fresh } else { Persona::Returning };
                let url = words.next().expect("an address");
                learner.probe_began(url, "page", persona, *now);
            }
            "read" | "write" => learner.foreign_began(foreign),
            "wait" => *now += 5_000,
            "idle" => *now += 2_000,
            _ => panic!("{line}"),
        }
        for word in words {
            learner.saw(&signature(word), *now);
        }
        *now += 50;
        match who {
            "F" | "R" => learner.probe_ended(*now),
            "read" | "write" => learner.foreign_ended(foreign, *now),
            _ => learner.settle(*now),
        }
    }
    *now += 5_000;
    learner.settle(*now);
}

/// The same, where others ask what is behind the same database.
fn play_shared(story: &str) -> Learner {
    let (mut learner, mut now, mut since) = (Learner::default(), 100_000, 0);
    learner.share(true);
    let mut part = String::new();
    for line in story.lines().map(str::trim).chain(["calm"]) {
        if !matches!(line, "asked" | "calm") {
            part.push_str(line);
            part.push('\n');
            continue;
        }
        play(&mut learner, &part, &mut now);
        part.clear();
        match line {
            "asked" => since = now,
            _ => learner.calm(since, now),
        }
    }
    learner
}

pub(crate) fn check(story: &str, noise: &[&str], content: &[&str]) {
    let mut learner = Learner::default();
    play(&mut learner, story, &mut 100_000);
    // What was learned is the same after a restart.
    let kept = serde_json::to_string(&learner.state()).expect("it can be written");
    let state: State = serde_json::from_str(&kept).expect("it can be read");
    for learner in [&learner, &Learner::from_state(state)] {
        for text in noise {
            assert!(learner.is_noise(&signature(text)), "{text} is not noise after {story}");
        }
        for text in content {
            assert!(!learner.is_noise(&signature(text)), "{text} is noise after {story}");
        }
    }
}

/// Two bursts in which every reader makes or renews a session and a view is counted.
const READERS: &str = "
    F /a +session[#] ~posts.views
    R /a ~session[#].at ~posts.views
    F /a +session[#] ~posts.views
    wait
    F /a +session[#] ~posts.views
    R /a ~session[#].at ~posts.views
    F /a +session[#] ~posts.views
    R /a ~session[#].at ~posts.views
    wait";

#[test]
fn what_every_probe_does_is_noise_and_nothing_else() {
    check(
        READERS,
        &["+session[#]", "~session[#].at", "~posts.views"],
        &[
            "~posts.title",
            "~posts.title.views",
            "+posts",
            "-posts",
            "~users.at",
            "+session[blogname]",
        ],
    );
}

#[test]
fn one_burst_is_enough_only_for_what_was_seen_three_times() {
    let story = "F /a ~p.v
        R /a ~p.v
        F /a ~p.v
        R /a ~p.v
        F /a ~p.v
        wait";
    check(story, &["~p.v"], &[]);
    check("F /a ~p.v\nR /a ~p.v\nF /a ~p.v\nwait", &[], &["~p.v"]);
}

#[test]
fn nothing_is_noise_before_anything_was_learned() {
    check("", &[], &["+session[#]", "~posts.views"]);
}

#[test]
fn a_post_that_is_published_by_who_comes_first_stays_content() {
    let publication = "
        F /a ~posts.status ~views.n
        R /a ~views.n
        F /a ~views.n
        wait
        wait
        wait";
    check(&publication.repeat(6), &["~views.n"], &["~posts.status"]);
}

#[test]
fn an_edit_that_falls_into_a_probe_now_and_then_stays_content() {
    let quiet = "F /a\nR /a\nF /a\nwait\nwait\nwait\n";
    let story =
        format!("F /a\nR /a\nF /a ~posts.title\nwait\nwait\nwait\n{quiet}{quiet}").repeat(5);
    check(&story, &[], &["~posts.title"]);
}

#[test]
fn bursts_that_others_disturb_prove_nothing() {
    let disturbed = "F /a ~p.v\nR /a ~p.v\nread\nF /a ~p.v\nwait\n";
    check(&disturbed.repeat(6), &[], &["~p.v"]);
    let soon_after = "read\nF /a ~p.v\nR /a ~p.v\nF /a ~p.v\nwait\n";
    check(&soon_after.repeat(6), &[], &["~p.v"]);
    // What was seen before anybody else came stands.
    let soon_before = "F /a ~p.v\nR /a ~p.v\nF /a ~p.v\nread\nwait\n";
    check(&soon_before.repeat(6), &["~p.v"], &[]);
}

#[test]
fn probes_of_other_addresses_or_of_one_persona_are_no_burst() {
    check(&"F /a ~p.v\nR /b ~p.v\nF /c ~p.v\nwait\n".repeat(6), &[], &["~p.v"]);
    check(&"F /a ~p.v\nF /a ~p.v\nF /a ~p.v\nwait\n".repeat(6), &[], &["~p.v"]);
    check(&"F /a ~p.v\nwait\nwait\nR /a ~p.v\nwait\nwait\nF /a ~p.v\n".repeat(6), &[], &["~p.v"]);
}

#[test]
fn members_reads_teach_nothing() {
    check(&"read ~p.v +s[#]\n".repeat(20), &[], &["~p.v", "+s[#]"]);
}

#[test]
fn an_update_of_some_of_the_noisy_columns_is_noise() {
    let story = "
        F /a ~p.hits.last
        R /a ~p.hits
        F /a ~p.hits.last
        R /a ~p.hits
        wait"
        .repeat(2);
    check(&story, &["~p.last", "~p.hits", "~p.hits.last"], &["~p.last.title", "~q.hits"]);
}

#[test]
fn rows_that_readers_make_are_theirs_where_they_can_be_told_apart() {
    check(READERS, &["-session[#]", "~session[#].user.data"], &[]);
    let log = "F /a +log\nR /a +log\nF /a +log\nR /a +log\nwait\n".repeat(2);
    check(&log, &["+log"], &["-log", "~log.text"]);
}

#[test]
fn rows_of_an_unknown_kind_are_never_noise() {
    let story = "F /a ~o[?].v\nR /a ~o[?].v\nF /a ~o[?].v\nR /a ~o[?].v\nwait\n".repeat(3);
    check(&story, &[], &["~o[?].v", "~o[blogname].v"]);
}

#[test]
fn what_happens_while_nobody_asks_is_content_for_good() {
    check(&format!("{READERS}\nidle ~posts.views\n{READERS}"), &["+session[#]"], &["~posts.views"]);
    // Nor does it prove anything for others then.
    let burst = "F /a ~p.hits.last\nR /a ~p.hits.last\nF /a ~p.hits.last\nwait\n".repeat(2);
    check(&burst, &["~p.hits"], &[]);
    check(&format!("{burst}idle ~p.hits.last"), &[], &["~p.hits.last", "~p.hits"]);
}

#[test]
fn who_reads_past_us_spoils_nothing_but_sweeps_until_that_was_looked_at() {
    let (mut learner, mut now) = (Learner::default(), 100_000);
    play(&mut learner, &format!("idle +session[#]\n{READERS}\nidle +session[#]"), &mut now);
    let session = signature("+session[#]");
    assert!(learner.is_noise(&session));
    for looks in 0..4 {
        assert_eq!(learner.is_noise_at(&session, now), looks >= 3, "{looks}");
        learner.found_unchanged(&session);
    }
    let other = signature("-session[#]");
    assert!(learner.is_noise(&other) && !learner.is_noise_at(&other, now));
    learner.foreign_began(Foreign::Read);
    assert!(learner.is_noise_at(&other, now), "somebody reads");
    learner.demote(&session);
    assert!(!learner.is_noise_at(&session, now), "a page was found changed");
    // Rows that readers didn't begin are content once they are rewritten by somebody else.
    let topics = "F /a ~topic[#].data\nR /a ~topic[#].data\nF /a ~topic[#].data\nwait\n".repeat(2);
    check(&topics, &["~topic[#].data"], &[]);
    check(&format!("{topics}idle ~topic[#].data"), &[], &["~topic[#].data"]);
}

#[test]
fn a_write_does_not_demote_what_every_request_does() {
    let story = format!("{READERS}\nwrite ~posts.views +session[#] ~posts.title");
    check(&story, &["~posts.views", "+session[#]"], &["~posts.title"]);
}

#[test]
fn what_came_with_a_write_before_is_noise_only_by_its_own_proof() {
    // The part of a noisy update was seen with a write before the probes.
    let story = "write ~p.last\nwait\n".to_owned()
        + &"F /a ~p.hits.last\nR /a ~p.hits.last\nF /a ~p.hits.last\nR /a ~p.hits.last\nwait\n"
            .repeat(2);
    check(&story, &["~p.hits", "~p.hits.last"], &["~p.last"]);
    check(&format!("write ~posts.views\nwait\n{READERS}"), &["~posts.views"], &[]);
}

#[test]
fn a_changed_definition_ends_all_that_was_learned() {
    check(&format!("{READERS}\nwrite !posts"), &[], &["~posts.views", "+session[#]"]);
}

#[test]
fn many_new_kinds_of_change_end_all_that_was_learned() {
    let news: String = (0..80).map(|number| format!("read ~new{number}.a\n")).collect();
    check(&format!("{READERS}\n{news}"), &[], &["~posts.views"]);
}

#[test]
fn a_rare_kind_is_noise_after_three_looks_that_found_nothing() {
    let mut learner = Learner::default();
    let record = signature("~stats[most_online].value");
    for looks in 0..4 {
        assert_eq!(learner.is_noise(&record), looks >= 3, "{looks}");
        learner.found_unchanged(&record);
    }
    learner.demote(&record);
    assert!(!learner.is_noise(&record));
}

/// A burst of probes during which somebody writes posts through another node, again and again.
const WRITTEN_ELSEWHERE: &str = "
    F /a ~posts.views +posts
    R /a ~posts.views +posts
    F /a ~posts.views +posts
    R /a ~posts.views +posts
    F /a ~posts.views +posts
    R /a ~posts.views +posts
    wait";

#[test]
fn what_others_write_while_it_is_probed_is_no_noise() {
    let post = signature("+posts");
    let mut alone = Learner::default();
    play(&mut alone, WRITTEN_ELSEWHERE, &mut 100_000);
    assert!(alone.is_noise(&post), "nobody else asks, so probes do it");
    for story in ["asked", "asked\nidle"] {
        let learner = play_shared(&format!("{WRITTEN_ELSEWHERE}\n{story}"));
        assert!(!learner.is_noise(&post), "{story}");
    }
    let calm = play_shared(WRITTEN_ELSEWHERE);
    assert!(calm.is_noise(&post), "the others say that they asked for nothing");
    assert!(!calm.waits_for_calm());
}

#[test]
fn before_others_have_spoken_nothing_is_known() {
    let mut learner = Learner::default();
    learner.share(true);
    play(&mut learner, READERS, &mut 100_000);
    let views = signature("~posts.views");
    assert!(!learner.is_noise(&views) && learner.waits_for_calm());
    learner.calm(0, 100_000);
    assert!(!learner.is_noise(&views), "they have spoken of what was before");
    learner.calm(0, 200_000);
    assert!(learner.is_noise(&views) && !learner.waits_for_calm());
}

#[test]
fn what_comes_while_nobody_asks_here_is_content_only_if_nobody_asks_elsewhere() {
    let views = signature("~posts.views");
    let learner = play_shared(&format!("idle ~posts.views\nasked\n{READERS}"));
    assert!(learner.is_noise(&views), "somebody read through another node");
    let learner = play_shared(&format!("idle ~posts.views\ncalm\n{READERS}"));
    assert!(!learner.is_noise(&views), "nobody did");
}

#[test]
fn weaker_rules_do_not_hold_where_others_may_write_at_any_moment() {
    let part = signature("~posts.at");
    let story = "
        F /a ~posts.at.by
        R /a ~posts.at.by
        F /a ~posts.at.by
        R /a ~posts.at.by
        F /a ~posts.at.by
        R /a ~posts.at.by
        wait
        read ~posts.at";
    let mut alone = Learner::default();
    play(&mut alone, story, &mut 100_000);
    assert!(alone.is_noise(&part));
    let shared = play_shared(story);
    assert!(!shared.is_noise(&part) && shared.is_noise(&signature("~posts.at.by")));
}

//! Stories of what was asked for and what was seen, and what is noise after them.
//!
//! A line each: `F` and `R` are probes by a fresh and a returning persona, `read` and
//! `write` are others, `alone` is one who reads a page, and `download` one who gets something
//! else (`@ann` behind the address says who); `known` is Wick that reads for others; `idle` is nobody; then an address (for probes and those two) and the changes that were
//! seen. `wait` lets time pass. Where others ask what is behind the same database they
//! ask until `asked`, and say at `calm` that they have asked for nothing since. A change is `+` insert, `~` update, `-` delete,
//! `!` a definition, with its table, its kind of rows in brackets and its columns:
//! `~options[blogname].value`; one that was given the present time alone is `~users.seen=now`. Rows without brackets have no key with text; `[?]` isn't known.

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
    let column = |name: &str| match name.strip_suffix("=now") {
        Some(name) => Column::Moment(Column::named(name).into()),
        None => Column::named(name),
    };
    let columns = columns.split('.').filter(|name| !name.is_empty()).map(column).collect();
    Signature {
        rows: Rows { database: "site".into(), table: table.into(), key },
        operation,
        columns,
    }
}

/// Plays a story; a line takes a tenth of a second, a wait five.
fn play(learner: &mut Learner, story: &str, now: &mut u64) {
    for line in story.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace().peekable();
        let who = words.next().unwrap_or_default();
        *now += 50;
        let foreign = match who {
            "write" => Foreign::Write,
            "known" => Foreign::Probed,
            _ => Foreign::Read,
        };
        match who {
            "F" | "R" => {
                let persona = if who == "F" { Persona::Fresh } else { Persona::Returning };
                let url = words.next().expect("an address");
                learner.probe_began(url, "page", persona, *now);
            }
            "read" | "write" | "known" => learner.foreign_began(foreign),
            "alone" | "download" => {
                let url = words.next().expect("an address");
                let name = words.next_if(|word| word.starts_with('@')).unwrap_or_default();
                let who = name.bytes().fold(0, |sum, byte| sum * 256 + u64::from(byte));
                learner.reading_began(url, "page", who, *now);
            }
            "wait" => *now += 5_000,
            "idle" => *now += 2_000,
            _ => panic!("{line}"),
        }
        for word in words {
            learner.saw(&signature(word), *now);
        }
        if who == "download" {
            learner.read_no_page();
        }
        *now += 50;
        match who {
            "F" | "R" => learner.probe_ended(*now),
            "read" | "write" | "known" | "alone" | "download" => {
                learner.foreign_ended(foreign, *now)
            }
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
fn rows_that_readers_begin_are_theirs_whenever_somebody_reads_past_wick() {
    let earlier = format!("idle ~session[#].data\nidle ~posts[#].data\n{READERS}");
    check(&earlier, &["+session[#]", "~session[#].data"], &["~posts[#].data"]);
    let never = "idle ~session[#].data\nread\nread\n";
    check(never, &[], &["~session[#].data"]);
}

#[test]
fn a_time_that_is_written_once_a_second_is_noise_after_three_bursts_that_did() {
    let burst = "
        F /a ~guests.seen=now
        R /a
        F /a
        wait
        ";
    check(&burst.repeat(2), &[], &["~guests.seen=now"]);
    check(&burst.repeat(3), &["~guests.seen=now"], &["~guests.seen", "~posts.seen=now"]);
    let first_alone = burst.replace("=now", "").repeat(9);
    check(&first_alone, &[], &["~guests.seen"]);
    let seldom = [burst, &"F /a\nR /a\nF /a\nwait\n".repeat(2)].concat().repeat(4);
    check(&seldom, &[], &["~guests.seen=now"]);
}

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

/// Bursts after which it is known what strangers' reading of such pages writes.
const PROBED: &str = "F /a\nR /a\nF /a\nwait\n";

/// A member reads so many pages in turn, and each time this is seen.
fn readings(count: usize, changes: &str) -> String {
    (0..count).map(|number| format!("alone /{} {changes}\nwait\n", number % 6)).collect()
}

fn looked(learner: &mut Learner, kind: &str, looks: &[bool]) {
    looks.iter().for_each(|as_before| learner.looked_behind_reading(&signature(kind), *as_before));
}

/// Whether it is noise while somebody reads, after this story and these looks.
fn is_noise_of_reading(story: &str, kind: &str, looks: &[bool]) -> bool {
    let (mut learner, mut now) = (Learner::default(), 100_000);
    play(&mut learner, story, &mut now);
    looked(&mut learner, kind, looks);
    assert!(!learner.is_noise_at(&signature(kind), now), "nobody reads");
    // It is the same after a restart.
    let state = serde_json::to_string(&learner.state()).expect("it can be written");
    let mut learner = Learner::from_state(serde_json::from_str(&state).expect("it can be read"));
    learner.foreign_began(Foreign::Read);
    let is_noise = learner.is_noise_at(&signature(kind), now);
    assert_eq!(is_noise, learner.proved().any(|one| *one == signature(kind)));
    learner.foreign_began(Foreign::Write);
    assert!(!learner.is_noise_at(&signature(kind), now), "somebody writes");
    is_noise
}

const GOOD: &[bool] = &[true; 3];

#[test]
fn what_often_comes_with_members_reading_is_noise_once_pages_were_looked_at() {
    let read = |count, change| format!("{PROBED}{}", readings(count, change));
    assert!(is_noise_of_reading(&read(8, "+topics_read ~users.seen"), "~users.seen", GOOD));
    assert!(is_noise_of_reading(&read(8, "+topics_read ~users.seen"), "+topics_read", GOOD));
    assert!(!is_noise_of_reading(&read(8, "+topics_read"), "+topics_read", &[true; 2]));
    assert!(!is_noise_of_reading(&read(7, "+topics_read"), "+topics_read", GOOD));
    // Some of the columns, and more.
    let visits = read(8, "~visits.page.seen");
    for (kind, is_noise) in [("~visits.page", true), ("~visits.page.name", false)] {
        let (mut learner, mut now) = (Learner::default(), 100_000);
        play(&mut learner, &visits, &mut now);
        looked(&mut learner, "~visits.page.seen", GOOD);
        learner.foreign_began(Foreign::Read);
        assert_eq!(learner.is_noise_at(&signature(kind), now), is_noise, "{kind}");
    }
    // What Wick reads itself meanwhile spoils nothing.
    let beside =
        readings(8, "~p.v").replace("alone", "known\nalone").replace("wait", "known\nwait");
    assert!(is_noise_of_reading(&format!("{PROBED}{beside}"), "~p.v", GOOD));
    // One look that isn't good begins anew, and there is an end to looking.
    assert!(!is_noise_of_reading(&read(8, "~p.v"), "~p.v", &[true, true, false, true, true]));
    assert!(is_noise_of_reading(&read(8, "~p.v"), "~p.v", &[true, false, true, true, true]));
    // It came once while nobody read, or Wick alone did.
    for other in ["idle +marks[#]", "wait\nknown +marks[#]"] {
        let story = format!("{}{other}\nwait\n", read(8, "+marks[#]"));
        assert!(!is_noise_of_reading(&story, "+marks[#]", GOOD), "{other}");
    }
    assert!(is_noise_of_reading(&read(8, "+marks[#]"), "+marks[#]", GOOD));
    // It is rare, or comes with few addresses.
    let rare = format!("{PROBED}{}{}", readings(8, "~p.v"), readings(25, ""));
    assert!(!is_noise_of_reading(&rare, "~p.v", GOOD));
    let one_address = format!("{PROBED}{}", "alone /1 ~p.v\nwait\n".repeat(20));
    assert!(!is_noise_of_reading(&one_address, "~p.v", GOOD));
}

#[test]
fn what_nobody_can_tell_to_be_the_readings_doing_is_not_overheard() {
    // Strangers' pages of that kind aren't known.
    assert!(!is_noise_of_reading(&readings(20, "~p.v"), "~p.v", GOOD));
    // Somebody else reads, or has just written, or nobody reads any more.
    for beside in ["read\nalone /N\nread ~p.v", "write\nalone /N ~p.v", "alone /N\nidle ~p.v"] {
        let told: String = (0..20)
            .map(|n| format!("{}\nwait\n", beside.replace("/N", &format!("/{n}"))))
            .collect();
        assert!(!is_noise_of_reading(&format!("{PROBED}{told}"), "~p.v", GOOD), "{beside}");
    }
    // What was answered was no page; it isn't telling; it was found to be content.
    let told = readings(20, "~p.v").replace("alone", "download");
    assert!(!is_noise_of_reading(&format!("{PROBED}{told}"), "~p.v", GOOD));
    let unknown = format!("{PROBED}{}", readings(20, "~o[?].v"));
    assert!(!is_noise_of_reading(&unknown, "~o[?].v", GOOD));
    let mut learner = Learner::default();
    play(&mut learner, &format!("{PROBED}{}", readings(20, "~p.v")), &mut 100_000);
    learner.demote(&signature("~p.v"));
    looked(&mut learner, "~p.v", GOOD);
    learner.foreign_began(Foreign::Read);
    assert!(!learner.is_noise_at(&signature("~p.v"), 0));
    // It comes while only Wick reads.
    let mut learner = Learner::default();
    play(&mut learner, &format!("{PROBED}{}", readings(20, "~p.v")), &mut 100_000);
    looked(&mut learner, "~p.v", GOOD);
    learner.foreign_began(Foreign::Probed);
    assert!(!learner.is_noise_at(&signature("~p.v"), 1_000_000));
    // Where others ask through other nodes nobody reads alone.
    let mut learner = Learner::default();
    learner.share(true);
    play(&mut learner, &format!("{PROBED}{}", readings(20, "~p.v")), &mut 100_000);
    looked(&mut learner, "~p.v", GOOD);
    learner.foreign_began(Foreign::Read);
    assert!(!learner.is_noise_at(&signature("~p.v"), 0));
}

#[test]
fn pages_are_worth_a_look_while_a_suspected_kind_is_overheard() {
    let (mut learner, mut now) = (Learner::default(), 100_000);
    play(&mut learner, PROBED, &mut now);
    let kind = signature("~p.v");
    for number in 0..20 {
        now += 5_000;
        let url = format!("/{number}");
        learner.reading_began(&url, "page", 1, now);
        learner.saw(&kind, now);
        let is_worth_it = learner.overheard(&kind, now) == Some(&url);
        assert_eq!(is_worth_it, number >= 8, "{number}");
        learner.foreign_ended(Foreign::Read, now);
    }
    looked(&mut learner, "~p.v", &[false; 24]);
    learner.reading_began("/1", "page", 1, now + 5_000);
    assert_eq!(learner.overheard(&kind, now + 5_000), None, "there is an end to it");
}

#[test]
fn rows_that_are_each_visitors_own_are_one_kind() {
    let read = |who: &str, row: &str, count: usize| -> String {
        let first = usize::from(who.as_bytes()[0]);
        let line =
            |number| format!("alone /{} @{who} ~users[{row}].seen\nwait\n", (first + number) % 6);
        (0..count).map(line).collect()
    };
    let members = ["ann", "bob", "cid", "dan"].map(|name| read(name, name, 2)).concat();
    let story = format!("{PROBED}{members}");
    assert!(is_noise_of_reading_as(&story, "~users[ann].seen", "~users[eve].seen", GOOD));
    assert!(!is_noise_of_reading_as(&story, "~users[ann].seen", "~users[eve].name", GOOD));
    assert!(!is_noise_of_reading_as(&story, "~users[ann].seen", "~posts[eve].seen", GOOD));
    // Each of them once, or too few of them.
    let once =
        ["ann", "bob", "cid", "dan", "eve", "fay", "gil", "hal"].map(|name| read(name, name, 1));
    let few = format!("{}{}", read("ann", "ann", 8), read("bob", "bob", 8));
    for members in [once.concat(), few] {
        let story = format!("{PROBED}{members}");
        assert!(!is_noise_of_reading_as(&story, "~users[ann].seen", "~users[ida].seen", GOOD));
    }
    // One visitor's reading changes several rows: they are named by a programmer.
    let options = format!("{members}{}", read("ann", "cron", 1));
    let story = format!("{PROBED}{options}");
    assert!(!is_noise_of_reading_as(&story, "~users[ann].seen", "~users[blogname].seen", GOOD));
}

/// Whether a kind is noise while somebody reads, after a story and looks at another kind.
fn is_noise_of_reading_as(story: &str, looked_at: &str, kind: &str, looks: &[bool]) -> bool {
    let (mut learner, mut now) = (Learner::default(), 100_000);
    play(&mut learner, story, &mut now);
    looked(&mut learner, looked_at, looks);
    let state = serde_json::to_string(&learner.state()).expect("it can be written");
    let mut learner = Learner::from_state(serde_json::from_str(&state).expect("it can be read"));
    learner.foreign_began(Foreign::Read);
    learner.is_noise_at(&signature(kind), now)
}

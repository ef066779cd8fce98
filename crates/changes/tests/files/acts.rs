//! Each thing that can be done to a file, and all that is told of it.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::listener::Listener;
use crate::{Place, place};

/// An act on the site's folder and one outside of it.
type Act = fn(&Path, &Path);

fn append(file: &Path) -> File {
    OpenOptions::new().append(true).open(file).expect("it can be opened")
}

const ACTS: &[(&str, Act, &[&str])] = &[
    ("read", |site, _| drop(fs::read(site.join("a.txt"))), &[]),
    ("list", |site, _| drop(fs::read_dir(site)), &[]),
    (
        "touch the time of reading",
        |site, _| {
            let times = fs::FileTimes::new().set_accessed(SystemTime::UNIX_EPOCH);
            append(&site.join("a.txt")).set_times(times).expect("it can be set");
            // The file was opened to write, and its state changed a moment ago.
        },
        &["~site[a.txt]"],
    ),
    (
        "touch",
        |site, _| {
            let times = fs::FileTimes::new().set_modified(SystemTime::UNIX_EPOCH);
            File::open(site.join("a.txt"))
                .and_then(|file| file.set_times(times))
                .expect("it can be");
        },
        &["~site[a.txt]"],
    ),
    ("create", |site, _| drop(File::create(site.join("b.txt"))), &["+site[b.txt]"]),
    (
        "create and fill",
        |site, _| fs::write(site.join("b.txt"), "b").expect("it can"),
        &["+site[b.txt]", "~site[b.txt]"],
    ),
    ("write", |site, _| fs::write(site.join("a.txt"), "b").expect("it can"), &["~site[a.txt]"]),
    (
        "append",
        |site, _| {
            append(&site.join("a.txt")).write_all(b"more").expect("it can");
        },
        &["~site[a.txt]"],
    ),
    (
        "truncate",
        |site, _| append(&site.join("a.txt")).set_len(0).expect("it can"),
        &["~site[a.txt]"],
    ),
    (
        "chmod",
        |site, _| {
            fs::set_permissions(site.join("a.txt"), Permissions::from_mode(0o600)).expect("it can");
        },
        &["~site[a.txt]"],
    ),
    (
        "chmod of the folder itself",
        |site, _| {
            fs::set_permissions(site, Permissions::from_mode(0o750)).expect("it can");
        },
        &["~site[.]"],
    ),
    ("delete", |site, _| fs::remove_file(site.join("a.txt")).expect("it can"), &["-site[a.txt]"]),
    (
        "rename",
        |site, _| fs::rename(site.join("a.txt"), site.join("c.txt")).expect("it can"),
        &["-site[a.txt]", "+site[c.txt]"],
    ),
    (
        "save by renaming over",
        |site, _| {
            fs::write(site.join("a.new"), "b").expect("it can");
            fs::rename(site.join("a.new"), site.join("a.txt")).expect("it can");
        },
        &["+site[a.new]", "~site[a.new]", "-site[a.new]", "+site[a.txt]"],
    ),
    (
        "move in",
        |site, outside| {
            fs::rename(outside.join("o.txt"), site.join("o.txt")).expect("it can");
        },
        &["+site[o.txt]"],
    ),
    (
        "move in over another",
        |site, outside| {
            fs::rename(outside.join("o.txt"), site.join("a.txt")).expect("it can");
        },
        &["+site[a.txt]"],
    ),
    (
        "move out",
        |site, outside| {
            fs::rename(site.join("a.txt"), outside.join("a.txt")).expect("it can");
        },
        &["-site[a.txt]"],
    ),
    (
        "hard link",
        |site, outside| {
            fs::hard_link(outside.join("o.txt"), site.join("h.txt")).expect("it can");
        },
        &["+site[h.txt]"],
    ),
    (
        "a folder",
        |site, _| fs::create_dir(site.join("folder")).expect("it can"),
        &["+site[folder]"],
    ),
    (
        "a folder that goes",
        |site, _| fs::remove_dir(site.join("empty")).expect("it can"),
        &["-site[empty]"],
    ),
    (
        "a link to nowhere, as locks are",
        |site, _| {
            symlink("me@here.1", site.join(".#a.txt")).expect("it can");
            fs::remove_file(site.join(".#a.txt")).expect("it can");
        },
        &["+site[.#a.txt]", "-site[.#a.txt]"],
    ),
    ("elsewhere", |_, outside| fs::write(outside.join("o.txt"), "b").expect("it can"), &[]),
];

fn filled() -> Place {
    let place = place();
    fs::write(place.site.join("a.txt"), "words").expect("a file");
    fs::write(place.outside.join("o.txt"), "words").expect("a file");
    fs::create_dir(place.site.join("empty")).expect("a folder");
    place
}

async fn check(name: &str, act: Act, expected: &[&str]) {
    let place = filled();
    let mut listener = Listener::at(&place.site).await;
    act(&place.site, &place.outside);
    let told = listener.told().await;
    assert_eq!(told, expected.iter().map(|&one| one.to_owned()).collect(), "{name}");
}

#[tokio::test]
async fn each_act_is_told_as_what_it_is() {
    let all = ACTS.iter().map(|(name, act, expected)| check(name, *act, expected));
    futures_util::future::join_all(all).await;
}

#[tokio::test]
async fn a_file_that_stays_open_is_told_of_while_it_is_written() {
    let place = filled();
    let mut listener = Listener::at(&place.site).await;
    let mut file = append(&place.site.join("a.txt"));
    for _ in 0..3 {
        file.write_all(b"a line\n").expect("it can");
        listener.hears(["~site[a.txt]".to_owned()]).await;
        assert!(listener.told().await.is_empty());
    }
    // The last of several is told, too: it comes after the first was heard.
    file.write_all(b"a line\n").expect("it can");
    listener.hears(["~site[a.txt]".to_owned()]).await;
    file.write_all(b"a line\n").expect("it can");
    listener.hears(["~site[a.txt]".to_owned()]).await;
}

#[tokio::test]
async fn a_file_of_php_is_run_as_it_was_for_longer() {
    use changes::{Event, FENCE, FENCE_OF_CODE, Feed};
    let place = filled();
    let mut feed = Feed::files(place.site.clone());
    while feed.next().await != Event::Recovered {}
    fs::write(place.site.join("local.php"), "<?php").expect("a file");
    fs::write(place.site.join("words.txt"), "words").expect("a file");
    let mut fences = Vec::new();
    while fences.len() < 2 {
        if let Event::Change(change) = feed.next().await
            && change.operation == changes::Operation::Insert
        {
            fences.push(change.fence());
        }
    }
    assert_eq!(fences, [FENCE_OF_CODE, FENCE]);
    assert!(FENCE_OF_CODE > Duration::from_secs(2));
}

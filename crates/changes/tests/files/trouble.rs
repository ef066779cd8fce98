//! What may happen to a folder that is watched: links, removals, more than can be heard.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use changes::{Event, Lost};

use crate::listener::Listener;
use crate::{place, word};

fn is_gone(lost: &Lost) -> bool {
    matches!(lost, Lost::Impossible(why) if why.ends_with("isn't there"))
}

#[tokio::test]
async fn a_folder_that_a_link_leads_to_is_part_of_the_source() {
    let place = place();
    let data = place.outside.join("data");
    fs::create_dir_all(data.join("pages")).expect("folders");
    symlink(&data, place.site.join("data")).expect("a link");
    symlink(&data, place.site.join("again")).expect("a link");
    let mut listener = Listener::at(&place.site).await;
    fs::write(data.join("pages/start.txt"), "words").expect("a file");
    let told = listener.told().await;
    // By one of its two names.
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|change| change.ends_with("/pages[start.txt]")), "{told:?}");

    // Without one link it is still reached by the other…
    fs::remove_file(place.site.join("again")).expect("it goes");
    listener.hears(["-site[again]".to_owned()]).await;
    fs::write(data.join("pages/start.txt"), "other").expect("a file");
    listener.hears(["~site/data/pages[start.txt]".to_owned()]).await;
    // …and without both not at all.
    fs::remove_file(place.site.join("data")).expect("it goes");
    listener.hears(["-site[data]".to_owned()]).await;
    listener.until(&Event::Idle).await;
    fs::write(data.join("pages/start.txt"), "third").expect("a file");
    assert!(listener.told().await.is_empty());
}

#[tokio::test]
async fn a_link_that_is_set_to_another_folder_is_followed_there() {
    let place = place();
    for release in ["one", "two"] {
        fs::create_dir_all(place.outside.join(release)).expect("folders");
    }
    symlink(place.outside.join("one"), place.site.join("current")).expect("a link");
    let mut listener = Listener::at(&place.site).await;
    symlink(place.outside.join("two"), place.site.join("next")).expect("a link");
    fs::rename(place.site.join("next"), place.site.join("current")).expect("it is set");
    listener.hears(["+site[current]".to_owned()]).await;
    fs::write(place.outside.join("two/note"), "words").expect("a file");
    listener.hears(["+site/current[note]".to_owned()]).await;
    listener.until(&Event::Idle).await;
    fs::write(place.outside.join("one/note"), "words").expect("a file");
    assert!(listener.told().await.is_empty());
}

#[tokio::test]
async fn where_a_link_leads_is_removed_and_made_again() {
    let place = place();
    let data = place.outside.join("data");
    fs::create_dir(&data).expect("a folder");
    symlink(&data, place.site.join("data")).expect("a link");
    let mut listener = Listener::at(&place.site).await;
    fs::remove_dir(&data).expect("it goes");
    listener.hears(["-site[data]".to_owned()]).await;
    fs::create_dir(&data).expect("a folder");
    fs::write(data.join("note"), "words").expect("a file");
    listener.hears(["~site[data]", "+site/data[note]"].map(str::to_owned)).await;
    fs::write(data.join("later"), "words").expect("a file");
    listener.hears(["+site/data[later]".to_owned()]).await;
}

#[tokio::test]
async fn a_file_that_a_link_leads_to_is_heard_of() {
    let place = place();
    let settings = place.outside.join("settings.php");
    fs::write(&settings, "<?php").expect("a file");
    fs::write(place.outside.join("beside.php"), "<?php").expect("a file");
    symlink(&settings, place.site.join("config.php")).expect("a link");
    // In a folder that is watched, and as a source by itself.
    for source in [place.site.clone(), place.site.join("config.php")] {
        let mut listener = Listener::at(&source).await;
        let expected = |sign: char| format!("{sign}{}[settings.php]", place.outside.display());
        let folder = |shown: String| {
            // The temporary folder's own name is masked.
            let changes::KeyClass::Of(masked) = changes::KeyClass::of([shown.as_str()]) else {
                return shown;
            };
            masked.into()
        };
        fs::write(place.outside.join("beside.php"), "<?php // b").expect("a file");
        fs::write(&settings, "<?php // a").expect("a file");
        let told = listener.told().await;
        assert_eq!(told, [folder(expected('~'))].into(), "{}", source.display());
        fs::write(place.outside.join("new.php"), "<?php // c").expect("a file");
        fs::rename(place.outside.join("new.php"), &settings).expect("it is saved");
        listener.hears([folder(expected('+'))]).await;
    }
}

#[tokio::test]
async fn a_source_that_is_removed_and_made_again_is_lost_and_found() {
    let place = place();
    let mut listener = Listener::at(&place.site).await;
    for round in 0..2 {
        match round {
            0 => fs::remove_dir_all(&place.site).expect("it goes"),
            _ => fs::rename(&place.site, place.outside.join("old")).expect("it is moved"),
        }
        assert!(is_gone(&listener.lost().await));
        fs::create_dir(&place.site).expect("a folder");
        listener.until(&Event::Recovered).await;
        fs::write(place.site.join("note"), "words").expect("a file");
        listener.hears(["+site[note]".to_owned()]).await;
    }
}

#[tokio::test]
async fn a_source_whose_way_leads_elsewhere_is_lost_and_found() {
    let place = place();
    for release in ["one/site", "two/site"] {
        fs::create_dir_all(place.outside.join(release)).expect("folders");
    }
    let current = place.site.join("current");
    symlink(place.outside.join("one"), &current).expect("a link");
    let mut listener = Listener::at(&current.join("site")).await;
    symlink(place.outside.join("two"), place.site.join("next")).expect("a link");
    fs::rename(place.site.join("next"), &current).expect("it is set");
    assert!(is_gone(&listener.lost().await));
    listener.until(&Event::Recovered).await;
    fs::write(place.outside.join("two/site/note"), "words").expect("a file");
    listener.hears(["+site[note]".to_owned()]).await;
}

#[tokio::test]
async fn a_source_that_is_not_there_is_waited_for() {
    let place = place();
    let late = place.site.join("late");
    let mut listener = Listener::on(&late);
    assert!(is_gone(&listener.lost().await));
    fs::create_dir(&late).expect("a folder");
    listener.until(&Event::Recovered).await;
}

/// On one thread, so that nobody hears while the kernel's queue runs over.
#[tokio::test(flavor = "current_thread")]
async fn more_than_the_kernel_keeps_is_lost_and_recovered() {
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").expect("a limit");
    let limit: usize = limit.trim().parse().expect("a number");
    let place = place();
    let mut listener = Listener::at(&place.site).await;
    for number in 0..=limit / 2 {
        let file = place.site.join(word(number % 2));
        fs::write(&file, "words").expect("a file");
        fs::remove_file(&file).expect("it goes");
    }
    assert_eq!(listener.lost().await, Lost::Overrun);
    listener.until(&Event::Recovered).await;
    fs::write(place.site.join("note"), "words").expect("a file");
    listener.hears(["+site[note]".to_owned()]).await;
}

#[tokio::test]
async fn more_folders_than_are_watched_are_refused_with_what_to_do() {
    let place = place();
    for number in 0..17 {
        for other in 0..1000 {
            let folder = place.site.join(word(number)).join(word(other));
            fs::create_dir_all(folder).expect("folders");
        }
    }
    let lost = Listener::on(&place.site).lost().await;
    let is_told = |lost: &str| {
        let own =
            lost.contains("more than 16384 folders; name the folders in it that hold content");
        own || lost.contains("sysctl -w fs.inotify.max_user_watches=")
    };
    assert!(is_told(&lost.to_string()), "{lost}");
    assert!(Path::new(&place.site).is_dir());
}

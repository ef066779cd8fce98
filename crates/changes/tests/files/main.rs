//! Files as a source of changes, on real folders.

mod acts;
mod listener;
mod specimen;
mod trouble;

use std::fs;
use std::path::PathBuf;

use changes::Event;
use listener::Listener;

/// A folder `site`, and one beside it that is not watched.
struct Place {
    _folder: tempfile::TempDir,
    site: PathBuf,
    outside: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().expect("a folder");
    let (site, outside) = (folder.path().join("site"), folder.path().join("outside"));
    fs::create_dir(&site).expect("a folder");
    fs::create_dir(&outside).expect("a folder");
    Place { _folder: folder, site, outside }
}

/// A word for each number, which no class makes the same as another.
fn word(number: usize) -> String {
    let letter = |at: u32| char::from(b"ghijklmnopqrstuvwxyz"[number / 20_usize.pow(at) % 20]);
    (0..4).map(letter).collect()
}

#[tokio::test]
async fn what_is_put_into_a_new_deep_folder_at_once_is_told() {
    let place = place();
    let mut listener = Listener::at(&place.site).await;
    for number in 0..50 {
        let top = word(number);
        let deep = place.site.join(&top).join("x/y/z");
        fs::create_dir_all(&deep).expect("folders");
        fs::write(deep.join("note.txt"), "words").expect("a file");
        listener.hears([format!("+site[{top}]"), format!("+site/{top}/x/y/z[note.txt]")]).await;
        // And its watch stands.
        fs::write(deep.join("later.txt"), "words").expect("a file");
        listener.hears([format!("+site/{top}/x/y/z[later.txt]")]).await;
    }
}

#[tokio::test]
async fn a_folder_that_is_moved_in_is_told_with_all_that_is_in_it() {
    let place = place();
    let mut listener = Listener::at(&place.site).await;
    let deep = place.outside.join("wiki/pages");
    fs::create_dir_all(&deep).expect("folders");
    fs::write(deep.join("start.txt"), "words").expect("a file");
    fs::rename(place.outside.join("wiki"), place.site.join("wiki")).expect("it is moved");
    listener.hears(["+site[wiki]", "+site/wiki/pages[start.txt]"].map(str::to_owned)).await;
    // Within the source, too: from then on it is told by its new name.
    fs::rename(place.site.join("wiki"), place.site.join("notes")).expect("it is moved");
    listener.hears(["-site[wiki]", "+site[notes]"].map(str::to_owned)).await;
    fs::write(place.site.join("notes/pages/start.txt"), "other").expect("a file");
    listener.hears(["~site/notes/pages[start.txt]".to_owned()]).await;
    // What is moved out is not heard any more.
    fs::rename(place.site.join("notes"), place.outside.join("notes")).expect("it is moved");
    listener.hears(["-site[notes]".to_owned()]).await;
    listener.until(&Event::Idle).await;
    fs::write(place.outside.join("notes/pages/start.txt"), "third").expect("a file");
    assert!(listener.told().await.is_empty());
}

#[tokio::test]
async fn of_a_thousand_files_in_a_burst_none_is_missed() {
    let place = place();
    let mut listener = Listener::at(&place.site).await;
    let site = place.site.clone();
    let burst = tokio::task::spawn_blocking(move || {
        for number in 0..1000 {
            fs::write(site.join(word(number)), "words").expect("a file");
        }
    });
    let each = |number| [format!("+site[{}]", word(number)), format!("~site[{}]", word(number))];
    listener.hears((0..1000).flat_map(each)).await;
    burst.await.expect("it ends");
}

#[tokio::test]
async fn a_tree_of_three_hundred_folders_is_heard_in_each() {
    let place = place();
    let folders: Vec<String> =
        (0..300).map(|number| format!("{}/{}", word(number % 17), word(number))).collect();
    for folder in &folders {
        fs::create_dir_all(place.site.join(folder)).expect("folders");
    }
    let mut listener = Listener::at(&place.site).await;
    for folder in &folders {
        fs::write(place.site.join(folder).join("note"), "words").expect("a file");
    }
    listener.hears(folders.iter().map(|folder| format!("+site/{folder}[note]"))).await;
}

#[tokio::test]
async fn a_single_file_is_heard_of_and_nothing_beside_it() {
    let place = place();
    let settings = place.site.join("config.php");
    fs::write(&settings, "<?php").expect("a file");
    let mut listener = Listener::at(&settings).await;
    fs::write(place.site.join("other.php"), "words").expect("a file");
    fs::create_dir(place.site.join("folder")).expect("a folder");
    assert!(listener.told().await.is_empty());
    for round in 0..3 {
        fs::write(&settings, format!("<?php // {round}")).expect("a file");
        listener.hears(["~site[config.php]".to_owned()]).await;
        let other = place.site.join("config.new");
        fs::write(&other, "<?php").expect("a file");
        fs::rename(&other, &settings).expect("it is saved");
        listener.hears(["+site[config.php]".to_owned()]).await;
        fs::remove_file(&settings).expect("it goes");
        listener.hears(["-site[config.php]".to_owned()]).await;
    }
}

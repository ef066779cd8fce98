//! Stories of apps that keep their content in files, in the words of the learner's own:
//! changes are paths here, `+data/cache/a/…` created, `~` written, `-` deleted.

use super::class::shown;
use crate::noise::stories;

/// Sums as they stand in names.
const PAGE: &str = "3a7f09c4be1d24a9a8d2f4be1d24a9a8";
const OTHER: &str = "b1d24a9a8d2f4be1d24a9a83a7f09c4e";

/// A path as a change of the learner's stories.
fn change(text: &str) -> String {
    let (sign, path) = text.split_at(1);
    let (table, key) = shown("/site", &format!("/site/{path}"));
    format!("{sign}{table}[{key}]")
}

fn check(story: &str, noise: &[&str], content: &[&str]) {
    let line = |line: &str| {
        let is_change = |word: &str| word.starts_with(['+', '~', '-']);
        let word = |word: &str| if is_change(word) { change(word) } else { word.to_owned() };
        line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
    };
    let story = story.replace("PAGE", PAGE).replace("OTHER", OTHER);
    let story: String = story.lines().map(|one| line(one) + "\n").collect();
    let all = |texts: &[&str]| -> Vec<String> {
        let hashed = |text: &&str| change(&text.replace("PAGE", PAGE).replace("OTHER", OTHER));
        texts.iter().map(hashed).collect()
    };
    let (noise, content) = (all(noise), all(content));
    let slices = |texts: &[String]| -> Vec<&'static str> {
        texts.iter().map(|text| &*text.clone().leak()).collect()
    };
    stories::check(&story, &slices(&noise), &slices(&content));
}

/// DokuWiki renders anew what has aged, under a lock, and indexes in the background.
const DOKUWIKI: &str = "
    F /doku.php +data/locks/PAGE ~data/cache/3/PAGE.i ~data/cache/3/PAGE.xhtml -data/locks/PAGE +data/meta/_dokuwiki.indexer
    R /doku.php +data/locks/PAGE ~data/cache/3/PAGE.xhtml -data/locks/PAGE
    F /doku.php +data/locks/PAGE ~data/cache/3/PAGE.i ~data/cache/3/PAGE.xhtml -data/locks/PAGE
    R /doku.php +data/locks/PAGE ~data/cache/3/PAGE.i ~data/cache/3/PAGE.xhtml -data/locks/PAGE
    wait";

#[test]
fn dokuwikis_caches_and_locks_are_noise_and_its_pages_are_not() {
    check(
        &DOKUWIKI.repeat(2),
        &[
            "~data/cache/3/PAGE.i",
            "~data/cache/3/OTHER.xhtml",
            "+data/locks/OTHER",
            "-data/locks/PAGE",
        ],
        &[
            "~data/pages/start.txt",
            "+data/pages/wiki/new.txt",
            "-data/pages/start.txt",
            "~data/meta/start.meta",
            "~conf/local.php",
            "+data/media/lamp.png",
            // What only the first did might be due work.
            "+data/meta/_dokuwiki.indexer",
        ],
    );
}

#[test]
fn a_cache_in_folders_by_the_beginning_of_a_hash_is_one_kind() {
    let story = "
        F /a ~data/cache/3/PAGE.i
        R /a ~data/cache/b/OTHER.i
        F /a ~data/cache/3/PAGE.i
        R /a ~data/cache/b/OTHER.i
        wait"
        .repeat(2);
    check(&story, &["~data/cache/0/PAGE.i", "~data/cache/f/OTHER.i"], &["~data/pages/b/start.txt"]);
}

/// Shaarli notes each visit's session and compiles its templates when they are missing.
const SHAARLI: &str = "
    F / +tmp/sess_PAGE ~tmp/linklist.PAGE.rtpl.php ~cache/PAGE.cache
    R / ~tmp/sess_PAGE ~tmp/linklist.PAGE.rtpl.php ~cache/PAGE.cache
    F / +tmp/sess_OTHER ~tmp/linklist.PAGE.rtpl.php ~cache/PAGE.cache
    R / ~tmp/sess_OTHER ~tmp/linklist.PAGE.rtpl.php ~cache/PAGE.cache
    F / +tmp/sess_OTHER ~tmp/linklist.PAGE.rtpl.php ~cache/PAGE.cache
    wait";

#[test]
fn shaarlis_caches_are_noise_and_an_edit_is_not() {
    let content = ["~data/datastore.php", "~data/config.json.php", "~data/history.php"];
    let noise =
        ["+tmp/sess_OTHER", "-tmp/sess_PAGE", "~tmp/linklist.OTHER.rtpl.php", "~cache/OTHER.cache"];
    check(SHAARLI, &noise, &content);
    // Nor after it was seen with a write, or while nobody asked.
    let edit = "write ~data/datastore.php ~data/history.php -cache/PAGE.cache\nwait\n\
                idle ~data/datastore.php\n";
    check(&format!("{SHAARLI}\n{edit}{SHAARLI}"), &noise, &content);
}

#[test]
fn a_cache_that_is_emptied_by_an_edit_before_it_was_learned_is_learned_by_its_own_proof() {
    let edit = "write ~data/datastore.php -cache/PAGE.cache ~cache/PAGE.cache\nwait\n";
    check(&format!("{edit}{SHAARLI}"), &["~cache/PAGE.cache"], &["-cache/PAGE.cache"]);
}

#[test]
fn a_counter_beside_the_notes_is_noise() {
    let story = "
        F / ~data/counter.txt +cache/front.tmp -cache/front.tmp +cache/front.html
        R / ~data/counter.txt +cache/front.tmp -cache/front.tmp +cache/front.html
        F / ~data/counter.txt +cache/front.tmp -cache/front.tmp +cache/front.html
        R / ~data/counter.txt +cache/front.tmp -cache/front.tmp +cache/front.html
        wait"
        .repeat(2);
    check(
        &story,
        &["~data/counter.txt", "+cache/front.html", "~cache/front.html"],
        &["~data/notes.txt", "+cache/about.html"],
    );
}

/// What the note of this module warns of.
#[test]
fn a_counter_within_the_notes_hides_edits_until_one_is_seen_by_itself() {
    let story = "F / ~data/notes.txt\nR / ~data/notes.txt\nF / ~data/notes.txt\nwait\n".repeat(2);
    check(&story, &["~data/notes.txt"], &[]);
    check(&format!("{story}idle ~data/notes.txt\n{story}"), &[], &["~data/notes.txt"]);
}

#[test]
fn pages_that_are_cached_by_name_are_proved_only_where_few_addresses_are_of_one_class() {
    let page = |name: &str| {
        format!(
            "F /{name} ~cache/{name}.html\nR /{name} ~cache/{name}.html\n\
                 F /{name} ~cache/{name}.html\nwait\nwait\n"
        )
        .repeat(2)
    };
    let names = ["about", "contact", "lamps"];
    let story: String = names.iter().map(|name| page(name)).collect();
    check(&page("about"), &["~cache/about.html"], &["~cache/contact.html"]);
    // Each name is seen with a third of the probes of its class of addresses.
    check(&story, &[], &["~cache/lamps.html"]);
}

//! Words by which a GET would change something, and where a word of a URL is one.
//!
//! In: one part of a target, decoded. Out: the verb that it holds, if any. Two lists,
//! since a page lost to a false alarm is fetched for each visitor, and a page fetched in
//! spite of a verb may change a site. *Deeds* are hardly ever anything else. *Doubtful*
//! words are as often a topic (`/docs/install`, `/annual/report`, `/buy`): they count where
//! a verb is to be expected, which is a parameter that says what to do, a script's name, or
//! a segment with an identifier beside it.
//! Not listed, because people read what they name: `new` (new posts), `post`, `download`,
//! `print`, `reply` (a form), `search`, `login` (a form), `sort`, `share`.

/// Words that name a deed wherever they stand alone. Long ones are those that apps write as
/// one word; what joins the words of a name is dropped before it is looked for.
const DEEDS: &[&str] = &[
    "add",
    "addbookmark",
    "addbuddy",
    "addfav",
    "addfavorite",
    "addfriend",
    "addsubscription",
    "addtocart",
    "approve",
    "ban",
    "bump",
    "clearcart",
    "create",
    "cron",
    "del",
    "delete",
    "destroy",
    "dislike",
    "doingwpcron",
    "downvote",
    "edit",
    "emptycart",
    "emptytrash",
    "erase",
    "insert",
    "logoff",
    "logout",
    "markall",
    "markallread",
    "markasread",
    "markread",
    "purge",
    "remove",
    "removefavorite",
    "removefromcart",
    "removeitem",
    "removesubscription",
    "resend",
    "revert",
    "rollback",
    "runcron",
    "save",
    "signoff",
    "signout",
    "taskrunner",
    "trash",
    "unapprove",
    "unban",
    "unblock",
    "undoitem",
    "unfollow",
    "uninstall",
    "unlike",
    "unlock",
    "unsubscribe",
    "untrash",
    "unwatch",
    "upvote",
    "vote",
];

/// Words that are a deed in some places and a topic in others.
const DOUBTFUL: &[&str] = &[
    "accept",
    "activate",
    "block",
    "bookmark",
    "buy",
    "cancel",
    "checkout",
    "close",
    "confirm",
    "decline",
    "disable",
    "drop",
    "enable",
    "flag",
    "follow",
    "install",
    "like",
    "lock",
    "mark",
    "merge",
    "move",
    "pin",
    "publish",
    "rate",
    "reject",
    "report",
    "reset",
    "restore",
    "split",
    "stick",
    "subscribe",
    "update",
    "upgrade",
    "watch",
];

/// How a part of a URL is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A path segment among words: only a deed that is the whole segment.
    Segment,
    /// A path segment beside an identifier (`/post/5/like`), or a parameter's name: any
    /// verb that is the whole.
    Whole,
    /// The value of a parameter that names a page or a section: a deed that is the whole,
    /// or a function's name (`delete_post`) with a deed at an end.
    Topic,
    /// The value of a parameter that nothing is known about: as for a topic, and any verb
    /// that is the whole.
    Value,
    /// The value of a parameter that says what to do, or a script's name: any verb, alone
    /// or at an end of a few words, however they are joined.
    Order,
}

/// The verb that a part of a URL holds.
pub(super) fn find(part: &str, place: Place) -> Option<&'static str> {
    // No verb, and no name that an app makes with one, is longer.
    const BYTES_MAX: usize = 64;
    if part.is_empty() || part.len() > BYTES_MAX {
        return None;
    }
    let whole: String = part.chars().filter(|letter| !is_joint(*letter)).collect();
    let deed = look_up(DEEDS, &whole);
    let doubtful = || look_up(DOUBTFUL, &whole);
    // A hyphen joins the words of a topic (`add-ons`, `edit-wars`), an underscore or a
    // capital those of a function.
    let function = || if part.contains('-') { None } else { at_an_end(part, false) };
    match place {
        Place::Segment => deed,
        Place::Whole => deed.or_else(doubtful),
        Place::Topic => deed.or_else(function),
        Place::Value => deed.or_else(doubtful).or_else(function),
        Place::Order => deed.or_else(doubtful).or_else(|| at_an_end(part, true)),
    }
}

/// A verb that is the first or last of two to four words: a deed at either end, a doubtful
/// word only at the front of two (`report_post`, but not `annual_report`).
fn at_an_end(part: &str, doubtful_too: bool) -> Option<&'static str> {
    const WORDS_MAX: usize = 4;
    let words = words(part);
    let [first, .., last] = &words[..] else { return None };
    if words.len() > WORDS_MAX {
        return None;
    }
    // `procBoardVote`: one widespread app names all that changes something so.
    if *first == "proc" && !part.contains(is_joint) {
        return Some("proc");
    }
    let doubtful = || look_up(DOUBTFUL, first).filter(|_| doubtful_too && words.len() == 2);
    look_up(DEEDS, first).or_else(|| look_up(DEEDS, last)).or_else(doubtful)
}

fn is_joint(letter: char) -> bool {
    matches!(letter, '_' | '-' | ' ' | '+')
}

/// The words of an identifier: cut at whatever is no letter, and before a capital that
/// follows a small letter.
fn words(part: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for run in part.split(|letter: char| !letter.is_ascii_alphabetic()) {
        let bytes = run.as_bytes();
        let mut start = 0;
        for at in 1..bytes.len() {
            if bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase() {
                words.push(&run[start..at]);
                start = at;
            }
        }
        words.push(&run[start..]);
    }
    words.retain(|word| !word.is_empty());
    words
}

fn look_up(list: &[&'static str], word: &str) -> Option<&'static str> {
    list.iter().find(|verb| verb.eq_ignore_ascii_case(word)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_at_joints_and_capitals() {
        for (part, expected) in [
            ("", ""),
            ("delete", "delete"),
            ("delete_post", "delete post"),
            ("deletePostNow", "delete Post Now"),
            ("HTMLEdit", "HTMLEdit"),
            ("a1b", "a b"),
            ("__x--y", "x y"),
            ("löschen", "l schen"),
        ] {
            assert_eq!(words(part).join(" "), expected, "{part:?}");
        }
    }

    #[test]
    fn how_much_is_needed_depends_on_the_place() {
        // For each part the verb as a segment, whole, as a topic, a value, an order.
        for (part, expected) in [
            ("delete", ["delete"; 5]),
            ("DELETE", ["delete"; 5]),
            ("log_out", ["logout"; 5]),
            ("sign-out", ["signout"; 5]),
            ("add_to_cart", ["addtocart"; 5]),
            ("install", ["", "install", "", "install", "install"]),
            ("report", ["", "report", "", "report", "report"]),
            ("delete_post", ["", "", "delete", "delete", "delete"]),
            ("post_delete", ["", "", "delete", "delete", "delete"]),
            ("deletePost", ["", "", "delete", "delete", "delete"]),
            ("dispMemberLogout", ["", "", "logout", "logout", "logout"]),
            ("procMemberInsert", ["", "", "proc", "proc", "proc"]),
            ("proc_open", [""; 5]),
            ("add_to_favorites", ["", "", "add", "add", "add"]),
            ("delete-post", ["", "", "", "", "delete"]),
            ("edit-wars", ["", "", "", "", "edit"]),
            ("report_post", ["", "", "", "", "report"]),
            ("annual_report", [""; 5]),
            ("how_to_edit_a_page", [""; 5]),
            ("additional", [""; 5]),
            ("edition", [""; 5]),
            ("delet", [""; 5]),
            ("post", [""; 5]),
            ("new", [""; 5]),
            ("", [""; 5]),
            ("_-_", [""; 5]),
        ] {
            let places = [Place::Segment, Place::Whole, Place::Topic, Place::Value, Place::Order];
            let found = places.map(|place| find(part, place).unwrap_or_default());
            assert_eq!(found, expected, "{part:?}");
        }
        assert_eq!(find(&format!("delete_{}", "x".repeat(80)), Place::Order), None);
    }

    #[test]
    fn lists_are_sorted_and_hold_a_word_once() {
        for list in [DEEDS, DOUBTFUL] {
            assert!(list.is_sorted());
            assert!(list.windows(2).all(|two| two[0] != two[1]));
            assert!(list.iter().all(|verb| verb.bytes().all(|b| b.is_ascii_lowercase())));
        }
        assert!(DEEDS.iter().all(|deed| !DOUBTFUL.contains(deed)));
    }
}

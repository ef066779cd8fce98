//! What can be done about each reason for which memory did not answer.
//!
//! Every verdict has an entry, and every reason for which an answer was not stored: what would
//! make hits of such requests, and how to undo that, or why there is nothing to do. Names of
//! settings stand between backticks, just as `docs/settings.md` has them.
//! Start at [`of_verdict`] and [`of_unstored`].

use policy::{FailReason, MissReason, NoStore, PassReason, StaleReason, Verdict};

/// What to do about a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Something that makes the origin work less.
    Fix {
        /// What to do.
        how: &'static str,
        /// What brings back the state before.
        revert: &'static str,
    },
    /// Nothing, and why.
    Nothing {
        /// The reason.
        because: &'static str,
    },
}

const RELOAD: &str = "take the line out again and say wick reload";

const fn fix(how: &'static str, revert: &'static str) -> Remedy {
    Remedy::Fix { how, revert }
}

const fn nothing(because: &'static str) -> Remedy {
    Remedy::Nothing { because }
}

/// What to do about requests that were answered so.
#[must_use]
pub const fn of_verdict(verdict: Verdict) -> Remedy {
    match verdict {
        Verdict::Hit => nothing("memory answered"),
        Verdict::Stale(StaleReason::Error) => fix(
            "see to the origin, which fails: wick log --status 5xx shows where",
            "nothing was changed",
        ),
        Verdict::Stale(_) => nothing("memory answered, and a newer page was made meanwhile"),
        Verdict::Revalidated => fix(
            "let the app name a longer lifetime (Cache-Control: max-age) for what seldom changes",
            "let it name the old one again",
        ),
        Verdict::Collapsed => nothing("one fetch served all who waited"),
        Verdict::Fellow => nothing("another node of the cluster had it"),
        Verdict::Synthetic(_) => nothing("Wick answered by itself"),
        Verdict::Miss(reason) => of_miss(reason),
        Verdict::Pass(reason) => of_pass(reason),
        Verdict::Refused(_) => nothing("the request was refused before the origin was asked"),
        Verdict::Failed(reason) => of_failure(reason),
    }
}

const fn of_miss(reason: MissReason) -> Remedy {
    match reason {
        MissReason::UriMiss => fix(
            "if addresses differ only in parameters that choose nothing, name those in \
             `ignore_query`; if pages had to give way to others, give more `memory`; a first \
             visit has to be made once",
            RELOAD,
        ),
        MissReason::VaryMiss => fix(
            "let the app's Vary name only what really chooses the page",
            "let it name the others again",
        ),
        MissReason::Expired => fix(
            "let the app name a longer lifetime, or let stale pages be served while newer ones are \
             made: `stale_while_revalidate`",
            RELOAD,
        ),
        MissReason::Swept => fix(
            "if what changed shows in no page, name it in `changes_ignored`; wick explain tells \
             what swept",
            RELOAD,
        ),
        MissReason::NoCache => {
            fix("let the app name a lifetime instead of no-cache", "let it say no-cache again")
        }
        MissReason::RequestNoCache | MissReason::RequestMaxAge | MissReason::RequestMinFresh => {
            nothing("the visitor wanted it newer than what is stored, as after a press on reload")
        }
        MissReason::Partial => fix(
            "a part of a large body is fetched when it is first wanted; if parts had to give way \
             to others, give more `disk`",
            "give less of it again, and restart",
        ),
    }
}

const fn of_pass(reason: PassReason) -> Remedy {
    match reason {
        PassReason::Off => fix("take `cache = false` out of the site's settings", "put it back"),
        PassReason::Method => nothing("it may change something, so the app has to see it"),
        PassReason::Remembered | PassReason::Uncacheable => fix(
            "see in wick log --why miss why such answers are not stored, and do what is said \
             about that reason",
            "as it is said there",
        ),
        PassReason::Range => nothing("a part was asked for of what is not stored whole"),
        PassReason::Head => nothing("only the head was asked for of what is not stored"),
        PassReason::Precondition => nothing("only the origin can judge the request's condition"),
        PassReason::ConnectionOption => {
            nothing("the sender's Connection field names fields of its own")
        }
        PassReason::Authorization => fix(
            "if the page is the same for all who log in, let the app say Cache-Control: public",
            "let it not say so any more",
        ),
        PassReason::Cookie => fix(
            "if no server reads that cookie, name it in `foreign_cookies`; if the page is the same \
             whatever it says, let the app name a lifetime with Cache-Control: public",
            RELOAD,
        ),
        PassReason::Upgrade => nothing("it went on in another protocol"),
        PassReason::Bound => nothing("a stranger's session began with it, or needed it"),
    }
}

const fn of_failure(reason: FailReason) -> Remedy {
    match reason {
        FailReason::OriginUnreachable
        | FailReason::OriginUntrusted
        | FailReason::OriginReset
        | FailReason::OriginMalformed
        | FailReason::OriginUpgrade => fix(
            "see to the origin; until it is well, `stale_if_error` lets old pages be served",
            RELOAD,
        ),
        FailReason::OriginTimeout => fix(
            "find out what takes it so long; `first_byte_timeout` says how long it may take",
            RELOAD,
        ),
        FailReason::QueueFull => fix(
            "the origin can't keep up: let it do more at once (`php_children`, \
             `origin_connections`) if the machine has room, or less by what else is said here",
            RELOAD,
        ),
        FailReason::OnlyIfCached => nothing("the visitor wanted only what is stored"),
        FailReason::ClientBody => nothing("the visitor's own body was too large or broken off"),
        FailReason::Internal => fix(
            "this is a fault of Wick's: please report it with the lines of wick log --why internal",
            "nothing was changed",
        ),
    }
}

/// What to do about answers that were not stored for this reason.
#[must_use]
pub const fn of_unstored(reason: NoStore) -> Remedy {
    match reason {
        NoStore::NoStore | NoStore::Private => fix(
            "if such pages are the same for everybody, name their addresses in `ignore_no_store`",
            RELOAD,
        ),
        NoStore::SetCookie => fix(
            "let the app set its cookie where it is needed, and not with every page",
            "let it set the cookie everywhere again",
        ),
        NoStore::Authorization => of_pass(PassReason::Authorization),
        NoStore::Cookie => of_pass(PassReason::Cookie),
        NoStore::VaryStar => fix(
            "let the app's Vary name the fields that choose the page, instead of *",
            "let it say * again",
        ),
        NoStore::Malformed => fix(
            "let the app write its Cache-Control as RFC 9111 has it",
            "nothing need be reverted",
        ),
        NoStore::TypeMismatch => fix(
            "let the app name the right Content-Type: a page of HTML has the address of a file",
            "nothing need be reverted",
        ),
        NoStore::NoFreshness | NoStore::Expired => fix(
            "let the app name a lifetime (Cache-Control: max-age), or a Last-Modified or ETag",
            "let it name none again",
        ),
        NoStore::TooLarge => fix(
            "give more `memory`: a page may have an eighth of it",
            "give it less again and restart Wick",
        ),
        NoStore::Swept => of_miss(MissReason::Swept),
        NoStore::Method => nothing("only answers to GET are stored"),
        NoStore::Status => nothing("an answer of this status is not for others"),
        NoStore::Partial => nothing("it was a part of a page"),
        NoStore::MustUnderstand => nothing("the app wants it stored only by who knows its status"),
        NoStore::RequestNoStore => nothing("the visitor forbade it"),
        NoStore::File => nothing("it is a file that is sent from where it lies"),
        NoStore::Incomplete => nothing("its end never came"),
        NoStore::Unverified => fix(
            "if it stays so, ask wick explain about such an address: it tells what kept two \
             strangers from being given the same; where the app's no-store isn't meant, name the \
             address in `ignore_no_store`",
            RELOAD,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> Vec<&'static str> {
        let verdicts = Verdict::ALL.iter().map(|verdict| of_verdict(*verdict));
        let unstored = NoStore::ALL.iter().map(|reason| of_unstored(*reason));
        let each = verdicts.chain(unstored).flat_map(|remedy| match remedy {
            Remedy::Fix { how, revert } => vec![how, revert],
            Remedy::Nothing { because } => vec![because],
        });
        each.collect()
    }

    #[test]
    fn every_reason_has_an_entry_that_says_something() {
        for text in texts() {
            assert!(text.len() > 10 && !text.ends_with('.') && !text.contains('\n'), "{text:?}");
        }
    }

    #[test]
    fn every_setting_that_is_named_is_one() {
        let manual = include_str!("../../../docs/settings.md");
        let mut named = 0;
        for text in texts() {
            for setting in text.split('`').skip(1).step_by(2) {
                let name = setting.split(' ').next().expect("a name");
                assert!(manual.contains(&format!("| `{name}` |")), "there is no {name}");
                named += 1;
            }
        }
        assert!(named > 10, "{named}");
    }
}

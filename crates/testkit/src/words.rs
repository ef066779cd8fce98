//! The vocabulary of scenes: which words stand where, and which is the nearest
//! to one that doesn't exist.

use policy::Verdict;

/// Words that begin a line, apart from clients' names.
pub const BEGINNINGS: &[&str] = &[
    "law:", "virtual:", "site", "origin", "change", "changes", "wait", "open", "settle", "restart",
    "crowd",
];

/// What a client does besides sending a request, whose method is in capitals.
pub const ACTS: &[&str] = &["<-", "send", "close", "shut"];

/// Words in a request, behind its target.
pub const REQUEST: &[&str] = &["HTTP/1.0", "chunked", "bytes", "trailer", "->", "->>"];

/// Words in an expectation, apart from verdicts.
pub const EXPECTED: &[&str] = &["bytes", "empty", "cut", "closed", "kept", "trailer", "...", "->"];

/// Words that begin a stage of the origin's answer.
pub const STAGES: &[&str] =
    &["gate", "wait", "change", "raw", "close", "reset", "stall", "endless", "bytes"];

/// Words behind the status of the origin's answer, apart from directives.
pub const HEAD: &[&str] =
    &["bytes", "chunked", "unframed", "trailer", "HTTP/1.0", "html", "json", "->"];

/// Cache-Control directives that may stand alone; they are gathered into one field.
pub const DIRECTIVES: &[&str] = &[
    "max-age",
    "s-maxage",
    "no-cache",
    "no-store",
    "no-transform",
    "must-revalidate",
    "proxy-revalidate",
    "must-understand",
    "private",
    "public",
    "immutable",
    "stale-while-revalidate",
    "stale-if-error",
];

/// Names that a `site` line may set.
pub const SETTINGS: &[&str] = &[
    "hosts",
    "disk",
    "stale_while_revalidate",
    "stale_if_error",
    "heuristic",
    "heuristic_max",
    "negative_max",
    "pass_memory",
    "refresh_early",
    "compression",
    "esi",
    "lscache",
    "strangers",
    "strangers_fresh",
    "strangers_stale",
    "strangers_sample",
    "purge_token",
    "proxy_protocol",
    "trusted_proxies",
    "trusted_field",
    "busy_page",
    "security_headers",
    "mark_new",
    "request_id",
    "traces",
    "server_timing",
    "rate",
    "rate_burst",
    "rate_hits",
    "concurrency",
    "head_bytes_max",
    "target_bytes_max",
    "body_bytes_max",
    "head_timeout",
    "idle_timeout",
    "body_timeout",
    "write_timeout",
    "min_rate",
    "min_rate_after",
    "origin_first_byte",
    "origin_idle",
    "memory",
    "disk",
];

/// Every verdict word, without its reasons.
#[must_use]
pub fn verdicts() -> Vec<&'static str> {
    let mut words: Vec<_> = Verdict::ALL.iter().map(|verdict| verdict.word()).collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// The reasons that go with a verdict word.
#[must_use]
pub fn reasons(word: &str) -> Vec<&'static str> {
    let of_word = Verdict::ALL.iter().filter(|verdict| verdict.word() == word);
    of_word.map(|verdict| verdict.reason()).collect()
}

/// The word of `known` that is nearest to `word`, if any is near enough to be meant.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near =
        known.into_iter().map(|candidate| (strsim::osa_distance(word, candidate), candidate));
    let (distance, candidate) = near.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + word.len() / 3).then_some(candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_one_that_may_have_been_meant() {
        for (word, meant) in [
            ("max-ege", Some("max-age")),
            ("s-max-age", Some("s-maxage")),
            ("nostore", Some("no-store")),
            ("banana", None),
        ] {
            assert_eq!(nearest(word, DIRECTIVES.iter().copied()), meant, "{word}");
        }
    }

    #[test]
    fn every_verdict_word_has_its_reasons() {
        assert!(verdicts().contains(&"hit") && verdicts().contains(&"miss"));
        assert!(verdicts().iter().all(|word| !reasons(word).is_empty()));
    }
}

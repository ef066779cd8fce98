//! Verdict words, read back from Cache-Status.
//!
//! Every verdict is written the way Wick writes it, and the one whose parameters
//! fit the received member best is the one that was given. A running server that
//! sends no such member is judged by whether its origin was asked.

use policy::{Verdict, cache_status};
use wire::{Name, fields};

use crate::message::Received;
use crate::scene::Expected;
use crate::story::Failure;
use crate::world::World;

/// Compares the verdict that a message bears with the expected one.
pub(crate) fn check(
    world: &World,
    expected: &Expected,
    message: &Received,
    origin_was_asked: impl Fn() -> bool,
) -> Result<(), Failure> {
    let Some((word, reason)) = &expected.verdict else { return Ok(()) };
    let wanted = match reason {
        Some(reason) => format!("{word}({reason})"),
        None => word.clone(),
    };
    let member = message.fields.members(Name::CacheStatus).map(String::from_utf8_lossy);
    let member = member.filter(|member| parameters(member).first() == Some(&"wick")).last();
    let Some(member) = member else {
        return match world.is_real {
            true => check_by_origin(expected, word, &wanted, origin_was_asked()),
            false => {
                let what = "there is no Cache-Status of Wick's";
                Err(Failure::differs(expected.at, what, wanted, "(absent)"))
            }
        };
    };
    let fits = |verdict: &&Verdict| {
        verdict.word() == word && reason.as_ref().is_none_or(|reason| verdict.reason() == reason)
    };
    if read(&member).iter().any(|verdict| fits(&verdict)) {
        return Ok(());
    }
    let what = "the verdict is not what was expected";
    Err(Failure::differs(expected.at, what, wanted, format!("Cache-Status: {member}")))
}

/// What a verdict says about the origin, where nothing else can be seen.
fn check_by_origin(
    expected: &Expected,
    word: &str,
    wanted: &str,
    origin_was_asked: bool,
) -> Result<(), Failure> {
    let should_be_asked = match word {
        "hit" | "refused" => false,
        "miss" | "revalidated" | "pass" => true,
        _ => return Ok(()),
    };
    if should_be_asked == origin_was_asked {
        return Ok(());
    }
    let asked = if origin_was_asked { "the origin was asked" } else { "the origin was not asked" };
    let what = "the verdict can't be what was expected";
    Err(Failure::differs(expected.at, what, wanted, asked))
}

/// The verdicts that a Cache-Status member may stand for: those that explain most of it.
fn read(member: &str) -> Vec<Verdict> {
    let received = parameters(member);
    let explained = Verdict::ALL.iter().filter_map(|&verdict| {
        let mut written = Vec::new();
        cache_status::write(&mut written, verdict, None, None);
        let written = String::from_utf8_lossy(&written).into_owned();
        let parameters = parameters(&written);
        let all = parameters.iter().all(|parameter| received.contains(parameter));
        all.then_some((verdict, parameters.len()))
    });
    let explained: Vec<_> = explained.collect();
    let most = explained.iter().map(|(_, count)| *count).max();
    explained
        .iter()
        .filter(|(_, count)| Some(*count) == most)
        .map(|(verdict, _)| *verdict)
        .collect()
}

/// A member cut at its semicolons, those in quoted strings excepted.
fn parameters(member: &str) -> Vec<&str> {
    let (mut quoted, mut escaped) = (false, false);
    let cut = move |c: char| {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ';' => return !quoted,
            _ => {}
        }
        false
    };
    let pieces = member.split(cut).map(|piece| fields::trim(piece.as_bytes()));
    pieces.filter_map(|piece| std::str::from_utf8(piece).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_is_read_back_as_its_own_word() {
        for &verdict in Verdict::ALL {
            let mut written = Vec::new();
            cache_status::write(&mut written, verdict, Some(-3), Some(200));
            let member = String::from_utf8(written).expect("Cache-Status is text");
            let words: Vec<_> = read(&member).iter().map(|verdict| verdict.word()).collect();
            assert!(
                !words.is_empty() && words.iter().all(|word| *word == verdict.word()),
                "{verdict}: {member} may be any of {words:?}"
            );
        }
    }

    #[test]
    fn parameters_are_cut_outside_quotes_only() {
        assert_eq!(parameters("wick; hit;ttl=3"), ["wick", "hit", "ttl=3"]);
        assert_eq!(parameters("wick; key=\"a;\\\";b\""), ["wick", "key=\"a;\\\";b\""]);
    }
}

//! What was left, for the person at the terminal.
//!
//! What somebody has to see to comes first and one by one; what is not needed comes
//! last, and lines of which the same is to be said are told together.

use std::fmt::Write as _;

use crate::found::{Imported, Left, Why};

/// Lines that are told together are named up to here.
const NAMED_MAX: usize = 6;

/// The list; empty if nothing was left.
#[must_use]
pub fn report(imported: &Imported) -> String {
    let mut text = String::new();
    for (why, title) in [
        (Why::Protection, "Visitors who were kept out would be let in:"),
        (Why::Cannot, "Wick can't do:"),
        (Why::Unknown, "Not understood:"),
        (Why::NotNeeded, "Not needed:"),
    ] {
        let left: Vec<_> = imported.left.iter().filter(|left| left.why == why).collect();
        if left.is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "{title}");
        match why {
            Why::NotNeeded => together(&mut text, &left),
            _ => one_by_one(&mut text, &left),
        }
    }
    text
}

fn one_by_one(text: &mut String, left: &[&Left]) {
    let mut last = None;
    for (at, left) in left.iter().enumerate() {
        if at > 0 && last != Some(&left.advice) {
            told(text, last);
        }
        let _ = writeln!(text, "  {}: {}", plain(&left.place.to_string()), left.quoted);
        last = Some(&left.advice);
    }
    told(text, last);
}

fn told(text: &mut String, advice: Option<&std::borrow::Cow<'static, str>>) {
    if let Some(advice) = advice {
        let _ = writeln!(text, "      {}", plain(advice));
    }
}

fn together(text: &mut String, left: &[&Left]) {
    let mut groups: Vec<(&str, Vec<&Left>)> = Vec::new();
    for left in left {
        match groups.iter_mut().find(|(advice, _)| *advice == left.advice) {
            Some((_, group)) => group.push(left),
            None => groups.push((&left.advice, vec![left])),
        }
    }
    for (advice, group) in groups {
        let mut names: Vec<&str> = Vec::new();
        for left in &group {
            let name = left.quoted.split(' ').next().unwrap_or_default();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let more = if names.len() > NAMED_MAX { ", …" } else { "" };
        names.truncate(NAMED_MAX);
        let _ = writeln!(text, "  {}: {}{more}", lines(&group), names.join(", "));
        let _ = writeln!(text, "      {}", plain(advice));
    }
}

/// `a.conf:1, 4, 7; b.conf:2`.
fn lines(group: &[&Left]) -> String {
    let mut text = String::new();
    let mut file = None;
    for left in group {
        let line = left.place.line;
        let _ = match file == Some(&left.place.file) {
            true => write!(text, ", {line}"),
            false if file.is_none() => write!(text, "{}", left.place),
            false => write!(text, "; {}", left.place),
        };
        file = Some(&left.place.file);
    }
    plain(&text)
}

fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::found::Place;

    #[test]
    fn what_matters_comes_first_and_the_rest_together() {
        let mut imported = Imported::default();
        let place = |line| Place { file: "a.conf".into(), line };
        imported.leave(&place(1), "gzip on", Why::NotNeeded, "by itself");
        imported.leave(&place(2), "rewrite a b", Why::Cannot, "in the app");
        imported.leave(&place(3), "gzip_types x", Why::NotNeeded, "by itself");
        imported.leave(&place(4), "rewrite c d", Why::Cannot, "in the app");
        imported.leave(&place(5), "auth_basic x", Why::Protection, "see to it");
        assert_eq!(
            report(&imported),
            "Visitors who were kept out would be let in:\n  a.conf:5: auth_basic x\n      see to it\n\
             \nWick can't do:\n  a.conf:2: rewrite a b\n  a.conf:4: rewrite c d\n      in the app\n\
             \nNot needed:\n  a.conf:1, 3: gzip, gzip_types\n      by itself\n"
        );
        assert_eq!(report(&Imported::default()), "");
    }
}

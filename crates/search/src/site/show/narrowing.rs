//! What a page of results offers beside them: other orders, and fewer pages by section, language
//! and age. All of it is links, and works without scripts.

use super::page::address;
use super::{Shown, escaped};
use crate::site::narrow::language_name;
use crate::site::{Age, Narrow};

/// One choice: what it is called, how many pages there are, whether it is what is shown, and where
/// it leads.
struct Choice {
    name: String,
    language: Option<String>,
    count: Option<u64>,
    is_shown: bool,
    narrow: Narrow,
}

/// The links, if there is anything to choose.
pub(super) fn narrowing(shown: &Shown) -> String {
    if shown.query.is_empty() || (shown.hits.is_empty() && !shown.narrow.leaves_out()) {
        return String::new();
    }
    let groups = [
        ("Order", orders(&shown.narrow)),
        ("Section", sections(shown)),
        ("Language", languages(shown)),
        ("Changed", ages(shown)),
        ("Topic", topics(&shown.narrow)),
    ];
    let mut out = String::from(
        "<nav class=\"wick-narrow\" aria-label=\"Order and choice of the results\"><dl>",
    );
    for (name, choices) in groups.iter().filter(|(_, choices)| !choices.is_empty()) {
        out.push_str(&format!("<div><dt>{name}</dt>"));
        choices.iter().for_each(|choice| out.push_str(&item(shown, choice)));
        out.push_str("</div>");
    }
    out.push_str("</dl></nav>");
    out
}

fn item(shown: &Shown, choice: &Choice) -> String {
    let count = choice.count.map_or_else(String::new, |count| format!(" ({count})"));
    let language = match &choice.language {
        Some(code) => format!(" lang=\"{}\"", escaped(code)),
        None => String::new(),
    };
    let name = escaped(&choice.name);
    match choice.is_shown {
        true => format!("<dd><strong{language}>{name}</strong></dd>"),
        false => {
            let to = address(shown, &shown.query, &choice.narrow, 1);
            format!("<dd><a{language} href=\"{to}\">{name}</a>{count}</dd>")
        }
    }
}

fn plain(name: &str, is_shown: bool, narrow: Narrow) -> Choice {
    Choice { name: name.to_owned(), language: None, count: None, is_shown, narrow }
}

fn orders(narrow: &Narrow) -> Vec<Choice> {
    [("Best first", false), ("Newest first", true)]
        .into_iter()
        .map(|(name, is_newest)| {
            plain(name, narrow.is_newest == is_newest, Narrow { is_newest, ..narrow.clone() })
        })
        .collect()
}

/// All of them and then each; nothing where there is one and it isn't chosen.
fn offered(all: Narrow, chosen: Option<Choice>, each: Vec<Choice>) -> Vec<Choice> {
    match (chosen, each.len()) {
        (Some(chosen), _) => vec![plain("All", false, all), chosen],
        (None, 0 | 1) => Vec::new(),
        (None, _) => {
            let mut choices = vec![plain("All", true, all)];
            choices.extend(each);
            choices
        }
    }
}

fn sections(shown: &Shown) -> Vec<Choice> {
    let narrow = &shown.narrow;
    let choice = |name: &str, count| {
        let wanted = Narrow { section: Some(name.to_owned()), ..narrow.clone() };
        Choice { count, ..plain(name, *narrow == wanted, wanted) }
    };
    let each = shown.facets.sections().into_iter().map(|(name, count)| choice(name, Some(count)));
    let chosen = narrow.section.as_deref().map(|name| choice(name, None));
    offered(Narrow { section: None, ..narrow.clone() }, chosen, each.collect())
}

fn languages(shown: &Shown) -> Vec<Choice> {
    let narrow = &shown.narrow;
    let choice = |code: &str, count| {
        let wanted = Narrow { language: Some(code.to_owned()), ..narrow.clone() };
        let language = Some(code.to_owned());
        let own = plain(language_name(code), *narrow == wanted, wanted);
        Choice { count, language, ..own }
    };
    let each = shown.facets.languages().into_iter().map(|(code, count)| choice(code, Some(count)));
    let chosen = narrow.language.as_deref().map(|code| choice(code, None));
    offered(Narrow { language: None, ..narrow.clone() }, chosen, each.collect())
}

fn ages(shown: &Shown) -> Vec<Choice> {
    let narrow = &shown.narrow;
    let choice = |age: Age, count| {
        let name = match age {
            Age::Day => "in a day",
            Age::Week => "in a week",
            Age::Month => "in a month",
            Age::Year => "in a year",
        };
        let wanted = Narrow { age: Some(age), ..narrow.clone() };
        Choice { count, ..plain(name, *narrow == wanted, wanted) }
    };
    let all = Narrow { age: None, ..narrow.clone() };
    if let Some(age) = narrow.age {
        return vec![plain("Whenever", false, all), choice(age, None)];
    }
    // What all of them are tells none apart, nor does what is the same as the one before.
    let mut told = vec![shown.facets.pages()];
    let mut choices = vec![plain("Whenever", true, all)];
    for (age, count) in shown.facets.ages() {
        if !told.contains(&count) {
            told.push(count);
            choices.push(choice(age, Some(count)));
        }
    }
    if choices.len() == 1 { Vec::new() } else { choices }
}

fn topics(narrow: &Narrow) -> Vec<Choice> {
    let all = plain("All", false, Narrow { topic: None, ..narrow.clone() });
    match narrow.topic {
        Some(_) => vec![all, plain("One topic", true, narrow.clone())],
        None => Vec::new(),
    }
}

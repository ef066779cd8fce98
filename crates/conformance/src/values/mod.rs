//! Values: what an attribute may say.
//!
//! In: a kind of value and an attribute's text. Out: nothing, or a sentence's end that says
//! what is wrong. Law: HTML §2.3 (microsyntaxes) and each attribute's own definition.
//! Start at [`judge`].

mod address;
mod lists;
mod moment;
mod numbers;
mod words;

/// What kind of value an attribute takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any text.
    Any,
    /// Any text but none.
    NotEmpty,
    /// A boolean attribute: nothing, or its own name.
    Flag,
    /// One of these words, in any case.
    Words(&'static [&'static str]),
    /// One of these words as they are.
    Exactly(&'static [&'static str]),
    /// Words between spaces.
    Tokens,
    /// An id.
    Id,
    /// The id of an element of this name; that it exists is seen elsewhere.
    IdOf(&'static str),
    /// `#` and a name.
    HashName,
    Integer,
    /// An integer that isn't negative.
    Natural,
    /// An integer above zero.
    Positive,
    Float,
    Url,
    UrlNotEmpty,
    Urls,
    Mime,
    ScriptType,
    Language,
    Media,
    Srcset,
    Sizes,
    IconSizes,
    /// The name of a browsing context, or a keyword such as `_blank`.
    Target,
    /// The name of a browsing context, without a keyword.
    ContextName,
    /// What `time` tells: a date, a time, a duration and more.
    TimeDatetime,
    /// A date, or a date with a time and its zone.
    DateOrTime,
    Autocomplete,
    Sandbox,
    /// Numbers between commas.
    Coordinates,
}

/// What is wrong with a value, as the rest of a sentence.
pub(crate) fn judge(kind: Kind, name: &str, value: &str) -> Result<(), String> {
    let trimmed = value.trim_matches(|c: char| c.is_ascii_whitespace());
    match kind {
        Kind::Any | Kind::Tokens => Ok(()),
        Kind::NotEmpty if value.is_empty() => Err("Must be non-empty.".to_owned()),
        Kind::NotEmpty => Ok(()),
        Kind::Flag if value.is_empty() || value.eq_ignore_ascii_case(name) => Ok(()),
        Kind::Flag => Err(format!("Only “” and “{name}” are allowed.")),
        Kind::Words(words) if words.iter().any(|word| word.eq_ignore_ascii_case(trimmed)) => Ok(()),
        Kind::Words(words) | Kind::Exactly(words) => {
            if kind == Kind::Exactly(words) && words.contains(&trimmed) {
                return Ok(());
            }
            Err(format!("Expected one of {}.", words.join(", ")))
        }
        Kind::Id | Kind::IdOf(_) => words::id(value),
        Kind::HashName if value.len() > 1 && value.starts_with('#') => Ok(()),
        Kind::HashName => {
            Err("A hash-name reference must start with “#” and have a name.".to_owned())
        }
        Kind::Integer => numbers::integer(trimmed),
        Kind::Natural => numbers::natural(trimmed),
        Kind::Positive => numbers::positive(trimmed),
        Kind::Float => numbers::float(trimmed),
        Kind::Url if trimmed.is_empty() => Ok(()),
        Kind::UrlNotEmpty if trimmed.is_empty() => Err("Must be non-empty.".to_owned()),
        Kind::Url | Kind::UrlNotEmpty => address::url(trimmed),
        Kind::Urls => value.split_ascii_whitespace().try_for_each(address::url),
        Kind::Mime => words::mime(trimmed),
        Kind::ScriptType if trimmed.is_empty() || !trimmed.contains('/') => {
            words::script_type(trimmed)
        }
        Kind::ScriptType => words::mime(trimmed),
        Kind::Language if value.is_empty() => Ok(()),
        Kind::Language => words::language(value),
        Kind::Media => lists::media(trimmed),
        Kind::Srcset => lists::srcset(value),
        Kind::Sizes => lists::sizes(trimmed),
        Kind::IconSizes => lists::icon_sizes(value),
        Kind::Target => words::target(value),
        Kind::ContextName => words::context_name(value),
        Kind::TimeDatetime => moment::time_datetime(trimmed),
        Kind::DateOrTime => moment::date_or_time(trimmed),
        Kind::Autocomplete => lists::autocomplete(value),
        Kind::Sandbox => lists::sandbox(value),
        Kind::Coordinates => numbers::coordinates(trimmed),
    }
}
pub(crate) use address::url;
pub(crate) use lists::srcset_has_width;
pub(crate) use numbers::natural;

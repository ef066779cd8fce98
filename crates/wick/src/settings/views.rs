//! `views`: how an app is told of views that were served from memory.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{self, Deserializer};
use server::{ViewsRules, ViewsSecret, ViewsTo};

use super::{Secret, SiteSettings};

/// The time between two batches, if nothing is written.
const EVERY: Duration = Duration::from_secs(60);
/// They never come nearer to each other than that.
const EVERY_MIN: Duration = Duration::from_secs(1);
/// A shorter key could be guessed.
const KEY_BYTES_MIN: usize = 16;
const KEY_BYTES_MAX: usize = 1024;

/// What the app is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ViewsSetting(pub ViewsTo);

impl<'de> Deserialize<'de> for ViewsSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_path = text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic());
        match text.as_str() {
            "page" => Ok(Self(ViewsTo::Page)),
            path if is_path && !path.contains('#') => Ok(Self(ViewsTo::Call(text))),
            other => Err(de::Error::custom(format!(
                "\"{other}\" is no address of the app: write a path such as \"/wick-views.php\", \
                 or \"page\""
            ))),
        }
    }
}

/// What was written about views that can't be so.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ViewsError {
    #[error("there are a views_key and a views_key_file: take one of them out")]
    TwoKeys,
    #[error("can't read the views_key_file {0}: {1}; name a file that this user may read")]
    Unreadable(PathBuf, String),
    #[error(
        "the views_key has fewer than {KEY_BYTES_MIN} characters, more than {KEY_BYTES_MAX}, or \
         others than visible ones: make one by `openssl rand -hex 16`"
    )]
    Key,
    #[error("views are told to an HTTP origin with a key of their own: add views_key_file = \"…\"")]
    NoKey,
    #[error("there is a {0}, and nothing to tell of views: add views = \"/path\"")]
    Alone(&'static str),
}

/// The rules that follow; `has_own_key` where Wick gives the app a key itself.
pub(crate) fn rules(
    site: &SiteSettings,
    has_own_key: bool,
) -> Result<Option<ViewsRules>, ViewsError> {
    let Some(ViewsSetting(to)) = site.views.clone() else {
        let beside = [
            ("views_key", site.views_key.is_some()),
            ("views_key_file", site.views_key_file.is_some()),
        ];
        let alone = beside.iter().find(|(_, is_set)| *is_set);
        return alone.map_or(Ok(None), |(name, _)| Err(ViewsError::Alone(name)));
    };
    let key = match (&site.views_key, &site.views_key_file) {
        (Some(_), Some(_)) => return Err(ViewsError::TwoKeys),
        (Some(Secret(text)), None) => Some(text.clone()),
        (None, Some(path)) => {
            let read = fs::read_to_string(path);
            let text =
                read.map_err(|error| ViewsError::Unreadable(path.clone(), error.to_string()))?;
            Some(text.trim().to_owned())
        }
        (None, None) if !has_own_key && to != ViewsTo::Page => return Err(ViewsError::NoKey),
        (None, None) => None,
    };
    let is_key = |key: &String| {
        (KEY_BYTES_MIN..=KEY_BYTES_MAX).contains(&key.len())
            && key.bytes().all(|byte| byte.is_ascii_graphic())
    };
    if !key.iter().all(is_key) {
        return Err(ViewsError::Key);
    }
    let every = site.views_every.map_or(EVERY, |time| time.0).max(EVERY_MIN);
    Ok(Some(ViewsRules { to, every, secret: key.map(ViewsSecret) }))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::settings::parse;

    fn read(lines: &str) -> Result<Option<ViewsRules>, String> {
        let text = format!("[[site]]\norigin = \"http://a\"\n{lines}");
        let settings = parse(&text, Path::new("wick.toml")).map_err(|error| error.to_string())?;
        rules(&settings.site[0], false).map_err(|error| error.to_string())
    }

    #[test]
    fn views_are_told_to_a_path_or_to_their_pages() {
        assert_eq!(read("").expect("nothing to tell"), None);
        let rules = read("views = \"page\"").expect("right").expect("rules");
        assert_eq!((rules.to, rules.every), (ViewsTo::Page, EVERY));
        let lines = "views = \"/v.php\"\nviews_every = \"5m\"\nviews_key = \"0123456789abcdef\"";
        let rules = read(lines).expect("right").expect("rules");
        assert_eq!(rules.every, Duration::from_secs(300));
        assert_eq!(rules.secret, Some(ViewsSecret("0123456789abcdef".into())));
    }

    #[test]
    fn what_is_wrong_says_what_to_write() {
        for (lines, expected) in [
            ("views = \"http://b/\"", "write a path such as \"/wick-views.php\", or \"page\""),
            ("views = \"/v\"", "add views_key_file"),
            ("views = \"/v\"\nviews_key = \"short\"", "openssl rand -hex 16"),
            ("views = \"/v\"\nviews_key = \"a\"\nviews_key_file = \"/b\"", "take one of them out"),
            ("views = \"/v\"\nviews_key_file = \"/nowhere\"", "can't read the views_key_file /now"),
            ("views_key_file = \"/b\"", "add views = \"/path\""),
        ] {
            let told = read(lines).expect_err("it is wrong");
            assert!(told.contains(expected), "{lines}: {told}");
        }
    }
}

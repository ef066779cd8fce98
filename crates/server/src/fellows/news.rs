//! What nodes tell each other of pages, as text. Nodes one version apart read it alike: who
//! finds something that it doesn't know takes it that anything may have changed.

use policy::purge::{Mode, Purge, Scope, UrlPattern, What};
use serde::{Deserialize, Serialize};
use wire::RequestHead;

use super::learned::LearnedTold;

/// One thing that is told.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct News {
    /// The hosts of the site that it is about; none: of one that answers for any.
    pub(super) hosts: Vec<String>,
    #[serde(flatten)]
    pub(super) told: Told,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Told {
    /// This was purged; of all of the site's hosts if none is named.
    Purged { host: Option<String>, purge: PurgeTold },
    /// This was written to.
    Written(WriteTold),
    /// This was learned.
    Learned(LearnedTold),
    /// Something was found changed of which nobody had told.
    Changed(bool),
}

/// A write that succeeded, and what it was to.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct WriteTold {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) host: String,
    pub(super) targets: Vec<String>,
}

/// A purge, told.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct PurgeTold {
    #[serde(flatten)]
    what: WhatTold,
    #[serde(default)]
    soft: bool,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum WhatTold {
    Url(String),
    Prefix(String),
    Pattern(String),
    Tags(Vec<String>),
    Everything(bool),
}

impl News {
    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(super) fn write(&self) -> String {
        // It is made of texts, so it can always be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl PurgeTold {
    /// The purge; none where its pattern can't be read here.
    pub(super) fn read(self) -> Option<Purge> {
        let what = match self.what {
            WhatTold::Url(target) => What::Url(target),
            WhatTold::Prefix(start) => What::Prefix(start),
            WhatTold::Pattern(pattern) => What::Pattern(UrlPattern::read(&pattern)?),
            WhatTold::Tags(tags) => What::Tags(tags),
            WhatTold::Everything(_) => What::Everything,
        };
        let mode = if self.soft { Mode::Soft } else { Mode::Hard };
        Some(Purge { scope: Scope::Site, what, mode })
    }
}

impl Told {
    pub(super) fn purged(host: Option<&str>, purge: &Purge) -> Self {
        let what = match &purge.what {
            What::Url(target) => WhatTold::Url(target.clone()),
            What::Prefix(start) => WhatTold::Prefix(start.clone()),
            What::Pattern(pattern) => WhatTold::Pattern(pattern.as_str().to_owned()),
            What::Tags(tags) => WhatTold::Tags(tags.clone()),
            What::Everything => WhatTold::Everything(true),
        };
        let purge = PurgeTold { what, soft: purge.mode == Mode::Soft };
        Self::Purged { host: host.map(str::to_owned), purge }
    }

    pub(super) fn written(head: &RequestHead, targets: &[String]) -> Self {
        Self::Written(WriteTold {
            method: head.method.to_string(),
            target: head.target.clone(),
            host: head.host.clone(),
            targets: targets.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(what: What, mode: Mode, host: Option<&str>, text: &str) {
        let purge = Purge { scope: Scope::Site, what, mode };
        let told = Told::purged(host, &purge);
        let written = News { hosts: vec!["shop".to_owned()], told }.write();
        assert_eq!(written, text);
        let Some(News { hosts, told: Told::Purged { host: read, purge: told } }) =
            News::read(&written)
        else {
            unreachable!("it was written so");
        };
        assert_eq!((hosts.as_slice(), read.as_deref()), (["shop".to_owned()].as_slice(), host));
        assert_eq!(told.read(), Some(purge));
    }

    #[test]
    fn a_purge_is_read_as_it_was_told() {
        let hard = Mode::Hard;
        let url = What::Url("/a?b".into());
        check(
            url,
            hard,
            Some("a.test"),
            r#"{"hosts":["shop"],"purged":{"host":"a.test","purge":{"url":"/a?b","soft":false}}}"#,
        );
        check(
            What::Tags(vec!["x".into()]),
            Mode::Soft,
            None,
            r#"{"hosts":["shop"],"purged":{"host":null,"purge":{"tags":["x"],"soft":true}}}"#,
        );
        check(
            What::Everything,
            hard,
            None,
            r#"{"hosts":["shop"],"purged":{"host":null,"purge":{"everything":true,"soft":false}}}"#,
        );
        let pattern = UrlPattern::read("^/a/.*").expect("a pattern");
        check(
            What::Pattern(pattern),
            hard,
            None,
            r#"{"hosts":["shop"],"purged":{"host":null,"purge":{"pattern":"^/a/.*","soft":false}}}"#,
        );
        check(
            What::Prefix("/a/".into()),
            hard,
            Some("a.test"),
            r#"{"hosts":["shop"],"purged":{"host":"a.test","purge":{"prefix":"/a/","soft":false}}}"#,
        );
    }

    #[test]
    fn what_a_newer_node_tells_is_not_taken_for_something_else() {
        for text in ["", "{}", r#"{"hosts":["shop"]}"#, r#"{"hosts":["shop"],"painted":{}}"#] {
            assert!(News::read(text).is_none(), "{text}");
        }
        let whole = r#"{"hosts":["shop"],"purged":{"host":null,"purge":{"moon":"full"}}}"#;
        assert!(News::read(whole).is_none());
    }
}

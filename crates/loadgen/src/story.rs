//! Scenarios: what a visitor does, step by step, with what the pages said put into later steps.
//!
//! In: TOML. `[[scenario]]` with a `name` and a `weight`, and in each `[[scenario.step]]` a
//! `request` ("POST /login"), and perhaps `fields`, `body`, `expect` (a status), `think` (a time
//! before the step) and `take`: names with patterns, whose first group is put where a later step
//! says `{name}`.
//! Invariants: 1. A name that no earlier step takes is an error before the run. 2. At most
//! [`PAGE_BYTES_MAX`] of a page are looked at. 3. What a page said can't end a field or a head:
//! every request is made, and checked, as any other.

use std::collections::BTreeMap;
use std::time::Duration;

use base::amount::parse_duration;
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::request::{Mix, Request, RequestError, Wanted, read_field};
use crate::target::{Target, TargetError};

/// So much of a page is kept to look for what is taken.
pub const PAGE_BYTES_MAX: usize = 1 << 20;
const STEPS_MAX: usize = 1_000;

/// Why a file of scenarios can't be played.
#[derive(Debug, thiserror::Error)]
pub enum StoryError {
    /// Not TOML, or with another key.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// A step that can't be.
    #[error("scenario \"{story}\", step {step}: {why}")]
    Step {
        /// The scenario's name.
        story: String,
        /// Counted from 1.
        step: usize,
        /// What is wrong.
        why: String,
    },
    /// No scenario with a weight, or one without steps.
    #[error(
        "there is nothing to play: write [[scenario]] with at least one [[scenario.step]], and at most 1000"
    )]
    Nothing,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    scenario: Vec<WrittenStory>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStory {
    name: String,
    #[serde(default = "one")]
    weight: f64,
    step: Vec<WrittenStep>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStep {
    request: String,
    #[serde(default)]
    fields: Vec<String>,
    #[serde(default)]
    body: String,
    expect: Option<u16>,
    think: Option<String>,
    #[serde(default)]
    take: BTreeMap<String, String>,
}

fn one() -> f64 {
    1.0
}

/// One scenario.
#[derive(Clone, Debug)]
pub struct Story {
    pub(crate) steps: Vec<Step>,
}

/// One step of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// With names in braces where something is put in.
    wanted: Wanted,
    /// Ready, where nothing is.
    ready: Option<Request>,
    pub(crate) expect: Option<u16>,
    pub(crate) think: Duration,
    take: Vec<(String, Regex)>,
}

/// What was taken from pages.
pub(crate) type Taken = BTreeMap<String, String>;

/// Reads scenarios for a target.
///
/// # Errors
/// They can't be played; the message says which step.
pub fn parse(text: &str, target: &Target, keeps: bool) -> Result<Mix<Story>, StoryError> {
    let written: Written = toml::from_str(text)?;
    let mut weighted = Vec::new();
    for story in written.scenario {
        if story.step.is_empty() || story.step.len() > STEPS_MAX {
            return Err(StoryError::Nothing);
        }
        let (mut steps, mut known) = (Vec::new(), Taken::new());
        for (number, step) in story.step.into_iter().enumerate() {
            let wrong = |why| StoryError::Step { story: story.name.clone(), step: number + 1, why };
            let step = Step::new(step, target, keeps, &known).map_err(wrong)?;
            known.extend(step.take.iter().map(|(name, _)| (name.clone(), String::new())));
            steps.push(step);
        }
        weighted.push((Story { steps }, story.weight));
    }
    Mix::new(weighted).map_err(|_| StoryError::Nothing)
}

impl Story {
    /// Requests one after the other, each with the status that it has to be answered with.
    #[must_use]
    pub fn of(steps: Vec<(Request, Option<u16>)>) -> Self {
        let step = |(request, expect): (Request, Option<u16>)| Step {
            wanted: request.wanted.clone(),
            ready: Some(request),
            expect,
            think: Duration::ZERO,
            take: Vec::new(),
        };
        Self { steps: steps.into_iter().map(step).collect() }
    }
}

impl Step {
    fn new(
        written: WrittenStep,
        target: &Target,
        keeps: bool,
        known: &Taken,
    ) -> Result<Self, String> {
        let request = written.request.trim();
        let (method, path) = request.split_once(' ').unwrap_or(("GET", request));
        let fields = written.fields.iter().map(|field| read_field(field));
        let fields = fields.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        let (path, body) = (path.trim().to_owned(), written.body.into_bytes());
        let wanted = Wanted { method: method.to_owned(), path, fields, body };
        let think = written.think.as_deref().map(parse_duration).transpose();
        let mut take = Vec::new();
        for (name, pattern) in written.take {
            // Pages are bytes; a letter is one of ASCII's.
            let pattern = RegexBuilder::new(&pattern).unicode(false).build();
            let pattern = pattern.map_err(|error| error.to_string())?;
            if pattern.captures_len() < 2 {
                return Err(format!(
                    "the pattern of \"{name}\" has no group: (…) is what is taken"
                ));
            }
            take.push((name, pattern));
        }
        let mut step = Self {
            wanted,
            ready: None,
            expect: written.expect,
            think: think.map_err(|error| error.to_string())?.unwrap_or_default(),
            take,
        };
        // Tried with empty values: what is wrong then is wrong whatever is put in.
        let request = step.fill(target, keeps, known)?;
        let is_same = request.wanted.fields == step.wanted.fields
            && request.wanted.body == step.wanted.body
            && !step.wanted.path.contains('{');
        step.ready = is_same.then_some(request);
        Ok(step)
    }

    /// The request with what was taken put in.
    pub(crate) fn request<'a>(
        &'a self,
        target: &Target,
        keeps: bool,
        taken: &Taken,
        made: &'a mut Option<Request>,
    ) -> Result<&'a Request, String> {
        match &self.ready {
            Some(ready) => Ok(ready),
            None => Ok(made.insert(self.fill(target, keeps, taken)?)),
        }
    }

    fn fill(&self, target: &Target, keeps: bool, taken: &Taken) -> Result<Request, String> {
        let path = put_in(&self.wanted.path, taken)?;
        let path = target.path_here(&path).map_err(|error: TargetError| error.to_string())?;
        let mut fields = Vec::new();
        for (name, value) in &self.wanted.fields {
            fields.push((name.clone(), put_in(value, taken)?));
        }
        let body = String::from_utf8_lossy(&self.wanted.body);
        let body = put_in(&body, taken)?.into_bytes();
        let wanted = Wanted { method: self.wanted.method.clone(), path, fields, body };
        Request::new(wanted, target, keeps).map_err(|error: RequestError| error.to_string())
    }

    /// Whether the page has to be kept.
    pub(crate) fn takes(&self) -> bool {
        !self.take.is_empty()
    }

    /// Takes what the step wants of a page.
    ///
    /// # Errors
    /// Something isn't there.
    pub(crate) fn take(&self, page: &[u8], taken: &mut Taken) -> Result<(), String> {
        for (name, pattern) in &self.take {
            let found = pattern.captures(page).and_then(|found| found.get(1));
            let found = found.ok_or_else(|| format!("the page has no \"{name}\""))?;
            taken.insert(name.clone(), String::from_utf8_lossy(found.as_bytes()).into_owned());
        }
        Ok(())
    }
}

/// Puts values where `{name}` stands; braces around anything but a name stay.
fn put_in(text: &str, taken: &Taken) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let name = after.split('}').next().unwrap_or_default();
        let is_name = name.len() < after.len()
            && !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name {
            out.push('{');
            rest = after;
            continue;
        }
        let value = taken.get(name);
        out.push_str(value.ok_or_else(|| format!("no step before takes \"{name}\""))?);
        rest = &after[name.len() + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stories(text: &str) -> Result<Mix<Story>, String> {
        let (target, _) = Target::parse("http://127.0.0.1:81/").expect("an address");
        parse(text, &target, true).map_err(|error| error.to_string())
    }

    const LOGIN: &str = r#"
        [[scenario]]
        name = "member"
        weight = 2
        [[scenario.step]]
        request = "GET /login"
        take = { token = 'name="token" value="([^"]+)"' }
        [[scenario.step]]
        request = "POST /login?x={1,2}"
        fields = ["Content-Type: application/x-www-form-urlencoded", "X-Token: {token}"]
        body = "user=ann&token={token}"
        expect = 302
        think = "2s"
    "#;

    #[test]
    fn what_a_page_said_is_put_into_later_steps() {
        let mix = stories(LOGIN).expect("scenarios");
        let [first, second] = &mix.all()[0].steps[..] else { panic!("two steps") };
        assert!(first.ready.is_some() && second.ready.is_none());
        assert_eq!((second.expect, second.think), (Some(302), Duration::from_secs(2)));
        let mut taken = Taken::new();
        let page = br#"<input name="token" value="a&b">"#;
        first.take(page, &mut taken).expect("it is there");
        let (target, _) = Target::parse("http://127.0.0.1:81/").expect("an address");
        let request = second.fill(&target, true, &taken).expect("a request");
        assert_eq!(request.wanted.body, b"user=ann&token=a&b");
        assert_eq!(request.wanted.path, "/login?x={1,2}");
        let missing = first.take(b"nothing", &mut taken).expect_err("nothing is there");
        assert_eq!(missing, "the page has no \"token\"");
        taken.insert("token".into(), "a\r\nX: b".into());
        assert!(second.fill(&target, true, &taken).is_err(), "a page can't write fields");
    }

    #[test]
    fn what_cannot_be_played_is_told_with_its_step() {
        for (from, to, expected) in [
            ("user=ann", "user={who}", "\"member\", step 2: no step before takes \"who\""),
            ("([^\"]+)", "x", "step 1: the pattern of \"token\" has no group"),
            ("\"2s\"", "\"soon\"", "step 2: \"soon\" is not a duration"),
            ("GET /login", "GET http://example.org/", "step 1: http://example.org/ is on another"),
            ("weight = 2", "weight = 0", "there is nothing to play"),
            ("expect", "expects", "unknown field `expects`"),
        ] {
            let error = stories(&LOGIN.replace(from, to)).expect_err(from);
            assert!(error.contains(expected), "{error}");
        }
    }
}

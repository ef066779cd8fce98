//! The truth of a simulation: every answer that the origin made, whom it is for, and
//! whether what a visitor received may be his.
//!
//! An answer's head bears its own number as `X-Mark`; its entity tag and each line of its
//! body bear the number of the representation. So a head, a body, a part of one and a
//! splice of two can each be told apart, whatever way they came.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use testkit::message::{Received, State};
use wire::{Fields, Name};

/// Somebody who asks, and the fields by which the origin knows him.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    pub(crate) name: String,
    pub(crate) fields: Vec<(&'static str, String)>,
}

/// Whom an answer may be given to.
#[derive(Clone, Debug)]
pub(crate) enum Audience {
    /// Anyone: the origin said so.
    Everybody,
    /// Anyone without `Authorization`.
    Unauthorized,
    /// Anyone who shows neither cookie nor authorization.
    Strangers,
    /// Whoever sends the same values for these fields.
    Same(Vec<(&'static str, Option<String>)>),
    /// This one alone.
    Person(String),
}

/// An answer that the origin made.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) mark: usize,
    pub(crate) path: String,
    pub(crate) audience: Audience,
    pub(crate) tag: String,
    pub(crate) body: Arc<Vec<u8>>,
    /// For whom it was made.
    pub(crate) requester: String,
}

/// All answers so far. Clones are the same ledger.
#[derive(Clone, Default)]
pub(crate) struct Ledger {
    made: Arc<Mutex<Vec<Made>>>,
    breaks: Arc<AtomicUsize>,
}

impl Visitor {
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_str())
    }

    fn may_have(&self, made: &Made) -> bool {
        let (cookie, authorization) = (self.value("cookie"), self.value("authorization"));
        self.name == made.requester
            || match &made.audience {
                Audience::Everybody => true,
                Audience::Unauthorized => authorization.is_none(),
                Audience::Strangers => cookie.is_none() && authorization.is_none(),
                Audience::Same(values) => {
                    values.iter().all(|(name, value)| self.value(name) == value.as_deref())
                }
                Audience::Person(name) => *name == self.name,
            }
    }
}

impl Ledger {
    fn all(&self) -> MutexGuard<'_, Vec<Made>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a new representation of so many bytes or a few more.
    pub(crate) fn make(
        &self,
        path: &str,
        requester: &str,
        audience: Audience,
        bytes: usize,
    ) -> Made {
        let mut all = self.all();
        let mark = all.len();
        let mut body = Vec::new();
        while body.len() < bytes {
            let line = format!("{mark} for {requester} at {path}, byte {}\n", body.len());
            body.extend_from_slice(line.as_bytes());
        }
        let made = Made {
            mark,
            path: path.to_owned(),
            audience,
            tag: format!("\"{mark}\""),
            body: Arc::new(body),
            requester: requester.to_owned(),
        };
        all.push(made.clone());
        made
    }

    /// Enters an answer that says something new about an older representation.
    pub(crate) fn confirm(&self, older: &Made, requester: &str, audience: Audience) -> Made {
        let mut all = self.all();
        let requester = requester.to_owned();
        let made = Made { mark: all.len(), audience, requester, ..older.clone() };
        all.push(made.clone());
        made
    }

    /// Notes that an answer was not sent to its end.
    pub(crate) fn note_break(&self) {
        self.breaks.fetch_add(1, Ordering::Relaxed);
    }

    /// How many answers were not sent to their end.
    pub(crate) fn breaks(&self) -> usize {
        self.breaks.load(Ordering::Relaxed)
    }

    /// The representation with this tag.
    pub(crate) fn with_tag(&self, tag: &str) -> Option<Made> {
        let number: usize = tag.trim_matches('"').parse().ok()?;
        self.all().get(number).cloned()
    }

    /// What is wrong with a response, if anything is.
    pub(crate) fn fault(
        &self,
        visitor: &Visitor,
        (method, path): (&str, &str),
        response: &Received,
    ) -> Result<(), String> {
        let fields = &response.fields;
        let Some(mark) = text(fields, "x-mark") else {
            return faultless_without_mark(response);
        };
        let all = self.all();
        let made = mark.parse().ok().and_then(|number: usize| all.get(number));
        let made = made.ok_or_else(|| format!("nobody made the answer {mark}"))?;
        let tag = text(fields, "etag").unwrap_or_default();
        let number = tag.trim_matches('"').parse().ok();
        let shown = number.and_then(|number: usize| all.get(number));
        let shown = shown.ok_or_else(|| format!("nobody made the representation {tag}"))?;
        for one in [made, shown] {
            if one.path != path {
                return Err(format!("answer {} is for {}, not {path}", one.mark, one.path));
            }
            if !visitor.may_have(one) {
                let (mark, requester, audience) = (one.mark, &one.requester, &one.audience);
                return Err(format!("answer {mark} was made for {requester} ({audience:?})"));
            }
        }
        if made.tag != shown.tag {
            return Err(format!("the head of {mark} is on the representation {tag}"));
        }
        own_name_only(visitor, fields)?;
        body_fault(method, response, &shown.body)
    }
}

/// An answer of Wick's own: nothing in it can be anybody's.
fn faultless_without_mark(response: &Received) -> Result<(), String> {
    let is_ours = matches!(response.status, 400 | 408 | 413 | 500..=504);
    match is_ours && !response.fields.has(Name::SetCookie) && response.body.len() < 1000 {
        true => Ok(()),
        false => Err(format!("a {} that the origin never made", response.status)),
    }
}

/// Fields that bear a person's name bear this person's.
fn own_name_only(visitor: &Visitor, fields: &Fields) -> Result<(), String> {
    for name in ["set-cookie", "x-person"] {
        for value in fields.all_named(name).map(String::from_utf8_lossy) {
            if value != format!("id={}", visitor.name) {
                return Err(format!("{name}: {value} was made for somebody else"));
            }
        }
    }
    Ok(())
}

/// Whether a body is exactly what its head promises, or visibly cut and right so far.
fn body_fault(method: &str, response: &Received, whole: &[u8]) -> Result<(), String> {
    if method == "HEAD" || matches!(response.status, 204 | 304 | 416) {
        return Ok(());
    }
    let wanted = match response.status {
        206 => part(&response.fields, whole).ok_or("a part that no range of it is")?,
        _ => whole,
    };
    let (is_cut, got) = (response.state == State::Cut, response.body.as_slice());
    match got == wanted || (is_cut && wanted.starts_with(got)) {
        true => Ok(()),
        false => Err(format!(
            "the body is not the one made: {} bytes of {}, {:?}\n{}",
            got.len(),
            wanted.len(),
            response.state,
            testkit::story::shown(&got[got.len().saturating_sub(200)..]),
        )),
    }
}

/// What `Content-Range` says that this is.
fn part<'a>(fields: &Fields, whole: &'a [u8]) -> Option<&'a [u8]> {
    let range = text(fields, "content-range")?;
    let (span, total) = range.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = span.split_once('-')?;
    let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
    (total.parse() == Ok(whole.len())).then(|| whole.get(first..=last))?
}

/// A field's first value.
pub(crate) fn text(fields: &Fields, name: &str) -> Option<String> {
    fields.all_named(name).next().map(|value| String::from_utf8_lossy(value).into_owned())
}

//! What goes back to the visitor, and why.
//!
//! A reply is finished: nothing behind it decides any more. Its [`Verdict`] is
//! the same value that the log, the counters and `Cache-Status` show.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use origin::{Answer, OpenFile, OriginError, Tunnel};
use policy::representation::mark_as_asked;
use policy::{
    Conditional, FailReason, NoStore, OwnReason, RefuseReason, Selection, Verdict, cache_status,
};
use wire::h1::HeadError;
use wire::{Body, BodyError, Codings, Fields, Name, ResponseHead};

use crate::coding::coded::Coded;
use crate::coding::passing;
use crate::files::Stretch;
use crate::journey::Journey;
use crate::observer::Outcome;
use crate::page::Page;
use crate::slices::serve::Wanted;
use crate::{esi, parts, render};

/// Fewer bytes of a file are read, and leave with their head in one call.
const PLAIN_FILE_BYTES: u64 = 64 << 10;

/// An answer with the reason for it.
pub(crate) struct Reply {
    pub(crate) verdict: Verdict,
    /// Why what the origin said is not stored; none: it is, or the origin said nothing.
    pub(crate) unstored: Option<NoStore>,
    pub(crate) head: Head,
    pub(crate) payload: Payload,
}

/// Where a reply's status line and fields come from.
pub(crate) enum Head {
    /// As they lie in the store; `Age` and `Cache-Status` are added while writing.
    Stored {
        page: Arc<Page>,
        /// The page in the coding that it is sent in; none: as it is.
        coded: Option<Arc<Coded>>,
        /// None: it is dated as it is sent.
        age_seconds: Option<u64>,
        ttl_seconds: Option<i64>,
        /// The status that the origin gave when it was asked about this page just now.
        origin_status: Option<u16>,
        /// Whether it was stored just now, for this request.
        is_new: bool,
    },
    /// Ready to be written, `Cache-Status` included.
    Ready(ResponseHead),
}

/// The bytes behind a head.
pub(crate) enum Payload {
    /// Nothing: HEAD, 204, 304.
    None,
    /// All of it.
    Whole(Bytes),
    /// Several pieces, as in a multipart answer.
    Parts(Vec<Bytes>),
    /// As it comes.
    Stream {
        body: Body,
        /// Bytes promised by `Content-Length`, if any were.
        length: Option<u64>,
    },
    /// Bytes of a file of the site's folder, which the kernel sends where it can.
    File(Box<Stretch>),
    /// Bytes of a large page; [`crate::slices::serve::deliver`] makes a stream of it.
    Sliced(Box<Wanted>),
    /// None, and no HTTP from here on.
    Tunnel(Box<Tunnel>),
}

impl Payload {
    /// Bytes of it, where that is known before it is sent.
    pub(crate) fn length(&self) -> Option<u64> {
        match self {
            Self::None => Some(0),
            Self::Whole(bytes) => Some(bytes.len() as u64),
            Self::Parts(parts) => Some(parts.iter().map(|part| part.len() as u64).sum()),
            Self::Stream { length, .. } => *length,
            Self::File(stretch) => Some(stretch.length()),
            Self::Sliced(wanted) => Some(wanted.length()),
            Self::Tunnel(_) => None,
        }
    }
}

impl Payload {
    /// The bytes of a file from `first` to before `end`.
    fn of_file(file: OpenFile, first: u64, end: u64) -> Self {
        match end - first {
            0 => Self::None,
            1..PLAIN_FILE_BYTES => {
                Self::Stream { body: file.body(first, end), length: Some(end - first) }
            }
            _ => Self::File(Box::new(Stretch { file, first, end })),
        }
    }
}

impl Reply {
    /// What who wants to know is told of it: what came of the request, and bytes of the body.
    pub(crate) fn seen(&self) -> (Outcome, u64) {
        (Outcome::of(self), self.payload.length().unwrap_or_default())
    }

    /// A request that could not be read; the connection closes behind it.
    pub(crate) fn unreadable(error: HeadError) -> Self {
        let verdict = Verdict::Refused(RefuseReason::BadFraming);
        Self::own(error.status(), verdict, &error.to_string(), &[])
    }

    /// A request that was read, and is not served.
    pub(crate) fn refused(reason: RefuseReason) -> Self {
        Self::own(reason.status(), Verdict::Refused(reason), reason.sentence(), &[])
    }

    /// The client wanted only what is stored, and it is not (RFC 9111 §5.2.1.7).
    pub(crate) fn only_if_cached(key: &[u8]) -> Self {
        let verdict = Verdict::Failed(FailReason::OnlyIfCached);
        Self::own(504, verdict, "Nothing is stored that could answer this request.", key)
    }

    /// Another request of the same browser got a session just now: this one is to come again
    /// with it. 307 keeps method and body (RFC 9110 §15.4.8).
    pub(crate) fn come_again(target: &str, key: &[u8]) -> Self {
        let verdict = Verdict::Pass(policy::PassReason::Bound);
        let mut reply = Self::own(307, verdict, "Please come again.", key);
        if let Head::Ready(head) = &mut reply.head {
            head.fields.put(Name::Location, target);
        }
        reply
    }

    /// The same by HTTPS. 308 keeps method and body (RFC 9110 §15.4.9).
    pub(crate) fn to_https(address: &str) -> Self {
        let verdict = Verdict::Synthetic(OwnReason::Https);
        let mut reply = Self::own(308, verdict, "This site is served by HTTPS.", &[]);
        if let Head::Ready(head) = &mut reply.head {
            head.fields.put(Name::Location, address);
        }
        reply
    }

    /// What a CA looks for to see whose a name is (RFC 8555 §8.3).
    pub(crate) fn proof(proof: Bytes) -> Self {
        let verdict = Verdict::Synthetic(OwnReason::AcmeChallenge);
        Self::written(200, verdict, "application/octet-stream", proof, &[])
    }

    /// A body was announced that is larger than the site accepts.
    pub(crate) fn too_large(limit: u64) -> Self {
        Self::failed(&OriginError::Client(BodyError::TooLarge { limit }), &[])
    }

    /// No answer came from the origin.
    pub(crate) fn failed(error: &OriginError, key: &[u8]) -> Self {
        Self::failed_with(error.status(), error, key)
    }

    /// The same where the law wants another status than the error itself would.
    pub(crate) fn failed_with(status: u16, error: &OriginError, key: &[u8]) -> Self {
        let sentence = match status {
            429 => "Too many requests came from your address; please wait a moment.",
            503 => "The site is busy at the moment; please try again in a few seconds.",
            504 => "The site did not answer in time; please try again later.",
            502 => "The site can't be reached at the moment; please try again later.",
            413 => "What you sent is larger than this site accepts.",
            408 => "What you sent stopped coming; please try again.",
            403 => "This path is not served.",
            400 => "The request can't be understood.",
            _ => "The site has a fault; please try again later.",
        };
        let mut reply = Self::own(status, failure_verdict(error), sentence, key);
        if let (Some(seconds), Head::Ready(head)) = (error.retry_after_seconds(), &mut reply.head) {
            head.fields.put(Name::RetryAfter, seconds.to_string());
        }
        reply
    }

    /// The origin's answer, for this visitor alone.
    pub(crate) fn passed(answer: Answer, journey: &Journey, told: &Told) -> Self {
        let (request, key) = (&journey.head, &journey.key);
        let Answer { head, body, length, mut file } = answer;
        let mut fields = policy::to_client(&head.fields);
        let is_head = request.method == Method::HEAD;
        let is_reading = is_head || request.method == Method::GET;
        let mut status = head.status;
        let mut payload = match length {
            Some(0) => Payload::None,
            length => Payload::Stream { body, length },
        };
        esi::tell_leave(journey, &head);
        if esi::is_wanted(&journey.site, &head) {
            payload = esi::passed(journey, status, &mut fields, payload);
            return Self::ready(status, fields, payload, is_head, told, key);
        }
        esi::keep_for_others(&journey.site, &mut fields);
        if !is_head {
            set_length(&mut fields, status, length);
        }
        let mut wanted = passing::wanted(&journey.site, request, status, &mut fields);
        if is_reading && status == 200 {
            let beside = file.as_ref().and_then(|it| passing::file_beside(it, wanted, &mut fields));
            if let Some(beside) = beside {
                (wanted, file) = (Codings::NONE, None);
                payload = Payload::of_file(beside.clone(), 0, beside.length());
            }
            if policy::evaluate(&request.fields, status, &fields) == Conditional::NotModified {
                fields = policy::not_modified_fields(&fields);
                (status, payload) = (304, Payload::None);
            } else if let Some(file) = file.as_ref().filter(|_| !is_head) {
                match policy::range::select(&request.fields, &fields, file.length()) {
                    Selection::Partial(range) => {
                        parts::one_part(&mut fields, &range, file.length());
                        let (first, end) = (*range.start(), range.end() + 1);
                        payload = Payload::of_file(file.clone(), first, end);
                        status = 206;
                    }
                    Selection::Unsatisfiable => {
                        payload = parts::unsatisfiable(&mut fields, file.length());
                        status = 416;
                    }
                    // Several parts of a file may be refused by sending the whole.
                    Selection::Full | Selection::Several(_) if wanted.is_empty() => {
                        payload = Payload::of_file(file.clone(), 0, file.length());
                    }
                    Selection::Full | Selection::Several(_) => {}
                }
            }
        }
        match status {
            304 => mark_as_asked(&request.fields, &mut fields),
            206 | 416 => {}
            _ => payload = passing::encode(&journey.server, request, wanted, &mut fields, payload),
        }
        Self::ready(status, fields, payload, is_head, told, key)
    }

    /// The origin goes on in another protocol; `head` is ready but for what we tell.
    pub(crate) fn switched(
        mut head: ResponseHead,
        tunnel: Tunnel,
        told: &Told,
        key: &[u8],
    ) -> Self {
        told.write(&mut head.fields, key);
        let payload = Payload::Tunnel(Box::new(tunnel));
        Self { verdict: told.verdict, unstored: None, head: Head::Ready(head), payload }
    }

    /// An answer that several visitors read while it comes; its head is the one that is stored.
    /// It is coded for the first of them: those who wait for one page may be ten thousand.
    pub(crate) fn shared(
        head: &ResponseHead,
        age_seconds: u64,
        body: Body,
        length: Option<u64>,
        journey: &Journey,
        told: &Told,
    ) -> Self {
        let (request, key) = (&journey.head, &journey.key);
        let (mut status, mut fields) = (head.status, head.fields.clone());
        let mut payload = Payload::Stream { body, length };
        set_length(&mut fields, status, length);
        let wanted = passing::wanted(&journey.site, request, status, &mut fields);
        if policy::evaluate(&request.fields, status, &fields) == Conditional::NotModified {
            fields = policy::not_modified_fields(&fields);
            mark_as_asked(&request.fields, &mut fields);
            (status, payload) = (304, Payload::None);
        } else if told.verdict != Verdict::Collapsed {
            payload = passing::encode(&journey.server, request, wanted, &mut fields, payload);
        }
        fields.set(Name::Age, age_seconds.to_string());
        Self::ready(status, fields, payload, request.method == Method::HEAD, told, key)
    }

    fn ready(
        status: u16,
        mut fields: Fields,
        payload: Payload,
        is_head: bool,
        told: &Told,
        key: &[u8],
    ) -> Self {
        told.write(&mut fields, key);
        let bodyless = is_head || !render::bears_length(status);
        let payload = if bodyless { Payload::None } else { payload };
        let head = Head::Ready(ResponseHead { status, fields });
        let unstored = told.stored.and_then(Result::err);
        Self { verdict: told.verdict, unstored, head, payload }
    }

    /// What something else than a site says.
    pub(crate) fn aside(text: Bytes) -> Self {
        Self::written(200, Verdict::Synthetic(OwnReason::Tracker), "text/plain", text, &[])
    }

    /// A line of JSON for a program that asked the cache itself.
    pub(crate) fn told(json: &str) -> Self {
        Self::line(200, Verdict::Synthetic(OwnReason::Purge), json)
    }

    /// The same where it isn't done.
    pub(crate) fn told_refused(reason: RefuseReason, json: &str) -> Self {
        Self::line(reason.status(), Verdict::Refused(reason), json)
    }

    fn line(status: u16, verdict: Verdict, json: &str) -> Self {
        let text = format!("{json}\n");
        Self::written(status, verdict, "application/json", text.into(), &[])
    }

    /// A short page of our own.
    fn own(status: u16, verdict: Verdict, sentence: &str, key: &[u8]) -> Self {
        let phrase =
            http::StatusCode::from_u16(status).ok().and_then(|code| code.canonical_reason());
        let title = phrase.unwrap_or("Error");
        let text = format!(
            "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{status} {title}</title>\n\
             <h1>{title}</h1>\n<p>{sentence}</p>\n"
        );
        Self::written(status, verdict, "text/html; charset=utf-8", text.into(), key)
    }

    fn written(status: u16, verdict: Verdict, kind: &str, text: Bytes, key: &[u8]) -> Self {
        let mut fields = Fields::new();
        fields.put(Name::ContentType, kind);
        fields.put(Name::ContentLength, text.len().to_string());
        fields.put(Name::CacheControl, "no-store");
        let told = Told { verdict, ttl_seconds: None, origin_status: None, stored: None };
        told.write(&mut fields, key);
        let head = Head::Ready(ResponseHead { status, fields });
        Self { verdict, unstored: None, head, payload: Payload::Whole(text) }
    }

    /// The status that the visitor gets.
    pub(crate) fn status(&self) -> u16 {
        match &self.head {
            Head::Stored { page, .. } => page.as_stored().map_or(500, |stored| stored.status),
            Head::Ready(ready) => ready.status,
        }
    }

    /// Whether it is HTML.
    pub(crate) fn is_html(&self) -> bool {
        match &self.head {
            Head::Stored { page, .. } => page.as_stored().is_some_and(|stored| stored.is_html),
            Head::Ready(ready) => {
                ready.fields.first(Name::ContentType).is_some_and(render::is_html_type)
            }
        }
    }

    /// The same answer to HEAD: fields as for GET, no body.
    pub(crate) fn without_body(self) -> Self {
        Self { payload: Payload::None, ..self }
    }
}

/// What `Cache-Status` says about an answer that is not a plain hit.
pub(crate) struct Told {
    pub(crate) verdict: Verdict,
    pub(crate) ttl_seconds: Option<i64>,
    pub(crate) origin_status: Option<u16>,
    /// Whether the answer is stored, and if not, why.
    pub(crate) stored: Option<Result<(), NoStore>>,
}

impl Told {
    /// An answer that the origin gave just now.
    pub(crate) fn fetched(
        verdict: Verdict,
        origin_status: u16,
        stored: Option<Result<(), NoStore>>,
    ) -> Self {
        Self { verdict, ttl_seconds: None, origin_status: Some(origin_status), stored }
    }

    /// Appends our member; those of caches nearer to the origin stay before it (RFC 9211 §2).
    pub(crate) fn write(&self, fields: &mut Fields, key: &[u8]) {
        self.write_parts(fields, key, 0);
    }

    /// The same for an answer that was put together from so many parts.
    pub(crate) fn write_parts(&self, fields: &mut Fields, key: &[u8], parts: usize) {
        let mut text = Vec::with_capacity(128);
        cache_status::write(&mut text, self.verdict, self.ttl_seconds, self.origin_status);
        match self.stored {
            Some(Ok(())) => cache_status::write_stored(&mut text),
            Some(Err(reason)) => cache_status::write_not_stored(&mut text, reason),
            None => {}
        }
        if parts > 0 {
            cache_status::write_parts(&mut text, parts as u64);
        }
        if !key.is_empty() {
            cache_status::write_key(&mut text, key);
        }
        fields.put(Name::CacheStatus, text);
    }
}

fn failure_verdict(error: &OriginError) -> Verdict {
    Verdict::Failed(match error {
        OriginError::Forbidden(_) => return Verdict::Refused(RefuseReason::PathForbidden),
        OriginError::TooOften { .. } => return Verdict::Refused(RefuseReason::Rate),
        OriginError::TooManyAtOnce { .. } => return Verdict::Refused(RefuseReason::Concurrency),
        OriginError::Unreachable(_) => FailReason::OriginUnreachable,
        OriginError::Untrusted(_) => FailReason::OriginUntrusted,
        OriginError::ConnectTimeout { .. } | OriginError::FirstByteTimeout { .. } => {
            FailReason::OriginTimeout
        }
        OriginError::Reset(_) => FailReason::OriginReset,
        OriginError::Malformed(_) => FailReason::OriginMalformed,
        OriginError::Upgrade => FailReason::OriginUpgrade,
        OriginError::QueueFull { .. }
        | OriginError::QueueTimeout { .. }
        | OriginError::TunnelsFull { .. } => FailReason::QueueFull,
        OriginError::Unsendable(_) | OriginError::Client(_) => FailReason::ClientBody,
        OriginError::Ours(_) => FailReason::Internal,
    })
}

/// Makes `Content-Length` say what we know, whatever the origin said.
fn set_length(fields: &mut Fields, status: u16, length: Option<u64>) {
    fields.remove(Name::ContentLength);
    if let Some(length) = length.filter(|_| render::bears_length(status)) {
        fields.put(Name::ContentLength, length.to_string());
    }
}

//! Files in codings, kept in the store.
//!
//! A file is opened for each request, so that an edit shows at once; its coded bytes lie under
//! its path and are good for as long as the file bears the same tag: the time of its last
//! write and its length.
//! Invariant: what lies under a path is never sent for another, whatever address led there.

use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use base::task;
use bytes::Bytes;
use http_body_util::BodyExt;
use origin::OpenFile;
use policy::Terms;
use store::Key;
use transform::Effort;
use wire::{Coding, Codings, Fields, Name, ResponseHead};

use crate::journey::Journey;
use crate::page::Page;
use crate::pipeline;
use crate::purge::marks::Marks;
use crate::strangers::verify::apart;

/// Larger files are coded as they are sent.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What a file lies under in this coding. The keys of pages begin with a scheme.
fn key(file: &OpenFile, coding: Coding) -> Vec<u8> {
    [b"file|", coding.as_str().as_bytes(), b"|", file.path().as_os_str().as_bytes()].concat()
}

/// The file in this coding, if it was coded since it was last written.
pub(super) fn kept(journey: &Journey, file: &OpenFile, coding: Coding) -> Option<Bytes> {
    let text = key(file, coding);
    let key = Key { hash: pipeline::hash(&text), text: &text };
    let page = journey.server.store.find(&key, |_| true)?;
    let stored = page.as_stored()?;
    let is_same = stored.fields().first(Name::Etag) == Some(file.etag.as_bytes());
    is_same.then(|| stored.body.clone())
}

/// Codes a file behind everybody's back, with all effort, as files are asked for again and
/// again; unless another is being coded, or there is no room.
pub(super) fn keep_behind(journey: &Journey, file: &OpenFile, coding: Coding) {
    let server = journey.server.clone();
    let working_bytes = transform::working_bytes(coding, Effort::Best, file.length as usize);
    if file.length > FILE_BYTES_MAX {
        return;
    }
    let Ok(place) = server.press.behind.clone().try_acquire_owned() else { return };
    let Ok(room) = server.store.reserve(working_bytes) else { return };
    let file = file.clone();
    let panics = server.counters.panics.clone();
    task::spawn_counted(&panics, async move {
        let Ok(body) = file.body(0, file.length).collect().await else { return };
        let body = body.to_bytes();
        let coded = apart(move || transform::compress(coding, Effort::Best, &body).ok()).await;
        drop(room);
        if let Some(coded) = coded {
            let text = key(&file, coding);
            let key = Key { hash: pipeline::hash(&text), text: &text };
            server.store.insert(&key, Arc::new(page(&file, &text, coded)));
        }
        drop(place);
    });
}

/// A page that is served to nobody: bytes, and the tag of the file that they were made of.
fn page(file: &OpenFile, key: &[u8], coded: Vec<u8>) -> Page {
    let mut fields = Fields::new();
    fields.put(Name::Etag, &file.etag);
    let (head, body) = (ResponseHead { status: 200, fields }, coded.into_boxed_slice().into());
    Page::stored(head, key, body, Terms::expired(0), None, Marks::default(), Codings::NONE)
}

//! An answer that is not served from the store, in the coding that its visitor wants.

use std::sync::Arc;

use http::Method;
use origin::OpenFile;
use policy::representation::{encode_fields, may_be_coded, vary_by_coding};
use wire::{Codings, Fields, Name, RequestHead, Version};

use super::{pick, stream};
use crate::Server;
use crate::reply::Payload;
use crate::site::Site;

/// The codings that an answer may be sent in to who asked; none: it stays as it is. Says in the
/// fields that others may get it in another.
pub(crate) fn wanted(
    site: &Site,
    request: &RequestHead,
    status: u16,
    fields: &mut Fields,
) -> Codings {
    let offered = site.rules().codings;
    let length = fields.text(Name::ContentLength).map(|text| text.parse().unwrap_or(0));
    if offered.is_empty() || !may_be_coded(status, fields, length) {
        return Codings::NONE;
    }
    vary_by_coding(fields);
    // To HTTP/1.0 the end of what has no length is told by closing.
    match request.version {
        Version::Http10 => Codings::NONE,
        _ => pick::wanted(&request.fields, offered),
    }
}

/// The same file as it lies in one of these codings beside the other; `fields` become its own.
pub(crate) fn file_beside(
    file: &OpenFile,
    wanted: Codings,
    fields: &mut Fields,
) -> Option<OpenFile> {
    let (coding, beside) = wanted.iter().find_map(|coding| Some((coding, file.beside(coding)?)))?;
    encode_fields(fields, coding);
    fields.set(Name::Etag, &beside.etag);
    fields.put(Name::ContentLength, beside.length().to_string());
    Some(beside)
}

/// The answer in one of these codings, if there is room for another stream; its fields say so
/// also where there is no body, as to HEAD.
pub(crate) fn encode(
    server: &Arc<Server>,
    request: &RequestHead,
    wanted: Codings,
    fields: &mut Fields,
    payload: Payload,
) -> Payload {
    let Some(coding) = wanted.cheapest() else { return payload };
    let (body, length) = match payload {
        Payload::Stream { body, length } if request.method != Method::HEAD => (body, length),
        bodyless => {
            encode_fields(fields, coding);
            return bodyless;
        }
    };
    match stream::encoded(server, coding, body) {
        Ok(body) => {
            encode_fields(fields, coding);
            Payload::Stream { body, length: None }
        }
        Err(body) => Payload::Stream { body, length },
    }
}

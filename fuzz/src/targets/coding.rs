//! Content codings: a request's `Accept-Encoding` and entity tags, and a response's tag.

use policy::Wishes;
use policy::representation::{encode_fields, mark_as_asked, restore_tags};
use policy::{Conditional, evaluate};
use wire::{Coding, Codings, Fields, Name};

use crate::sections::{sections, values};

pub(crate) fn run(input: &[u8]) {
    let [accepted, asked, etag] = sections(input);
    negotiate(&values("accept-encoding", accepted));
    tag(&values("if-none-match", asked), &values("etag", etag));
}

fn negotiate(request: &Fields) {
    let best = Wishes::of(request).best(Codings::ALL);
    for coding in Coding::ALL {
        let alone = Wishes::of(request).best(Codings::NONE.with(coding));
        assert!(!best.has(coding) || alone.has(coding), "what is best of all is good alone");
        // Whatever else is said: what is refused is not chosen.
        let mut refusing = request.clone();
        refusing.put(Name::AcceptEncoding, format!("{};q=0", coding.as_str()));
        let rest = Wishes::of(&refusing).best(Codings::ALL);
        assert!(!rest.has(coding));
        let others: Codings = best.iter().filter(|&other| other != coding).collect();
        assert!(others.is_empty() || rest == others, "the others are as good as before");
    }
    assert_eq!(best.is_empty(), Coding::ALL.iter().all(|&coding| !best.has(coding)));
}

fn tag(request: &Fields, response: &Fields) {
    let mut restored = request.clone();
    restore_tags(&mut restored);
    let Some(own) = response.first(Name::Etag).map(<[u8]>::to_vec) else { return };
    let mut only = Fields::new();
    only.put(Name::Etag, &own);
    let mut coded = only.clone();
    encode_fields(&mut coded, Coding::Gzip);
    // Who has the coded response is told that it is still good, and the origin is asked by
    // its own tag.
    let Some(sent) = coded.first(Name::Etag).map(<[u8]>::to_vec) else { return };
    assert!(sent.starts_with(b"W/"), "no strong tag names coded bytes");
    let mut asking = Fields::new();
    asking.put(Name::IfNoneMatch, &sent);
    if sent != own {
        assert_eq!(evaluate(&asking, 200, &only), Conditional::NotModified);
        let mut not_modified = only.clone();
        mark_as_asked(&asking, &mut not_modified);
        assert_eq!(not_modified.first(Name::Etag), Some(&sent[..]));
        restore_tags(&mut asking);
        assert_eq!(asking.first(Name::IfNoneMatch), Some(&own[..]));
    }
}

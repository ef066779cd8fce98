//! Whether an answer says, without meaning to, that there is no such file.
//!
//! In: the head of what a front controller answered for a missing picture, style sheet or
//! the like. Out: whether it is anything but that file. An app that makes such files sends
//! them with their type, or tells where they are; one that makes up its paths and doesn't
//! know this one answers 404. One that looks at no path at all shows its front page, or
//! leads to its log-in, and under the path of a file nobody can use either: browsers ask
//! for it again with each page, and from `/css/` a relative redirect may lead in circles.

use wire::{Name, ResponseHead};

use crate::script::has_static_ending;

/// Whether this head is that of a page, or leads to what is no such file either.
pub(crate) fn is_told_by(head: &ResponseHead) -> bool {
    match head.status {
        200 => is_page(head),
        301 | 302 | 303 | 307 | 308 => {
            head.fields.first(Name::Location).is_some_and(|to| !leads_to_a_file(to))
        }
        _ => false,
    }
}

fn is_page(head: &ResponseHead) -> bool {
    let content_type = head.fields.first(Name::ContentType).unwrap_or_default();
    let essence = content_type.split(|&byte| byte == b';').next().unwrap_or_default();
    let pages: [&[u8]; 2] = [b"text/html", b"application/xhtml+xml"];
    pages.iter().any(|page| page.eq_ignore_ascii_case(essence.trim_ascii()))
}

/// Whether it leads to a file of such a kind: by https, under the site's other name, on
/// another host, or to what stands in for it, as WordPress does for `/favicon.ico`.
fn leads_to_a_file(to: &[u8]) -> bool {
    let path = to.split(|byte| b"?#".contains(byte)).next().unwrap_or_default();
    has_static_ending(path.rsplit(|&byte| byte == b'/').next().unwrap_or_default())
}

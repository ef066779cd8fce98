//! Scripts that send a cookie back: the double submit that only the cookie's own visitor
//! can do.
//!
//! A cookie that scripts may read is no matter as long as none does. The page's own scripts
//! are looked through for its name, those of other sites are taken for what libraries do
//! by default.
//! Bounds: [`SCRIPTS_MAX`] scripts a page; what was found is kept for [`KEPT_MAX`] scripts.

use std::collections::HashMap;

use memchr::memmem;
use parking_lot::Mutex;
use wire::Fields;

use policy::strangers::set_cookies;

use super::brief::Brief;
use super::persona::{Persona, Sample};
use super::refusal::Refusal;
use super::verify::refused_unseen;
use crate::pipeline;

const SCRIPTS_MAX: usize = 12;
const KEPT_MAX: usize = 4096;
/// The cookie that axios and Angular send back by themselves.
const BY_DEFAULT: &[u8] = b"XSRF-TOKEN";

/// Whether a script names a cookie, by a hash of both.
#[derive(Default)]
pub(crate) struct Scripts {
    known: Mutex<HashMap<u64, bool>>,
}

impl Scripts {
    /// Refuses a page whose scripts seem to send back a cookie that they read.
    pub(crate) async fn check(
        &self,
        brief: &Brief,
        persona: &mut Persona,
        answers: &[&Fields],
        page: &Sample,
    ) -> Result<(), Refusal> {
        let names: Vec<Vec<u8>> = answers
            .iter()
            .flat_map(|fields| set_cookies(fields))
            .filter(|cookie| !cookie.http_only)
            .map(|cookie| cookie.name.to_vec())
            .collect();
        for name in names {
            let reads = memmem::find(&page.body, b"document.cookie").is_some();
            let is_used = (reads && memmem::find(&page.body, &name).is_some())
                || (is_for_forms(&name) && self.is_named(brief, persona, page, &name).await);
            if is_used {
                return Err(Refusal::ScriptCookie(String::from_utf8_lossy(&name).into_owned()));
            }
        }
        Ok(())
    }

    /// Whether a script that the page loads names the cookie.
    async fn is_named(
        &self,
        brief: &Brief,
        persona: &mut Persona,
        page: &Sample,
        name: &[u8],
    ) -> bool {
        for source in sources(&page.body).take(SCRIPTS_MAX) {
            let Some(target) = own_target(brief, source) else {
                // Another site's script: it can only know the name that libraries agree on.
                if name.eq_ignore_ascii_case(BY_DEFAULT) {
                    return true;
                }
                continue;
            };
            // A script whose address asks for a deed is no persona's to fetch.
            let is_unseen = |strangers| refused_unseen(strangers, &target).is_some();
            if brief.strangers().is_none_or(is_unseen) {
                return true;
            }
            let key = pipeline::hash(&[target.as_bytes(), b" ", name].concat());
            let known = self.known.lock().get(&key).copied();
            let is_named = match known {
                Some(is_named) => is_named,
                None => match persona.fetch(&brief.to(&target)).await {
                    Ok(script) => memmem::find(&script.body, name).is_some(),
                    Err(_) => true,
                },
            };
            let mut known = self.known.lock();
            if known.len() >= KEPT_MAX {
                known.clear();
            }
            known.insert(key, is_named);
            if is_named {
                return true;
            }
        }
        false
    }
}

/// Whether a cookie's name says that it guards forms.
fn is_for_forms(name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    [&b"xsrf"[..], b"csrf"].iter().any(|word| memmem::find(&lower, word).is_some())
}

/// The addresses of scripts that a page loads, as they are written.
fn sources(page: &[u8]) -> impl Iterator<Item = &str> {
    memmem::find_iter(page, b"<script").filter_map(|at| {
        let tag = &page[at..];
        let tag = &tag[..memchr::memchr(b'>', tag)?];
        let value = &tag[memmem::find(tag, b"src=")? + 4..];
        let value = match value.first()? {
            quote @ (b'"' | b'\'') => &value[1..=memchr::memchr(*quote, &value[1..])?],
            _ => value.split(u8::is_ascii_whitespace).next()?,
        };
        std::str::from_utf8(value).ok().filter(|value| !value.is_empty())
    })
}

/// The target of a script of this site; none for another site's.
fn own_target(brief: &Brief, source: &str) -> Option<String> {
    let source = source.replace("&amp;", "&");
    let own = ["http:", "https:", ""].iter().find_map(|scheme| {
        source.strip_prefix(scheme)?.strip_prefix("//")?.strip_prefix(brief.host.as_str())
    });
    match own {
        Some(path) if path.starts_with('/') => Some(path.to_owned()),
        Some(_) => None,
        None if source.starts_with('/') && !source.starts_with("//") => Some(source),
        None if source.contains("//") => None,
        None => {
            let path = brief.target.split('?').next().unwrap_or("/");
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            Some(format!("{folder}/{source}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_found_however_they_are_written() {
        let page = b"<script src=\"/a.js\"></script><script async src='b.js?x=1'></script>\
            <script src=//cdn/c.js defer></script><script>var x</script><script src=>";
        assert_eq!(sources(page).collect::<Vec<_>>(), ["/a.js", "b.js?x=1", "//cdn/c.js"]);
    }
}

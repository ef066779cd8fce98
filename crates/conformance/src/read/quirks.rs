//! Doctypes: which of them conform, and which make a browser quirky.
//!
//! Law: HTML §13.1.1 and §13.2.6.4.1.

use super::token::Doctype;
use crate::findings::Findings;

/// Public identifiers that begin so make quirks mode.
const QUIRKY_STARTS: &[&str] = &[
    "+//silmaril//dtd html pro v0r11 19970101//",
    "-//as//dtd html 3.0 aswedit + extensions//",
    "-//advasoft ltd//dtd html 3.0 aswedit + extensions//",
    "-//ietf//dtd html",
    "-//metrius//dtd metrius presentational//",
    "-//microsoft//dtd internet explorer",
    "-//netscape comm. corp.//dtd",
    "-//o'reilly and associates//dtd html",
    "-//sq//dtd html 2.0 hotmetal + extensions//",
    "-//softquad",
    "-//spyglass//dtd html 2.0 extended//",
    "-//sun microsystems corp.//dtd hotjava",
    "-//w3c//dtd html 3",
    "-//w3c//dtd html 4.0 frameset//",
    "-//w3c//dtd html 4.0 transitional//",
    "-//w3c//dtd html experimental",
    "-//w3c//dtd w3 html",
    "-//w3o//dtd w3 html",
    "-//webtechs//dtd mozilla html",
];

const QUIRKY: &[&str] =
    &["-//w3o//dtd w3 html strict 3.0//en//", "-/w3c/dtd html 4.0 transitional/en", "html"];

/// Tells what is wrong with a doctype; whether it makes the page quirky.
pub(crate) fn judge(doctype: &Doctype, findings: &mut Findings) -> bool {
    let public = doctype.public.as_deref().unwrap_or("").to_ascii_lowercase();
    let system = doctype.system.as_deref();
    let is_html = doctype.name.as_deref() == Some("html");
    let starts_frames_or_loose = public.starts_with("-//w3c//dtd html 4.01 frameset//")
        || public.starts_with("-//w3c//dtd html 4.01 transitional//");
    let is_quirky = doctype.is_broken
        || !is_html
        || QUIRKY.contains(&public.as_str())
        || QUIRKY_STARTS.iter().any(|start| public.starts_with(start))
        || system.is_some_and(|system| {
            system
                .eq_ignore_ascii_case("http://www.ibm.com/data/dtd/v11/ibmxhtml1-transitional.dtd")
        })
        || (system.is_none() && starts_frames_or_loose);
    let is_almost = starts_frames_or_loose
        || public.starts_with("-//w3c//dtd xhtml 1.0 frameset//")
        || public.starts_with("-//w3c//dtd xhtml 1.0 transitional//");
    let is_plain =
        doctype.public.is_none() && system.is_none_or(|system| system == "about:legacy-compat");
    if is_quirky {
        findings.error(doctype.at, "doctype-quirky", "Quirky doctype. Expected “<!DOCTYPE html>”.");
    } else if is_almost {
        findings.error(
            doctype.at,
            "doctype-almost-standard",
            "Almost standards mode doctype. Expected “<!DOCTYPE html>”.",
        );
    } else if !is_plain {
        findings.error(
            doctype.at,
            "doctype-obsolete",
            "Obsolete doctype. Expected “<!DOCTYPE html>”.",
        );
    }
    is_quirky
}

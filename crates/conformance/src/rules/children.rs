//! Children: those that an element needs, and the order they have to be in.
//!
//! Law: the content models of HTML §4 that are more than a list of names.

use super::Look;
use crate::findings::Findings;
use crate::read::name::Name;
use crate::read::tree::{Kind, Space, is_space};

/// Judges the children of an element.
pub(super) fn judge(look: &Look<'_, '_>, findings: &mut Findings) {
    match look.element.name {
        Name::Dl => groups(look, true, findings),
        Name::Div if look.parent == Name::Dl => groups(look, false, findings),
        Name::Head => needs_one_of(look, &[Name::Title], findings),
        Name::Details => {
            first_only(look, Name::Summary, findings);
            needs_one_of(look, &[Name::Summary], findings);
        }
        Name::Fieldset => first_only(look, Name::Legend, findings),
        Name::Figure => figure(look, findings),
        Name::Picture => picture(look, findings),
        Name::Hgroup => needs_one_of(
            look,
            &[Name::H1, Name::H2, Name::H3, Name::H4, Name::H5, Name::H6],
            findings,
        ),
        Name::Ruby => needs_one_of(look, &[Name::Rt, Name::Rtc], findings),
        Name::Table => sections(look, findings),
        Name::Audio | Name::Video => sources(look, findings),
        Name::Title if !look.tree.has_text(look.id) => {
            findings.error(look.at, "empty-title", "Element “title” must not be empty.");
        }
        _ => {}
    }
}

fn names<'t>(look: &'t Look<'_, '_>) -> impl Iterator<Item = (usize, Name)> + 't {
    look.tree
        .child_elements(look.id)
        .filter(|(_, element)| element.space == Space::Html)
        .filter(|(_, element)| !matches!(element.name, Name::Script | Name::Template))
        .map(|(id, element)| (look.tree.node(id).at as usize, element.name))
}

fn needs_one_of(look: &Look<'_, '_>, wanted: &[Name], findings: &mut Findings) {
    if names(look).any(|(_, name)| wanted.contains(&name)) {
        return;
    }
    let label = &look.element.label;
    let child = match wanted[0] {
        Name::Title => "title",
        Name::Summary => "summary",
        Name::Rt => "rt",
        Name::Img => "img",
        _ => "h1–h6",
    };
    let message =
        format!("Element “{label}” is missing a required instance of child element “{child}”.");
    findings.error(look.at, "child-missing", message);
}

fn misplaced(at: usize, child: &str, look: &Look<'_, '_>, findings: &mut Findings) {
    let message = format!(
        "Element “{child}” not allowed as child of element “{}” in this context.",
        look.element.label
    );
    findings.error(at, "element-not-allowed", message);
}

/// Terms, then their descriptions, again and again; or `div`s that hold them.
fn groups(look: &Look<'_, '_>, may_have_divs: bool, findings: &mut Findings) {
    let (mut has_term, mut has_description, mut has_div) = (false, false, false);
    let mut orphan = None;
    for (at, name) in names(look) {
        match name {
            Name::Dt if has_div => misplaced(at, "dt", look, findings),
            Name::Dt => {
                (has_term, has_description) = (true, false);
            }
            Name::Dd if !has_term => {
                orphan.get_or_insert(at);
            }
            Name::Dd => has_description = true,
            Name::Div if may_have_divs && !has_term => has_div = true,
            Name::Div => misplaced(at, "div", look, findings),
            _ => {}
        }
    }
    if let Some(at) = orphan {
        misplaced(at, "dd", look, findings);
    }
    let is_short = has_term && !has_description;
    if is_short || (!may_have_divs && !has_term && !has_description) {
        let missing = if has_term { "dd" } else { "dt" };
        let message = format!(
            "Element “{}” is missing a required instance of child element “{missing}”.",
            look.element.label
        );
        findings.error(look.at, "child-missing", message);
    }
}

/// A child that has to be the first, and alone of its kind.
fn first_only(look: &Look<'_, '_>, wanted: Name, findings: &mut Findings) {
    let label = if wanted == Name::Legend { "legend" } else { "summary" };
    for (index, (at, name)) in names(look).enumerate() {
        if name == wanted && index > 0 {
            misplaced(at, label, look, findings);
        }
    }
    let first = look.tree.children(look.id).find(|&child| match &look.tree.node(child).kind {
        Kind::Text(text) => !is_space(text),
        _ => true,
    });
    let has_one = names(look).next().is_some_and(|(_, name)| name == wanted);
    if let Some(first) = first
        && has_one
        && matches!(look.tree.node(first).kind, Kind::Text(_))
    {
        misplaced(look.tree.node(first).at as usize, label, look, findings);
    }
}

fn figure(look: &Look<'_, '_>, findings: &mut Findings) {
    let children: Vec<_> = names(look).collect();
    let mut captions = 0;
    for (index, (at, name)) in children.iter().enumerate() {
        if *name != Name::Figcaption {
            continue;
        }
        captions += 1;
        if captions > 1 || (index > 0 && index + 1 < children.len()) {
            misplaced(*at, "figcaption", look, findings);
        }
    }
}

fn picture(look: &Look<'_, '_>, findings: &mut Findings) {
    let mut has_image = false;
    for (at, name) in names(look) {
        match name {
            Name::Img if has_image => misplaced(at, "img", look, findings),
            Name::Img => has_image = true,
            Name::Source if has_image => misplaced(at, "source", look, findings),
            _ => {}
        }
    }
    needs_one_of(look, &[Name::Img], findings);
}

/// Captions, columns, head, bodies, foot.
fn sections(look: &Look<'_, '_>, findings: &mut Findings) {
    let mut reached = 0;
    for (at, name) in names(look) {
        let (rank, label, is_single) = match name {
            Name::Caption => (1, "caption", true),
            Name::Colgroup => (2, "colgroup", false),
            Name::Thead => (3, "thead", true),
            Name::Tbody | Name::Tr => (4, "tbody", false),
            Name::Tfoot => (5, "tfoot", true),
            _ => continue,
        };
        if rank < reached || (rank == reached && is_single) {
            misplaced(at, label, look, findings);
        }
        reached = reached.max(rank);
    }
}

/// Sources, then tracks, then what is shown instead.
fn sources(look: &Look<'_, '_>, findings: &mut Findings) {
    let mut reached = 0;
    let has_src = look.element.has("src");
    for (at, name) in names(look) {
        let (rank, label) = match name {
            Name::Source => (1, "source"),
            Name::Track => (2, "track"),
            _ => (3, ""),
        };
        if rank < reached || (rank == 1 && has_src) {
            misplaced(at, label, look, findings);
        }
        reached = reached.max(rank);
    }
}

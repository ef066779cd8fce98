//! References: ids that are unique, and what names them.
//!
//! Law: HTML §3.2.6.1 (`id`), and the attributes that hold ids.

use std::collections::HashMap;

use super::Look;
use super::attributes::shown;
use crate::findings::Findings;
use crate::read::name::Name;
use crate::read::tree::{NodeId, Tree};

/// What a reference has to find.
#[derive(Clone, Copy)]
enum Wanted {
    /// An element with this id; scripts often make it later, so it is only warned of.
    Aria,
    /// An element with this id.
    Any,
    /// A form control that isn't hidden.
    Control,
    /// An element of this name.
    Named(Name),
    /// A `th` in the same table, roughly: in the page.
    Header,
}

struct Reference<'t> {
    at: usize,
    attribute: &'static str,
    element: &'t str,
    value: &'t str,
    wanted: Wanted,
}

/// All ids and references of a page.
#[derive(Default)]
pub(super) struct References<'t> {
    ids: HashMap<&'t str, NodeId>,
    maps: HashMap<String, usize>,
    references: Vec<Reference<'t>>,
    maps_used: Vec<(usize, &'t str)>,
}

/// Attributes with one id, or several, and on which element.
const ONE: &[(&str, Name, Wanted)] = &[
    ("for", Name::Label, Wanted::Control),
    ("list", Name::Input, Wanted::Named(Name::Datalist)),
    ("commandfor", Name::Button, Wanted::Any),
    ("popovertarget", Name::Button, Wanted::Any),
    ("headers", Name::Td, Wanted::Header),
    ("headers", Name::Th, Wanted::Header),
];
const ARIA: &[&str] = &[
    "aria-activedescendant",
    "aria-controls",
    "aria-describedby",
    "aria-details",
    "aria-errormessage",
    "aria-flowto",
    "aria-labelledby",
    "aria-owns",
];

impl<'t> References<'t> {
    /// Takes an element's id and what it refers to.
    pub(super) fn note<'a>(&mut self, look: &Look<'t, 'a>, findings: &mut Findings) {
        if look.element.attributes.is_empty() {
            return;
        }
        if let Some(attribute) = look.element.attribute("id")
            && !attribute.value.is_empty()
            && self.ids.insert(&attribute.value, look.id).is_some()
        {
            let message = format!("Duplicate ID “{}”.", shown(&attribute.value));
            findings.error(attribute.at as usize, "duplicate-id", message);
        }
        let name = look.element.name;
        for (attribute, element, wanted) in ONE {
            if *element == name {
                self.refer(look, attribute, *wanted);
            }
        }
        for attribute in ARIA {
            self.refer(look, attribute, Wanted::Aria);
        }
        if look.element.has("form") && !matches!(name, Name::Form | Name::Label) {
            self.refer(look, "form", Wanted::Named(Name::Form));
        }
        if name == Name::Map
            && let Some(value) = look.element.value("name")
            && self.maps.insert(value.to_lowercase(), look.at).is_some()
        {
            findings.error(
                look.at,
                "duplicate-map",
                format!("Duplicate map name “{}”.", shown(value)),
            );
        }
        if name == Name::Img
            && let Some(attribute) = look.element.attribute("usemap")
            && let Some(map) = attribute.value.strip_prefix('#')
        {
            self.maps_used.push((attribute.at as usize, map));
        }
    }

    fn refer(&mut self, look: &Look<'t, '_>, attribute: &'static str, wanted: Wanted) {
        let Some(found) = look.element.attribute(attribute) else { return };
        for value in found.value.split_ascii_whitespace() {
            self.references.push(Reference {
                at: found.at as usize,
                attribute,
                element: &look.element.label,
                value,
                wanted,
            });
        }
    }

    /// Tells references that find nothing.
    pub(super) fn judge(self, tree: &Tree<'_>, findings: &mut Findings) {
        for reference in &self.references {
            let found = self.ids.get(reference.value).and_then(|id| tree.element(*id));
            let is_good = found.is_some_and(|element| match reference.wanted {
                Wanted::Any | Wanted::Aria => true,
                Wanted::Named(name) => element.is(name),
                Wanted::Header => element.is(Name::Th),
                Wanted::Control => is_control(element),
            });
            if is_good {
                continue;
            }
            let what = match reference.wanted {
                Wanted::Any | Wanted::Aria => "must point to an element in the same document",
                Wanted::Control => "must be the ID of a non-hidden form control",
                Wanted::Named(Name::Datalist) => "must refer to a “datalist” element",
                Wanted::Named(_) => "must refer to a “form” element",
                Wanted::Header => "must refer to a “th” element of the same table",
            };
            let message = format!(
                "The value “{}” of the attribute “{}” of “{}” {what}.",
                shown(reference.value),
                reference.attribute,
                reference.element
            );
            match reference.wanted {
                Wanted::Aria => findings.warning(reference.at, "broken-aria-reference", message),
                _ => findings.error(reference.at, "broken-reference", message),
            }
        }
        for (at, map) in &self.maps_used {
            if !self.maps.contains_key(&map.to_lowercase()) {
                let message = format!(
                    "The hash-name reference in attribute “usemap” refers to “{}”, but there is no “map” element with that name.",
                    shown(map)
                );
                findings.error(*at, "broken-reference", message);
            }
        }
    }
}

/// What a label may be for (§4.10.2).
fn is_control(element: &crate::read::tree::Element<'_>) -> bool {
    match element.name {
        Name::Input => !element.is_word("type", "hidden"),
        Name::Button
        | Name::Meter
        | Name::Output
        | Name::Progress
        | Name::Select
        | Name::Textarea => true,
        _ => element.label.contains('-'),
    }
}

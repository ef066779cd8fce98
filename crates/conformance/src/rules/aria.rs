//! ARIA: roles that exist and fit their element, and the attributes that fit the role.
//!
//! Law: ARIA in HTML, and WAI-ARIA 1.2 for roles and their states and properties.

use super::Look;
use super::aria_tables::{self as tables, Role, Takes};
use super::attributes::bad_value;
use crate::findings::Findings;
use crate::read::name::Name;
use crate::read::token::Attribute;
use crate::read::tree::Element;

/// Judges an element's `role` and `aria-*`.
pub(super) fn judge(look: &Look<'_, '_>, findings: &mut Findings) {
    let attributes = &look.element.attributes;
    if !attributes
        .iter()
        .any(|attribute| attribute.name == "role" || attribute.name.starts_with("aria-"))
    {
        return;
    }
    let implicit = implicit_role(look);
    let written = look
        .element
        .attribute("role")
        .and_then(|attribute| role(look, attribute, implicit, findings));
    let acting = written.or_else(|| tables::role_of(implicit));
    for attribute in attributes.iter().filter(|attribute| attribute.name.starts_with("aria-")) {
        property(look, attribute, acting, findings);
    }
    if let Some(written) = written {
        required(look, written, implicit, findings);
        context(look, written, findings);
    }
    if matches!(look.element.name, Name::Noscript | Name::Map) && look.element.has("aria-hidden") {
        let message = format!(
            "The “aria-hidden” attribute must not be specified on the “{}” element.",
            look.element.label
        );
        findings.error(look.at, "attribute-not-allowed", message);
    }
    if look.element.name == Name::Body && look.element.is_word("aria-hidden", "true") {
        findings.error(
            look.at,
            "aria-hidden-body",
            "“aria-hidden=true” must not be used on the “body” element.",
        );
    }
}

/// The role of the `role` attribute, if it is one.
fn role(
    look: &Look<'_, '_>,
    attribute: &Attribute<'_>,
    implicit: &str,
    findings: &mut Findings,
) -> Option<&'static Role> {
    let lower = attribute.value.trim().to_ascii_lowercase();
    let mut found = None;
    for word in lower.split_ascii_whitespace() {
        match tables::role_of(word) {
            None => {
                bad_value(look, attribute, &format!("“{word}” is not a role."), findings);
                return None;
            }
            Some(role) if role.is_abstract => {
                bad_value(
                    look,
                    attribute,
                    &format!("“{word}” is an abstract role, which pages must not use."),
                    findings,
                );
                return None;
            }
            Some(role) => found = found.or(Some(role)),
        }
    }
    let role = found?;
    if role.name == implicit {
        let message = format!(
            "The “{}” role is unnecessary for element “{}”.",
            role.name, look.element.label
        );
        findings.warning(attribute.at as usize, "role-redundant", message);
    } else if !is_allowed(look, role.name) {
        bad_value(
            look,
            attribute,
            &format!("The role is not allowed on “{}” here.", look.element.label),
            findings,
        );
    }
    Some(role)
}

fn is_allowed(look: &Look<'_, '_>, role: &str) -> bool {
    let element = look.element;
    let roles = match element.name {
        Name::A if !element.has("href") => return true,
        Name::Img if element.value("alt") == Some("") => &["presentation", "none"][..],
        Name::Input => {
            match element.value("type").unwrap_or("text").to_ascii_lowercase().as_str() {
                "button" => tables::BUTTON_ROLES,
                "checkbox" => &["menuitemcheckbox", "option", "switch", "button"],
                "image" => &[
                    "link",
                    "menuitem",
                    "menuitemcheckbox",
                    "menuitemradio",
                    "radio",
                    "switch",
                    "button",
                    "checkbox",
                    "gridcell",
                    "option",
                    "separator",
                    "slider",
                    "tab",
                    "treeitem",
                ],
                "radio" => &["menuitemradio"],
                "reset" | "submit" => tables::BUTTON_ROLES,
                "text" if element.has("list") => &[],
                "text" => &["combobox", "searchbox", "spinbutton", "textbox"],
                "search" | "tel" | "url" | "email" => &["combobox", "searchbox", "textbox"],
                _ => &[],
            }
        }
        Name::Select if element.has("multiple") => &[],
        Name::Select => &["menu"],
        Name::Summary if look.parent == Name::Details => &[],
        Name::Img if matches!(role, "none" | "presentation") && element.has("alt") => &[],
        Name::Li => return is_list_item(look, role),
        Name::Figure => {
            let has_caption =
                look.tree.child_elements(look.id).any(|(_, child)| child.is(Name::Figcaption));
            return !has_caption || role == "doc-example";
        }
        Name::Tr | Name::Td | Name::Th => return is_part_of_table(look, role),
        name => match tables::allowed(name) {
            Some(roles) => roles,
            None => return true,
        },
    };
    roles.contains(&role)
}

/// In a list without a role of its own, items are items.
fn is_list_item(look: &Look<'_, '_>, role: &str) -> bool {
    let list = look.tree.ancestors(look.id).next();
    role == "listitem" || list.is_none_or(|(_, element)| element.has("role"))
}

/// In a table that is one, rows and cells are what they are.
fn is_part_of_table(look: &Look<'_, '_>, role: &str) -> bool {
    let table = look.tree.ancestors(look.id).find(|(_, element)| element.is(Name::Table));
    let is_table = table.is_none_or(|(_, element)| {
        element.value("role").is_none_or(|role| matches!(role, "table" | "grid" | "treegrid"))
    });
    !is_table || matches!(role, "row" | "cell" | "gridcell" | "columnheader" | "rowheader")
}

/// Roles that stand only within others: a tab within a list of tabs.
fn context(look: &Look<'_, '_>, role: &Role, findings: &mut Findings) {
    let Some(owners) = tables::owners(role.name) else { return };
    // An element with an id may be owned by `aria-owns`, wherever it stands.
    if look.element.has("id") {
        return;
    }
    let is_within = look.tree.ancestors(look.id).any(|(_, element)| {
        let role = element.value("role").unwrap_or_else(|| tables::implicit(element.name));
        owners.contains(&role)
    });
    if !is_within {
        let message = format!(
            "An element with “role={}” must be contained in, or owned by, an element with the “role” value {}.",
            role.name,
            owners.join(" or ")
        );
        findings.error(look.at, "role-out-of-context", message);
    }
}

/// The role that an element has of itself, as far as the rules need it.
fn implicit_role(look: &Look<'_, '_>) -> &'static str {
    let element = look.element;
    match element.name {
        Name::A | Name::Area if element.has("href") => "link",
        Name::A | Name::Area => "generic",
        Name::Img if element.value("alt") == Some("") => "presentation",
        Name::Input => match element.value("type").unwrap_or("").to_ascii_lowercase().as_str() {
            "button" | "image" | "reset" | "submit" => "button",
            "checkbox" => "checkbox",
            "radio" => "radio",
            "range" => "slider",
            "number" => "spinbutton",
            "search" if !element.has("list") => "searchbox",
            "" | "text" | "tel" | "url" | "email" | "search" if element.has("list") => "combobox",
            "" | "text" | "tel" | "url" | "email" => "textbox",
            _ => "",
        },
        Name::Select => {
            let is_list = element.has("multiple")
                || element
                    .value("size")
                    .and_then(|size| size.trim().parse::<u32>().ok())
                    .is_some_and(|size| size > 1);
            if is_list { "listbox" } else { "combobox" }
        }
        Name::Header | Name::Footer => scoped_role(look),
        name => tables::implicit(name),
    }
}

/// `header` and `footer` are landmarks only of the page itself.
fn scoped_role(look: &Look<'_, '_>) -> &'static str {
    let is_of_section = look.tree.ancestors(look.id).any(|(_, element)| {
        matches!(element.name, Name::Article | Name::Aside | Name::Main | Name::Nav | Name::Section)
    });
    match look.element.name {
        _ if is_of_section => "generic",
        Name::Header => "banner",
        _ => "contentinfo",
    }
}

fn property(
    look: &Look<'_, '_>,
    attribute: &Attribute<'_>,
    acting: Option<&'static Role>,
    findings: &mut Findings,
) {
    let name = &*attribute.name;
    let Some(takes) = tables::property(name) else {
        let message = format!(
            "Attribute “{name}” not allowed on element “{}” at this point.",
            look.element.label
        );
        findings.error(attribute.at as usize, "attribute-not-allowed", message);
        return;
    };
    if let Err(what) = value(takes, &attribute.value) {
        bad_value(look, attribute, &what, findings);
    }
    let is_global = tables::GLOBAL.contains(&name);
    let role_name = acting.map_or("", |role| role.name);
    if tables::NAMING.contains(&name)
        && tables::NAMELESS.contains(&role_name)
        && !look.element.label.contains('-')
    {
        let message = format!(
            "The “{name}” attribute must not be specified on any “{}” element unless the element has a “role” value other than “caption”, “code”, “deletion”, “emphasis”, “generic”, “insertion”, “paragraph”, “presentation”, “strong”, “subscript”, or “superscript”.",
            look.element.label
        );
        findings.error(attribute.at as usize, "name-not-allowed", message);
        return;
    }
    let fits = is_global
        || acting
            .is_some_and(|role| role.properties.contains(&name) || role.required.contains(&name));
    if !fits && !look.element.label.contains('-') {
        let message = format!(
            "Attribute “{name}” not allowed on element “{}” at this point.",
            look.element.label
        );
        findings.error(attribute.at as usize, "attribute-not-allowed", message);
    }
}

fn value(takes: Takes, value: &str) -> Result<(), String> {
    let lower = value.trim().to_ascii_lowercase();
    let is_good = match takes {
        Takes::Text => true,
        Takes::Words(words) => words.contains(&lower.as_str()),
        Takes::Tokens(words) => lower.split_ascii_whitespace().all(|word| words.contains(&word)),
        Takes::Integer => lower.parse::<i64>().is_ok(),
        Takes::Number => lower.parse::<f64>().is_ok_and(f64::is_finite),
        Takes::Ids => !lower.is_empty(),
        Takes::Id => !lower.is_empty() && !lower.contains(|c: char| c.is_ascii_whitespace()),
    };
    if is_good {
        return Ok(());
    }
    Err(match takes {
        Takes::Words(words) | Takes::Tokens(words) => {
            format!("Expected one of {}.", words.join(", "))
        }
        Takes::Integer => "Expected an integer.".to_owned(),
        Takes::Number => "Expected a number.".to_owned(),
        _ => "Expected the ID of an element.".to_owned(),
    })
}

fn required(look: &Look<'_, '_>, role: &Role, implicit: &str, findings: &mut Findings) {
    if role.name == implicit {
        return;
    }
    for &name in role.required {
        if !look.element.has(name) && !has_of_itself(look.element, name) {
            let message =
                format!("Element “{}” is missing required attribute “{name}”.", look.element.label);
            findings.error(look.at, "aria-required", message);
        }
    }
}

/// Whether the element says by its own means what an attribute would.
fn has_of_itself(element: &Element<'_>, name: &str) -> bool {
    match name {
        "aria-checked" => element.name == Name::Input,
        "aria-level" => element.name.is_heading(),
        "aria-valuenow" => {
            matches!(element.name, Name::Input | Name::Progress | Name::Meter | Name::Hr)
        }
        "aria-expanded" => matches!(element.name, Name::Select | Name::Input),
        _ => false,
    }
}

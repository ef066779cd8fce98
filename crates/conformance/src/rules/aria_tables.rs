//! ARIA's tables: roles, properties, and which roles elements have and may be given.
//!
//! Law: WAI-ARIA 1.2 §5.4 and §6.6, with those of 1.3 that ARIA in HTML names; DPUB-ARIA's
//! roles begin with `doc-`, Graphics-ARIA's with `graphics-`.

use crate::read::name::Name;

/// A role.
#[derive(Debug)]
pub(super) struct Role {
    pub(super) name: &'static str,
    pub(super) is_abstract: bool,
    /// Properties beside the global ones.
    pub(super) properties: &'static [&'static str],
    pub(super) required: &'static [&'static str],
}

/// What a property takes.
#[derive(Clone, Copy)]
pub(super) enum Takes {
    Text,
    Words(&'static [&'static str]),
    Tokens(&'static [&'static str]),
    Integer,
    Number,
    Id,
    Ids,
}

const fn role(
    name: &'static str,
    properties: &'static [&'static str],
    required: &'static [&'static str],
) -> Role {
    Role { name, is_abstract: false, properties, required }
}

const fn plain(name: &'static str) -> Role {
    role(name, &[], &[])
}

const fn abstract_role(name: &'static str) -> Role {
    Role { name, is_abstract: true, properties: &[], required: &[] }
}

/// Properties that every role takes.
#[rustfmt::skip]
pub(super) const GLOBAL: &[&str] = &[
    "aria-atomic", "aria-braillelabel", "aria-brailleroledescription", "aria-busy", "aria-controls",
    "aria-current", "aria-describedby", "aria-description", "aria-details", "aria-disabled",
    "aria-dropeffect", "aria-errormessage", "aria-flowto", "aria-grabbed", "aria-haspopup",
    "aria-hidden", "aria-invalid", "aria-keyshortcuts", "aria-label", "aria-labelledby", "aria-live",
    "aria-owns", "aria-relevant", "aria-roledescription",
];

/// Properties that give a name.
pub(super) const NAMING: &[&str] = &["aria-label", "aria-labelledby", "aria-braillelabel"];

/// Roles that have none.
#[rustfmt::skip]
pub(super) const NAMELESS: &[&str] = &[
    "caption", "code", "deletion", "emphasis", "generic", "insertion", "none", "paragraph",
    "presentation", "strong", "subscript", "superscript",
];

/// Roles that a button may be given.
#[rustfmt::skip]
pub(super) const BUTTON_ROLES: &[&str] = &[
    "button", "checkbox", "combobox", "gridcell", "link", "menuitem", "menuitemcheckbox",
    "menuitemradio", "option", "radio", "separator", "slider", "switch", "tab", "treeitem",
];

/// Roles that a `section` may be given.
#[rustfmt::skip]
const SECTION: &[&str] = &[
    "alert", "alertdialog", "application", "banner", "complementary", "contentinfo", "dialog",
    "document", "feed", "group", "log", "main", "marquee", "navigation", "none", "note",
    "presentation", "region", "search", "status", "tabpanel", "doc-abstract",
    "doc-acknowledgments", "doc-afterword", "doc-appendix", "doc-bibliography", "doc-chapter",
    "doc-colophon", "doc-conclusion", "doc-credit", "doc-credits", "doc-dedication",
    "doc-endnotes", "doc-epigraph", "doc-epilogue", "doc-errata", "doc-example", "doc-foreword",
    "doc-glossary", "doc-index", "doc-introduction", "doc-notice", "doc-pagelist", "doc-part",
    "doc-preface", "doc-prologue", "doc-pullquote", "doc-qna", "doc-toc",
];

/// The roles within which a role has to stand; nothing where it may stand anywhere.
#[rustfmt::skip]
pub(super) fn owners(role: &str) -> Option<&'static [&'static str]> {
    Some(match role {
        "menuitem" | "menuitemcheckbox" | "menuitemradio" => &["menu", "menubar"],
        "tab" => &["tablist"],
        "listitem" => &["list", "group"],
        "option" => &["listbox", "group"],
        "treeitem" => &["tree", "group"],
        "row" => &["table", "grid", "treegrid", "rowgroup"],
        "rowgroup" => &["table", "grid", "treegrid"],
        "cell" | "gridcell" | "columnheader" | "rowheader" => &["row"],
        _ => return None,
    })
}

const EXPANDED: &[&str] = &["aria-expanded"];
const SET: &[&str] = &["aria-posinset", "aria-setsize", "aria-level", "aria-expanded"];
const RANGE: &[&str] = &[
    "aria-valuemax",
    "aria-valuemin",
    "aria-valuenow",
    "aria-valuetext",
    "aria-orientation",
    "aria-readonly",
];
const FIELD: &[&str] = &[
    "aria-activedescendant",
    "aria-autocomplete",
    "aria-multiline",
    "aria-placeholder",
    "aria-readonly",
    "aria-required",
    "aria-expanded",
    "aria-level",
    "aria-setsize",
    "aria-posinset",
];
const CELL: &[&str] = &[
    "aria-colindex",
    "aria-colindextext",
    "aria-colspan",
    "aria-rowindex",
    "aria-rowindextext",
    "aria-rowspan",
    "aria-expanded",
    "aria-readonly",
    "aria-required",
    "aria-selected",
    "aria-sort",
];
const LIST: &[&str] = &[
    "aria-activedescendant",
    "aria-orientation",
    "aria-multiselectable",
    "aria-readonly",
    "aria-required",
    "aria-expanded",
    "aria-level",
];
const GRID: &[&str] = &[
    "aria-activedescendant",
    "aria-colcount",
    "aria-rowcount",
    "aria-multiselectable",
    "aria-readonly",
    "aria-level",
    "aria-orientation",
    "aria-required",
    "aria-expanded",
];
const ITEM: &[&str] = &[
    "aria-checked",
    "aria-expanded",
    "aria-level",
    "aria-posinset",
    "aria-setsize",
    "aria-selected",
    "aria-colindex",
    "aria-rowindex",
    "aria-readonly",
    "aria-required",
    "aria-activedescendant",
    "aria-colindextext",
    "aria-rowindextext",
];

const ROW: &[&str] = &[
    "aria-activedescendant",
    "aria-colindex",
    "aria-expanded",
    "aria-level",
    "aria-posinset",
    "aria-rowindex",
    "aria-rowindextext",
    "aria-selected",
    "aria-setsize",
];

/// All roles, in order.
#[rustfmt::skip]
const ROLES: &[Role] = &[
    plain("alert"), role("alertdialog", &["aria-modal"], &[]),
    role("application", &["aria-activedescendant", "aria-expanded"], &[]),
    role("article", SET, &[]), plain("banner"), plain("blockquote"),
    role("button", &["aria-expanded", "aria-pressed"], &[]), plain("caption"), role("cell", CELL, &[]),
    role("checkbox", &["aria-expanded", "aria-readonly", "aria-required"], &["aria-checked"]), plain("code"),
    role("columnheader", CELL, &[]),
    role("combobox", FIELD, &["aria-expanded"]), abstract_role("command"),
    plain("comment"), plain("complementary"), abstract_role("composite"), plain("contentinfo"),
    plain("definition"), plain("deletion"), role("dialog", &["aria-modal"], &[]), plain("directory"),
    role("doc-abstract", EXPANDED, &[]), role("doc-acknowledgments", EXPANDED, &[]), role("doc-afterword", EXPANDED, &[]),
    role("doc-appendix", EXPANDED, &[]), role("doc-backlink", EXPANDED, &[]), role("doc-biblioentry", SET, &[]),
    role("doc-bibliography", EXPANDED, &[]), role("doc-biblioref", EXPANDED, &[]), role("doc-chapter", EXPANDED, &[]),
    role("doc-colophon", EXPANDED, &[]), role("doc-conclusion", EXPANDED, &[]), role("doc-cover", EXPANDED, &[]),
    role("doc-credit", EXPANDED, &[]), role("doc-credits", EXPANDED, &[]), role("doc-dedication", EXPANDED, &[]),
    role("doc-endnote", SET, &[]), role("doc-endnotes", EXPANDED, &[]), role("doc-epigraph", EXPANDED, &[]),
    role("doc-epilogue", EXPANDED, &[]), role("doc-errata", EXPANDED, &[]), role("doc-example", EXPANDED, &[]),
    role("doc-footnote", EXPANDED, &[]), role("doc-foreword", EXPANDED, &[]), role("doc-glossary", EXPANDED, &[]),
    role("doc-glossref", EXPANDED, &[]), role("doc-index", EXPANDED, &[]), role("doc-introduction", EXPANDED, &[]),
    role("doc-noteref", EXPANDED, &[]), role("doc-notice", EXPANDED, &[]), role("doc-pagebreak", RANGE, &[]),
    plain("doc-pagefooter"), plain("doc-pageheader"),
    role("doc-pagelist", EXPANDED, &[]), role("doc-part", EXPANDED, &[]), role("doc-preface", EXPANDED, &[]),
    role("doc-prologue", EXPANDED, &[]), role("doc-pullquote", EXPANDED, &[]), role("doc-qna", EXPANDED, &[]),
    role("doc-subtitle", EXPANDED, &[]), role("doc-tip", EXPANDED, &[]), role("doc-toc", EXPANDED, &[]),
    role("document", EXPANDED, &[]), plain("emphasis"), role("feed", &[], &[]), plain("figure"), plain("form"),
    plain("generic"), plain("graphics-document"), plain("graphics-object"), plain("graphics-symbol"),
    role("grid", GRID, &[]), role("gridcell", CELL, &[]),
    role("group", &["aria-activedescendant", "aria-expanded"], &[]),
    role("heading", &["aria-expanded"], &["aria-level"]), plain("image"), plain("img"), abstract_role("input"),
    plain("insertion"), abstract_role("landmark"), role("link", EXPANDED, &[]), role("list", &[], &[]),
    role("listbox", LIST, &[]), role("listitem", &["aria-level", "aria-posinset", "aria-setsize"], &[]),
    plain("log"), plain("main"), plain("mark"), plain("marquee"), plain("math"), role("menu", LIST, &[]),
    role("menubar", LIST, &[]), role("menuitem", SET, &[]), role("menuitemcheckbox", ITEM, &["aria-checked"]),
    role("menuitemradio", ITEM, &["aria-checked"]), role("meter", RANGE, &["aria-valuenow"]), plain("navigation"),
    plain("none"), plain("note"), role("option", ITEM, &[]), plain("paragraph"), plain("presentation"),
    role("progressbar", RANGE, &[]), role("radio", ITEM, &["aria-checked"]), role("radiogroup", LIST, &[]),
    abstract_role("range"), plain("region"), abstract_role("roletype"), role("row", ROW, &[]), role("rowgroup", &[], &[]),
    role("rowheader", CELL, &[]),
    role("scrollbar", RANGE, &["aria-controls", "aria-valuenow"]), plain("search"), role("searchbox", FIELD, &[]),
    abstract_role("section"), abstract_role("sectionhead"), plain("sectionfooter"), plain("sectionheader"), abstract_role("select"),
    role("separator", RANGE, &[]), role("slider", RANGE, &["aria-valuenow"]), role("spinbutton", RANGE, &[]), plain("status"),
    plain("strong"), abstract_role("structure"), plain("subscript"), plain("suggestion"), plain("superscript"),
    role("switch", &["aria-expanded", "aria-readonly", "aria-required"], &["aria-checked"]),
    role("tab", &["aria-expanded", "aria-posinset", "aria-selected", "aria-setsize"], &[]),
    role("table", &["aria-colcount", "aria-rowcount"], &[]), role("tablist", LIST, &[]), plain("tabpanel"), plain("term"),
    role("textbox", FIELD, &[]), plain("time"), plain("timer"), role("toolbar", LIST, &[]), plain("tooltip"),
    role("tree", LIST, &[]), role("treegrid", GRID, &[]), role("treeitem", ITEM, &[]), abstract_role("widget"),
    abstract_role("window"),
];

/// A role by its name.
pub(super) fn role_of(name: &str) -> Option<&'static Role> {
    ROLES.iter().find(|role| role.name == name)
}

const BOOLEAN: Takes = Takes::Words(&["true", "false"]);
const MAYBE: Takes = Takes::Words(&["true", "false", "undefined", ""]);
const TRISTATE: Takes = Takes::Words(&["true", "false", "mixed", "undefined"]);

/// What a property takes; nothing if there is none of this name.
#[rustfmt::skip]
pub(super) fn property(name: &str) -> Option<Takes> {
    Some(match name {
        "aria-activedescendant" | "aria-errormessage" => Takes::Id,
        "aria-controls" | "aria-describedby" | "aria-details" | "aria-flowto" | "aria-labelledby" | "aria-owns" => Takes::Ids,
        "aria-atomic" | "aria-busy" | "aria-disabled" | "aria-modal" | "aria-multiline"
            | "aria-multiselectable" | "aria-readonly" | "aria-required" => BOOLEAN,
        "aria-expanded" | "aria-grabbed" | "aria-hidden" | "aria-selected" => MAYBE,
        "aria-checked" | "aria-pressed" => TRISTATE,
        "aria-autocomplete" => Takes::Words(&["inline", "list", "both", "none"]),
        "aria-current" => Takes::Words(&["page", "step", "location", "date", "time", "true", "false", ""]),
        "aria-dropeffect" => Takes::Tokens(&["copy", "execute", "link", "move", "none", "popup"]),
        "aria-haspopup" => Takes::Words(&["true", "false", "menu", "listbox", "tree", "grid", "dialog", ""]),
        "aria-invalid" => Takes::Words(&["grammar", "false", "spelling", "true", ""]),
        "aria-live" => Takes::Words(&["off", "polite", "assertive"]),
        "aria-orientation" => Takes::Words(&["horizontal", "vertical", "undefined"]),
        "aria-relevant" => Takes::Tokens(&["additions", "all", "removals", "text"]),
        "aria-sort" => Takes::Words(&["ascending", "descending", "none", "other"]),
        "aria-colcount" | "aria-colindex" | "aria-colspan" | "aria-level" | "aria-posinset"
            | "aria-rowcount" | "aria-rowindex" | "aria-rowspan" | "aria-setsize" => Takes::Integer,
        "aria-valuemax" | "aria-valuemin" | "aria-valuenow" => Takes::Number,
        "aria-braillelabel" | "aria-brailleroledescription" | "aria-colindextext" | "aria-description"
            | "aria-keyshortcuts" | "aria-label" | "aria-placeholder" | "aria-roledescription"
            | "aria-rowindextext" | "aria-valuetext" => Takes::Text,
        _ => return None,
    })
}

/// The role that an element has of itself; nothing where none is known or it depends.
#[rustfmt::skip]
pub(super) fn implicit(name: Name) -> &'static str {
    match name {
        Name::Article => "article", Name::Aside => "complementary", Name::Blockquote => "blockquote",
        Name::Button => "button", Name::Summary => "",
        Name::B | Name::Bdi | Name::Bdo | Name::Body | Name::Data | Name::Div | Name::I | Name::Pre
            | Name::Q | Name::Samp | Name::Small | Name::Span | Name::U => "generic",
        Name::Caption => "caption", Name::Code => "code", Name::Datalist => "listbox",
        Name::Dd => "definition", Name::Dt | Name::Dfn => "term", Name::Del | Name::S => "deletion", Name::Ins => "insertion",
        Name::Details | Name::Fieldset | Name::Optgroup | Name::Hgroup | Name::Address => "group", Name::Dialog => "dialog",
        Name::Em => "emphasis", Name::Figure => "figure", Name::Figcaption | Name::Cite | Name::Rp => "caption", Name::Form => "form",
        Name::H1 | Name::H2 | Name::H3 | Name::H4 | Name::H5 | Name::H6 => "heading",
        Name::Hr => "separator", Name::Html => "document", Name::Img => "img", Name::Li => "listitem",
        Name::Main => "main", Name::Math => "math", Name::Menu | Name::Ol | Name::Ul => "list",
        Name::Meter => "meter", Name::Nav => "navigation", Name::Option => "option", Name::Output => "status",
        Name::P => "paragraph", Name::Progress => "progressbar", Name::Search => "search",
        Name::Section => "region", Name::Strong => "strong", Name::Sub => "subscript", Name::Sup => "superscript",
        Name::Table => "table", Name::Tbody | Name::Tfoot | Name::Thead => "rowgroup", Name::Td => "cell",
        Name::Textarea => "textbox", Name::Th => "columnheader", Name::Time => "time", Name::Tr => "row",
        _ => "",
    }
}

/// Roles that an element may be given; nothing where any may.
#[rustfmt::skip]
pub(super) fn allowed(name: Name) -> Option<&'static [&'static str]> {
    Some(match name {
        Name::Article => &["application", "document", "feed", "main", "none", "presentation", "region"],
        Name::Aside => &["doc-dedication", "doc-example", "doc-footnote", "doc-glossary", "doc-pullquote", "doc-tip", "feed", "none", "note", "presentation", "region", "search"],
        Name::A => &["button", "checkbox", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "radio", "switch", "tab", "treeitem", "doc-backlink", "doc-biblioref", "doc-glossref", "doc-noteref"],
        Name::Area => &["button", "link"],
        Name::Audio | Name::Video => &["application"],
        Name::Body => &["application", "document", "presentation", "none", "generic"],
        Name::Br | Name::Wbr => &["none", "presentation"],
        Name::Button => BUTTON_ROLES,
        Name::Details => &["group"],
        Name::Dialog => &["alertdialog"],
        Name::Dl => &["group", "list", "none", "presentation"],
        Name::Dt => &["listitem", "term"],
        Name::Dd => &["definition"],
        Name::Embed => &["application", "document", "img", "image", "none", "presentation"],
        Name::Figcaption => &["group", "none", "presentation"],
        Name::Fieldset => &["none", "presentation", "radiogroup"],
        Name::Footer => &["group", "none", "presentation", "doc-footnote", "contentinfo"],
        Name::Form => &["form", "none", "presentation", "search"],
        Name::H1 | Name::H2 | Name::H3 | Name::H4 | Name::H5 | Name::H6 => &["none", "presentation", "tab", "doc-subtitle"],
        Name::Header => &["banner", "group", "none", "presentation", "doc-footnote"],
        Name::Hr => &["none", "presentation", "doc-pagebreak"],
        Name::Html => &["document"],
        Name::Iframe => &["application", "document", "img", "image", "none", "presentation"],
        Name::Img => &["button", "checkbox", "doc-cover", "image", "img", "link", "math", "menuitem", "menuitemcheckbox", "menuitemradio", "meter", "none", "option", "presentation", "progressbar", "radio", "scrollbar", "separator", "slider", "switch", "tab", "treeitem"],
        Name::Base | Name::Caption | Name::Col | Name::Colgroup | Name::Datalist | Name::Head
            | Name::Legend | Name::Map | Name::Meta | Name::Meter | Name::Noscript
            | Name::Optgroup | Name::Option | Name::Picture | Name::Script
            | Name::Source | Name::Style | Name::Template | Name::Textarea | Name::Title | Name::Track => &[],
        Name::Main => &[],
        Name::Menu | Name::Ol | Name::Ul => &["group", "list", "listbox", "menu", "menubar", "none", "presentation", "radiogroup", "tablist", "toolbar", "tree", "directory"],
        Name::Nav => &["doc-index", "doc-pagelist", "doc-toc", "menu", "menubar", "none", "presentation", "tablist"],
        Name::Object => &["application", "document", "img", "image"],
        Name::Progress => &[],
        Name::Section => SECTION,
        Name::Search => &["form", "group", "none", "presentation", "region", "search"],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{ROLES, property};

    #[test]
    fn roles_name_properties_that_exist() {
        for role in ROLES {
            for name in role.properties.iter().chain(role.required) {
                assert!(property(name).is_some(), "{}: {name}", role.name);
            }
        }
    }
}

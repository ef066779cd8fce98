//! What HTML once had: elements that no page may use, and attributes that are left.
//!
//! Law: HTML §16. Elements are errors. Attributes of its lists are warnings: they do what
//! they say in every browser, and there are pages with thousands of them; an attribute that
//! isn't on a list is an error, as one that never was.

use crate::read::name::Name;

/// Obsolete elements, and what to use instead.
#[rustfmt::skip]
const ELEMENTS: &[(&[Name], &str)] = &[
    (&[Name::Acronym], "Use the “abbr” element instead."),
    (&[Name::Applet], "Use the “object” element instead."),
    (&[Name::Basefont, Name::Big, Name::Blink, Name::Center, Name::Font, Name::Marquee,
        Name::Multicol, Name::Nobr, Name::Spacer, Name::Tt], "Use CSS instead."),
    (&[Name::Bgsound], "Use the “audio” element instead."),
    (&[Name::Dir], "Use the “ul” element instead."),
    (&[Name::Frame, Name::Frameset, Name::Noframes], "Use the “iframe” element and CSS instead, or use server-side includes."),
    (&[Name::Isindex, Name::Keygen, Name::Menuitem, Name::Nextid], "It has no replacement."),
    (&[Name::Listing, Name::Xmp], "Use “pre” and “code” instead."),
    (&[Name::Noembed], "Use the “object” element instead."),
    (&[Name::Param], "Use the “data” attribute of the “object” element."),
    (&[Name::Plaintext], "Use the “text/plain” media type instead."),
    (&[Name::Strike], "Use “del” or “s” instead."),
];

/// What to use instead of an obsolete element.
pub(crate) fn element(name: Name) -> Option<&'static str> {
    ELEMENTS.iter().find(|(names, _)| names.contains(&name)).map(|(_, advice)| *advice)
}

/// Obsolete attributes, and the elements that had them.
#[rustfmt::skip]
const ATTRIBUTES: &[(&str, &[Name])] = &[
    ("abbr", &[Name::Td]),
    ("accept", &[Name::Form]),
    ("align", &[Name::Caption, Name::Col, Name::Colgroup, Name::Div, Name::Embed, Name::H1, Name::H2,
        Name::H3, Name::H4, Name::H5, Name::H6, Name::Hr, Name::Iframe, Name::Img, Name::Input,
        Name::Legend, Name::Object, Name::P, Name::Table, Name::Tbody, Name::Td, Name::Tfoot,
        Name::Th, Name::Thead, Name::Tr]),
    ("alink", &[Name::Body]),
    ("allowtransparency", &[Name::Iframe]),
    ("archive", &[Name::Object]),
    ("axis", &[Name::Td, Name::Th]),
    ("background", &[Name::Body, Name::Table, Name::Thead, Name::Tbody, Name::Tfoot, Name::Tr, Name::Td, Name::Th]),
    ("bgcolor", &[Name::Body, Name::Table, Name::Tr, Name::Td, Name::Th]),
    ("border", &[Name::Img, Name::Input, Name::Object, Name::Table]),
    ("bordercolor", &[Name::Table]),
    ("bottommargin", &[Name::Body]),
    ("cellpadding", &[Name::Table]),
    ("cellspacing", &[Name::Table]),
    ("char", &[Name::Col, Name::Colgroup, Name::Tbody, Name::Td, Name::Tfoot, Name::Th, Name::Thead, Name::Tr]),
    ("charoff", &[Name::Col, Name::Colgroup, Name::Tbody, Name::Td, Name::Tfoot, Name::Th, Name::Thead, Name::Tr]),
    ("charset", &[Name::A, Name::Link, Name::Script]),
    ("classid", &[Name::Object]),
    ("clear", &[Name::Br]),
    ("code", &[Name::Object]),
    ("codebase", &[Name::Object]),
    ("codetype", &[Name::Object]),
    ("color", &[Name::Hr]),
    ("compact", &[Name::Dl, Name::Menu, Name::Ol, Name::Ul]),
    ("coords", &[Name::A]),
    ("datapagesize", &[Name::Table]),
    ("declare", &[Name::Object]),
    ("event", &[Name::Script]),
    ("for", &[Name::Script]),
    ("frame", &[Name::Table]),
    ("frameborder", &[Name::Iframe]),
    ("framespacing", &[Name::Iframe]),
    ("height", &[Name::Table, Name::Thead, Name::Tbody, Name::Tfoot, Name::Tr, Name::Td, Name::Th]),
    ("hspace", &[Name::Embed, Name::Iframe, Name::Img, Name::Input, Name::Object]),
    ("ismap", &[Name::Input]),
    ("label", &[Name::Menu]),
    ("language", &[Name::Script]),
    ("leftmargin", &[Name::Body]),
    ("link", &[Name::Body]),
    ("longdesc", &[Name::Iframe, Name::Img]),
    ("lowsrc", &[Name::Img]),
    ("manifest", &[Name::Html]),
    ("marginheight", &[Name::Body, Name::Iframe]),
    ("marginwidth", &[Name::Body, Name::Iframe]),
    ("methods", &[Name::A, Name::Link]),
    ("name", &[Name::A, Name::Embed, Name::Img, Name::Option]),
    ("nohref", &[Name::Area]),
    ("noshade", &[Name::Hr]),
    ("nowrap", &[Name::Td, Name::Th]),
    ("profile", &[Name::Head]),
    ("rev", &[Name::A, Name::Link]),
    ("rightmargin", &[Name::Body]),
    ("rules", &[Name::Table]),
    ("scheme", &[Name::Meta]),
    ("scope", &[Name::Td]),
    ("scrolling", &[Name::Iframe]),
    ("shape", &[Name::A]),
    ("size", &[Name::Hr]),
    ("standby", &[Name::Object]),
    ("summary", &[Name::Table]),
    ("target", &[Name::Link]),
    ("text", &[Name::Body]),
    ("topmargin", &[Name::Body]),
    ("type", &[Name::Li, Name::Menu, Name::Style, Name::Ul]),
    ("typemustmatch", &[Name::Object]),
    ("urn", &[Name::A, Name::Link]),
    ("usemap", &[Name::Input, Name::Object]),
    ("valign", &[Name::Col, Name::Colgroup, Name::Table, Name::Tbody, Name::Td, Name::Tfoot, Name::Th, Name::Thead, Name::Tr]),
    ("version", &[Name::Html]),
    ("vlink", &[Name::Body]),
    ("vspace", &[Name::Embed, Name::Iframe, Name::Img, Name::Input, Name::Object]),
    ("width", &[Name::Col, Name::Colgroup, Name::Hr, Name::Pre, Name::Table, Name::Td, Name::Th]),
];

/// Whether an element had this attribute once.
pub(crate) fn is_obsolete(attribute: &str, name: Name) -> bool {
    ATTRIBUTES
        .binary_search_by_key(&attribute, |entry| entry.0)
        .is_ok_and(|index| ATTRIBUTES[index].1.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::ATTRIBUTES;

    #[test]
    fn attributes_are_in_order() {
        assert!(ATTRIBUTES.is_sorted_by_key(|entry| entry.0));
    }
}

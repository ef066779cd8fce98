//! Names: the elements that reading or the rules have to tell apart.
//!
//! Law: the index of elements in HTML, its obsolete ones (§16.2), and those of SVG and
//! MathML that the tree construction names. All others are [`Name::Other`].

/// An element's name, whatever its namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[rustfmt::skip]
pub(crate) enum Name {
    /// One that is told by its label.
    #[default]
    Other,
    A, Abbr, Acronym, Address, Applet, Area, Article, Aside, Audio, B, Base, Basefont, Bdi, Bdo,
    Bgsound, Big, Blink, Blockquote, Body, Br, Button, Canvas, Caption, Center, Cite, Code, Col,
    Colgroup, Data, Datalist, Dd, Del, Details, Dfn, Dialog, Dir, Div, Dl, Dt, Em, Embed, Fieldset,
    Figcaption, Figure, Font, Footer, Form, Frame, Frameset, H1, H2, H3, H4, H5, H6, Head, Header,
    Hgroup, Hr, Html, I, Iframe, Image, Img, Input, Ins, Isindex, Kbd, Keygen, Label, Legend, Li,
    Link, Listing, Main, Map, Mark, Marquee, Math, Menu, Menuitem, Meta, Meter, Multicol, Nav,
    Nextid, Nobr, Noembed, Noframes, Noscript, Object, Ol, Optgroup, Option, Output, P, Param,
    Picture, Plaintext, Pre, Progress, Q, Rb, Rp, Rt, Rtc, Ruby, S, Samp, Script, Search, Section,
    Select, Selectedcontent, Slot, Small, Source, Spacer, Span, Strike, Strong, Style, Sub,
    Summary, Sup, Svg, Table, Tbody, Td, Template, Textarea, Tfoot, Th, Thead, Time, Title, Tr,
    Track, Tt, U, Ul, Var, Video, Wbr, Xmp, Mi, Mo, Mn, Ms, Mtext, AnnotationXml, Malignmark,
    Mglyph, Foreignobject, Desc,
}

/// Every name with its element, in the order of the bytes.
#[rustfmt::skip]
const NAMES: &[(&str, Name)] = &[
    ("a", Name::A), ("abbr", Name::Abbr), ("acronym", Name::Acronym), ("address", Name::Address),
    ("annotation-xml", Name::AnnotationXml), ("applet", Name::Applet), ("area", Name::Area),
    ("article", Name::Article), ("aside", Name::Aside), ("audio", Name::Audio), ("b", Name::B),
    ("base", Name::Base), ("basefont", Name::Basefont), ("bdi", Name::Bdi), ("bdo", Name::Bdo),
    ("bgsound", Name::Bgsound), ("big", Name::Big), ("blink", Name::Blink),
    ("blockquote", Name::Blockquote), ("body", Name::Body), ("br", Name::Br),
    ("button", Name::Button), ("canvas", Name::Canvas), ("caption", Name::Caption),
    ("center", Name::Center), ("cite", Name::Cite), ("code", Name::Code), ("col", Name::Col),
    ("colgroup", Name::Colgroup), ("data", Name::Data), ("datalist", Name::Datalist),
    ("dd", Name::Dd), ("del", Name::Del), ("desc", Name::Desc), ("details", Name::Details),
    ("dfn", Name::Dfn), ("dialog", Name::Dialog), ("dir", Name::Dir), ("div", Name::Div),
    ("dl", Name::Dl), ("dt", Name::Dt), ("em", Name::Em), ("embed", Name::Embed),
    ("fieldset", Name::Fieldset), ("figcaption", Name::Figcaption), ("figure", Name::Figure),
    ("font", Name::Font), ("footer", Name::Footer), ("foreignobject", Name::Foreignobject),
    ("form", Name::Form), ("frame", Name::Frame), ("frameset", Name::Frameset), ("h1", Name::H1),
    ("h2", Name::H2), ("h3", Name::H3), ("h4", Name::H4), ("h5", Name::H5), ("h6", Name::H6),
    ("head", Name::Head), ("header", Name::Header), ("hgroup", Name::Hgroup), ("hr", Name::Hr),
    ("html", Name::Html), ("i", Name::I), ("iframe", Name::Iframe), ("image", Name::Image),
    ("img", Name::Img), ("input", Name::Input), ("ins", Name::Ins), ("isindex", Name::Isindex),
    ("kbd", Name::Kbd), ("keygen", Name::Keygen), ("label", Name::Label), ("legend", Name::Legend),
    ("li", Name::Li), ("link", Name::Link), ("listing", Name::Listing), ("main", Name::Main),
    ("malignmark", Name::Malignmark), ("map", Name::Map), ("mark", Name::Mark),
    ("marquee", Name::Marquee), ("math", Name::Math), ("menu", Name::Menu),
    ("menuitem", Name::Menuitem), ("meta", Name::Meta), ("meter", Name::Meter),
    ("mglyph", Name::Mglyph), ("mi", Name::Mi), ("mn", Name::Mn), ("mo", Name::Mo),
    ("ms", Name::Ms), ("mtext", Name::Mtext), ("multicol", Name::Multicol), ("nav", Name::Nav),
    ("nextid", Name::Nextid), ("nobr", Name::Nobr), ("noembed", Name::Noembed),
    ("noframes", Name::Noframes), ("noscript", Name::Noscript), ("object", Name::Object),
    ("ol", Name::Ol), ("optgroup", Name::Optgroup), ("option", Name::Option),
    ("output", Name::Output), ("p", Name::P), ("param", Name::Param), ("picture", Name::Picture),
    ("plaintext", Name::Plaintext), ("pre", Name::Pre), ("progress", Name::Progress),
    ("q", Name::Q), ("rb", Name::Rb), ("rp", Name::Rp), ("rt", Name::Rt), ("rtc", Name::Rtc),
    ("ruby", Name::Ruby), ("s", Name::S), ("samp", Name::Samp), ("script", Name::Script),
    ("search", Name::Search), ("section", Name::Section), ("select", Name::Select),
    ("selectedcontent", Name::Selectedcontent), ("slot", Name::Slot), ("small", Name::Small),
    ("source", Name::Source), ("spacer", Name::Spacer), ("span", Name::Span),
    ("strike", Name::Strike), ("strong", Name::Strong), ("style", Name::Style), ("sub", Name::Sub),
    ("summary", Name::Summary), ("sup", Name::Sup), ("svg", Name::Svg), ("table", Name::Table),
    ("tbody", Name::Tbody), ("td", Name::Td), ("template", Name::Template),
    ("textarea", Name::Textarea), ("tfoot", Name::Tfoot), ("th", Name::Th), ("thead", Name::Thead),
    ("time", Name::Time), ("title", Name::Title), ("tr", Name::Tr), ("track", Name::Track),
    ("tt", Name::Tt), ("u", Name::U), ("ul", Name::Ul), ("var", Name::Var), ("video", Name::Video),
    ("wbr", Name::Wbr), ("xmp", Name::Xmp),
];

impl Name {
    /// The element of a name in lower case.
    pub(crate) fn of(label: &str) -> Name {
        NAMES
            .binary_search_by_key(&label, |entry| entry.0)
            .map_or(Name::Other, |index| NAMES[index].1)
    }

    /// `h1` to `h6`.
    pub(crate) fn is_heading(self) -> bool {
        matches!(self, Name::H1 | Name::H2 | Name::H3 | Name::H4 | Name::H5 | Name::H6)
    }

    /// Elements that are put into the head wherever they stand (§13.2.6.4.4).
    #[rustfmt::skip]
    pub(crate) fn belongs_to_head(self) -> bool {
        matches!(
            self,
            Name::Base | Name::Basefont | Name::Bgsound | Name::Link | Name::Meta | Name::Noframes
                | Name::Script | Name::Style | Name::Template | Name::Title
        )
    }

    /// Elements whose start tag closes an open `p` and has no other rule.
    #[rustfmt::skip]
    pub(crate) fn is_block(self) -> bool {
        matches!(
            self,
            Name::Address | Name::Article | Name::Aside | Name::Blockquote | Name::Center
                | Name::Details | Name::Dialog | Name::Dir | Name::Div | Name::Dl | Name::Fieldset
                | Name::Figcaption | Name::Figure | Name::Footer | Name::Header | Name::Hgroup
                | Name::Main | Name::Menu | Name::Nav | Name::Ol | Name::P | Name::Search
                | Name::Section | Name::Summary | Name::Ul
        )
    }

    /// Elements whose end tag closes what is open in them.
    pub(crate) fn ends_as_block(self) -> bool {
        let is_more = matches!(self, Name::Button | Name::Listing | Name::Pre | Name::Select);
        is_more || (self.is_block() && self != Name::P)
    }

    /// What stands only within tables, framesets and the page itself.
    #[rustfmt::skip]
    pub(crate) fn is_misplaced_in_body(self) -> bool {
        matches!(
            self,
            Name::Caption | Name::Col | Name::Colgroup | Name::Frame | Name::Head | Name::Tbody
                | Name::Td | Name::Tfoot | Name::Th | Name::Thead | Name::Tr
        )
    }

    /// Elements that never have an end tag (§13.1.2).
    #[rustfmt::skip]
    pub(crate) fn is_void(self) -> bool {
        matches!(
            self,
            Name::Area | Name::Base | Name::Basefont | Name::Bgsound | Name::Br | Name::Col
                | Name::Embed | Name::Frame | Name::Hr | Name::Img | Name::Input | Name::Keygen
                | Name::Link | Name::Meta | Name::Param | Name::Source | Name::Track | Name::Wbr
        )
    }

    /// The elements of "special" in §13.2.4.2, those of HTML.
    #[rustfmt::skip]
    pub(crate) fn is_special(self) -> bool {
        matches!(
            self,
            Name::Address | Name::Applet | Name::Area | Name::Article | Name::Aside | Name::Base
                | Name::Basefont | Name::Bgsound | Name::Blockquote | Name::Body | Name::Br
                | Name::Button | Name::Caption | Name::Center | Name::Col | Name::Colgroup
                | Name::Dd | Name::Details | Name::Dir | Name::Div | Name::Dl | Name::Dt
                | Name::Embed | Name::Fieldset | Name::Figcaption | Name::Figure | Name::Footer
                | Name::Form | Name::Frame | Name::Frameset | Name::H1 | Name::H2 | Name::H3
                | Name::H4 | Name::H5 | Name::H6 | Name::Head | Name::Header | Name::Hgroup
                | Name::Hr | Name::Html | Name::Iframe | Name::Img | Name::Input | Name::Keygen
                | Name::Li | Name::Link | Name::Listing | Name::Main | Name::Marquee | Name::Menu
                | Name::Meta | Name::Nav | Name::Noembed | Name::Noframes | Name::Noscript
                | Name::Object | Name::Ol | Name::P | Name::Param | Name::Plaintext | Name::Pre
                | Name::Script | Name::Search | Name::Section | Name::Select | Name::Source
                | Name::Style | Name::Summary | Name::Table | Name::Tbody | Name::Td
                | Name::Template | Name::Textarea | Name::Tfoot | Name::Th | Name::Thead
                | Name::Title | Name::Tr | Name::Track | Name::Ul | Name::Wbr | Name::Xmp
        )
    }

    /// Elements whose end tags are implied by others (§13.2.6.3).
    #[rustfmt::skip]
    pub(crate) fn has_implied_end(self) -> bool {
        matches!(
            self,
            Name::Dd | Name::Dt | Name::Li | Name::Optgroup | Name::Option | Name::P | Name::Rb
                | Name::Rp | Name::Rt | Name::Rtc
        )
    }

    /// The formatting elements of §13.2.4.2.
    #[rustfmt::skip]
    pub(crate) fn is_formatting(self) -> bool {
        matches!(
            self,
            Name::A | Name::B | Name::Big | Name::Code | Name::Em | Name::Font | Name::I
                | Name::Nobr | Name::S | Name::Small | Name::Strike | Name::Strong | Name::Tt
                | Name::U
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{NAMES, Name};

    #[test]
    fn every_name_is_found() {
        for (label, name) in NAMES {
            assert_eq!(Name::of(label), *name, "{label}");
        }
        assert_eq!(Name::of("x-y"), Name::Other);
    }
}

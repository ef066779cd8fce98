//! Elements: what each may hold, where it may stand, and its own attributes; as data.
//!
//! Law: HTML §4, each element's "Categories", "Contexts", "Content model" and "Content
//! attributes". Global attributes are in `attributes.rs`, obsolete ones in `obsolete.rs`.
//! Invariant: an element that isn't here is obsolete or unknown.

use crate::read::name::Name;
use crate::values::Kind::{self, *};

/// Categories of §3.2.5.2, as bits.
pub(crate) const METADATA: u8 = 1;
pub(crate) const FLOW: u8 = 2;
pub(crate) const PHRASING: u8 = 4;
/// Flow and phrasing.
pub(crate) const BOTH: u8 = FLOW | PHRASING;

/// What an element may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Neither elements nor text.
    Nothing,
    /// No elements.
    Text,
    Phrasing,
    Flow,
    /// What its parent may, with sources and tracks before it in `audio` and `video`.
    Transparent,
    /// Metadata, as in `head`.
    Metadata,
    /// These, and scripts; text only if it is space.
    Only(&'static [Name]),
    /// Phrasing, and these.
    PhrasingAnd(&'static [Name]),
    /// Flow, and these.
    FlowAnd(&'static [Name]),
    /// Whatever: what is in it is not looked at.
    Anything,
}

/// An element's row.
pub(crate) struct Spec {
    pub(crate) name: Name,
    pub(crate) categories: u8,
    pub(crate) content: Content,
    pub(crate) attributes: &'static [(&'static str, Kind)],
}

const fn row(
    name: Name,
    categories: u8,
    content: Content,
    attributes: &'static [(&'static str, Kind)],
) -> Spec {
    Spec { name, categories, content, attributes }
}

const HEADINGS: &[Name] =
    &[Name::H1, Name::H2, Name::H3, Name::H4, Name::H5, Name::H6, Name::Hgroup];
const HGROUP: &[Name] = &[Name::H1, Name::H2, Name::H3, Name::H4, Name::H5, Name::H6, Name::P];
const SELECT: &[Name] =
    &[Name::Option, Name::Optgroup, Name::Hr, Name::Button, Name::Div, Name::Noscript];
const TABLE: &[Name] =
    &[Name::Caption, Name::Colgroup, Name::Thead, Name::Tbody, Name::Tfoot, Name::Tr];
const ROWS: &[Name] = &[Name::Tr];
const ITEMS: &[Name] = &[Name::Li];
const GROUPS: &[Name] = &[Name::Dt, Name::Dd, Name::Div];

const ON_OFF: Kind = Words(&["on", "off"]);
const CROSSORIGIN: Kind = Words(&["", "anonymous", "use-credentials"]);
const LOADING: Kind = Words(&["lazy", "eager"]);
const PRIORITY: Kind = Words(&["high", "low", "auto"]);
const REFERRER: Kind = Words(&[
    "",
    "no-referrer",
    "no-referrer-when-downgrade",
    "same-origin",
    "origin",
    "strict-origin",
    "origin-when-cross-origin",
    "strict-origin-when-cross-origin",
    "unsafe-url",
]);
const METHOD: Kind = Words(&["get", "post", "dialog"]);
const ENCTYPE: Kind =
    Words(&["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"]);
const AS: Kind = Words(&[
    "audioworklet",
    "fetch",
    "font",
    "image",
    "json",
    "paintworklet",
    "script",
    "serviceworker",
    "sharedworker",
    "style",
    "track",
    "worker",
]);
const INPUT_TYPE: Kind = Words(&[
    "hidden",
    "text",
    "search",
    "tel",
    "url",
    "email",
    "password",
    "date",
    "month",
    "week",
    "time",
    "datetime-local",
    "number",
    "range",
    "color",
    "checkbox",
    "radio",
    "file",
    "submit",
    "image",
    "reset",
    "button",
]);
const POPOVER_ACTION: Kind = Words(&["toggle", "show", "hide"]);

const HYPERLINK: &[(&str, Kind)] = &[
    ("href", Url),
    ("target", Target),
    ("download", Any),
    ("ping", Urls),
    ("rel", Tokens),
    ("hreflang", Language),
    ("type", Mime),
    ("referrerpolicy", REFERRER),
    ("name", Any),
];
const QUOTE: &[(&str, Kind)] = &[("cite", Url)];
const EDIT: &[(&str, Kind)] = &[("cite", Url), ("datetime", DateOrTime)];
const CELL: &[(&str, Kind)] = &[("colspan", Positive), ("rowspan", Natural), ("headers", Tokens)];
const COLUMN: &[(&str, Kind)] = &[("span", Positive)];
const BODY: &[(&str, Kind)] = &[
    ("onafterprint", Any),
    ("onbeforeprint", Any),
    ("onbeforeunload", Any),
    ("onhashchange", Any),
    ("onlanguagechange", Any),
    ("onmessage", Any),
    ("onmessageerror", Any),
    ("onoffline", Any),
    ("ononline", Any),
    ("onpagehide", Any),
    ("onpagereveal", Any),
    ("onpageshow", Any),
    ("onpageswap", Any),
    ("onpopstate", Any),
    ("onrejectionhandled", Any),
    ("onstorage", Any),
    ("onunhandledrejection", Any),
    ("onunload", Any),
];
const LINK: &[(&str, Kind)] = &[
    ("href", UrlNotEmpty),
    ("rel", Tokens),
    ("as", AS),
    ("integrity", Any),
    ("hreflang", Language),
    ("media", Media),
    ("type", Mime),
    ("referrerpolicy", REFERRER),
    ("sizes", IconSizes),
    ("color", Any),
    ("disabled", Flag),
    ("scope", Url),
    ("updateviacache", Any),
    ("workertype", Any),
    ("imagesrcset", Srcset),
    ("imagesizes", Sizes),
    ("fetchpriority", PRIORITY),
    ("crossorigin", CROSSORIGIN),
    ("blocking", Words(&["render"])),
];
const META: &[(&str, Kind)] = &[
    ("name", NotEmpty),
    ("content", Any),
    (
        "http-equiv",
        Words(&[
            "content-type",
            "default-style",
            "refresh",
            "x-ua-compatible",
            "content-security-policy",
            "content-language",
        ]),
    ),
    ("charset", Any),
    ("media", Media),
];
const SCRIPT: &[(&str, Kind)] = &[
    ("src", UrlNotEmpty),
    ("defer", Flag),
    ("async", Flag),
    ("type", ScriptType),
    ("nomodule", Flag),
    ("integrity", Any),
    ("crossorigin", CROSSORIGIN),
    ("blocking", Words(&["render"])),
    ("fetchpriority", PRIORITY),
    ("referrerpolicy", REFERRER),
];
const IMG: &[(&str, Kind)] = &[
    ("src", UrlNotEmpty),
    ("srcset", Srcset),
    ("sizes", Sizes),
    ("alt", Any),
    ("height", Natural),
    ("width", Natural),
    ("usemap", HashName),
    ("ismap", Flag),
    ("controls", Flag),
    ("decoding", Words(&["sync", "async", "auto"])),
    ("loading", LOADING),
    ("fetchpriority", PRIORITY),
    ("referrerpolicy", REFERRER),
    ("crossorigin", CROSSORIGIN),
    ("generator-unable-to-provide-required-alt", Any),
];
const IFRAME: &[(&str, Kind)] = &[
    ("src", UrlNotEmpty),
    ("srcdoc", Any),
    ("name", ContextName),
    ("width", Natural),
    ("height", Natural),
    ("sandbox", Sandbox),
    ("allowfullscreen", Flag),
    ("allow", Any),
    ("loading", LOADING),
    ("referrerpolicy", REFERRER),
];
const SOURCE: &[(&str, Kind)] = &[
    ("src", UrlNotEmpty),
    ("srcset", Srcset),
    ("sizes", Sizes),
    ("media", Media),
    ("type", Mime),
    ("width", Natural),
    ("height", Natural),
];
const OBJECT: &[(&str, Kind)] = &[
    ("data", UrlNotEmpty),
    ("type", Mime),
    ("height", Natural),
    ("width", Natural),
    ("name", ContextName),
    ("form", IdOf("form")),
];
const EMBED: &[(&str, Kind)] =
    &[("src", UrlNotEmpty), ("type", Mime), ("height", Natural), ("width", Natural)];
const AUDIO: &[(&str, Kind)] = &[
    ("src", UrlNotEmpty),
    ("autoplay", Flag),
    ("preload", Words(&["", "none", "metadata", "auto"])),
    ("controls", Flag),
    ("loop", Flag),
    ("muted", Flag),
    ("crossorigin", CROSSORIGIN),
    ("loading", LOADING),
];
const VIDEO: &[(&str, Kind)] = &[
    ("src", UrlNotEmpty),
    ("autoplay", Flag),
    ("preload", Words(&["", "none", "metadata", "auto"])),
    ("controls", Flag),
    ("loop", Flag),
    ("muted", Flag),
    ("crossorigin", CROSSORIGIN),
    ("loading", LOADING),
    ("poster", UrlNotEmpty),
    ("height", Natural),
    ("width", Natural),
    ("playsinline", Flag),
];
const TRACK: &[(&str, Kind)] = &[
    ("kind", Words(&["subtitles", "captions", "descriptions", "chapters", "metadata"])),
    ("src", UrlNotEmpty),
    ("srclang", Language),
    ("label", NotEmpty),
    ("default", Flag),
];
const AREA: &[(&str, Kind)] = &[
    ("alt", Any),
    ("href", Url),
    ("target", Target),
    ("download", Any),
    ("ping", Urls),
    ("rel", Tokens),
    ("hreflang", Language),
    ("type", Mime),
    ("referrerpolicy", REFERRER),
    ("shape", Words(&["rect", "circle", "poly", "default"])),
    ("coords", Coordinates),
];
const FORM: &[(&str, Kind)] = &[
    ("action", UrlNotEmpty),
    ("method", METHOD),
    ("enctype", ENCTYPE),
    ("name", NotEmpty),
    ("novalidate", Flag),
    ("target", Target),
    ("autocomplete", ON_OFF),
    ("accept-charset", Words(&["utf-8"])),
    ("rel", Tokens),
];
const INPUT: &[(&str, Kind)] = &[
    ("type", INPUT_TYPE),
    ("name", NotEmpty),
    ("value", Any),
    ("checked", Flag),
    ("disabled", Flag),
    ("form", IdOf("form")),
    ("autocomplete", Autocomplete),
    ("maxlength", Natural),
    ("minlength", Natural),
    ("size", Positive),
    ("readonly", Flag),
    ("required", Flag),
    ("placeholder", Any),
    ("pattern", Any),
    ("list", IdOf("datalist")),
    ("min", Any),
    ("max", Any),
    ("step", Any),
    ("multiple", Flag),
    ("accept", Any),
    ("src", UrlNotEmpty),
    ("alt", NotEmpty),
    ("width", Natural),
    ("height", Natural),
    ("dirname", NotEmpty),
    ("formaction", UrlNotEmpty),
    ("formenctype", ENCTYPE),
    ("formmethod", METHOD),
    ("formnovalidate", Flag),
    ("formtarget", Target),
    ("popovertarget", Id),
    ("popovertargetaction", POPOVER_ACTION),
    ("capture", Words(&["", "user", "environment"])),
    ("alpha", Flag),
    ("colorspace", Words(&["limited-srgb", "display-p3"])),
];
const BUTTON: &[(&str, Kind)] = &[
    ("type", Words(&["submit", "reset", "button"])),
    ("name", NotEmpty),
    ("value", Any),
    ("disabled", Flag),
    ("form", IdOf("form")),
    ("formaction", UrlNotEmpty),
    ("formenctype", ENCTYPE),
    ("formmethod", METHOD),
    ("formnovalidate", Flag),
    ("formtarget", Target),
    ("popovertarget", Id),
    ("popovertargetaction", POPOVER_ACTION),
    ("command", Any),
    ("commandfor", Id),
];
const SELECTION: &[(&str, Kind)] = &[
    ("name", NotEmpty),
    ("disabled", Flag),
    ("form", IdOf("form")),
    ("autocomplete", Autocomplete),
    ("multiple", Flag),
    ("size", Positive),
    ("required", Flag),
];
const TEXTAREA: &[(&str, Kind)] = &[
    ("name", NotEmpty),
    ("disabled", Flag),
    ("form", IdOf("form")),
    ("autocomplete", Autocomplete),
    ("cols", Positive),
    ("rows", Positive),
    ("maxlength", Natural),
    ("minlength", Natural),
    ("readonly", Flag),
    ("required", Flag),
    ("placeholder", Any),
    ("wrap", Words(&["soft", "hard"])),
    ("dirname", NotEmpty),
];
const METER: &[(&str, Kind)] = &[
    ("value", Float),
    ("min", Float),
    ("max", Float),
    ("low", Float),
    ("high", Float),
    ("optimum", Float),
];
const TEMPLATE: &[(&str, Kind)] = &[
    ("for", Any),
    ("shadowrootmode", Words(&["open", "closed"])),
    ("shadowrootdelegatesfocus", Flag),
    ("shadowrootclonable", Flag),
    ("shadowrootserializable", Flag),
    ("shadowrootcustomelementregistry", Flag),
    ("shadowrootslotassignment", Words(&["named", "manual"])),
];

/// Every element that conforms.
#[rustfmt::skip]
const SPECS: &[Spec] = &[
    row(Name::Html, 0, Content::Only(&[Name::Head, Name::Body]), &[]),
    row(Name::Head, 0, Content::Metadata, &[]),
    row(Name::Title, METADATA, Content::Text, &[]),
    row(Name::Base, METADATA, Content::Nothing, &[("href", Url), ("target", Target)]),
    row(Name::Link, METADATA | BOTH, Content::Nothing, LINK),
    row(Name::Meta, METADATA | BOTH, Content::Nothing, META),
    row(Name::Style, METADATA | FLOW, Content::Anything, &[("media", Media), ("blocking", Words(&["render"]))]),
    row(Name::Body, 0, Content::Flow, BODY),
    row(Name::Article, FLOW, Content::Flow, &[]),
    row(Name::Section, FLOW, Content::Flow, &[]),
    row(Name::Nav, FLOW, Content::Flow, &[]),
    row(Name::Aside, FLOW, Content::Flow, &[]),
    row(Name::H1, FLOW, Content::Phrasing, &[]),
    row(Name::H2, FLOW, Content::Phrasing, &[]),
    row(Name::H3, FLOW, Content::Phrasing, &[]),
    row(Name::H4, FLOW, Content::Phrasing, &[]),
    row(Name::H5, FLOW, Content::Phrasing, &[]),
    row(Name::H6, FLOW, Content::Phrasing, &[]),
    row(Name::Hgroup, FLOW, Content::Only(HGROUP), &[]),
    row(Name::Header, FLOW, Content::Flow, &[]),
    row(Name::Footer, FLOW, Content::Flow, &[]),
    row(Name::Address, FLOW, Content::Flow, &[]),
    row(Name::P, FLOW, Content::Phrasing, &[]),
    row(Name::Hr, FLOW, Content::Nothing, &[]),
    row(Name::Pre, FLOW, Content::Phrasing, &[]),
    row(Name::Blockquote, FLOW, Content::Flow, QUOTE),
    row(Name::Ol, FLOW, Content::Only(ITEMS), &[("start", Integer), ("reversed", Flag), ("type", Exactly(&["1", "a", "A", "i", "I"]))]),
    row(Name::Ul, FLOW, Content::Only(ITEMS), &[]),
    row(Name::Menu, FLOW, Content::Only(ITEMS), &[]),
    row(Name::Li, 0, Content::Flow, &[("value", Integer)]),
    row(Name::Dl, FLOW, Content::Only(GROUPS), &[]),
    row(Name::Dt, 0, Content::Flow, &[]),
    row(Name::Dd, 0, Content::Flow, &[]),
    row(Name::Figure, FLOW, Content::FlowAnd(&[Name::Figcaption]), &[]),
    row(Name::Figcaption, 0, Content::Flow, &[]),
    row(Name::Main, FLOW, Content::Flow, &[]),
    row(Name::Search, FLOW, Content::Flow, &[]),
    row(Name::Div, FLOW, Content::Flow, &[]),
    row(Name::A, BOTH, Content::Transparent, HYPERLINK),
    row(Name::Em, BOTH, Content::Phrasing, &[]),
    row(Name::Strong, BOTH, Content::Phrasing, &[]),
    row(Name::Small, BOTH, Content::Phrasing, &[]),
    row(Name::S, BOTH, Content::Phrasing, &[]),
    row(Name::Cite, BOTH, Content::Phrasing, &[]),
    row(Name::Q, BOTH, Content::Phrasing, QUOTE),
    row(Name::Dfn, BOTH, Content::Phrasing, &[]),
    row(Name::Abbr, BOTH, Content::Phrasing, &[]),
    row(Name::Ruby, BOTH, Content::PhrasingAnd(&[Name::Rt, Name::Rp, Name::Rb, Name::Rtc]), &[]),
    row(Name::Rt, 0, Content::Phrasing, &[]),
    row(Name::Rp, 0, Content::Text, &[]),
    row(Name::Rb, 0, Content::Phrasing, &[]),
    row(Name::Rtc, 0, Content::PhrasingAnd(&[Name::Rt]), &[]),
    row(Name::Data, BOTH, Content::Phrasing, &[("value", Any)]),
    row(Name::Time, BOTH, Content::Phrasing, &[("datetime", TimeDatetime)]),
    row(Name::Code, BOTH, Content::Phrasing, &[]),
    row(Name::Var, BOTH, Content::Phrasing, &[]),
    row(Name::Samp, BOTH, Content::Phrasing, &[]),
    row(Name::Kbd, BOTH, Content::Phrasing, &[]),
    row(Name::Sub, BOTH, Content::Phrasing, &[]),
    row(Name::Sup, BOTH, Content::Phrasing, &[]),
    row(Name::I, BOTH, Content::Phrasing, &[]),
    row(Name::B, BOTH, Content::Phrasing, &[]),
    row(Name::U, BOTH, Content::Phrasing, &[]),
    row(Name::Mark, BOTH, Content::Phrasing, &[]),
    row(Name::Bdi, BOTH, Content::Phrasing, &[]),
    row(Name::Bdo, BOTH, Content::Phrasing, &[]),
    row(Name::Span, BOTH, Content::Phrasing, &[]),
    row(Name::Br, BOTH, Content::Nothing, &[]),
    row(Name::Wbr, BOTH, Content::Nothing, &[]),
    row(Name::Ins, BOTH, Content::Transparent, EDIT),
    row(Name::Del, BOTH, Content::Transparent, EDIT),
    row(Name::Picture, BOTH, Content::Only(&[Name::Source, Name::Img]), &[]),
    row(Name::Source, 0, Content::Nothing, SOURCE),
    row(Name::Img, BOTH, Content::Nothing, IMG),
    row(Name::Iframe, BOTH, Content::Anything, IFRAME),
    row(Name::Embed, BOTH, Content::Nothing, EMBED),
    row(Name::Object, BOTH, Content::Transparent, OBJECT),
    row(Name::Video, BOTH, Content::Transparent, VIDEO),
    row(Name::Audio, BOTH, Content::Transparent, AUDIO),
    row(Name::Track, 0, Content::Nothing, TRACK),
    row(Name::Map, BOTH, Content::Transparent, &[("name", NotEmpty)]),
    row(Name::Area, BOTH, Content::Nothing, AREA),
    row(Name::Table, FLOW, Content::Only(TABLE), &[]),
    row(Name::Caption, 0, Content::Flow, &[]),
    row(Name::Colgroup, 0, Content::Only(&[Name::Col]), COLUMN),
    row(Name::Col, 0, Content::Nothing, COLUMN),
    row(Name::Tbody, 0, Content::Only(ROWS), &[]),
    row(Name::Thead, 0, Content::Only(ROWS), &[]),
    row(Name::Tfoot, 0, Content::Only(ROWS), &[]),
    row(Name::Tr, 0, Content::Only(&[Name::Td, Name::Th]), &[]),
    row(Name::Td, 0, Content::Flow, CELL),
    row(Name::Th, 0, Content::Flow, &[
        ("colspan", Positive), ("rowspan", Natural), ("headers", Tokens), ("abbr", Any),
        ("scope", Words(&["row", "col", "rowgroup", "colgroup"])),
    ]),
    row(Name::Form, FLOW, Content::Flow, FORM),
    row(Name::Label, BOTH, Content::Phrasing, &[("for", Id)]),
    row(Name::Input, BOTH, Content::Nothing, INPUT),
    row(Name::Button, BOTH, Content::PhrasingAnd(&[Name::Selectedcontent]), BUTTON),
    row(Name::Select, BOTH, Content::Only(SELECT), SELECTION),
    row(Name::Datalist, BOTH, Content::PhrasingAnd(&[Name::Option]), &[]),
    row(Name::Optgroup, 0, Content::Only(&[Name::Option, Name::Legend, Name::Div, Name::Noscript]), &[("disabled", Flag), ("label", Any)]),
    row(Name::Option, 0, Content::PhrasingAnd(&[Name::Div]), &[("disabled", Flag), ("label", Any), ("selected", Flag), ("value", Any)]),
    row(Name::Selectedcontent, 0, Content::Nothing, &[]),
    row(Name::Textarea, BOTH, Content::Text, TEXTAREA),
    row(Name::Output, BOTH, Content::Phrasing, &[("for", Tokens), ("form", IdOf("form")), ("name", NotEmpty)]),
    row(Name::Progress, BOTH, Content::Phrasing, &[("value", Float), ("max", Float)]),
    row(Name::Meter, BOTH, Content::Phrasing, METER),
    row(Name::Fieldset, FLOW, Content::FlowAnd(&[Name::Legend]), &[("disabled", Flag), ("form", IdOf("form")), ("name", NotEmpty)]),
    row(Name::Legend, 0, Content::PhrasingAnd(HEADINGS), &[]),
    row(Name::Details, FLOW, Content::FlowAnd(&[Name::Summary]), &[("open", Flag), ("name", NotEmpty)]),
    row(Name::Summary, 0, Content::PhrasingAnd(HEADINGS), &[]),
    row(Name::Dialog, FLOW, Content::Flow, &[("open", Flag), ("closedby", Words(&["any", "closerequest", "none"]))]),
    row(Name::Script, METADATA | BOTH, Content::Anything, SCRIPT),
    row(Name::Noscript, METADATA | BOTH, Content::Transparent, &[]),
    row(Name::Template, METADATA | BOTH, Content::Anything, TEMPLATE),
    row(Name::Slot, BOTH, Content::Transparent, &[("name", Any)]),
    row(Name::Canvas, BOTH, Content::Transparent, &[("height", Natural), ("width", Natural)]),
];

/// Where each name's row is; 255 where there is none.
const INDEX: [u8; 256] = {
    let mut index = [255; 256];
    let mut at = 0;
    while at < SPECS.len() {
        // Rows are fewer than 255.
        index[SPECS[at].name as usize] = at as u8;
        at += 1;
    }
    index
};

/// The row of an element of HTML.
pub(crate) fn spec(name: Name) -> Option<&'static Spec> {
    SPECS.get(usize::from(INDEX[name as usize & 255]))
}

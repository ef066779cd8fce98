//! What a person sees of an HTML page, and the forms on it.
//!
//! Enough for pages of our own specimens, which are well made; no parser of the web.

/// The visible text, a line a piece, entities read.
pub(crate) fn text(html: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        push(&mut lines, &rest[..at]);
        rest = &rest[at..];
        let end = ["<!--", "<script", "<style", "<template"]
            .into_iter()
            .zip(["-->", "</script>", "</style>", "</template>"])
            .find(|(start, _)| starts_with(rest, start))
            .map_or(">", |(_, end)| end);
        rest = rest.find(end).map_or("", |at| &rest[at + end.len()..]);
    }
    push(&mut lines, rest);
    lines
}

fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start))
}

fn push(lines: &mut Vec<String>, piece: &str) {
    let piece = piece.split_whitespace().collect::<Vec<_>>().join(" ");
    if !piece.is_empty() {
        lines.push(read_entities(&piece));
    }
}

/// The text to compare two visits by: digits masked, since counters count and clocks go,
/// and in no order, since rows that sort equally have none.
pub(crate) fn comparable(html: &str) -> Vec<String> {
    let mask = |line: String| {
        let mut masked = String::with_capacity(line.len());
        for letter in line.chars() {
            match letter.is_ascii_digit() {
                true if masked.ends_with('#') => {}
                true => masked.push('#'),
                false => masked.push(letter),
            }
        }
        masked
    };
    let mut lines: Vec<_> = text(html).into_iter().map(mask).collect();
    lines.sort();
    lines
}

/// What is in one text and not in the other; empty if they are the same.
pub(crate) fn difference(ours: &[String], theirs: &[String]) -> String {
    let only = |lines: &[String], others: &[String]| {
        let mut others = others.to_vec();
        let mut left = Vec::new();
        for line in lines {
            match others.iter().position(|other| other == line) {
                Some(at) => drop(others.swap_remove(at)),
                None => left.push(line.clone()),
            }
        }
        left
    };
    let (more, less) = (only(ours, theirs), only(theirs, ours));
    match more.is_empty() && less.is_empty() {
        true => String::new(),
        false => format!("too much {more:?}, missing {less:?}"),
    }
}

/// A form with what it would send if nobody touched it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form {
    pub(crate) action: String,
    pub(crate) is_post: bool,
    /// Sent by a script of the page, which says so.
    pub(crate) is_by_script: bool,
    pub(crate) fields: Vec<Field>,
}

/// A field of a form.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) value: String,
}

/// The forms of a page, in their order.
pub(crate) fn forms(html: &str) -> Vec<Form> {
    let parts = html.split("<form").skip(1);
    parts.map(|part| form(part.split("</form>").next().unwrap_or_default())).collect()
}

fn form(html: &str) -> Form {
    let head = html.split('>').next().unwrap_or_default();
    let fields = ["<input", "<textarea"].into_iter().flat_map(|start| {
        html.split(start).skip(1).filter_map(move |rest| {
            let (tag, behind) = rest.split_once('>')?;
            let value = match start {
                "<textarea" => behind.split("</textarea").next().map(read_entities),
                _ => attribute(tag, "value"),
            };
            Some(Field {
                id: attribute(tag, "id").unwrap_or_default(),
                name: attribute(tag, "name")?,
                value: value.unwrap_or_default(),
            })
        })
    });
    Form {
        action: attribute(head, "action").unwrap_or_default(),
        is_post: attribute(head, "method").is_some_and(|m| m.eq_ignore_ascii_case("post")),
        is_by_script: head.contains(" data-fetch"),
        fields: fields.collect(),
    }
}

impl Form {
    /// The pairs to send: what is written, by `id`, and the rest as it stands.
    pub(crate) fn filled(&self, written: &[(&str, &str)]) -> Vec<(String, String)> {
        let value = |field: &Field| {
            let text = written.iter().find(|(id, _)| *id == field.id);
            text.map_or_else(|| field.value.clone(), |(_, text)| (*text).to_owned())
        };
        self.fields.iter().map(|field| (field.name.clone(), value(field))).collect()
    }
}

/// An attribute of a tag, its entities read.
pub(crate) fn attribute(tag: &str, name: &str) -> Option<String> {
    let quoted = [('"', format!(" {name}=\"")), ('\'', format!(" {name}='"))];
    let (quote, start) = quoted.iter().find(|(_, start)| tag.contains(start.as_str()))?;
    let value = tag.split_once(start.as_str())?.1.split(*quote).next()?;
    Some(read_entities(value))
}

fn read_entities(text: &str) -> String {
    let known = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#039;", "'"),
        ("&apos;", "'"),
        ("&nbsp;", " "),
        // Last, so that nothing is read twice.
        ("&amp;", "&"),
    ];
    let read = |text: String, (entity, letter): &(&str, &str)| text.replace(entity, letter);
    known.iter().fold(text.to_owned(), read)
}

/// The rest of an attribute's value behind these words.
pub(crate) fn attribute_after(html: &str, words: &str) -> Option<String> {
    let rest = html.split_once(words)?.1;
    rest.split(['"', '\'', '&']).next().map(str::to_owned)
}

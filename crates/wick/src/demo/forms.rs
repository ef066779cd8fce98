//! Forms of HTML pages, read as far as a log-in needs it, and filled in.
//!
//! No parser: it finds tags by their names, as the apps that are shown write them.

/// A form, without the fields that a person sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Form {
    /// Where it goes; none if it goes to the page's own address.
    pub(crate) action: Option<String>,
    /// Whether it is sent by POST.
    pub(crate) is_post: bool,
    /// Its hidden fields.
    pub(crate) hidden: Vec<(String, String)>,
}

impl Form {
    /// The first form of a page that `mark` stands in.
    pub(crate) fn find(page: &str, mark: &str) -> Option<Self> {
        let mut forms = page.split("<form").skip(1).filter_map(|rest| rest.split("</form>").next());
        let form = forms.find(|form| form.contains(mark))?;
        let own = form.split('>').next().unwrap_or_default();
        let inputs = form.split("<input").skip(1).filter_map(|rest| rest.split('>').next());
        let hidden = inputs.filter(|input| attribute(input, "type").as_deref() == Some("hidden"));
        let pair = |input| {
            Some((attribute(input, "name")?, attribute(input, "value").unwrap_or_default()))
        };
        Some(Self {
            action: attribute(own, "action").filter(|action| !action.is_empty()),
            is_post: attribute(own, "method").is_some_and(|it| it.eq_ignore_ascii_case("post")),
            hidden: hidden.filter_map(pair).collect(),
        })
    }

    /// Its fields, what a person writes behind the hidden ones.
    pub(crate) fn filled(&self, written: &[(&str, &str)]) -> Vec<(String, String)> {
        let is_written = |name: &str| written.iter().any(|(other, _)| *other == name);
        let kept = self.hidden.iter().filter(|(name, _)| !is_written(name)).cloned();
        kept.chain(written.iter().map(|&(n, v)| (n.to_owned(), v.to_owned()))).collect()
    }
}

/// Fields as a browser sends them.
pub(crate) fn encoded(fields: &[(String, String)]) -> String {
    let pairs = fields.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value)));
    pairs.collect::<Vec<_>>().join("&")
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                escaped.push(char::from(byte));
            }
            b' ' => escaped.push('+'),
            _ => escaped += &format!("%{byte:02X}"),
        }
    }
    escaped
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    for quote in ['"', '\''] {
        let start = format!("{name}={quote}");
        let mut parts = tag.split(&start);
        let mut before = parts.next()?;
        for rest in parts {
            // Or `name` would be found in `data-name`.
            if before.is_empty() || before.ends_with(char::is_whitespace) {
                return rest.split(quote).next().map(unescaped);
            }
            before = rest;
        }
    }
    None
}

/// The text that an attribute stands for.
pub(crate) fn unescaped(text: &str) -> String {
    let quotes = text.replace("&quot;", "\"").replace("&#039;", "'").replace("&#39;", "'");
    quotes.replace("&#x27;", "'").replace("&#038;", "&").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"<form action="/search"><input name="q"></form>
        <form data-action="/no" class='x' action="/in?a=1&amp;b=2" method="POST">
        <input type="hidden" name="token" value="a&quot;b" /><input type='hidden' name='empty'>
        <input data-name="no" name="user"><input type="password" name="word"></form>"#;

    #[test]
    fn the_form_that_a_mark_stands_in_is_read_and_filled() {
        let form = Form::find(PAGE, "name=\"word\"").expect("the second form");
        assert_eq!((form.action.as_deref(), form.is_post), (Some("/in?a=1&b=2"), true));
        let fields = form.filled(&[("user", "a b"), ("empty", "ü&")]);
        assert_eq!(encoded(&fields), "token=a%22b&user=a+b&empty=%C3%BC%26");
        let search = Form::find(PAGE, "name=\"q\"").expect("the first form");
        assert!(!search.is_post && search.hidden.is_empty());
        assert_eq!(Form::find(PAGE, "name=\"x\""), None);
    }

    #[test]
    fn half_a_form_is_none_or_what_stands_there() {
        for page in
            ["", "<form", "<form>", "<form><input", "<form action=><input name=", "<form ü='"]
        {
            assert!(Form::find(page, "q").is_none(), "{page}");
            let _ = Form::find(page, "");
        }
    }
}

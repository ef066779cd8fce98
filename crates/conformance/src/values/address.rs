//! Addresses: valid URL strings, absolute or relative.
//!
//! Law: the URL standard, §4.3 (URL writing) and §1.1 (validation errors).

/// A valid URL.
pub(crate) fn url(value: &str) -> Result<(), String> {
    if value.bytes().any(|byte| matches!(byte, b'\t' | b'\n' | b'\r')) {
        return Err("Tab, new line or carriage return found.".to_owned());
    }
    let Some((scheme, rest)) = scheme_of(value) else {
        if let Some(rest) = value.strip_prefix("//") {
            return authority_and_more(rest, false);
        }
        return parts(value);
    };
    match scheme.to_ascii_lowercase().as_str() {
        "javascript" => Ok(()),
        "data" => data(rest),
        "http" | "https" | "ftp" | "ws" | "wss" => match rest.strip_prefix("//") {
            Some(rest) => authority_and_more(rest, false),
            None => Err("Expected a slash (\"/\") after the scheme.".to_owned()),
        },
        "file" => match rest.strip_prefix("//") {
            Some(rest) => authority_and_more(rest, true),
            None => Err("\"file\" scheme is not followed by \"//\".".to_owned()),
        },
        _ => parts(rest),
    }
}

fn scheme_of(value: &str) -> Option<(&str, &str)> {
    let at = value.find(':')?;
    let scheme = &value[..at];
    let is_scheme = scheme.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then(|| (scheme, &value[at + 1..]))
}

fn data(rest: &str) -> Result<(), String> {
    if !rest.contains(',') {
        return Err("Premature end of a “data:” URL: no comma.".to_owned());
    }
    match rest.find('#') {
        Some(at) => component(&rest[at + 1..], "fragment"),
        None => component(rest, "scheme data"),
    }
}

fn authority_and_more(rest: &str, may_lack_host: bool) -> Result<(), String> {
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let authority = &rest[..end];
    if authority.contains('@') {
        return Err("URL includes credentials.".to_owned());
    }
    let (host, port) = match authority.rfind(':') {
        Some(at) if !authority[at..].contains(']') => (&authority[..at], &authority[at + 1..]),
        _ => (authority, ""),
    };
    if host.is_empty() && !may_lack_host {
        return Err("Invalid host: empty host.".to_owned());
    }
    let is_address = host.starts_with('[') && host.ends_with(']');
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || "<>[]^|\\%\"`{}".contains(c);
    if !is_address && host.contains(forbidden) {
        return Err("Invalid host: illegal character in domain.".to_owned());
    }
    if !port.is_empty() && port.parse::<u16>().is_err() {
        return Err("Invalid port.".to_owned());
    }
    parts(&rest[end..])
}

/// Path, query and fragment.
fn parts(rest: &str) -> Result<(), String> {
    let (rest, fragment) = match rest.split_once('#') {
        Some((rest, fragment)) => (rest, Some(fragment)),
        None => (rest, None),
    };
    let (path, query) = match rest.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (rest, None),
    };
    component(path, "path segment")?;
    query.map_or(Ok(()), |query| component(query, "query"))?;
    fragment.map_or(Ok(()), |fragment| component(fragment, "fragment"))
}

/// URL units only: URL code points and percent-encoded bytes.
fn component(text: &str, what: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    for (at, c) in text.char_indices() {
        if c == '%' {
            let is_encoded = bytes
                .get(at + 1..at + 3)
                .is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit));
            if !is_encoded {
                return Err(format!(
                    "Illegal character in {what}: “%” is not followed by two hexadecimal digits."
                ));
            }
            continue;
        }
        let is_allowed = if c.is_ascii() {
            c.is_ascii_alphanumeric() || "!$&'()*+,-./:;=?@_~".contains(c)
        } else {
            u32::from(c) >= 0xA0
        };
        if !is_allowed {
            let shown = if c == ' ' { "space".to_owned() } else { format!("“{c}”") };
            return Err(format!("Illegal character in {what}: {shown} is not allowed."));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::url;

    #[test]
    fn addresses_are_judged() {
        let good = [
            "a",
            "/a?b=c&d#e",
            "//host/a",
            "http://host:80/",
            "mailto:a@b.example",
            "javascript:a b",
            "data:,x",
            "http://[::1]/",
            "a%20b",
            "?q",
            "#a",
            "",
            "tel:+1",
            "é.html",
            "a:b",
        ];
        for value in good {
            assert_eq!(url(value), Ok(()), "{value}");
        }
        let bad = [
            "a b",
            "#a b",
            "#a<b",
            "http:/a",
            "http://",
            "http://u@h/",
            "file:/a",
            "a%2",
            "a\\b",
            "a[1]",
            "mailto:a b",
            "http://h:99999/",
            "a#b#c",
            "data:x",
            "a\nb",
            "http://a b/",
        ];
        for value in bad {
            assert!(url(value).is_err(), "{value}");
        }
    }
}

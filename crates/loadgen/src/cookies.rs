//! The cookies of one virtual visitor.
//!
//! A run loads one host, so a jar needs no domains; paths are not kept apart either, which is
//! more than a browser would send and never less. Invariant: a jar holds at most
//! [`COOKIES_MAX`] cookies, of at most [`COOKIE_BYTES_MAX`] each; others are left.

/// As many as browsers keep for a host.
const COOKIES_MAX: usize = 50;
const COOKIE_BYTES_MAX: usize = 4 << 10;

/// Cookies by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jar {
    cookies: Vec<(String, String)>,
    field: String,
}

impl Jar {
    /// Obeys one `Set-Cookie` (RFC 6265 §5.2, without domains, paths and dates to come).
    pub(crate) fn set(&mut self, value: &[u8]) {
        let Ok(text) = std::str::from_utf8(value) else { return };
        let mut parts = text.split(';').map(str::trim);
        let pair = parts.next().unwrap_or_default();
        let Some((name, value)) = pair.split_once('=') else { return };
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() || pair.len() > COOKIE_BYTES_MAX {
            return;
        }
        self.cookies.retain(|(own, _)| own != name);
        if !parts.any(ends) && self.cookies.len() < COOKIES_MAX {
            self.cookies.push((name.to_owned(), value.to_owned()));
        }
        let pairs: Vec<_> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        self.field = pairs.join("; ");
    }

    /// What stands in `Cookie`; nothing for a jar without cookies.
    pub(crate) fn field(&self) -> Option<&str> {
        (!self.field.is_empty()).then_some(&self.field)
    }
}

/// Whether an attribute says that the cookie is over. Servers that take a cookie back write an
/// age of nothing, or a date in 1970.
fn ends(attribute: &str) -> bool {
    let Some((name, value)) = attribute.split_once('=') else { return false };
    match name.trim().to_ascii_lowercase().as_str() {
        "max-age" => value.trim().parse::<i64>().is_ok_and(|seconds| seconds <= 0),
        "expires" => value.contains("1970"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_set_replaced_and_taken_back() {
        let mut jar = Jar::default();
        for (set, expected) in [
            ("nothing", None),
            ("s=1; Path=/; HttpOnly", Some("s=1")),
            ("t=a=b", Some("s=1; t=a=b")),
            ("s=2; Max-Age=60", Some("t=a=b; s=2")),
            ("t=x; expires=Thu, 01 Jan 1970 00:00:01 GMT", Some("s=2")),
            ("=x", Some("s=2")),
            ("s=; max-age=0", None),
        ] {
            jar.set(set.as_bytes());
            assert_eq!(jar.field(), expected, "after {set}");
        }
        jar.set(b"\xff=1");
        (0..60).for_each(|number| jar.set(format!("c{number}=1").as_bytes()));
        assert_eq!(jar.field().map(|field| field.split("; ").count()), Some(COOKIES_MAX));
    }
}

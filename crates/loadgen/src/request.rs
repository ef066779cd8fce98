//! What is sent: requests made into bytes once, before the run.
//!
//! Invariants: 1. No method, field or target holds a byte that would make two requests of one.
//! 2. Which of several weighted requests comes when depends on its number alone.

use crate::target::Target;

/// A request that can't be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Not a token.
    #[error("\"{0}\" is not a method")]
    Method(String),
    /// Not `Name: value`.
    #[error("\"{0}\" is not a header field: write \"Name: value\"")]
    Field(String),
    /// Fields that the generator writes itself.
    #[error("the field {0} is written by wick bench itself")]
    Own(String),
    /// No request at all.
    #[error("there is nothing to ask for: the list has no address with a weight above 0")]
    Nothing,
}

/// What a request is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Header fields, besides `Host` and those of the body's length.
    pub fields: Vec<(String, String)>,
    /// The body; none is sent if it is empty.
    pub body: Vec<u8>,
}

impl Wanted {
    /// GET, without a field of its own.
    #[must_use]
    pub fn get(path: impl Into<String>) -> Self {
        let (method, path) = ("GET".to_owned(), path.into());
        Self { method, path, fields: Vec::new(), body: Vec::new() }
    }
}

/// A request as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it was made of.
    pub wanted: Wanted,
    /// All of it, for who has no cookie.
    pub whole: Vec<u8>,
    /// Up to the empty line that ends the head.
    head_length: usize,
}

impl Request {
    /// Writes a request to this target; without `keeps` it asks that the connection be closed.
    ///
    /// # Errors
    /// Something in it may not be sent.
    pub fn new(wanted: Wanted, target: &Target, keeps: bool) -> Result<Self, RequestError> {
        let is_token = |text: &str| {
            let marks = b"!#$%&'*+-.^_`|~";
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || marks.contains(&byte))
        };
        if !is_token(&wanted.method) {
            return Err(RequestError::Method(wanted.method));
        }
        let mut head = format!("{} {} HTTP/1.1\r\n", wanted.method, wanted.path);
        let named =
            |name: &str| wanted.fields.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        if !named("host") {
            head.push_str(&format!("Host: {}\r\n", target.authority));
        }
        if !named("user-agent") {
            head.push_str(concat!("User-Agent: wick-bench/", env!("CARGO_PKG_VERSION"), "\r\n"));
        }
        if !named("accept") {
            head.push_str("Accept: */*\r\n");
        }
        if !keeps {
            head.push_str("Connection: close\r\n");
        }
        for (name, value) in &wanted.fields {
            let is_value = value.bytes().all(|byte| byte == b'\t' || (byte >= 32 && byte != 127));
            if !is_token(name) || !is_value {
                return Err(RequestError::Field(format!("{name}: {value}")));
            }
            let own = ["content-length", "transfer-encoding", "connection", "expect"];
            if own.iter().any(|own| name.eq_ignore_ascii_case(own)) {
                return Err(RequestError::Own(name.clone()));
            }
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !wanted.body.is_empty() || matches!(wanted.method.as_str(), "POST" | "PUT" | "PATCH") {
            head.push_str(&format!("Content-Length: {}\r\n", wanted.body.len()));
        }
        let head_length = head.len();
        let mut whole = head.into_bytes();
        whole.extend_from_slice(b"\r\n");
        whole.extend_from_slice(&wanted.body);
        Ok(Self { wanted, whole, head_length })
    }

    /// Whether its answer has no body.
    #[must_use]
    pub fn is_head(&self) -> bool {
        self.wanted.method == "HEAD"
    }

    /// Whether sending it twice is the same as sending it once.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        matches!(self.wanted.method.as_str(), "GET" | "HEAD" | "OPTIONS")
    }

    /// Writes it into `out` for who has these cookies, which are of the form of a field's value.
    pub fn write_with_cookies(&self, cookies: &str, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.whole[..self.head_length]);
        out.extend_from_slice(b"Cookie: ");
        out.extend_from_slice(cookies.as_bytes());
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.whole[self.head_length..]);
    }
}

/// Reads `Name: value`.
///
/// # Errors
/// It isn't of that form.
pub fn read_field(text: &str) -> Result<(String, String), RequestError> {
    let (name, value) = text.split_once(':').ok_or_else(|| RequestError::Field(text.to_owned()))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Requests, or scenarios, with weights.
#[derive(Clone, Debug)]
pub struct Mix<T> {
    all: Vec<T>,
    /// The sums of the weights up to each.
    sums: Vec<f64>,
}

impl<T> Mix<T> {
    /// Some, each with how often it is wanted in proportion to the others.
    ///
    /// # Errors
    /// No weight is above 0.
    pub fn new(weighted: Vec<(T, f64)>) -> Result<Self, RequestError> {
        let mut sum = 0.0;
        let (mut all, mut sums) = (Vec::new(), Vec::new());
        for (one, weight) in weighted {
            if weight > 0.0 && weight.is_finite() {
                sum += weight;
                all.push(one);
                sums.push(sum);
            }
        }
        if all.is_empty() { Err(RequestError::Nothing) } else { Ok(Self { all, sums }) }
    }

    /// Which one comes as number `number`: one in proportion to its weight, spread evenly.
    #[must_use]
    pub fn pick(&self, number: u64) -> usize {
        if self.all.len() == 1 {
            return 0;
        }
        // Multiples of the golden ratio, modulo 1, are as even as any sequence can be.
        let turned = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = (turned >> 11) as f64 / (1u64 << 53) as f64;
        let place = place * self.sums.last().copied().unwrap_or_default();
        self.sums.partition_point(|&sum| sum <= place).min(self.all.len() - 1)
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[T] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> Target {
        Target::parse("http://127.0.0.1:81/").expect("an address").0
    }

    fn written(wanted: Wanted, keeps: bool) -> String {
        match Request::new(wanted, &target(), keeps) {
            Ok(request) => String::from_utf8(request.whole).expect("text"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_request_is_written_once_and_cookies_are_put_in() {
        let agent = concat!("User-Agent: wick-bench/", env!("CARGO_PKG_VERSION"));
        assert_eq!(
            written(Wanted::get("/a"), true),
            format!("GET /a HTTP/1.1\r\nHost: 127.0.0.1:81\r\n{agent}\r\nAccept: */*\r\n\r\n")
        );
        let mut post = Wanted { method: "POST".into(), body: b"a=1".into(), ..Wanted::get("/") };
        post.fields.push(("Host".into(), "board".into()));
        post.fields.push(("user-agent".into(), "me".into()));
        post.fields.push(("accept".into(), "text/html".into()));
        let head = "POST / HTTP/1.1\r\nConnection: close\r\nHost: board\r\nuser-agent: me\r\n\
                    accept: text/html\r\nContent-Length: 3\r\n";
        assert_eq!(written(post.clone(), false), format!("{head}\r\na=1"));
        let request = Request::new(post, &target(), false).expect("a request");
        let mut out = Vec::new();
        request.write_with_cookies("s=1; t=2", &mut out);
        assert_eq!(out, format!("{head}Cookie: s=1; t=2\r\n\r\na=1").as_bytes());
    }

    #[test]
    fn nothing_makes_two_requests_of_one() {
        let with = |name: &str, value: &str| {
            let fields = vec![(name.to_owned(), value.to_owned())];
            written(Wanted { fields, ..Wanted::get("/") }, true)
        };
        assert!(with("A", "b\r\nC: d").contains("is not a header field"));
        assert!(with("A b", "c").contains("is not a header field"));
        assert!(with("Content-Length", "5").contains("written by wick bench itself"));
        let method = Wanted { method: "GET /x".into(), ..Wanted::get("/") };
        assert_eq!(written(method, true), "\"GET /x\" is not a method");
        assert!(read_field("no colon").is_err());
    }

    #[test]
    fn weights_are_kept_in_any_stretch_of_numbers() {
        let one = |path: &str| Request::new(Wanted::get(path), &target(), true).expect("a request");
        let weighted =
            vec![(one("/a"), 7.0), (one("/no"), 0.0), (one("/b"), 2.0), (one("/c"), 1.0)];
        let mix = Mix::new(weighted).expect("weights");
        for start in [0, 12_345, 1 << 40] {
            let mut counts = [0i64; 3];
            (start..start + 1_000).for_each(|number| counts[mix.pick(number)] += 1);
            for (count, expected) in counts.into_iter().zip([700, 200, 100]) {
                assert!((count - expected).abs() <= 5, "{counts:?} from {start}");
            }
        }
        assert_eq!(Mix::new(vec![(one("/"), 0.0)]).err(), Some(RequestError::Nothing));
    }
}

//! A visitor without a screen: HTTP/1.1 from an address of its own, with a cookie jar.
//!
//! Fields are sent as given, also those that no browser would send, since attackers
//! are visitors too. A request has a connection of its own. Start at [`Client::send`].

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use libtest_mimic::{Failed, Trial};

use crate::browser::Outcome;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Redirects that are followed, as browsers have a bound too.
const REDIRECTS_MAX: usize = 10;

/// Somebody at an address, with a program and its cookies.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) port: u16,
    pub(crate) source: Ipv4Addr,
    pub(crate) agent: String,
    /// Names and values, as the site set them; all are for the whole site.
    pub(crate) jar: Vec<(String, String)>,
    /// All that came, with what was asked for, until somebody takes it.
    pub(crate) heard: Vec<(String, Answer)>,
}

/// A request to send.
#[derive(Clone, Default)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) target: String,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: String,
}

/// What came back.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn get(target: &str) -> Self {
        Self { method: "GET", target: target.to_owned(), ..Self::default() }
    }

    /// A form that was filled in.
    pub(crate) fn form(target: &str, pairs: &[(String, String)]) -> Self {
        let body =
            pairs.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value)));
        let body = body.collect::<Vec<_>>().join("&");
        let request = Self { method: "POST", target: target.to_owned(), fields: vec![], body };
        request.with("Content-Type", "application/x-www-form-urlencoded")
    }

    /// The same with one more field.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }
}

impl Client {
    /// Somebody who was never here.
    pub(crate) fn new(port: u16, source: Ipv4Addr, agent: &str) -> Self {
        Self { port, source, agent: agent.to_owned(), jar: Vec::new(), heard: Vec::new() }
    }

    /// The same visitor before another server.
    pub(crate) fn at(&self, port: u16) -> Self {
        Self { port, heard: Vec::new(), ..self.clone() }
    }

    /// `http://HOST:PORT`.
    pub(crate) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Reads a page as somebody who typed its address, redirects followed.
    pub(crate) fn read(&mut self, target: &str) -> Outcome<Answer> {
        self.go(&navigation(Request::get(target)))
    }

    /// Sends a form as a browser does from `page`, redirects followed.
    pub(crate) fn submit(
        &mut self,
        page: &str,
        target: &str,
        pairs: &[(String, String)],
    ) -> Outcome<Answer> {
        self.go(&self.same_origin(Request::form(target, pairs), page))
    }

    /// A request with what a browser adds to one from a page of the same site.
    pub(crate) fn same_origin(&self, request: Request, page: &str) -> Request {
        let origin = self.origin();
        let referer = format!("{origin}{page}");
        let request =
            if request.method == "GET" { request } else { request.with("Origin", &origin) };
        navigation(request.with("Sec-Fetch-Site", "same-origin").with("Referer", &referer))
    }

    /// A request that a script of `page` sends.
    pub(crate) fn background(&mut self, request: Request, page: &str) -> Outcome<Answer> {
        let origin = self.origin();
        let request = match request.method {
            "GET" => request,
            _ => request.with("Origin", &origin),
        };
        let request = request
            .with("Referer", &format!("{origin}{page}"))
            .with("X-Requested-With", "XMLHttpRequest")
            .with("Accept", "*/*")
            .with("Sec-Fetch-Site", "same-origin")
            .with("Sec-Fetch-Mode", "cors")
            .with("Sec-Fetch-Dest", "empty");
        self.go(&request)
    }

    /// A link of this site as a path.
    pub(crate) fn path_of(&self, link: &str) -> String {
        link.strip_prefix(&self.origin()).unwrap_or(link).to_owned()
    }

    /// Sends a request and follows where the answers lead.
    pub(crate) fn go(&mut self, request: &Request) -> Outcome<Answer> {
        let mut request = request.clone();
        for _ in 0..REDIRECTS_MAX {
            let answer = self.send(&request)?;
            let place = answer.field("location").split('#').next().unwrap_or_default();
            if !(300..400).contains(&answer.status) || place.is_empty() {
                return Ok(answer);
            }
            let target = resolved(&request.target, &self.path_of(place));
            request = match answer.status {
                // The same request with its body, perhaps to the same place.
                307 | 308 => Request { target, ..request },
                _ => navigation(Request::get(&target).with("Sec-Fetch-Site", "same-origin")),
            };
        }
        Err(format!("more than {REDIRECTS_MAX} redirects, the last to {}", request.target))
    }

    /// Sends a request as it is, with the cookies, and keeps those that come back.
    pub(crate) fn send(&mut self, request: &Request) -> Outcome<Answer> {
        let told = |error: std::io::Error| {
            format!("{} {} from {}: {error}", request.method, request.target, self.source)
        };
        let bytes = self.exchange(request).map_err(told)?;
        let answer = parse(&bytes)
            .ok_or_else(|| format!("{} {}: no whole answer", request.method, request.target))?;
        self.keep_cookies(&answer);
        self.heard.push((request.target.clone(), answer.clone()));
        Ok(answer)
    }

    fn exchange(&self, request: &Request) -> std::io::Result<Vec<u8>> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.bind(&SocketAddr::from((self.source, 0)).into())?;
        socket.connect_timeout(
            &SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)).into(),
            PATIENCE,
        )?;
        let mut stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(self.text(request).as_bytes())?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn text(&self, request: &Request) -> String {
        let mut text = format!(
            "{} {} HTTP/1.1\r\nUser-Agent: {}\r\nConnection: close\r\n",
            request.method, request.target, self.agent
        );
        let mut line = |name: &str, value: &str| text.push_str(&format!("{name}: {value}\r\n"));
        let is_given = |name: &str| request.fields.iter().any(|field| field.0 == name);
        let host = format!("127.0.0.1:{}", self.port);
        if !is_given("Host") {
            line("Host", &host);
        }
        for (name, value) in
            [("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"), ("Accept-Language", "en")]
        {
            if !is_given(name) {
                line(name, value);
            }
        }
        if !self.jar.is_empty() && !is_given("Cookie") {
            let pairs = self.jar.iter().map(|(name, value)| format!("{name}={value}"));
            line("Cookie", &pairs.collect::<Vec<_>>().join("; "));
        }
        for (name, value) in &request.fields {
            line(name, value);
        }
        if request.method != "GET" && request.method != "HEAD" {
            line("Content-Length", &request.body.len().to_string());
        }
        text + "\r\n" + &request.body
    }

    fn keep_cookies(&mut self, answer: &Answer) {
        for line in answer.fields("set-cookie") {
            let (pair, attributes) = line.split_once(';').unwrap_or((line, ""));
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            self.jar.retain(|(known, _)| known != name.trim());
            // The attributes alone: a value drawn by lot may hold any digits.
            let attributes = attributes.to_ascii_lowercase();
            let is_removal = attributes.contains("max-age=0") || attributes.contains("1970");
            if !is_removal && value != "deleted" {
                self.jar.push((name.trim().to_owned(), value.trim().to_owned()));
            }
        }
    }
}

/// A test of the client itself.
pub(crate) fn trials() -> Vec<Trial> {
    vec![Trial::test("client::what_a_cookie_holds_does_not_end_it", || {
        what_a_cookie_holds_does_not_end_it().map_err(Failed::from)
    })]
}

fn what_a_cookie_holds_does_not_end_it() -> Outcome<()> {
    let cases = [
        ("a=b1970c; path=/", true),
        ("a=max-age=0", true),
        ("a=b; expires=Thu, 01 Jan 1970 00:00:00 GMT", false),
        ("a=b; Max-Age=0", false),
        ("a=deleted; path=/", false),
    ];
    for (line, stays) in cases {
        let mut client = Client::new(1, Ipv4Addr::LOCALHOST, "Alice");
        let head = format!("HTTP/1.1 200 OK\r\nSet-Cookie: {line}");
        client.keep_cookies(&Answer { status: 200, head, body: String::new() });
        if client.jar.is_empty() == stays {
            return Err(format!("{line}: stays: {stays}"));
        }
    }
    Ok(())
}

/// What browsers add when the person goes somewhere.
fn navigation(request: Request) -> Request {
    let is_known = request.fields.iter().any(|field| field.0 == "Sec-Fetch-Site");
    let request = if is_known { request } else { request.with("Sec-Fetch-Site", "none") };
    request.with("Sec-Fetch-Mode", "navigate").with("Sec-Fetch-Dest", "document")
}

impl Answer {
    /// The first field of a name; empty if there is none.
    pub(crate) fn field(&self, name: &'static str) -> &str {
        self.fields(name).next().unwrap_or_default()
    }

    pub(crate) fn fields(&self, name: &'static str) -> impl Iterator<Item = &str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(':'));
        let named = fields.filter(move |(known, _)| known.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.trim())
    }

    /// Whether it was made from what Wick holds in memory.
    pub(crate) fn is_from_memory(&self) -> bool {
        is_from_memory(self.field("cache-status"))
    }

    pub(crate) fn is_html(&self) -> bool {
        self.field("content-type").starts_with("text/html")
    }
}

/// Whether a `Cache-Status` of Wick says that the origin made nothing for this request.
pub(crate) fn is_from_memory(cache_status: &str) -> bool {
    let words: Vec<_> = cache_status.split(';').map(str::trim).collect();
    words.first() == Some(&"wick") && (words.contains(&"hit") || words.contains(&"collapsed"))
}

/// An answer, if it is whole.
pub(crate) fn parse(bytes: &[u8]) -> Option<Answer> {
    let at = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let mut answer = Answer { status, head, body: String::new() };
    let rest = &bytes[at + 4..];
    let body = match answer.field("transfer-encoding") {
        "chunked" => unchunked(rest)?,
        _ => {
            let length = answer.field("content-length").parse().unwrap_or(rest.len());
            // An answer to HEAD names a length and has no body.
            if rest.is_empty() { Vec::new() } else { rest.get(..length)?.to_vec() }
        }
    };
    answer.body = String::from_utf8_lossy(&body).into_owned();
    Some(answer)
}

fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let at = rest.windows(2).position(|two| two == b"\r\n")?;
        let size = std::str::from_utf8(&rest[..at]).ok()?.split(';').next()?;
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        rest = rest.get(at + 2..)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size + 2..)?;
    }
}

/// A place that a link or a redirect names, seen from where it stands.
pub(crate) fn resolved(at: &str, place: &str) -> String {
    let path = at.split('?').next().unwrap_or_default();
    match place.chars().next() {
        Some('/') => place.to_owned(),
        Some('?') => format!("{path}{place}"),
        _ => format!("{}/{place}", path.rsplit_once('/').map_or("", |(folder, _)| folder)),
    }
}

/// As forms are sent: percent-encoded, a space as `+`.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => out.push(byte as char),
            b' ' => out.push('+'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

//! A log-in as a browser does it, to see that the site is whole behind Wick.
//!
//! A page with a form is read, the form is sent with what the page hid in it, and the
//! visitor must then be known on another page. Start at [`LogIn::check`].

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::forms::{Form, encoded};

/// How long a single answer may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// A page of the apps that are shown is far smaller.
const ANSWER_BYTES_MAX: u64 = 8 << 20;

/// Where and how somebody logs in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogIn {
    /// The page with the form.
    pub(crate) page: &'static str,
    /// The names of the fields for user and password.
    pub(crate) fields: [&'static str; 2],
    /// Who it is, for whoever wants to try it by hand.
    pub(crate) user: &'static str,
    /// The password.
    pub(crate) password: &'static str,
    /// A page that then says [`Self::proof`].
    pub(crate) known_on: &'static str,
    /// What no stranger reads there.
    pub(crate) proof: &'static str,
}

/// A visitor, the cookies that they were given, and the page that they look at.
struct Visitor {
    address: SocketAddr,
    cookies: Vec<(String, String)>,
    page: String,
}

impl LogIn {
    /// Logs in at `address`; says what went wrong.
    pub(crate) fn check(&self, address: SocketAddr) -> Result<(), String> {
        let mut visitor = Visitor { address, cookies: Vec::new(), page: String::new() };
        let page = visitor.ask("GET", self.page, "")?;
        let mark = format!("name=\"{}\"", self.fields[1]);
        let form = Form::find(&page, &mark);
        let form = form.ok_or_else(|| format!("there is no form on {}", self.page))?;
        let [user, password] = self.fields;
        let fields = form.filled(&[(user, self.user), (password, self.password)]);
        let action = form.action.as_deref().unwrap_or(self.page);
        visitor.ask("POST", &self.path(action, address), &encoded(&fields))?;
        if !visitor.ask("GET", self.known_on, "")?.contains(self.proof) {
            return Err(format!("{} doesn't know {} after it", self.known_on, self.user));
        }
        Ok(())
    }

    /// A form's action as a path.
    fn path(&self, action: &str, address: SocketAddr) -> String {
        let local = action.strip_prefix(&format!("http://{address}")).unwrap_or(action);
        let folder = self.page.rsplit_once('/').map_or("", |(folder, _)| folder);
        if local.starts_with('/') { local.to_owned() } else { format!("{folder}/{local}") }
    }
}

impl Visitor {
    /// One request; gives the page's text.
    fn ask(&mut self, method: &str, path: &str, body: &str) -> Result<String, String> {
        let failed = |error: io::Error| format!("{method} {path}: {error}");
        let answer = self.exchange(&self.request(method, path, body)).map_err(failed)?;
        let (head, text) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).unwrap_or_default();
        if !status.starts_with(['2', '3']) {
            return Err(format!("{method} {path} was answered with status {status:?}"));
        }
        for line in head.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            if name.eq_ignore_ascii_case("set-cookie") {
                self.keep(value.trim());
            }
        }
        self.page = path.to_owned();
        Ok(text.to_owned())
    }

    /// HTTP/1.0, so that the answer comes in one piece and ends with the connection.
    fn request(&self, method: &str, path: &str, body: &str) -> String {
        let host = self.address;
        let mut head = format!("{method} {path} HTTP/1.0\r\nHost: {host}\r\n");
        head += "User-Agent: Mozilla/5.0 (X11; Linux x86_64) wick-demo\r\nAccept: text/html\r\n";
        head += "Sec-Fetch-Mode: navigate\r\n";
        if !self.page.is_empty() {
            head += &format!("Referer: http://{host}{}\r\n", self.page);
        }
        if !self.cookies.is_empty() {
            let pairs = self.cookies.iter().map(|(name, value)| format!("{name}={value}"));
            head += &format!("Cookie: {}\r\n", pairs.collect::<Vec<_>>().join("; "));
        }
        if method == "POST" {
            head += &format!("Origin: http://{host}\r\nSec-Fetch-Site: same-origin\r\n");
            head += "Content-Type: application/x-www-form-urlencoded\r\n";
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        format!("{head}\r\n{body}")
    }

    fn exchange(&self, request: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    fn keep(&mut self, cookie: &str) {
        let pair = cookie.split(';').next().unwrap_or_default();
        let Some((name, value)) = pair.split_once('=') else { return };
        self.cookies.retain(|(known, _)| known != name);
        self.cookies.push((name.to_owned(), value.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    const LOG_IN: LogIn = LogIn {
        page: "/in?x=1",
        fields: ["user", "word"],
        user: "ann",
        password: "a b",
        known_on: "/me",
        proof: "Hello, ann",
    };

    /// Logs in at a server that gives these answers in turn; what it was asked.
    fn check(answers: [&'static str; 3]) -> (Result<(), String>, Vec<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (tell, told) = mpsc::channel();
        // Whoever fails early leaves it waiting; it goes with the test.
        thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().expect("a connection");
                let mut asked = Vec::new();
                let mut some = [0; 4096];
                while !asked.ends_with(b"\r\n\r\n") && !asked.ends_with(b"word=a+b") {
                    let read = stream.read(&mut some).expect("a request");
                    asked.extend_from_slice(&some[..read]);
                }
                tell.send(String::from_utf8_lossy(&asked).into_owned()).expect("it is heard");
                stream.write_all(answer.as_bytes()).expect("somebody reads it");
            }
        });
        let result = LOG_IN.check(address);
        (result, told.try_iter().collect())
    }

    const FORM: &str = "HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Path=/\r\n\r\n<form method=post>\
                        <input type=\"hidden\" name=\"t\" value=\"9\"><input name=\"word\"></form>";
    const DONE: &str = "HTTP/1.1 302 Found\r\nset-cookie: a=2\r\nLocation: /\r\n\r\n";

    #[test]
    fn a_form_is_sent_with_its_token_and_the_cookies_are_kept() {
        let hello = "HTTP/1.1 200 OK\r\n\r\nHello, ann";
        let (result, asked) = check([FORM, DONE, hello]);
        assert_eq!(result, Ok(()));
        assert!(asked[1].starts_with("POST /in?x=1 HTTP/1.0\r\n"), "{}", asked[1]);
        assert!(asked[1].contains("\r\nCookie: a=1\r\n"), "{}", asked[1]);
        assert!(asked[1].ends_with("\r\n\r\nt=9&user=ann&word=a+b"), "{}", asked[1]);
        assert!(asked[2].contains("\r\nCookie: a=2\r\n"), "{}", asked[2]);
    }

    #[test]
    fn what_goes_wrong_is_said() {
        let guest = "HTTP/1.1 200 OK\r\n\r\nHello, guest";
        let refused = "HTTP/1.1 403 Forbidden\r\n\r\n";
        for (answers, why) in [
            ([FORM, DONE, guest], "/me doesn't know ann after it"),
            ([FORM, refused, guest], "POST /in?x=1 was answered with status \"403\""),
            ([guest, DONE, guest], "there is no form on /in?x=1"),
        ] {
            assert_eq!(check(answers).0, Err(why.to_owned()));
        }
    }
}

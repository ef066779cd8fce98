//! The environment of a script: what PHP finds in `$_SERVER`.
//!
//! Law: RFC 3875 §4.1; nginx's `fastcgi_params` for what apps expect beside it.
//! Invariants: 1. Whatever a visitor names begins with `HTTP_`, so no field sets
//! `PHP_VALUE` or any other variable of ours. 2. No two fields become one
//! variable: names with other characters than letters, digits and hyphens are left
//! out. 3. `HTTP_PROXY` never appears: libraries would take it for a setting.
//! 4. A script sees Wick as its server and not as a proxy: who asks, by what host,
//! port and scheme, stands in the variables for that.
//! Start at [`Environment::encode`].

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use wire::fastcgi::encode_param;
use wire::{Fields, Name, RequestHead, Version, push_address};

use crate::Call;
use crate::script::Script;

const SOFTWARE: &str = concat!("wick/", env!("CARGO_PKG_VERSION"));

/// What the environments of a site's scripts have in common.
pub(crate) struct Environment {
    root: PathBuf,
    /// Pairs that each begins with.
    first: Vec<u8>,
    /// Pairs that each ends with: variables of the owner's.
    last: Vec<u8>,
}

impl Environment {
    pub(crate) fn new(root: &Path, variables: &[(String, String)]) -> Self {
        let (mut first, mut last) = (Vec::new(), Vec::new());
        for (name, value) in [
            ("GATEWAY_INTERFACE", "CGI/1.1".as_bytes()),
            ("SERVER_SOFTWARE", SOFTWARE.as_bytes()),
            ("REDIRECT_STATUS", "200".as_bytes()),
            ("DOCUMENT_ROOT", root.as_os_str().as_bytes()),
        ] {
            encode_param(&mut first, name.as_bytes(), value);
        }
        for (name, value) in variables {
            encode_param(&mut last, name.as_bytes(), value.as_bytes());
        }
        Self { root: root.to_owned(), first, last }
    }

    /// The environment of one request as the content of PARAMS records.
    pub(crate) fn encode(
        &self,
        call: &Call,
        head: &RequestHead,
        script: &Script,
        body_length: Option<u64>,
    ) -> Vec<u8> {
        let known = self.first.len() + self.last.len();
        let mut out = Vec::with_capacity(known + 1024 + 2 * head.fields.bytes());
        out.extend_from_slice(&self.first);
        let mut put = |name: &str, value: &[u8]| encode_param(&mut out, name.as_bytes(), value);
        let info = script.path_info.as_deref().unwrap_or_default();
        put("REQUEST_METHOD", head.method.as_str().as_bytes());
        put("REQUEST_URI", head.target.as_bytes());
        put("QUERY_STRING", head.query().unwrap_or_default().as_bytes());
        put("SCRIPT_FILENAME", script.file.as_os_str().as_bytes());
        put("SCRIPT_NAME", &script.name);
        if info.is_empty() {
            put("DOCUMENT_URI", &script.name);
        } else {
            put("DOCUMENT_URI", &[&script.name, info].concat());
            put("PATH_INFO", info);
            put("PATH_TRANSLATED", &[self.root.as_os_str().as_bytes(), info].concat());
        }
        let protocol: &[u8] = match head.version {
            Version::Http10 => b"HTTP/1.0",
            Version::Http11 => b"HTTP/1.1",
            Version::Http2 => b"HTTP/2.0",
            Version::Http3 => b"HTTP/3.0",
        };
        put("SERVER_PROTOCOL", protocol);
        put("REQUEST_SCHEME", call.scheme.as_bytes());
        // Older plugins for LiteSpeed's cache look for it there alone; no visitor's gets so far.
        if let Some(announced) = head.fields.all_named("x-lscache").next() {
            put("X-LSCACHE", announced);
        }
        if call.scheme == "https" {
            put("HTTPS", b"on");
        }
        put("CONTENT_TYPE", head.fields.first(Name::ContentType).unwrap_or_default());
        let length = body_length.map_or_else(String::new, |length| length.to_string());
        put("CONTENT_LENGTH", length.as_bytes());
        if !head.host.is_empty() {
            put("HTTP_HOST", head.host.as_bytes());
        }
        encode_addresses(&mut out, call, &head.host);
        encode_fields(&mut out, &head.fields);
        out.extend_from_slice(&self.last);
        out
    }
}

/// Who asks, and which server.
fn encode_addresses(out: &mut Vec<u8>, call: &Call, host: &str) {
    let mut put = |name: &str, value: &[u8]| encode_param(out, name.as_bytes(), value);
    let mut address = Vec::with_capacity(48);
    push_address(&mut address, call.peer.ip());
    put("REMOTE_ADDR", &address);
    put("REMOTE_PORT", call.peer.port().to_string().as_bytes());
    address.clear();
    push_address(&mut address, call.local.ip());
    put("SERVER_ADDR", &address);
    let local_port = call.local.port().to_string();
    let standard_port = if call.scheme == "https" { "443" } else { "80" };
    // A `Host` without a port means the scheme's own, whatever port Wick itself listens on.
    let (name, port) = match split_host(host) {
        ("", _) => (&address[..], &*local_port),
        (name, "") => (name.as_bytes(), standard_port),
        (name, port) => (name.as_bytes(), port),
    };
    put("SERVER_NAME", name);
    put("SERVER_PORT", port.as_bytes());
}

/// The name and the port of a host; the port is empty if none was named.
fn split_host(host: &str) -> (&str, &str) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        _ => (host, ""),
    }
}

/// Every field as `HTTP_NAME`; lines of one name become one value.
fn encode_fields(out: &mut Vec<u8>, fields: &Fields) {
    let (mut variable, mut joined) = (b"HTTP_".to_vec(), Vec::new());
    for (at, (known, name, value)) in fields.iter_known().enumerate() {
        if known.is_some_and(stands_elsewhere) || known.is_none() && !is_variable(name) {
            continue;
        }
        // Known names are told apart without being read.
        let is_same = |&(other, written, _): &(Option<Name>, &[u8], &[u8])| {
            other == known && (known.is_some() || written.eq_ignore_ascii_case(name))
        };
        if fields.iter_known().take(at).any(|earlier| is_same(&earlier)) {
            continue;
        }
        variable.truncate(b"HTTP_".len());
        variable
            .extend(name.iter().map(|&b| if b == b'-' { b'_' } else { b.to_ascii_uppercase() }));
        let mut value = value;
        let mut later = fields.iter_known().skip(at + 1).filter(is_same).peekable();
        if later.peek().is_some() {
            let separator: &[u8] = if known == Some(Name::Cookie) { b"; " } else { b", " };
            joined.clear();
            joined.extend_from_slice(value);
            for (_, _, value) in later {
                joined.extend_from_slice(separator);
                joined.extend_from_slice(value);
            }
            value = &joined;
        }
        encode_param(out, &variable, value);
    }
}

/// Whether what a field tells stands in variables of its own here. MediaWiki drops the
/// port from every link when it finds `X-Forwarded-Proto`: a proxy has the standard one.
fn stands_elsewhere(known: Name) -> bool {
    matches!(
        known,
        Name::Host
            | Name::ContentType
            | Name::ContentLength
            | Name::TransferEncoding
            | Name::XForwardedFor
            | Name::XForwardedHost
            | Name::XForwardedProto
            | Name::Forwarded
            | Name::Via
    )
}

/// Whether a field of this name may be a variable; the port has one of its own.
fn is_variable(name: &[u8]) -> bool {
    let is_plain = name.iter().all(|&b| b.is_ascii_alphanumeric() || b == b'-');
    let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
    is_plain && !is(b"proxy") && !is(b"x-forwarded-port")
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::fastcgi::decode_params;

    fn call(host: &str, target: &str, scheme: &'static str, fields: &str) -> Call {
        let head = RequestHead {
            target: target.to_owned(),
            host: host.to_owned(),
            fields: Fields::parse(fields.as_bytes()).expect("the test's fields are well formed"),
            ..RequestHead::default()
        };
        let peer = "[::ffff:192.0.2.7]:4711".parse().expect("an address");
        let local = "127.0.0.1:8080".parse().expect("an address");
        Call {
            head,
            body: None,
            body_length: None,
            peer,
            local,
            scheme,
            is_counted: true,
            early: None,
            phases: None,
        }
    }

    fn environment(call: &Call, info: Option<&str>) -> Vec<String> {
        let script = Script {
            file: "/site/a b.php".into(),
            name: b"/a b.php".to_vec(),
            path_info: info.map(|info| info.as_bytes().to_vec()),
            is_for_a_file: false,
        };
        let common = Environment::new(Path::new("/site"), &[]);
        let bytes = common.encode(call, &call.head, &script, None);
        let pairs = decode_params(&bytes).expect("whole pairs");
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        pairs.into_iter().map(|(name, value)| format!("{}={}", text(name), text(value))).collect()
    }

    fn check(call: &Call, info: Option<&str>, expected: &[&str], absent: &[&str]) {
        let environment = environment(call, info);
        for line in expected {
            assert!(environment.iter().any(|l| l == line), "{line} not in {environment:#?}");
        }
        for name in absent {
            let start = format!("{name}=");
            assert!(
                !environment.iter().any(|l| l.starts_with(&start)),
                "{name} in {environment:#?}"
            );
        }
    }

    #[test]
    fn apps_find_what_they_expect() {
        check(
            &call("forum.example:8080", "/a%20b.php/x?q=1&r", "http", "Accept: */*\n"),
            Some("/x"),
            &[
                "REQUEST_URI=/a%20b.php/x?q=1&r",
                "QUERY_STRING=q=1&r",
                "SCRIPT_FILENAME=/site/a b.php",
                "SCRIPT_NAME=/a b.php",
                "PATH_INFO=/x",
                "PATH_TRANSLATED=/site/x",
                "DOCUMENT_URI=/a b.php/x",
                "DOCUMENT_ROOT=/site",
                "SERVER_NAME=forum.example",
                "SERVER_PORT=8080",
                "HTTP_HOST=forum.example:8080",
                "REMOTE_ADDR=192.0.2.7",
                "REMOTE_PORT=4711",
                "HTTP_ACCEPT=*/*",
                "CONTENT_LENGTH=",
                "REQUEST_SCHEME=http",
                "SERVER_PROTOCOL=HTTP/1.1",
            ],
            &["HTTPS"],
        );
        check(
            &call("[::1]", "/", "https", ""),
            None,
            &["HTTPS=on", "SERVER_NAME=[::1]", "SERVER_PORT=443", "QUERY_STRING="],
            &["PATH_INFO", "PATH_TRANSLATED"],
        );
        let no_host = call("", "/", "http", "");
        check(&no_host, None, &["SERVER_NAME=127.0.0.1", "SERVER_PORT=8080"], &["HTTP_HOST"]);
    }

    #[test]
    fn a_visitor_can_set_no_variable_but_those_of_fields() {
        check(
            &call(
                "a",
                "/",
                "http",
                "Proxy: evil\nPHP_VALUE: x\nX_Forwarded_For: evil\nX-Forwarded-For: other\n\
                 X-Forwarded-Proto: http\nX-Forwarded-Host: a\nX-Forwarded-Port: 80\nForwarded: for=a\nVia: 1.1 wick\n\
                 Content-Type: a/b\nContent-Length: 9\nHost: evil\nX.Y: z\n\
                 Cookie: a=1\nX-A: 1\ncookie: b=2\nx-a: 2\n",
            ),
            None,
            &["CONTENT_TYPE=a/b", "HTTP_HOST=a", "HTTP_COOKIE=a=1; b=2", "HTTP_X_A=1, 2"],
            &[
                "HTTP_X_FORWARDED_FOR",
                "HTTP_X_FORWARDED_PROTO",
                "HTTP_X_FORWARDED_HOST",
                "HTTP_FORWARDED",
                "HTTP_VIA",
                "HTTP_PROXY",
                "PHP_VALUE",
                "HTTP_PHP_VALUE",
                "HTTP_CONTENT_TYPE",
                "HTTP_CONTENT_LENGTH",
                "HTTP_X_Y",
            ],
        );
    }
}

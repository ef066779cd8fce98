//! Origins that speak TLS: whom to trust, and what is said of those whom nobody should.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

use crate::serve;
use crate::wick::{Wick, ask, body};

/// Who signs certificates.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut own = CertificateParams::default();
        own.distinguished_name.push(DnType::CommonName, name);
        own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = own.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(own, key), pem }
    }

    pub(crate) fn write_to(&self, folder: &Path) -> String {
        let path = folder.join("ca.pem");
        std::fs::write(&path, &self.pem).expect("it can be written");
        path.display().to_string()
    }

    /// A certificate for `name` and its key, in PEM.
    pub(crate) fn certificate(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let own = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let certificate = own.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }

    /// An https server with a certificate for `name`, on a port of its own.
    fn server(&self, name: &str, is_expired: bool) -> SocketAddr {
        let key = KeyPair::generate().expect("a key");
        let mut own = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        if is_expired {
            own.not_after = date_time_ymd(2020, 1, 1);
        }
        let certificate = own.signed_by(&key, &self.issuer).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("its own protocols")
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            )
            .expect("a good certificate");
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let connection = ServerConnection::new(config.clone()).expect("a connection");
                std::thread::spawn(move || answer(StreamOwned::new(connection, stream)));
            }
        });
        address
    }
}

/// Answers with the `Host` that was asked for, until the peer has had enough.
fn answer(stream: StreamOwned<ServerConnection, TcpStream>) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut host = None;
        loop {
            let mut line = String::new();
            match stream.read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if line.trim().is_empty() => break,
                Ok(_) => host = line.strip_prefix("host: ").map(str::to_owned).or(host),
            }
        }
        let host = host.unwrap_or_default();
        let host = host.trim();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", host.len());
        if stream.get_mut().write_all(format!("{head}{host}").as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn an_https_origin_is_asked_if_its_certificate_is_good() {
    let authority = Authority::new("ours");
    let folder = TempDir::new().expect("a temporary folder");
    let ca = authority.write_to(folder.path());
    let port = authority.server("localhost", false).port();
    let (wick, address, _folder) =
        serve(&format!("origin = \"https://localhost:{port}\"\norigin_ca = \"{ca}\""));
    for _ in 0..2 {
        let answer = ask(address, "GET /");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert_eq!(body(&answer), address.to_string(), "the visitor's host is passed on");
    }
    wick.stop();

    // By its IP address it needs a name.
    let own = authority.server("origin.test", false);
    let named =
        format!("origin = \"https://{own}\"\norigin_ca = \"{ca}\"\norigin_name = \"origin.test\"");
    let (wick, address, _folder) = serve(&named);
    assert!(ask(address, "GET /").starts_with("HTTP/1.1 200 "));
    wick.stop();
}

#[test]
fn an_origin_that_cannot_be_trusted_is_not_asked_and_the_cure_is_told() {
    let (authority, other) = (Authority::new("ours"), Authority::new("another"));
    let folder = TempDir::new().expect("a temporary folder");
    let ca = authority.write_to(folder.path());
    let trusted = format!("origin_ca = \"{ca}\"");
    for (server, settings, told) in [
        (
            authority.server("other.test", false),
            &trusted,
            "its certificate is for other.test, and not for localhost; set origin_name to",
        ),
        (
            authority.server("localhost", true),
            &trusted,
            "the certificate of localhost has expired: it has to be renewed there",
        ),
        (
            other.server("localhost", false),
            &trusted,
            "nobody whom this machine trusts has signed the certificate of localhost; name who \
             did in origin_ca",
        ),
    ] {
        let site = format!("origin = \"https://localhost:{}\"\n{settings}", server.port());
        let (wick, address, folder) = serve(&site);
        for _ in 0..3 {
            let answer = ask(address, "GET /");
            assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
            assert!(answer.contains("detail=origin-untrusted"), "{answer}");
        }
        let config = folder.path().join("wick.toml").display().to_string();
        let state = folder.path().join("state").display().to_string();
        let check = ["check", &config, "--listen", "127.0.0.1:0", "--state", &state];
        let checked = Wick::run(&check).end();
        assert!(checked.output.contains(told), "{told}: {}", checked.output);
        let ended = wick.stop();
        assert!(ended.errors.contains(told), "{told}: {}", ended.errors);
    }
}

#[test]
fn settings_of_trust_that_are_no_good_are_told_with_the_cure() {
    let folder = TempDir::new().expect("a temporary folder");
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "").expect("it can be written");
    for (settings, told) in [
        ("origin_ca = \"/none.pem\"".to_owned(), "the certificates in /none.pem can't be read ("),
        (
            format!("origin_ca = \"{}\"", empty.display()),
            "can't be read (there is none in it): name a PEM file in origin_ca",
        ),
        (
            "origin_name = \"no name\"".to_owned(),
            "\"no name\" is no name that a certificate can be for: write a host name",
        ),
    ] {
        let path = folder.path().join("wick.toml");
        let site = format!("[[site]]\norigin = \"https://localhost:1\"\n{settings}\n");
        std::fs::write(&path, site).expect("it is written");
        let config = path.display().to_string();
        let ended = Wick::run(&["serve", "--config", &config, "--listen", "127.0.0.1:0"]).end();
        assert!(ended.told().contains(told), "{told}: {}", ended.told());
    }
}

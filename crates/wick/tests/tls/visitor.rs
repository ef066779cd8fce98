//! Visitors: curl, and one made of rustls who keeps a connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::wick::PATIENCE;

/// What curl says: everything on standard output, or how it failed.
pub(crate) fn curl(address: SocketAddr, url: &str, arguments: &[&str]) -> Result<String, i32> {
    let rest = url.split_once("//").expect("a whole address").1;
    let name = rest.split('/').next().expect("a host");
    let asked = url.replacen(name, &format!("{name}:{}", address.port()), 1);
    let resolve = format!("{name}:{}:{}", address.port(), address.ip());
    let output = Command::new("curl")
        .args(["--silent", "--max-time", "60", "--noproxy", "*", "--resolve", &resolve])
        .args(arguments)
        .arg(&asked)
        .output()
        .expect("curl is there (scripts/setup test installs it)");
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(output.status.code().unwrap_or(-1)),
    }
}

/// A visitor who stays.
pub(crate) struct Visitor {
    stream: StreamOwned<ClientConnection, TcpStream>,
    name: String,
}

impl Visitor {
    /// Connects and shakes hands; the error is what rustls says of the server's certificate.
    pub(crate) fn new(address: SocketAddr, name: &str, ca: &Path) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        let certificates = CertificateDer::pem_file_iter(ca).expect("a file of certificates");
        roots.add_parsable_certificates(certificates.flatten());
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let host = ServerName::try_from(name.to_owned()).expect("a name");
        let connection = ClientConnection::new(Arc::new(config), host).expect("a client");
        let socket = TcpStream::connect(address).expect("somebody listens");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
        let mut stream = StreamOwned::new(connection, socket);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).map_err(|error| error.to_string())?;
        }
        Ok(Self { stream, name: name.to_owned() })
    }

    /// The server's own certificate.
    pub(crate) fn certificate(&self) -> Vec<u8> {
        self.stream.conn.peer_certificates().expect("a certificate")[0].to_vec()
    }

    /// Asks on this connection; the answer's head and as much of its body as it promises.
    pub(crate) fn ask(&mut self, request: &str) -> (String, Vec<u8>) {
        let host = &self.name;
        let text = format!("{request} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        self.stream.write_all(text.as_bytes()).expect("the request is taken");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.stream.read_exact(&mut byte).expect("the answer comes");
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).expect("a head is text").to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.expect("a length").parse().expect("a number")];
        self.stream.read_exact(&mut body).expect("the body comes");
        (head, body)
    }

    /// Asks for the last time, and reads to an end that the server has told.
    pub(crate) fn ask_last(&mut self, request: &str) -> Result<String, std::io::Error> {
        let text = format!("{request} HTTP/1.0\r\nHost: {}\r\n\r\n", self.name);
        self.stream.write_all(text.as_bytes()).expect("the request is taken");
        let mut answer = Vec::new();
        self.stream.read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }
}

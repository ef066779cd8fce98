//! Origins that speak HTTP/2: nginx with TLS and without, and a server that breaks off.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use h2::Reason;
use tempfile::TempDir;

use crate::https::Authority;
use crate::serve;
use crate::upgrades::{ASKED, Chat, frame, read_frame, read_head};
use crate::wick::{Wick, ask, body, rest, send, until};

/// An nginx with two doors; it is ended with the test.
struct Nginx {
    child: Child,
    tls: u16,
    clear: u16,
    ca: String,
    folder: TempDir,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Nginx {
    /// Starts one with these settings of its `http` block; `/chat` is the chat's.
    fn start(settings: &str, chat: SocketAddr) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let authority = Authority::new("ours");
        let ca = authority.write_to(folder.path());
        let (certificate, key) = authority.certificate("localhost");
        let write = |name: &str, text: &[u8]| {
            std::fs::write(folder.path().join(name), text).expect("it can be written");
        };
        write("cert.pem", certificate.as_bytes());
        write("key.pem", key.as_bytes());
        let big: Vec<u8> = (0..BIG).map(|at| (at % 251) as u8).collect();
        write("big.bin", &big);
        let (tls, clear) = (loopback::port(), loopback::port());
        let text = configuration(folder.path(), settings, tls, clear, chat);
        write("nginx.conf", text.as_bytes());
        let child = Command::new("nginx")
            .args(["-p", &folder.path().display().to_string(), "-c", "nginx.conf"])
            .args(["-e", "stderr"])
            .stdin(Stdio::null())
            .spawn()
            .expect("nginx is installed");
        until("nginx", || {
            [tls, clear].iter().all(|port| TcpStream::connect(("127.0.0.1", *port)).is_ok())
        });
        Self { child, tls, clear, ca, folder }
    }

    /// As an origin with TLS.
    fn with_tls(&self) -> String {
        format!("origin = \"https://localhost:{}\"\norigin_ca = \"{}\"", self.tls, self.ca)
    }
}

const BIG: usize = 3_000_000;

fn configuration(folder: &Path, settings: &str, tls: u16, clear: u16, chat: SocketAddr) -> String {
    let folder = folder.display();
    format!(
        "daemon off; master_process off; pid nginx.pid; error_log stderr crit;
        events {{ worker_connections 256; }}
        http {{
            access_log {folder}/access.log; {settings}
            client_body_temp_path {folder}/bodies; proxy_temp_path {folder}/proxied;
            fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
            server {{
                listen 127.0.0.1:{tls} ssl http2; listen 127.0.0.1:{clear} http2;
                ssl_certificate cert.pem; ssl_certificate_key key.pem;
                root {folder};
                location / {{ return 200 '$server_protocol $host $connection_requests'; }}
                location /big.bin {{ }}
                location /echo {{ proxy_pass http://{chat}/page; }}
                location /chat {{
                    proxy_pass http://{chat}; proxy_http_version 1.1;
                    proxy_set_header upgrade $http_upgrade; proxy_set_header connection upgrade;
                    proxy_set_header Sec-WebSocket-Key $http_sec_websocket_key;
                }}
            }}
        }}"
    )
}

#[test]
fn nginx_is_asked_in_http2_by_tls_and_in_the_clear() {
    let chat = Chat::start();
    let nginx = Nginx::start("", chat.address);
    for (origin, protocol) in [
        (nginx.with_tls(), "HTTP/2.0"),
        (nginx.with_tls() + "\norigin_http2 = false", "HTTP/1.1"),
        (format!("origin = \"h2c://127.0.0.1:{}\"", nginx.clear), "HTTP/2.0"),
    ] {
        let (wick, address, _folder) = serve(&format!("cache = false\n{origin}"));
        for number in 1..4 {
            let answer = ask(address, "GET /\nHost: some.where");
            assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
            assert_eq!(body(&answer), format!("{protocol} some.where {number}"), "{origin}");
        }
        let big = ask(address, "GET /big.bin");
        assert!(big.contains(&format!("ontent-length: {BIG}\r\n")), "{}", &big[..300]);
        let head = ask(address, "HEAD /big.bin");
        assert!(head.contains(&format!("ontent-length: {BIG}\r\n")), "{head}");
        let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).expect("a tag");
        let same = ask(address, &format!("GET /big.bin\nIf-None-Match: {tag}"));
        assert!(same.starts_with("HTTP/1.1 304 "), "{same}");
        let upload = "POST /echo HTTP/1.1\nHost: a\nConnection: close\nContent-Length: 5\n\nhello";
        let answer = rest(send(address, upload));
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("plain"), "{answer}");
        wick.stop();
    }
    let log = std::fs::read_to_string(nginx.folder.path().join("access.log")).expect("a log");
    assert!(log.contains("\"POST /echo HTTP/2.0\" 200 "), "{log}");
}

#[test]
fn a_web_socket_goes_by_http1_through_a_server_that_prefers_http2() {
    let chat = Chat::start();
    let nginx = Nginx::start("", chat.address);
    let (_wick, address, _folder) = serve(&nginx.with_tls());
    assert!(body(&ask(address, "GET /")).starts_with("HTTP/2.0 "));
    let mut visitor = send(address, ASKED);
    let head = read_head(&mut visitor);
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    visitor.write_all(&frame(0x82, b"hello", true)).expect("it is taken");
    assert_eq!(read_frame(&mut visitor), Some((0x82, b"hello".to_vec())));
}

#[test]
fn goodbyes_and_few_streams_at_once_are_noticed_by_nobody() {
    let chat = Chat::start();
    let settings = "keepalive_requests 7; http2_max_concurrent_streams 2;";
    let nginx = Nginx::start(settings, chat.address);
    let origin = format!("cache = false\norigin = \"h2c://127.0.0.1:{}\"", nginx.clear);
    let (_wick, address, _folder) = serve(&origin);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for number in 0..40 {
                    let line = if number % 2 == 0 { "GET /" } else { "POST /\nContent-Length: 0" };
                    let answer = ask(address, line);
                    let is_fine =
                        answer.starts_with("HTTP/1.1 200 ") || answer.starts_with("HTTP/1.1 405 ");
                    assert!(is_fine, "{number}: {answer}");
                }
            });
        }
    });
}

#[test]
fn check_tells_what_is_spoken() {
    let chat = Chat::start();
    let nginx = Nginx::start("", chat.address);
    let plain = crate::servers::Server::start("plain");
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("wick.toml");
    let site = |host: &str, origin: &str| format!("[[site]]\nhosts = [\"{host}\"]\n{origin}\n");
    let sites = [
        site("a", &nginx.with_tls()),
        site("b", &format!("origin = \"{}\"", plain.url())),
        site("c", &format!("origin = \"h2c://{}\"", plain.address)),
    ];
    std::fs::write(&path, format!("listen = \"127.0.0.1:0\"\n{}", sites.concat())).expect("it is");
    let state = folder.path().join("state").display().to_string();
    let output = Wick::run(&["check", &path.display().to_string(), "--state", &state]).end().output;
    let tls = format!("spoken    HTTP/2 with https://localhost:{}\n", nginx.tls);
    assert!(output.contains(&tls), "{output}");
    assert!(output.contains(&format!("spoken    HTTP/1.1 with {}\n", plain.url())), "{output}");
    let cure = "for a server of HTTP/1.1, write http:// instead of h2c://";
    assert!(output.contains(cure), "{output}");
}

/// A server of HTTP/2 that breaks off in the middle the first time, and never after it.
fn breaking() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let asked = Arc::<AtomicUsize>::default();
    let seen = asked.clone();
    std::thread::spawn(move || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().expect("a runtime").block_on(async move {
            listener.set_nonblocking(true).expect("it can be");
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, seen.clone()));
            }
        });
    });
    (address, asked)
}

async fn answer(stream: tokio::net::TcpStream, asked: Arc<AtomicUsize>) {
    let mut connection = h2::server::handshake(stream).await.expect("HTTP/2");
    while let Some(Ok((_, mut respond))) = connection.accept().await {
        let times = asked.fetch_add(1, Ordering::SeqCst);
        let head = http::Response::builder()
            .header("cache-control", "max-age=600")
            .header("content-type", "text/plain")
            .header("content-length", "8")
            .body(())
            .expect("a head");
        let mut body = respond.send_response(head, false).expect("it is taken");
        body.send_data(Bytes::from_static(b"half"), false).expect("it is taken");
        tokio::spawn(async move {
            // What was sent goes out before the reset does, or the reset takes it along.
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            match times {
                0 => body.send_reset(Reason::INTERNAL_ERROR),
                _ => body.send_data(Bytes::from_static(b"full"), true).expect("it is taken"),
            }
        });
    }
}

#[test]
fn a_page_whose_stream_is_reset_in_its_middle_is_not_stored() {
    let (origin, asked) = breaking();
    let (_wick, address, _folder) = serve(&format!("origin = \"h2c://{origin}\""));
    let broken = ask(address, "GET /");
    assert!(broken.starts_with("HTTP/1.1 200 ") && body(&broken) == "half", "{broken}");
    for _ in 0..2 {
        let whole = ask(address, "GET /");
        assert_eq!(body(&whole), "halffull", "{whole}");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2, "the second was stored");
}

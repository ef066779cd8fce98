//! Upgrades under TLS and HTTP/2: streams in flight are answered, and who asks too late is
//! told that nobody has looked at it, so that it can be asked again.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::future::join_all;
use h2::Reason;
use h2::client::SendRequest;
use http::Request;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::PAGE;
use crate::authority::Authority;
use crate::origin::Origin;
use crate::serving::{end, upgrade};
use crate::wick::{Wick, open_folder, until};

const UPGRADES: usize = 5;
/// Connections, and the requests of each at one time.
const VISITORS: usize = 3;
const STREAMS: usize = 8;

fn connector(ca: &Path) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(ca).expect("a file of certificates");
    roots.add_parsable_certificates(certificates.flatten());
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsConnector::from(Arc::new(config))
}

/// Asks, on new connections whenever the server says that it leaves, until it is over.
async fn keep_asking(address: SocketAddr, tls: TlsConnector, is_over: &AtomicBool) -> usize {
    let answered = AtomicUsize::new(0);
    while !is_over.load(Ordering::Relaxed) {
        let stream = TcpStream::connect(address).await.expect("somebody listens");
        let name = ServerName::try_from("a.test").expect("a name");
        let stream = tls.connect(name, stream).await.expect("a handshake");
        let (client, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
        let connection = tokio::spawn(connection);
        let asking = (0..STREAMS).map(|_| ask_until_told(client.clone(), is_over, &answered));
        join_all(asking).await;
        drop(client);
        // However it ends: each request on it has said how it went.
        drop(connection.await.expect("no panic"));
    }
    answered.into_inner()
}

/// Asks one after the other until nothing more may be asked on this connection.
async fn ask_until_told(
    mut client: SendRequest<Bytes>,
    is_over: &AtomicBool,
    answered: &AtomicUsize,
) {
    while !is_over.load(Ordering::Relaxed) {
        let Ok(ready) = client.ready().await else { return };
        client = ready;
        let number = answered.load(Ordering::Relaxed);
        let target = if number.is_multiple_of(2) { String::new() } else { number.to_string() };
        let request = Request::get(format!("https://a.test/{target}")).body(()).expect("a request");
        let Ok((answer, _)) = client.send_request(request, true) else { return };
        let answer = match answer.await {
            Ok(answer) => answer,
            Err(error) => {
                let is_untouched = error.is_remote()
                    && (error.is_go_away() && error.reason() == Some(Reason::NO_ERROR)
                        || error.reason() == Some(Reason::REFUSED_STREAM));
                assert!(is_untouched, "/{target}: {error:?}");
                return;
            }
        };
        assert_eq!(answer.status(), 200, "/{target}");
        let mut body = answer.into_body();
        let mut text = Vec::new();
        while let Some(piece) = body.data().await {
            let piece = piece.expect("the body comes whole");
            body.flow_control().release_capacity(piece.len()).expect("it was taken");
            text.extend_from_slice(&piece);
        }
        assert_eq!(text, b"hello");
        answered.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn no_request_fails_over_upgrades_under_tls_and_http2() {
    let origin = Origin::saying(PAGE);
    let folder = open_folder();
    let ca = Authority::new(folder.path());
    let pair = ca.pair(folder.path(), "all", &["a.test"]);
    let file = folder.path().join("wick.toml");
    // Ports of their own: those that the system chose could not be told apart by the next one.
    let [plain, address] = [loopback::address(), loopback::address()];
    let settings = format!(
        "listen_tls = \"{address}\"\n[[site]]\nhosts = [\"a.test\"]\norigin = \"{}\"\n{}",
        origin.url(),
        pair.settings()
    );
    std::fs::write(&file, settings).expect("the settings are written");
    let state = folder.path().join("state").display().to_string();
    let config = file.display().to_string();
    let plain = plain.to_string();
    let arguments = ["serve", "--config", &config, "--state", &state, "--listen", &plain];
    let mut wick = Wick::run(&arguments);
    wick.line("Ctrl-C stops it.");
    let is_over = Arc::new(AtomicBool::new(false));
    let asking = std::thread::spawn({
        let (is_over, tls) = (is_over.clone(), connector(&ca.file));
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let visitors = (0..VISITORS).map(|_| keep_asking(address, tls.clone(), &is_over));
            runtime.expect("a runtime").block_on(async { join_all(visitors).await })
        }
    });
    let mut serving = None;
    for _ in 0..UPGRADES {
        std::mem::forget(serving.replace(upgrade(&state)));
    }
    is_over.store(true, Ordering::Relaxed);
    let answered: usize = asking.join().expect("every answer was right").iter().sum();
    assert!(answered > UPGRADES, "somebody asked meanwhile");
    eprintln!("{answered} answers during {UPGRADES} upgrades");
    until("the end of the first one", || wick.has_ended());
    end(serving.expect("there were upgrades"));
    assert!(wick.end().status.success());
}

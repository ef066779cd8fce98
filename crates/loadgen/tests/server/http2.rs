//! A server of HTTP/2 without TLS, which answers each request with what was asked.

use std::net::{SocketAddr, TcpListener};

use bytes::Bytes;

/// Where it listens; it ends with the process.
pub(crate) fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    listener.set_nonblocking(true).expect("it is ours");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    std::thread::spawn(move || {
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("it is ours");
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
    });
    address
}

async fn serve(stream: tokio::net::TcpStream) {
    // Whoever only looks whether somebody is there says nothing.
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let answer = http::Response::builder().status(203).body(()).expect("an answer");
        let Ok(mut body) = respond.send_response(answer, false) else { return };
        let target = request.uri().path_and_query().map_or("", |target| target.as_str());
        let told = format!("{} {target}", request.method());
        if body.send_data(Bytes::from(told), true).is_err() {
            return;
        }
    }
}

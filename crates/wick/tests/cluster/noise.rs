//! What reading writes is found out, though visitors come through another node all the time.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::spawn;

use crate::board::{Node, look, until_in_touch};
use crate::database::{PASSWORD, Server};
use crate::nats::Nats;
use crate::reading::LOGGED;
use crate::wick::{Wick, until};

/// Each page that is asked for is counted in the database.
fn serve(database: Arc<Server>) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("an address");
    spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let database = database.clone();
            spawn(move || answer(&stream, &database));
        }
    });
    address
}

fn answer(stream: &TcpStream, database: &Server) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let mut writer = stream;
    while let Some(first) = lines.next() {
        if lines.by_ref().all(|line| !line.is_empty()) {
            return;
        }
        database.ask("UPDATE site.topics SET views = views + 1 WHERE id = 1");
        let page = format!("<!doctype html><title>A topic</title><p>It is here: {first}</p>");
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nCache-Control: no-cache\r\n\
             Content-Length: {}\r\n\r\n{page}",
            page.len()
        );
        if writer.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn what_reading_writes_is_learned_while_others_read_through_another_node() {
    let (Some(nats), Some(database)) = (Nats::start(1), Server::start(LOGGED)) else { return };
    database.ask("CREATE TABLE site.topics (id INT PRIMARY KEY, views INT)");
    database.ask("INSERT INTO site.topics VALUES (1, 0)");
    let password = PASSWORD.replace(':', "%3A").replace('@', "%40");
    let socket = database.socket().display().to_string();
    let origin = serve(Arc::new(database));
    let site = format!(
        "origin = \"http://{origin}\"\n\
         changes = \"mysql://wick:{password}@localhost/site?socket={socket}\"\n"
    );
    let nodes: Vec<_> =
        ["n0", "n1"].into_iter().map(|name| Node::start_with(name, &site, &nats)).collect();
    until_in_touch(&nodes);
    let (elsewhere, has_ended) = (nodes[1].address, Arc::<AtomicBool>::default());
    let ends = has_ended.clone();
    let reader = spawn(move || {
        while !ends.load(Ordering::SeqCst) {
            // Nothing is shared with who bears credentials.
            let request = "GET /topic/2\nHost: board.test\nAuthorization: Basic eDp5";
            crate::wick::ask(elsewhere, request);
        }
    });
    let noise = || {
        look(nodes[0].address, "/topic/1");
        let url = format!("http://{}/topic/1", nodes[0].address);
        let told = Wick::run(&["explain", &url, "--state", &nodes[0].state()]).end().output;
        told.lines().any(|line| line.starts_with("noise") && line.contains("topics"))
    };
    until("what reading writes is learned", noise);
    has_ended.store(true, Ordering::SeqCst);
    reader.join().expect("it reads on");
}

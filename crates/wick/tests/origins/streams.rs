//! Answers that go on for long: events and long polls reach the visitor piece by piece, also
//! where pages are compared for strangers.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};

use crate::serve;
use crate::wick::{PATIENCE, send};

/// An origin whose answers are handed to the test, each to be written by it.
pub(crate) fn origin() -> (String, Receiver<(String, TcpStream)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (tell, asked): (Sender<_>, _) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let tell = tell.clone();
            std::thread::spawn(move || {
                let head = read_until(&stream, "\r\n\r\n");
                // The test may be over.
                let _ = tell.send((head, stream));
            });
        }
    });
    (url, asked)
}

/// Reads byte by byte until `end` has come.
pub(crate) fn read_until(mut stream: &TcpStream, end: &str) -> String {
    use std::io::Read;
    let (mut text, mut byte) = (String::new(), [0]);
    while !text.ends_with(end) {
        assert_eq!(stream.read(&mut byte).expect("more comes"), 1, "it ends after {text:?}");
        text.push(char::from(byte[0]));
    }
    text
}

#[test]
fn events_come_one_by_one_for_strangers_and_for_members() {
    let (url, asked) = origin();
    let (_wick, address, _folder) = serve(&format!("origin = \"{url}\""));
    // A stranger, to whom the app gives a session on the way; a member; a stranger.
    for (number, (cookie, session)) in
        [("", "Set-Cookie: sid=1\r\n"), ("Cookie: sid=2\n", ""), ("", "")].iter().enumerate()
    {
        let line = format!("GET /{number}/events HTTP/1.1");
        let visitor = send(address, &format!("{line}\nHost: a\n{cookie}\n"));
        let (_, mut own) = asked.recv_timeout(PATIENCE).expect("the origin is asked");
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{session}\
             Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        own.write_all(head.as_bytes()).expect("it is taken");
        for number in 0..3 {
            // The next is only sent once this one was seen.
            let event = format!("data: {number}\n\n");
            let chunk = format!("{:x}\r\n{event}\r\n", event.len());
            own.write_all(chunk.as_bytes()).expect("it is taken");
            read_until(&visitor, &event);
        }
    }
}

#[test]
fn a_long_poll_holds_nobody_else_up() {
    let (url, asked) = origin();
    let (_wick, address, _folder) = serve(&format!("origin = \"{url}\""));
    let waiting = send(address, "GET /poll?since=1 HTTP/1.1\nHost: a\nCookie: a=b\n\n");
    let (_, mut poll) = asked.recv_timeout(PATIENCE).expect("the origin is asked");
    let other = send(address, "GET /other HTTP/1.1\nHost: a\n\n");
    let (_, mut own) = asked.recv_timeout(PATIENCE).expect("the origin is asked");
    let answer = |text: &str| {
        let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=1\r\nContent-Type: text/plain\r\n";
        format!("{head}Content-Length: {}\r\n\r\n{text}", text.len())
    };
    own.write_all(answer("other").as_bytes()).expect("it is taken");
    read_until(&other, "other");
    poll.write_all(answer("news").as_bytes()).expect("it is taken");
    read_until(&waiting, "news");
}

//! A DNS server that knows one address: every name leads to this machine.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// Answers by TCP, as pebble asks, until the test is over.
pub(crate) fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Who doesn't hear an answer asks again.
            std::thread::spawn(|| converse(stream));
        }
    });
    address
}

fn converse(mut stream: TcpStream) -> Option<()> {
    loop {
        let mut length = [0; 2];
        stream.read_exact(&mut length).ok()?;
        let mut question = vec![0; usize::from(u16::from_be_bytes(length))];
        stream.read_exact(&mut question).ok()?;
        let answer = answer(&question)?;
        let mut message = u16::try_from(answer.len()).ok()?.to_be_bytes().to_vec();
        message.extend(answer);
        stream.write_all(&message).ok()?;
    }
}

/// `127.0.0.1` for A, nothing for anything else (RFC 1035 §4).
fn answer(question: &[u8]) -> Option<Vec<u8>> {
    let mut end = 12;
    while *question.get(end)? != 0 {
        end += usize::from(question[end]) + 1;
    }
    let is_for_address = question.get(end + 1..end + 3)? == [0, 1];
    let asked = question.get(12..end + 5)?;
    let mut answer = question.get(..2)?.to_vec();
    answer.extend([0x84, 0, 0, 1, 0, u8::from(is_for_address), 0, 0, 0, 0]);
    answer.extend(asked);
    if is_for_address {
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, 1]);
    }
    Some(answer)
}

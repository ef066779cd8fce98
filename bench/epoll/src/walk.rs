//! A few visitors who read every page of a range once, each over one connection.
//!
//! Prints `pages N bytes B` at the end, B being the bodies' bytes.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::RangeInclusive;

use crate::answer::{self, Answer, Progress};
use crate::listen::Readiness;
use crate::pages::{self, Sizes};

struct Visitor {
    stream: TcpStream,
    answer: Answer,
}

/// Requests each page of `numbers` and checks each answer. The first wrong one ends it.
pub(crate) fn walk(
    address: SocketAddr,
    mut numbers: RangeInclusive<u64>,
    sizes: Sizes,
    connections: usize,
) -> io::Result<()> {
    let mut readiness = Readiness::new()?;
    let mut visitors: Vec<Option<Visitor>> = Vec::new();
    let (mut pages, mut bytes) = (0u64, 0u64);
    for slot in 0..connections.max(1) {
        let Some(number) = numbers.next() else { break };
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let answer = ask(&mut stream, address, number, sizes)?;
        stream.set_nonblocking(true)?;
        readiness.add(&stream, slot as u64)?;
        bytes += sizes.of(number) as u64;
        visitors.push(Some(Visitor { stream, answer }));
    }
    let mut left = visitors.len();
    let mut scratch = vec![0; 256 * 1024];
    while left > 0 {
        for slot in readiness.wait()? {
            let Some(visitor) = &mut visitors[slot as usize] else { continue };
            match visitor.answer.read(&mut visitor.stream, &mut scratch) {
                Progress::Waiting => continue,
                Progress::Wrong(why) => return answer::verdict(1, &why),
                Progress::Right => pages += 1,
            }
            let Some(number) = numbers.next() else {
                visitors[slot as usize] = None;
                left -= 1;
                continue;
            };
            visitor.answer = ask(&mut visitor.stream, address, number, sizes)?;
            bytes += sizes.of(number) as u64;
        }
    }
    println!("pages {pages} bytes {bytes}");
    Ok(())
}

/// A request fits any empty socket, so writing it never has to wait.
fn ask(
    stream: &mut TcpStream,
    address: SocketAddr,
    number: u64,
    sizes: Sizes,
) -> io::Result<Answer> {
    let body_bytes = sizes.of(number);
    stream.write_all(
        format!("GET /page/{number}/{body_bytes} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes(),
    )?;
    Ok(Answer::expect(body_bytes, &pages::first_line(number, body_bytes)))
}

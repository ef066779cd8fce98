//! Many visitors who want one page at the same moment.
//!
//! Prints `asked` once all connections stand and all requests are written, so that
//! the driver can hold the origin's answer back until then, and `right N` at the end.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};

use crate::answer::{self, Answer, Progress};
use crate::listen::Readiness;

/// Connects `visitors` times, asks for `path` on all, then waits for all answers.
pub(crate) fn gather(
    address: SocketAddr,
    path: &str,
    body_bytes: usize,
    visitors: usize,
) -> io::Result<()> {
    let mut readiness = Readiness::new()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let mut streams = Vec::with_capacity(visitors);
    for _ in 0..visitors {
        streams.push(TcpStream::connect(address)?);
    }
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.write_all(request.as_bytes())?;
        stream.set_nonblocking(true)?;
        readiness.add(&*stream, number as u64)?;
    }
    println!("asked");

    let mut answers: Vec<Answer> = streams.iter().map(|_| Answer::expect(body_bytes, "")).collect();
    let mut scratch = vec![0; 256 * 1024];
    let (mut right, mut wrong, mut first_wrong) = (0, 0, String::new());
    let mut waiting: Vec<Option<TcpStream>> = streams.into_iter().map(Some).collect();
    while right + wrong < visitors {
        for number in readiness.wait()? {
            let number = number as usize;
            let Some(stream) = &mut waiting[number] else { continue };
            match answers[number].read(stream, &mut scratch) {
                Progress::Waiting => continue,
                Progress::Right => right += 1,
                Progress::Wrong(why) => {
                    wrong += 1;
                    if first_wrong.is_empty() {
                        first_wrong = why;
                    }
                }
            }
            waiting[number] = None;
        }
    }
    println!("right {right}");
    answer::verdict(wrong, &first_wrong)
}

//! Edits of one page that come one upon the other: the last is found, whatever was tried before.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::origin::Origin;
use crate::search::{Serving, answer, paths, serve, visit};
use crate::wick::{ask, until};

/// How often somebody writes while the page is read.
const WRITINGS: usize = 24;

/// A word for each number, none like another: what is like one would be proposed, and then read.
fn word(number: usize) -> String {
    let mut left = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let letters = (0..9).map(|_| {
        left = left.rotate_left(7);
        char::from(b'a' + u8::try_from(left % 26).expect("a letter"))
    });
    letters.collect()
}

/// An origin whose page shows the number of the last writing, as a word, and to whose page somebody
/// writes each time it is read, as long as there is something `left` to write.
fn origin(left: &Arc<AtomicUsize>, wick: &Arc<OnceLock<SocketAddr>>) -> Origin {
    let (left, wick) = (left.clone(), wick.clone());
    let (written, sessions) = (AtomicUsize::new(0), AtomicUsize::new(0));
    Origin::new(move |head, stream| {
        if head.starts_with("POST ") {
            written.fetch_add(1, Ordering::SeqCst);
            return answer("204 No Content", "", "", stream);
        }
        if !head.starts_with("GET /page ") {
            return answer("404 Not Found", "", "nothing", stream);
        }
        let text = format!("Page about {}", word(written.load(Ordering::SeqCst)));
        let one_less = |left: usize| left.checked_sub(1);
        if left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok() {
            write(*wick.get().expect("who asks is known"));
        }
        let id = sessions.fetch_add(1, Ordering::SeqCst).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        answer("200 OK", &format!("Set-Cookie: sid={id:032x}; path=/\r\n"), &text, stream);
    })
}

fn write(wick: SocketAddr) {
    let told = ask(wick, "POST /write\nContent-Length: 0");
    assert!(told.starts_with("HTTP/1.1 204 "), "{told}");
}

#[test]
fn the_last_of_many_edits_is_found_though_each_came_while_the_one_before_was_read() {
    let (left, told) = (Arc::default(), Arc::default());
    let origin = origin(&left, &told);
    let Serving { wick, address, .. } = serve(&origin, "search_crawl = false\n");
    told.set(address).expect("nobody else tells");
    visit(address, "/page", "");
    until("the page is found", || paths(address, &word(0)) == ["/page"]);
    left.store(WRITINGS, Ordering::SeqCst);
    write(address);
    // Nobody visits the page.
    let last = word(WRITINGS + 1);
    until("the last edit is found", || paths(address, &last) == ["/page"]);
    assert!(paths(address, &word(0)).is_empty(), "what stood there before is found");
    wick.stop();
}

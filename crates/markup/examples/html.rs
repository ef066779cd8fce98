//! Prints what becomes of the posts that the other examples work on, each ended by a NUL.

mod forum;

use markup::{Dialect, Options, Renderer};

fn main() {
    let dialect = Dialect::built_in("torrentpier").expect("it is built in");
    let renderer = Renderer::new(dialect, Options::default());
    for post in forum::posts(2_000) {
        let mut html = Vec::new();
        renderer.render(post.as_str(), &mut html);
        print!("{}\0", String::from_utf8_lossy(&html));
    }
}

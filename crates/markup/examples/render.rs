//! Renders a forum's posts many times over: `bench/markup` counts its CPU time.
//!
//! Prints how many bytes were rendered, and how many came of them.

mod forum;

use markup::{Dialect, Options, Renderer, Scratch};

const ROUNDS: usize = 300;

fn main() {
    let dialect = Dialect::built_in("torrentpier").expect("it is built in");
    let renderer = Renderer::new(dialect, Options::default());
    let posts = forum::posts(2_000);
    let mut scratch = Scratch::default();
    let mut html = Vec::new();
    let (mut bytes, mut written) = (0, 0);
    for _ in 0..ROUNDS {
        for post in &posts {
            html.clear();
            renderer.render_with(&mut scratch, post.as_str(), &mut html);
            bytes += post.len();
            written += html.len();
        }
    }
    println!("{bytes} {written}");
}

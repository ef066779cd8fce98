//! Gives an app the HTML of pages of fifty posts that were rendered before: `bench/markup`
//! counts its CPU time.
//!
//! Prints how many pages were answered. Reading what is asked and writing the answer, as JSON,
//! is part of it; only the socket isn't.

#[path = "../../markup/examples/forum/mod.rs"]
mod forum;

use base::Clock;
use origin::{FilesOrigin, Origin};
use server::{AppKey, Help, Server, ServerConfig, SiteConfig};

const PAGES: usize = 20_000;
const POSTS: usize = 50;
const KEY: &str = "0123456789abcdef0123456789abcdef";

fn main() {
    let mut site = SiteConfig::new(Origin::Files(FilesOrigin::new("/nowhere")));
    site.app_key = AppKey::new(KEY);
    let memory =
        ServerConfig { memory_bytes: 256 << 20, app_memory_bytes: 64 << 20, ..Default::default() };
    let server = Server::new(ServerConfig { sites: vec![site], ..memory }, Clock::machine());
    let posts = forum::posts(2_000);
    let asked: Vec<String> = posts
        .chunks(POSTS)
        .map(|texts| serde_json::json!({ "dialect": "torrentpier", "texts": texts }).to_string())
        .collect();
    let ask = |page: usize| {
        let asked = asked[page % asked.len()].as_bytes();
        let Help { status, body } = server.help(KEY.as_bytes(), "/1/render", asked);
        assert!(status == 200 && !body.is_empty(), "{status}");
    };
    (0..asked.len()).for_each(ask);
    (0..PAGES).for_each(ask);
    let rendered = server.counters().app_texts_rendered.read();
    assert_eq!(rendered, posts.len() as u64, "the store is large enough");
    println!("{PAGES}");
}

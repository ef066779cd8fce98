//! Sites made by several HTTP servers, by https servers, and by those that speak more than
//! HTTP: the built binary before real sockets.
//!
//! Start at [`several`], then [`https`], [`http2`], [`upgrades`], [`streams`], [`lasting`].

mod http2;
mod https;
mod lasting;
mod servers;
#[path = "../command_line/serving.rs"]
#[allow(dead_code, reason = "it is shared with the tests of the command line")]
mod serving;
mod several;
mod streams;
mod upgrades;
#[path = "../command_line/wick.rs"]
#[allow(dead_code, reason = "it is shared with the tests of the command line")]
mod wick;

use std::net::SocketAddr;

use tempfile::TempDir;

/// A Wick before these settings of one site; the folder holds its `wick.toml`.
fn serve(settings: &str) -> (wick::Wick, SocketAddr, TempDir) {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("wick.toml");
    std::fs::write(&path, format!("[[site]]\n{settings}\n")).expect("the settings are written");
    let config = path.display().to_string();
    let (wick, address) = wick::Wick::serve(&["--config", &config]);
    (wick, address, folder)
}

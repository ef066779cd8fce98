//! `wick overrule`: what was learned is overruled at once, over a restart, and not over the owner.

use std::fs;

use crate::origin::Origin;
use crate::wick::{Wick, ask, names, open_folder, until};

/// A page for anybody that says nothing about that.
const PAGE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 16\r\n\r\n\
                    <p>Some words.\r\n";

fn overrule(state: &str, words: &[&str]) -> (String, String) {
    let ended = Wick::run(&[&["overrule", "--state", state], words].concat()).end();
    (ended.told(), ended.output)
}

#[test]
fn a_ruling_holds_at_once_and_over_a_restart_and_gives_way_to_the_settings() {
    let origin = Origin::saying(PAGE);
    let folder = open_folder();
    let state = folder.path().join("state").display().to_string();
    let file = folder.path().join("wick.toml");
    let write = |more: &str| {
        let text = format!("admin = \"off\"\n[[site]]\norigin = \"{}\"\n{more}", origin.url());
        fs::write(&file, text).expect("the settings are written");
    };
    let config = file.display().to_string();
    let start = || Wick::serve(&["--config", &config, "--state", &state]);
    write("");
    let (wick, address) = start();
    let is_hit = |address, fields: &str| {
        let answer = ask(address, &format!("GET /{fields}"));
        answer.contains("cache-status: wick; hit")
    };
    const BEARER: &str = "\nCookie: width=800";
    until("strangers share it", || is_hit(address, ""));
    assert!(!is_hit(address, BEARER), "nobody knows the cookie");
    assert_eq!(overrule(&state, &[]), ("0 ".into(), "ruled  nothing".into()));
    let (told, said) = overrule(&state, &["foreign_cookies", "width"]);
    assert_eq!((&*told, &*said), ("0 ", "ruled  foreign_cookies = [\"width\"], from now on"));
    assert!(is_hit(address, BEARER), "it holds at once");
    let (told, _) = overrule(&state, &["foreign_cookies", "a b"]);
    assert_eq!(told, "1 wick: nothing was overruled: a b is no cookie's name");
    wick.stop();
    assert!(names(folder.path().join("state").as_path()).contains(&"overruled.json".to_owned()));

    let (wick, address) = start();
    until("strangers share it", || is_hit(address, ""));
    assert!(is_hit(address, BEARER), "it holds after a restart");
    write("app_cookies = [\"width\"]\n");
    assert_eq!(Wick::run(&["reload", "--state", &state]).end().told(), "0 ");
    until("strangers share it again", || is_hit(address, ""));
    assert!(!is_hit(address, BEARER), "the owner's settings count");
    let (_, said) = overrule(&state, &[]);
    assert!(said.contains("by wick overrule, "), "{said}");
    assert!(said.contains("it doesn't hold: wick.toml has it in app_cookies"), "{said}");
    let (told, _) = overrule(&state, &["foreign_cookies", "width", "--take-back"]);
    assert_eq!(told, "0 ");
    write("");
    assert_eq!(Wick::run(&["reload", "--state", &state]).end().told(), "0 ");
    until("strangers share it again", || is_hit(address, ""));
    assert!(!is_hit(address, BEARER), "nobody knows the cookie any more");
    wick.stop();
}

//! What a tracker answers and tells, alone and beside a site.

use std::fs;

use crate::served::{Served, UdpClient, get, query};
use crate::wick::open_folder;

#[test]
fn a_file_with_nothing_but_a_tracker_is_served_over_http_and_udp() {
    let served = Served::begin("", "interval = \"60s\"");
    let told = get(served.address, &format!("/announce?{}", query(1, 0, "&event=started")));
    assert!(told.contains("8:completei1e") && told.ends_with("5:peers0:e"), "{told}");
    // Over UDP a second one finds the first.
    let answer = UdpClient::connect(served.address).announce(2, b"");
    assert_eq!(answer.len(), 26);
    assert_eq!(answer[20..], [127, 0, 0, 1, 0x27, 0x11]);
    let told = get(served.address, &format!("/scrape?info_hash={}", "h".repeat(20)));
    assert!(told.contains("8:completei1e"), "{told}");

    let told = served.ask(&["tracker", "status"]);
    assert!(told.contains("peers      2 (1 seed, 1 take)"), "{told}");
    assert!(told.contains("announces  2 "), "{told}");
    let told = served.ask(&["tracker", "torrent", &"68".repeat(20)]);
    assert!(told.contains("at 127.0.0.1:10001"), "{told}");
    for (arguments, expected) in [
        (["tracker", "torrent", "68"], "an info hash has 40 hexadecimal digits"),
        (["tracker", "user", "7"], "nobody has the number 7"),
    ] {
        let told = served.ask(&arguments);
        assert!(told.contains(expected), "{told}");
    }
    served.stop();
}

#[test]
fn a_site_hands_announces_to_the_tracker_and_keeps_the_rest() {
    let site = open_folder();
    fs::create_dir(site.path().join("bt")).expect("a folder");
    fs::write(site.path().join("bt/other.html"), "a page").expect("a page");
    let top = "listen = \"127.0.0.1:0\"";
    let table =
        format!("path = \"/bt/announce.php\"\n[[site]]\norigin = \"{}\"", site.path().display());
    let served = Served::begin(top, &table);
    let address = served.site.expect("there is a site");
    get(served.address, &format!("/announce?{}", query(1, 0, "&event=started")));
    let told = get(address, &format!("/bt/announce.php?{}", query(2, 5, "")));
    assert!(told.contains("5:peers6:\\x7f\\x00\\x00\\x01\\'\\x11"), "{told}");
    assert!(told.to_ascii_lowercase().contains("cache-control: no-store"), "{told}");
    assert!(get(address, "/bt/other.html").ends_with("a page"));
    assert!(get(address, "/announce").starts_with("HTTP/1.1 404"));
    served.stop();
}

#[test]
fn rules_are_read_again_and_peers_stay() {
    let served = Served::begin("", "interval = \"10m\"\njitter = 0");
    get(served.address, &format!("/announce?{}", query(1, 0, "&event=started")));
    served.rewrite("", "interval = \"5m\"\njitter = 0\nclients_deny = [\"-XX\"]");
    let told = served.ask(&["reload"]);
    assert!(told.contains("its rules are those of the settings; its peers stay"), "{told}");
    assert!(!told.contains("takes effect"), "{told}");
    let told = get(served.address, &format!("/announce?{}", query(2, 5, "")));
    assert!(told.contains("8:intervali300e") && told.contains("5:peers6:"), "{told}");
    let denied = query(3, 5, "").replace("-TR4040-", "-XX4040-");
    let told = get(served.address, &format!("/announce?{denied}"));
    assert!(told.contains("this client is not allowed here"), "{told}");
    served.stop();
}

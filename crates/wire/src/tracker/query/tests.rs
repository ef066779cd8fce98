//! Targets as clients send them, and such as they don't.

use super::*;

const HASH: &str = "info_hash=%124Vx%9A%BC%DE%F1%23Eg%89%ab%cd%ef%124Vx%9a";
const REST: &str = "peer_id=-TR4040-0123456789ab&port=51413&uploaded=1&downloaded=2&left=3";

fn parsed(target: &str) -> HttpAnnounce {
    match read(target.as_bytes()) {
        Ok(Asked::Announce(announce)) => announce,
        other => panic!("{target}: {other:?}"),
    }
}

fn with(more: &str) -> HttpAnnounce {
    parsed(&format!("/announce?{HASH}&{REST}{more}"))
}

fn secret_of(target: &str) -> Option<String> {
    let passkey = match read(target.as_bytes()) {
        Ok(Asked::Announce(it)) => it.announce.passkey,
        Ok(Asked::Scrape(it)) => it.passkey,
        other => panic!("{target}: {other:?}"),
    };
    passkey.map(|it| String::from_utf8_lossy(it.expose()).into_owned())
}

#[test]
fn an_announce_is_read_in_any_order_and_the_first_of_two_counts() {
    for query in [
        format!("{HASH}&{REST}"),
        format!("{REST}&{HASH}"),
        format!("x=y&&{REST}&=&{HASH}&supportcrypto=1&trackerid=9&left=9&{HASH}&corrupt=0"),
    ] {
        let announce = parsed(&format!("/announce?{query}")).announce;
        assert_eq!(announce.info_hash.0[..5], [0x12, b'4', b'V', b'x', 0x9a]);
        assert_eq!(&announce.peer_id.0, b"-TR4040-0123456789ab");
        let counters = (announce.uploaded, announce.downloaded, announce.left);
        assert_eq!((announce.port, counters), (51413, (1, 2, 3)));
    }
}

#[test]
fn an_event_is_one_of_a_few_and_others_say_nothing() {
    for (value, expected) in [
        ("&event=started", Event::Started),
        ("&event=completed", Event::Completed),
        ("&event=stopped", Event::Stopped),
        ("&event=paused", Event::Paused),
        ("&event=", Event::Update),
        ("&event=empty", Event::Update),
        ("", Event::Update),
    ] {
        assert_eq!(with(value).announce.event, expected, "{value}");
    }
}

#[test]
fn numbers_below_nothing_are_not_known() {
    for (target, left) in [
        ("left=0", 0),
        ("left=-1", u64::MAX),
        ("left=18446744073709551615", u64::MAX),
        ("nothing=0", u64::MAX),
    ] {
        let query = format!("/announce?{HASH}&{}", REST.replace("left=3", target));
        assert_eq!(parsed(&query).announce.left, left, "{target}");
    }
    for (value, wanted) in [
        ("&numwant=0", Some(0)),
        ("&numwant=200", Some(200)),
        ("&numwant=-1", None),
        ("&numwant=99999999999", Some(u32::MAX)),
        ("&numwant=many", None),
        ("", None),
    ] {
        assert_eq!(with(value).announce.peers_wanted, wanted, "{value}");
    }
}

#[test]
fn peers_are_bytes_unless_something_else_is_asked_for() {
    for (value, expected) in [
        ("", (true, false)),
        ("&compact=1", (true, false)),
        ("&compact=0", (false, false)),
        ("&compact=0&no_peer_id=1", (false, true)),
        ("&no_peer_id=0", (true, false)),
    ] {
        let announce = with(value);
        assert_eq!((announce.compact, announce.no_peer_id), expected, "{value}");
    }
}

#[test]
fn addresses_that_are_told_are_of_their_family() {
    for (value, v4, v6) in [
        ("&ip=10.0.0.1", Some("10.0.0.1"), None),
        ("&ip=2001%3Adb8%3A%3a1", None, Some("2001:db8::1")),
        ("&ip=::ffff:10.0.0.1", Some("10.0.0.1"), None),
        ("&ipv4=10.0.0.1:6881&ipv6=[2001:db8::1]:6881", Some("10.0.0.1"), Some("2001:db8::1")),
        ("&ip=10.0.0.1&ipv4=10.0.0.2", Some("10.0.0.2"), None),
        ("&ipv6=10.0.0.1", None, None),
        ("&ip=peer.example.org", None, None),
        ("&ip=", None, None),
    ] {
        let announce = with(value).announce;
        assert_eq!(announce.told_v4, v4.map(|it| it.parse().expect("an address")), "{value}");
        assert_eq!(announce.told_v6, v6.map(|it| it.parse().expect("an address")), "{value}");
    }
}

#[test]
fn a_key_may_be_any_bytes() {
    assert_eq!(
        with("&key=%00%01%ff%FF%41%42%43%44").announce.key,
        with("&key=%00%01%FF%ffABCD").announce.key
    );
    assert_ne!(with("&key=00000001").announce.key, with("&key=00000002").announce.key);
    assert_eq!(with("&key=").announce.key, None);
}

#[test]
fn a_passkey_is_a_parameter_or_a_segment() {
    let key = "0123456789abcdef0123456789ABCDEF";
    let query = format!("{HASH}&{REST}");
    for (target, is_there) in [
        (format!("/announce?passkey={key}&{query}"), true),
        (format!("/bt/announce.php?uk={key}&{query}"), true),
        (format!("/announce.php?passkey={key}?{query}"), true),
        (format!("/announce?{query}&pid={key}"), true),
        (format!("/{key}/announce?{query}"), true),
        (format!("/announce/{key}?{query}"), true),
        (format!("/announce.php/{key}/?{query}"), true),
        (format!("/tracker/{key}/announce?{query}"), true),
        (format!("/{key}/scrape?{HASH}"), true),
        (format!("/scrape.php?uk={key}&{HASH}"), true),
        (format!("/announce?{query}"), false),
        (format!("/bt/announce?{query}"), false),
        (format!("/announce/?{query}"), false),
    ] {
        assert_eq!(secret_of(&target).as_deref(), is_there.then_some(key), "{target}");
    }
    assert_eq!(
        secret_of(&format!("/x1234567890/announce?passkey={key}&{query}")).as_deref(),
        Some(key)
    );
    let udp = passkey_of(format!("/{key}/announce").as_bytes()).expect("it is well formed");
    assert_eq!(udp.map(|it| it.expose().to_vec()), Some(key.as_bytes().to_vec()));
    assert!(passkey_of(b"/announce").is_ok_and(|it| it.is_none()));
}

#[test]
fn what_is_wrong_is_said_without_repeating_it() {
    for (target, expected) in [
        ("/announce".to_owned(), "info_hash is missing"),
        (format!("/announce?{REST}&info_hash=short"), "info_hash is not 20 bytes"),
        (format!("/announce?{REST}&info_hash=%zz345678901234567890"), "info_hash is not 20 bytes"),
        (format!("/announce?{HASH}"), "peer_id is missing"),
        (format!("/announce?{HASH}&{}", REST.replace("51413", "65536")), "port is not a number"),
        (format!("/announce?{HASH}&{}", REST.replace("51413", "x")), "port is not a number"),
        (format!("/announce?{HASH}&{}", REST.replace("uploaded=1", "")), "uploaded is missing"),
        (
            format!(
                "/announce?{HASH}&{}",
                REST.replace("uploaded=1", "uploaded=99999999999999999999")
            ),
            "uploaded is not a number",
        ),
        (
            format!("/announce?{HASH}&{REST}&passkey=se%20cret"),
            "the passkey is malformed; download the torrent again from the site",
        ),
        ("/scrape?info_hash=x".to_owned(), "info_hash is not 20 bytes"),
        (
            format!("/scrape?{}", vec![HASH; 75].join("&")),
            "at most 74 torrents can be scraped at once",
        ),
    ] {
        let told = read(target.as_bytes()).expect_err(&target).to_string();
        assert_eq!(told, expected, "{target}");
    }
}

#[test]
fn a_scrape_names_torrents_or_all() {
    let Ok(Asked::Scrape(some)) = read(format!("/scrape?{HASH}&{HASH}").as_bytes()) else {
        panic!("no scrape")
    };
    assert_eq!(some.hashes.len(), 2);
    assert!(matches!(read(b"/scrape"), Ok(Asked::Scrape(all)) if all.hashes.is_empty()));
    for other in ["/", "", "/announcement", "/stats?announce=1", "*"] {
        assert!(matches!(read(other.as_bytes()), Ok(Asked::Other)), "{other}");
    }
}

//! A private tracker: users by their passkeys, each byte credited in the tables, and told to
//! whom it concerns.

use crate::served::{Served, UdpClient, get};
use crate::wick::{ask, until};

const ONE: &str = "0000000000000000000000000000one1";
const TWO: &str = "0000000000000000000000000000two2";
const TABLE: &str = "mode = \"private\"\nflush = \"1s\"";
const TOKEN: &str = "a-token-of-many-letters";

/// The hash of the torrent that these announce, in hexadecimal digits.
fn torrent() -> String {
    "68".repeat(20)
}

/// An announce of client 1, who sends.
fn sender(passkey: &str, uploaded: u64, event: &str) -> String {
    format!(
        "/{passkey}/announce?info_hash={}&peer_id=-TR4040-000000000001&port=10001&left=0\
         &uploaded={uploaded}&downloaded=0&event={event}",
        "h".repeat(20)
    )
}

/// The options of a datagram that show a passkey (BEP 41).
fn path(passkey: &str) -> Vec<u8> {
    let path = format!("/{passkey}/announce");
    [&[2, path.len() as u8][..], path.as_bytes()].concat()
}

#[test]
fn users_are_known_by_their_passkeys_and_credited_to_the_byte() {
    let served = Served::begin("", TABLE);
    let tables = served.enrol(&[(1, ONE), (2, TWO)], &torrent());
    for (target, expected) in [
        (sender(ONE, 0, "started").replace(&format!("/{ONE}"), ""), "a passkey is missing"),
        (sender(&ONE.replace('1', "9"), 0, "started"), "this passkey is unknown"),
        (sender(ONE, 0, "started").replace("hhh", "xxx"), "this torrent is not registered here"),
        (sender(ONE, 7, "started"), "8:completei1e"),
        (sender(ONE, 1_000_007, "completed"), "8:completei1e"),
    ] {
        let told = get(served.address, &target);
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let taker = UdpClient::connect(served.address);
    let refused = taker.announce_that(2, [0, 500, 0], 2, b"");
    assert!(refused.ends_with(b"download the torrent again from the site"));
    let found = taker.announce_that(2, [0, 500, 0], 2, &path(TWO));
    assert_eq!(found[20..], [127, 0, 0, 1, 0x27, 0x11], "the sender");
    taker.announce_that(2, [500, 0, 3], 1, &path(TWO));
    taker.announce_that(2, [500, 0, 4], 3, &path(TWO));
    until("the credits to be written", || {
        (tables.credit(1), tables.credit(2)) == ((1_000_000, 0), (4, 500))
    });
    assert_eq!(tables.completed(), 1);

    for (arguments, expected) in [
        (&["tracker", "status"][..], "database   well; 2 users, 1 torrents"),
        (&["tracker", "status"], "1 unknown-passkey"),
        (&["tracker", "user", "1"], "1000007 sent, 0 taken"),
        (&["tracker", "explain", "1", "1"], "+1000000 sent and +0 taken"),
        (&["tracker", "explain", "1", "1"], "nothing: the client begins"),
        (&["tracker", "explain", "2", "1"], "+1 sent and +0 taken, of +1 and +0 told"),
        (&["tracker", "explain", "2", "1"], "stopped"),
        (&["tracker", "explain", "2", "7"], "nothing of this user and torrent"),
    ] {
        let told = served.ask(arguments);
        assert!(told.contains(expected), "{arguments:?}: {told}");
    }
    served.stop();
}

#[test]
fn who_grows_by_round_steps_is_pointed_at() {
    let served = Served::begin("", TABLE);
    served.enrol(&[(1, ONE)], &torrent());
    get(served.address, &sender(ONE, 0, "started"));
    for step in 1..=9 {
        assert!(!served.ask(&["tracker", "user", "1"]).contains("cheat?"), "step {step}");
        get(served.address, &sender(ONE, step << 20, "completed"));
        if step == 8 {
            break;
        }
    }
    let told = served.ask(&["tracker", "user", "1"]);
    assert!(told.contains("all that was sent is a multiple of 1048576 bytes"), "{told}");
    let told = served.ask(&["tracker", "suspects"]);
    let expected = "all that was sent in 8 announces is a multiple of 1048576 bytes";
    assert!(told.contains("user 1") && told.contains(expected), "{told}");
    // So little says nothing of a torrent.
    assert!(!told.contains("torrent"), "{told}");
    get(served.address, &sender(ONE, 20 << 30, "completed"));
    let told = served.ask(&["tracker", "suspects"]);
    assert!(told.contains("21474836480 bytes were sent and 0 taken"), "{told}");
    // All of it was sent to nobody.
    let told = served.ask(&["tracker", "torrent", &torrent()]);
    assert!(told.contains("told       21474836480 sent, 0 taken"), "{told}");
    served.stop();
}

#[test]
fn the_admin_listener_tells_figures_to_all_and_users_to_who_shows_the_token() {
    let admin = loopback::address();
    let top = format!("admin = \"{admin}\"");
    let served = Served::begin(&top, TABLE);
    served.enrol(&[(1, ONE)], &torrent());
    get(served.address, &sender(ONE, 0, "started"));
    for (path, expected) in [
        ("/api/tracker", "\"peers\":1,"),
        ("/api/tracker", "\"seeders\":1,"),
        ("/api/tracker?user=1", "users and torrents are told where admin_token is set"),
        ("/metrics", "wick_tracker_peers 1\n"),
        ("/metrics", "wick_tracker_http_announces_total 1\n"),
        ("/metrics", "wick_tracker_port_checks_dropped_total 0\n"),
        ("/metrics", "wick_tracker_journal_dropped_total 0\n"),
        ("/metrics", "wick_tracker_suspect_users 0\n"),
        ("/metrics", "wick_tracker_suspect_torrents 0\n"),
        ("/api/tracker?suspects=1", "users and torrents are told where admin_token is set"),
        ("/api/now", "\"tracker\":{"),
    ] {
        // What others than the tracker tell is of a moment ago.
        let mut told = String::new();
        until(expected, || {
            told = ask(admin, &format!("GET {path}"));
            told.contains(expected)
        });
        assert!(!told.contains(ONE), "{path}");
    }
    served.stop();
    let top = format!("{top}\nadmin_token = \"{TOKEN}\"");
    let served = Served::begin(&top, TABLE);
    served.enrol(&[(1, ONE)], &torrent());
    get(served.address, &sender(ONE, 0, "started"));
    let told = ask(admin, &format!("GET /api/tracker?user=1\nAuthorization: Bearer {TOKEN}"));
    assert!(told.contains("\"sessions\":[{") && !told.contains(ONE), "{told}");
    let told = ask(admin, &format!("GET /api/tracker?suspects=1\nAuthorization: Bearer {TOKEN}"));
    assert!(told.contains("\"users_all\":0"), "{told}");
    let told = ask(admin, "GET /api/tracker?user=1");
    assert!(told.starts_with("HTTP/1.1 401 "), "{told}");
    served.stop();
}

#[test]
fn a_client_at_two_addresses_is_one_and_both_are_told_in_one_answer() {
    let served = Served::begin_at("127.0.0.1:0,[::1]:0", "", "");
    let second = served.second.expect("it is at two");
    let announce = |at, client: &str, left: u32| {
        let query = format!(
            "info_hash={}&peer_id=-TR4040-0000000000{client}&port=100{client}&left={left}\
             &uploaded=0&downloaded=0&key=AB{client}&event=started",
            "h".repeat(20)
        );
        get(at, &format!("/announce?{query}"))
    };
    announce(served.address, "01", 0);
    announce(second, "01", 0);
    let told = announce(served.address, "02", 9);
    assert!(told.contains("8:completei1e"), "{told}");
    assert!(told.contains("5:peers6:\\x7f\\x00\\x00\\x01\\'\\x11"), "{told}");
    assert!(told.contains("6:peers618:"), "{told}");
    let told = served.ask(&["tracker", "status"]);
    assert!(told.contains("peers      2 (1 seed, 1 take)"), "{told}");
    served.stop();
}

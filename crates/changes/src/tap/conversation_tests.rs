//! Conversations: what is heard of each, packet by packet.

use super::conversation::{Conversation, Heard, Outcome};
use crate::keys::Key;
use crate::tap::act::Act;
use crate::tap::passing::Said;

/// What both sides agree on, by bit: a database, protocol 4.1, a short login, several
/// statements, a packed login.
const USUAL: u32 = 1 << 3 | 1 << 9 | 1 << 15 | 1 << 16 | 1 << 21;
const TLS: u32 = 1 << 11;
const COMPRESSION: u32 = 1 << 5;
const NO_EOF: u32 = 1 << 24;

const OPEN: u16 = 1;
const MORE: u16 = 8;
const CURSOR: u16 = 64;

struct Talk {
    conversation: Conversation,
    heard: Vec<Heard>,
}

impl Talk {
    fn begin(abilities: u32) -> Self {
        let mut talk = Self { conversation: Conversation::default(), heard: Vec::new() };
        let server = [
            b"\x0a10.11\0".as_slice(),
            &[0; 13],
            &[0xff, 0xff, 45, 2, 0, 0xff, 0xff, 21],
            &[0; 10],
        ];
        talk.server(0, &server.concat());
        let client = [
            &abilities.to_le_bytes()[..],
            &[0, 0, 0, 1, 45],
            &[0; 23],
            b"app\0\x03abcsite\0mysql_native_password\0",
        ];
        talk.client(1, &client.concat());
        talk.server(2, &ok(0, 0));
        talk
    }

    fn client(&mut self, number: u8, body: &[u8]) -> &mut Self {
        self.heard.extend(self.conversation.client(&packet(number, body)));
        self
    }

    fn server(&mut self, number: u8, body: &[u8]) -> &mut Self {
        self.heard.extend(self.conversation.server(&packet(number, body)));
        self
    }

    fn query(&mut self, text: &str) -> &mut Self {
        self.client(0, format!("\x03{text}").as_bytes())
    }

    /// A result of one column and one row.
    fn rows(&mut self, flags: u16) -> &mut Self {
        self.server(1, b"\x01").server(2, b"\x03def").server(3, &end(0));
        self.server(4, b"\x01x").server(5, &end(flags))
    }

    fn check(&mut self, expected: &[&str]) -> &mut Self {
        let heard: Vec<String> = std::mem::take(&mut self.heard).iter().map(show).collect();
        assert_eq!(heard, expected);
        self
    }
}

fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("short").to_le_bytes();
    [&length[..3], &[number], body].concat()
}

fn ok(rows: u8, flags: u16) -> Vec<u8> {
    [&[0, rows, 0][..], &flags.to_le_bytes(), &[0, 0]].concat()
}

fn end(flags: u16) -> Vec<u8> {
    [&[0xfe, 0, 0][..], &flags.to_le_bytes()].concat()
}

const ERROR: &[u8] = b"\xff\x28\x04#42000no";

fn show(heard: &Heard) -> String {
    let ended = match heard {
        Heard::Ended(ended) => ended,
        other => return format!("{other:?}"),
    };
    let act = match &ended.act {
        Act::Rows(rows) => {
            let change = &rows.changes(&ended.database, Key::Plain)[0];
            format!("{:?} {}.{}", change.operation, change.database, change.table)
        }
        other => format!("{other:?}"),
    };
    match ended.outcome {
        Outcome::Done { rows, is_open, .. } => {
            let rows = rows.map_or_else(|| "?".to_owned(), |rows| rows.to_string());
            format!("{act} {rows}{}", if is_open { " open" } else { "" })
        }
        Outcome::Failed => format!("{act} failed"),
        Outcome::Unknown { .. } => format!("{act} unknown"),
    }
}

#[test]
fn a_statement_is_heard_with_its_answer_and_not_before() {
    let mut talk = Talk::begin(USUAL);
    talk.query("UPDATE t SET a = 1").check(&[]);
    talk.server(1, &ok(3, 0)).check(&["Update site.t 3"]);
    talk.query("UPDATE t SET a = 1").server(1, ERROR).check(&["Update site.t failed"]);
    talk.query("SELECT 1").rows(0).check(&[]);
    talk.query("BEGIN").server(1, &ok(0, OPEN)).check(&["Begin 0 open"]);
    talk.query("INSERT INTO t VALUES (1) RETURNING a").rows(OPEN).check(&["Insert site.t ? open"]);
    // Whatever closed it.
    talk.query("SELECT 1").rows(0).check(&["Read ?"]);
}

#[test]
fn a_database_is_in_use_once_the_server_says_so() {
    let mut talk = Talk::begin(USUAL);
    talk.query("USE other").server(1, ERROR).check(&["Use(\"other\") failed"]);
    talk.query("DELETE FROM t").server(1, &ok(1, 0)).check(&["Delete site.t 1"]);
    talk.client(0, b"\x02other").server(1, &ok(0, 0));
    talk.query("DELETE FROM t").server(1, &ok(1, 0)).check(&["Delete other.t 1"]);
    // What is sent before the answer to that may be in either.
    talk.client(0, b"\x02third").query("DELETE FROM t").server(1, &ok(0, 0));
    talk.server(1, &ok(1, 0)).check(&["Delete .t 1"]);
}

#[test]
fn each_of_several_statements_has_its_own_answer() {
    let mut talk = Talk::begin(USUAL);
    talk.query("SELECT 1; UPDATE t SET a = 1; DELETE FROM u");
    talk.rows(MORE).check(&[]);
    talk.server(6, &ok(2, MORE)).check(&["Update site.t 2"]);
    talk.server(7, ERROR).check(&["Delete site.u failed"]);
    // Answers without statements, and statements without answers.
    talk.query("UPDATE t SET a = 1; DELETE FROM u").server(1, &ok(1, 0));
    talk.check(&["Update site.t 1", "Delete site.u unknown"]);
    talk.query("UPDATE t SET a = 1").server(1, &ok(1, MORE)).server(2, &ok(1, 0));
    talk.check(&["Update site.t 1", "Unread 1"]);
    talk.query("CALL p()").rows(MORE).server(6, &ok(0, 0)).check(&["Unread ?", "Unread 0"]);
    // Where only one is allowed the server refuses them.
    talk.client(0, b"\x1b\x01\x00").server(1, &end(0));
    talk.query("SELECT 1; DELETE FROM t").server(1, ERROR).check(&["Unread failed"]);
}

#[test]
fn what_is_said_is_told_to_who_watches() {
    let mut talk = Talk::begin(USUAL);
    talk.query("SELECT 1").rows(OPEN);
    assert_eq!(talk.conversation.take_said(), [], "nobody watches");
    // One that reads, prepared before anybody watched.
    talk.client(0, b"\x16SELECT a FROM t").server(1, &[0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    talk.conversation.tell_said(true);
    let begun = |text: &str| Said::Begun(text.into());
    talk.query("SELECT 2");
    assert_eq!(talk.conversation.take_said(), [begun("SELECT 2")]);
    talk.rows(OPEN);
    assert_eq!(talk.conversation.take_said(), [Said::Ended]);
    talk.client(0, b"\x17\x08\0\0\0\0\x01\0\0\0").server(1, ERROR);
    assert_eq!(talk.conversation.take_said(), [begun("SELECT a FROM t"), Said::Ended]);
    talk.client(0, b"\x0e").server(1, &ok(0, 0));
    assert_eq!(talk.conversation.take_said(), [], "a ping says nothing");
    // Several at once are one, until the last has its answer.
    talk.query("SELECT 3; SELECT 4").rows(MORE);
    assert_eq!(talk.conversation.take_said(), [begun("SELECT 3; SELECT 4")]);
    talk.rows(0);
    assert_eq!(talk.conversation.take_said(), [Said::Ended]);
}

#[test]
fn prepared_statements_are_known_by_their_numbers() {
    let prepare = |talk: &mut Talk, number: u8, text: &str, columns: u8, values: u8| {
        talk.client(0, format!("\x16{text}").as_bytes());
        talk.server(1, &[0, number, 0, 0, 0, columns, 0, values, 0, 0, 0, 0]);
        for _ in 0..values {
            talk.server(2, b"\x03def");
        }
        if values > 0 {
            talk.server(3, &end(0));
        }
        for _ in 0..columns {
            talk.server(4, b"\x03def");
        }
        if columns > 0 {
            talk.server(5, &end(0));
        }
    };
    let mut talk = Talk::begin(USUAL);
    prepare(&mut talk, 7, "DELETE FROM t WHERE a = ?", 0, 1);
    prepare(&mut talk, 8, "SELECT a FROM t WHERE b = ? AND c = ?", 1, 2);
    talk.client(0, b"\x17\x07\0\0\0\0\x01\0\0\0\0\x01\x03\0\x05\0\0\0").server(1, &ok(1, 0));
    talk.check(&["Delete site.t 1"]);
    // Rows that are fetched later.
    talk.client(0, b"\x17\x08\0\0\0\x01\x01\0\0\0").server(1, b"\x01").server(2, b"\x03def");
    talk.server(3, &end(CURSOR)).client(0, b"\x1c\x08\0\0\0\x05\0\0\0");
    talk.server(1, b"\0\0\x01x").server(2, &end(0)).check(&[]);
    talk.client(0, b"\x19\x07\0\0\0").client(0, b"\x17\x07\0\0\0").server(1, ERROR);
    talk.check(&["Unread failed"]);
    // A new login forgets them all.
    talk.client(0, b"\x11app\0\x03abcother\0\x2d\0").server(1, b"\xfeplugin\0").client(2, b"x");
    talk.server(3, &ok(0, 0)).check(&["Reset"]);
    talk.client(0, b"\x17\x08\0\0\0").server(1, ERROR).check(&["Unread failed"]);
    talk.query("DELETE FROM t").server(1, &ok(1, 0)).check(&["Delete other.t 1"]);
}

#[test]
fn a_file_of_the_client_is_no_command() {
    let mut talk = Talk::begin(USUAL);
    talk.query("LOAD DATA LOCAL INFILE 'x' INTO TABLE t").server(1, b"\xfbx");
    talk.client(2, b"\x03DELETE FROM t").client(3, b"").server(4, &ok(5, 0));
    talk.check(&["Unread 5"]);
    talk.query("SELECT 1").rows(0).check(&[]);
}

#[test]
fn what_ends_without_an_answer_is_told() {
    let mut talk = Talk::begin(USUAL);
    talk.query("SELECT 1");
    assert!(!talk.conversation.awaits());
    talk.rows(0).query("DELETE FROM t");
    assert!(talk.conversation.awaits());
    let heard = talk.conversation.end();
    talk.heard.extend(heard);
    talk.check(&["Delete site.t unknown"]);
}

#[test]
fn what_can_not_be_read_says_so_once() {
    for abilities in [USUAL | TLS, USUAL | COMPRESSION, 0] {
        let mut talk = Talk::begin(abilities);
        talk.query("DELETE FROM t").check(&["Unreadable"]);
    }
    for nonsense in [&b"\x99"[..], b"", b"\x12\x04\0\0\0"] {
        let mut talk = Talk::begin(USUAL);
        talk.query("DELETE FROM t").client(0, nonsense);
        talk.check(&["Delete site.t unknown", "Unreadable"]);
        talk.query("DELETE FROM t").server(1, &ok(1, 0)).check(&[]);
    }
    // An answer to nothing; but a server that hangs up may say why.
    Talk::begin(USUAL).server(0, ERROR).check(&[]).server(1, &ok(0, 0)).check(&["Unreadable"]);
    // Who isn't let in says nothing that matters.
    let mut talk = Talk { conversation: Conversation::default(), heard: Vec::new() };
    talk.server(0, ERROR).query("DELETE FROM t").check(&[]);
}

#[test]
fn a_row_is_not_taken_for_an_end() {
    let mut talk = Talk::begin(USUAL);
    talk.query("SELECT a; DELETE FROM t").server(1, b"\x01").server(2, b"\x03def");
    talk.server(3, &end(0)).server(4, &[0xfe; 40]).server(5, b"\xfb").server(6, &end(MORE));
    talk.server(7, &ok(1, 0)).check(&["Delete site.t 1"]);
    let mut talk = Talk::begin(USUAL | NO_EOF);
    talk.query("SELECT a; DELETE FROM t").server(1, b"\x01").server(2, b"\x03def");
    talk.server(3, b"\x01x").server(4, &[0xfe, 0, 0, 8, 0, 0, 0]).server(5, &ok(1, 0));
    talk.check(&["Delete site.t 1"]);
}

#[test]
fn a_statement_that_is_too_long_may_be_anything() {
    let mut talk = Talk::begin(USUAL);
    let long = format!("UPDATE t SET a = '{}'", "x".repeat(2 << 20));
    talk.query(&long).server(1, &ok(1, 0)).check(&["Unread 1"]);
    // And in pieces as the road takes them.
    let bytes = packet(0, format!("\x03DELETE FROM t WHERE a = '{}'", "x".repeat(9999)).as_bytes());
    for piece in bytes.chunks(1000) {
        assert_eq!(talk.conversation.client(piece), []);
    }
    talk.server(1, &ok(1, 0)).check(&["Delete site.t 1"]);
}

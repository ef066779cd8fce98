//! What clients of Sphinx send, and its file: read or refused, and refused at a bearable length.

use search::sphinx::{api, conf, mysql, ql};

/// Of an error that is sent to a client.
const WORDS_MAX: usize = 2000;

/// A command's head, then its body.
pub(crate) fn run_api(input: &[u8]) {
    let Some((head, body)) = input.split_first_chunk() else { return };
    let mut head = api::read_head(*head);
    head.body_bytes = body.len();
    let read = api::read(head, body);
    // What is whole is not read otherwise when more follows.
    if read.is_ok() {
        let more = api::read(head, &[body, b"more"].concat());
        // Their texts are compared, since a client's NaN does not equal itself.
        assert_eq!(format!("{more:?}"), format!("{read:?}"));
    }
    if let Err(refusal) = read {
        assert!(refusal.to_string().len() < WORDS_MAX);
    }
    let _ = mysql::read(input);
}

/// A query of SphinxQL.
pub(crate) fn run_ql(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match ql::read(text) {
        Ok(statements) => {
            assert!(!statements.is_empty());
            // What says nothing changes nothing.
            let around = format!("/* why */ {text}\n;;");
            assert_eq!(ql::read(&around).as_ref(), Ok(&statements), "{text}");
        }
        Err(error) => assert!(error.to_string().len() < WORDS_MAX + text.len(), "{error}"),
    }
    let _ = (ql::read_columns(text), ql::read_order(text));
}

/// A `sphinx.conf`.
pub(crate) fn run_conf(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let lines = text.lines().count().max(1);
    match conf::read(text) {
        Ok(read) => assert!(read.remarks.iter().all(|remark| remark.line <= lines)),
        Err(error) => assert!(error.line <= lines + 1, "{error}"),
    }
}

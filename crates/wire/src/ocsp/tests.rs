//! A question as OpenSSL asks it, and answers that are written here.

use super::*;

const SUBJECT_HASH: [u8; 20] = [7; 20];

fn subject(serial: &[u8]) -> Subject {
    Subject {
        issuer_name_hash: SUBJECT_HASH,
        issuer_key_hash: SUBJECT_HASH,
        serial: serial.to_vec(),
    }
}

fn value(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    der::push(&mut out, tag, &parts.concat());
    out
}

/// What is said of a serial: its status as it is tagged, and two times.
fn single(serial: &[u8], status: &[u8], this: &str, next: Option<&str>) -> Vec<u8> {
    let id = value(
        der::SEQUENCE,
        &[
            &value(der::SEQUENCE, &[SHA1_ALGORITHM]),
            &value(der::OCTET_STRING, &[&SUBJECT_HASH]),
            &value(der::OCTET_STRING, &[&SUBJECT_HASH]),
            &value(der::INTEGER, &[serial]),
        ],
    );
    let next =
        next.map(|next| value(numbered(0), &[&value(der::GENERALIZED_TIME, &[next.as_bytes()])]));
    let this = value(der::GENERALIZED_TIME, &[this.as_bytes()]);
    value(der::SEQUENCE, &[&id, status, &this, &next.unwrap_or_default()])
}

fn answer(singles: &[u8]) -> Vec<u8> {
    let data = value(
        der::SEQUENCE,
        &[
            &value(numbered(2), &[&value(der::OCTET_STRING, &[b"key"])]),
            &value(der::GENERALIZED_TIME, &[b"20260101000000Z"]),
            &value(der::SEQUENCE, &[singles]),
        ],
    );
    let algorithm = value(der::SEQUENCE, &[&value(der::OBJECT, &[&[1, 2]])]);
    let signature = value(der::BIT_STRING, &[&[0, 9, 9]]);
    let certificate = value(der::SEQUENCE, &[b"\x02\x01\x01"]);
    let certificates = value(numbered(0), &[&value(der::SEQUENCE, &[&certificate])]);
    let basic = value(der::SEQUENCE, &[&data, &algorithm, &signature, &certificates]);
    let bytes = value(
        der::SEQUENCE,
        &[&value(der::OBJECT, &[BASIC]), &value(der::OCTET_STRING, &[&basic])],
    );
    value(der::SEQUENCE, &[&value(der::ENUMERATED, &[&[0]]), &value(numbered(0), &[&bytes])])
}

#[test]
fn a_question_is_written_as_others_write_it() {
    let asked = subject(&[0x12, 0x34]).question();
    let expected = [
        &[0x30, 0x43, 0x30, 0x41, 0x30, 0x3f, 0x30, 0x3d, 0x30, 0x3b, 0x30, 0x09][..],
        SHA1_ALGORITHM,
        &[0x04, 0x14],
        &SUBJECT_HASH,
        &[0x04, 0x14],
        &SUBJECT_HASH,
        &[0x02, 0x02, 0x12, 0x34],
    ];
    assert_eq!(asked, expected.concat());
}

#[test]
fn an_answer_says_what_it_says_of_the_certificate_that_was_asked_for() {
    const GOOD: &[u8] = &[0x80, 0];
    const REVOKED: &[u8] = &[0xa1, 2, 0x18, 0];
    const UNKNOWN: &[u8] = &[0x82, 0];
    let (this, next) = ("20260102030405Z", Some("20260103030405Z"));
    for (status, next, expected) in [
        (GOOD, next, Some((Status::Good, Some(1_767_409_445)))),
        (REVOKED, next, Some((Status::Revoked, Some(1_767_409_445)))),
        (UNKNOWN, None, Some((Status::Unknown, None))),
    ] {
        let text =
            answer(&[single(&[1], UNKNOWN, this, None), single(&[2], status, this, next)].concat());
        let read = Answer::read(&text).expect("an answer");
        let said = read.about(&subject(&[2]));
        assert_eq!(said.map(|said| (said.status, said.next_update)), expected);
        assert_eq!(said.map(|said| said.this_update), Some(1_767_323_045));
        assert_eq!(read.about(&subject(&[3])), None);
        assert_eq!((read.certificates.len(), read.signed.signature), (1, &[9, 9][..]));
    }
}

#[test]
fn what_is_no_answer_is_none() {
    let whole = answer(&single(&[2], &[0x80, 0], "20260102030405Z", None));
    for length in 0..whole.len() {
        assert!(Answer::read(&whole[..length]).is_err(), "{length}");
    }
    let declined = |status| value(der::SEQUENCE, &[&value(der::ENUMERATED, &[&[status]])]);
    assert_eq!(Answer::read(&declined(3)).err(), Some(AnswerError::Declined(3)));
    for time in [
        "20261302030405Z",
        "2026010203040Z",
        "20260102030405",
        "2026010203040aZ",
        "20260102030405.1Z",
    ] {
        let text = answer(&single(&[2], &[0x80, 0], time, None));
        let said = Answer::read(&text).ok().and_then(|read| read.about(&subject(&[2])));
        assert_eq!(said, None, "{time}");
    }
}

#[test]
fn times_are_counted_over_leap_years() {
    for (text, expected) in [
        ("19700101000000Z", Some(0)),
        ("20000229235960Z", Some(951_868_799)),
        ("20240301000000Z", Some(1_709_251_200)),
        ("99991231235959Z", Some(253_402_300_799)),
        ("20240100000000Z", None),
    ] {
        assert_eq!(time(text.as_bytes()), expected, "{text}");
    }
}

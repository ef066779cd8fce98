//! OCSP: the question whether a certificate is still good, and a responder's answer.
//!
//! In and out: DER. Law: RFC 6960 §4, RFC 5019 §2 (SHA-1 names the issuer, and there is no
//! nonce: then responders can answer with what they signed before). Whether a signature is
//! right, and whose, is found out by who has cryptography.
//! Bounds: [`SINGLES_MAX`] statuses and [`CERTIFICATES_MAX`] certificates of an answer are read.
//! Start at [`Subject::question`] and [`Answer::read`].

mod der;

use der::{Values, numbered};

/// Statuses of one answer that are looked at: it was asked for one.
pub const SINGLES_MAX: usize = 16;
/// Certificates of one answer that are looked at: the responder's own is the first of few.
pub const CERTIFICATES_MAX: usize = 4;

/// id-sha1, without and with the empty parameters that it may have.
const SHA1: &[u8] = &[0x2b, 0x0e, 0x03, 0x02, 0x1a];
const SHA1_ALGORITHM: &[u8] = &[0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00];
/// id-pkix-ocsp-basic.
const BASIC: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01, 0x01];

/// A certificate as OCSP names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// SHA-1 of the issuer's name, as it stands in the certificate.
    pub issuer_name_hash: [u8; 20],
    /// SHA-1 of the issuer's public key, without its algorithm.
    pub issuer_key_hash: [u8; 20],
    /// As it stands in the certificate.
    pub serial: Vec<u8>,
}

/// What a responder says of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It was not revoked.
    Good,
    /// It was.
    Revoked,
    /// It doesn't know it.
    Unknown,
}

/// Why bytes are no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Not DER, or not of this shape.
    #[error("its answer can't be read")]
    Malformed,
    /// The responder says that it doesn't answer; the number of RFC 6960 §4.2.1.
    #[error("it declines to answer (status {0})")]
    Declined(u8),
}

/// Something with a signature: an answer, or a certificate.
#[derive(Clone, Copy, Debug)]
pub struct Signed<'a> {
    /// What the signature is of.
    pub text: &'a [u8],
    /// What is within the sequence that names the algorithm.
    pub algorithm: &'a [u8],
    /// The signature's bytes.
    pub signature: &'a [u8],
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// What has to be shown to be the responder's.
    pub signed: Signed<'a>,
    /// Certificates that came with it, as DER.
    pub certificates: Vec<&'a [u8]>,
    singles: Vec<Single<'a>>,
}

/// What is said of one certificate.
#[derive(Clone, Copy, Debug)]
struct Single<'a> {
    is_by_sha1: bool,
    issuer_name_hash: &'a [u8],
    issuer_key_hash: &'a [u8],
    serial: &'a [u8],
    said: Said,
}

/// What is said, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// Whether it is good.
    pub status: Status,
    /// Since when that is known, in unix seconds.
    pub this_update: i64,
    /// By when something newer will be known.
    pub next_update: Option<i64>,
}

impl Subject {
    /// The question about this one, for a responder.
    #[must_use]
    pub fn question(&self) -> Vec<u8> {
        let mut id = Vec::with_capacity(96);
        der::push(&mut id, der::SEQUENCE, SHA1_ALGORITHM);
        der::push(&mut id, der::OCTET_STRING, &self.issuer_name_hash);
        der::push(&mut id, der::OCTET_STRING, &self.issuer_key_hash);
        der::push(&mut id, der::INTEGER, &self.serial);
        // CertID in a Request, in the list of them, in a TBSRequest, in an OCSPRequest.
        (0..5).fold(id, |within, _| {
            let mut out = Vec::with_capacity(within.len() + 4);
            der::push(&mut out, der::SEQUENCE, &within);
            out
        })
    }
}

impl<'a> Answer<'a> {
    /// Reads an answer.
    ///
    /// # Errors
    /// It can't be read, or says that there is none.
    pub fn read(text: &'a [u8]) -> Result<Self, AnswerError> {
        let mut answer = Values(text).open(der::SEQUENCE).ok_or(AnswerError::Malformed)?;
        match answer.take(der::ENUMERATED) {
            Some([0]) => Self::read_basic(answer).ok_or(AnswerError::Malformed),
            Some([status]) => Err(AnswerError::Declined(*status)),
            _ => Err(AnswerError::Malformed),
        }
    }

    fn read_basic(mut answer: Values<'a>) -> Option<Self> {
        let mut bytes = answer.open(numbered(0))?.open(der::SEQUENCE)?;
        if bytes.take(der::OBJECT)? != BASIC {
            return None;
        }
        let mut basic = Values(bytes.take(der::OCTET_STRING)?).open(der::SEQUENCE)?;
        let signed = Signed::next(&mut basic)?;
        let mut certificates = Vec::new();
        if let Some(mut listed) = basic.open(numbered(0)) {
            let mut listed = listed.open(der::SEQUENCE)?;
            while certificates.len() < CERTIFICATES_MAX
                && let Some((_, _, whole)) = listed.any()
            {
                certificates.push(whole);
            }
        }
        let mut data = Values(signed.text).open(der::SEQUENCE)?;
        // A version, who answers, and when.
        let _ = data.take(numbered(0));
        data.take(numbered(1)).or_else(|| data.take(numbered(2)))?;
        data.take(der::GENERALIZED_TIME)?;
        let mut responses = data.open(der::SEQUENCE)?;
        let mut singles = Vec::new();
        while singles.len() < SINGLES_MAX
            && let Some(single) = responses.open(der::SEQUENCE)
        {
            singles.push(Single::read(single)?);
        }
        Some(Self { signed, certificates, singles })
    }

    /// What is said of this certificate, if anything is.
    #[must_use]
    pub fn about(&self, subject: &Subject) -> Option<Said> {
        let is_about = |single: &&Single<'_>| {
            single.is_by_sha1
                && single.issuer_name_hash == subject.issuer_name_hash
                && single.issuer_key_hash == subject.issuer_key_hash
                && single.serial == subject.serial
        };
        self.singles.iter().find(is_about).map(|single| single.said)
    }
}

impl<'a> Signed<'a> {
    /// Reads a certificate as what somebody signed.
    #[must_use]
    pub fn certificate(text: &'a [u8]) -> Option<Self> {
        Self::next(&mut Values(text).open(der::SEQUENCE)?)
    }

    fn next(values: &mut Values<'a>) -> Option<Self> {
        let (_, _, text) = values.any().filter(|(tag, ..)| *tag == der::SEQUENCE)?;
        let algorithm = values.take(der::SEQUENCE)?;
        Some(Self { text, algorithm, signature: whole_bits(values.take(der::BIT_STRING)?)? })
    }
}

/// What is within the sequence that names a public key's algorithm, and the key: from a
/// SubjectPublicKeyInfo.
#[must_use]
pub fn public_key(info: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut info = Values(info).open(der::SEQUENCE)?;
    let algorithm = info.take(der::SEQUENCE)?;
    Some((algorithm, whole_bits(info.take(der::BIT_STRING)?)?))
}

/// A bit string that is whole bytes.
fn whole_bits(content: &[u8]) -> Option<&[u8]> {
    content.split_first().filter(|(unused, _)| **unused == 0).map(|(_, bytes)| bytes)
}

impl<'a> Single<'a> {
    fn read(mut single: Values<'a>) -> Option<Self> {
        let mut id = single.open(der::SEQUENCE)?;
        let is_by_sha1 = id.open(der::SEQUENCE)?.take(der::OBJECT)? == SHA1;
        let issuer_name_hash = id.take(der::OCTET_STRING)?;
        let issuer_key_hash = id.take(der::OCTET_STRING)?;
        let serial = id.take(der::INTEGER)?;
        let status = match single.any()? {
            (0x80, ..) => Status::Good,
            (0xa1, ..) => Status::Revoked,
            (0x82, ..) => Status::Unknown,
            _ => return None,
        };
        let this_update = time(single.take(der::GENERALIZED_TIME)?)?;
        let next_update = match single.open(numbered(0)) {
            Some(mut next) => Some(time(next.take(der::GENERALIZED_TIME)?)?),
            None => None,
        };
        let said = Said { status, this_update, next_update };
        Some(Self { is_by_sha1, issuer_name_hash, issuer_key_hash, serial, said })
    }
}

/// `20260131235959Z` in unix seconds: the only way to write a time in DER (RFC 5280 §4.1.2.5.2).
fn time(text: &[u8]) -> Option<i64> {
    let digits: &[u8; 14] = text.strip_suffix(b"Z")?.try_into().ok()?;
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = |range: std::ops::Range<usize>| {
        digits[range].iter().fold(0, |sum, &digit| sum * 10 + i64::from(digit - b'0'))
    };
    let (year, month, day) = (number(0..4), number(4..6), number(6..8));
    let (hour, minute, second) = (number(8..10), number(10..12), number(12..14));
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 {
        return None;
    }
    // Days since 1970 by years that begin in March, so that February's length is the last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (month * 153 + 2) / 5
        + day
        - 1
        - 719_468;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second.min(59))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

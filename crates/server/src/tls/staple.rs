//! Staples: a CA's word that a certificate was not revoked, shown with it (RFC 6066 §8).
//!
//! In: an identity, what its responder answered, the time. Out: the identity with its staple, or
//! why there is none. Law: RFC 6960 §3.2, §4.2.2.2. Who asks the responder, and when, is not
//! decided here.
//! Invariant: nothing is stapled but a good word on this very certificate, that is good now and
//! says until when, and that its CA signed, or somebody whom this CA let sign such words.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::sign::CertifiedKey;
use sha1::{Digest, Sha1};
use wire::ocsp::{Answer, AnswerError, Said, Signed, Status, Subject, public_key};
use x509_parser::certificate::X509Certificate;
use x509_parser::parse_x509_certificate;

use super::identity::Identity;

/// A responder's clock may be so much ahead of ours.
const AHEAD_SECONDS_MAX: i64 = 300;

/// How a responder is asked about an identity.
#[derive(Debug)]
pub struct Inquiry {
    /// What it is asked.
    pub bytes: Vec<u8>,
    subject: Subject,
    /// The CA's certificate, as it stands in the chain.
    issuer: Vec<u8>,
}

/// From when to when a staple is good, in unix seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StapleLife {
    /// Since when its CA knows.
    pub since: i64,
    /// When it has to be replaced.
    pub until: i64,
}

/// Why an answer is not stapled.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum StapleError {
    /// It can't be read, or there is none.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// It is about another certificate.
    #[error("it answers about another certificate")]
    Other,
    /// The certificate was revoked.
    #[error("the certificate was revoked: get another one, and find out why")]
    Revoked,
    /// The responder doesn't know the certificate.
    #[error("it does not know the certificate, which may be too new")]
    Unknown,
    /// Not now, or nobody knows until when.
    #[error("its answer is not good now, or does not say until when")]
    Time,
    /// Not by whom it should be.
    #[error("its answer was not signed by the CA or by somebody it let do so")]
    Signature,
}

impl Inquiry {
    /// The question about an identity's certificate; none if the chain doesn't have its CA's.
    #[must_use]
    pub fn about(identity: &Identity) -> Option<Self> {
        let [own, issuer, ..] = identity.key.cert.as_slice() else { return None };
        let (_, own) = parse_x509_certificate(own).ok()?;
        let (_, ca) = parse_x509_certificate(issuer).ok()?;
        if own.issuer().as_raw() != ca.subject().as_raw() {
            return None;
        }
        let (_, key) = public_key(ca.public_key().raw)?;
        let subject = Subject {
            issuer_name_hash: Sha1::digest(own.issuer().as_raw()).into(),
            issuer_key_hash: Sha1::digest(key).into(),
            serial: own.raw_serial().to_vec(),
        };
        Some(Self { bytes: subject.question(), subject, issuer: issuer.to_vec() })
    }

    /// What an answer to it may be kept under: no other certificate's has it.
    #[must_use]
    pub fn name(&self) -> String {
        Sha1::digest(&self.bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// How long an answer is good, if it may be stapled at this time.
    ///
    /// # Errors
    /// Why it may not.
    pub fn check(&self, answer: &[u8], now: i64) -> Result<StapleLife, StapleError> {
        let answer = Answer::read(answer)?;
        let Said { status, this_update, next_update } =
            answer.about(&self.subject).ok_or(StapleError::Other)?;
        // Whatever it says, it is nothing unless it was signed.
        if !self.is_signed(&answer, now) {
            return Err(StapleError::Signature);
        }
        match status {
            Status::Good => {}
            Status::Revoked => return Err(StapleError::Revoked),
            Status::Unknown => return Err(StapleError::Unknown),
        }
        let until = next_update.ok_or(StapleError::Time)?;
        if this_update > now + AHEAD_SECONDS_MAX || until <= now || until <= this_update {
            return Err(StapleError::Time);
        }
        Ok(StapleLife { since: this_update, until })
    }

    /// Whether the CA signed it, or somebody who comes with it and may do so.
    fn is_signed(&self, answer: &Answer<'_>, now: i64) -> bool {
        let Ok((_, issuer)) = parse_x509_certificate(&self.issuer) else { return false };
        is_by(&answer.signed, &issuer)
            || answer.certificates.iter().any(|text| {
                let Ok((_, responder)) = parse_x509_certificate(text) else { return false };
                Signed::certificate(text).is_some_and(|signed| is_by(&signed, &issuer))
                    && may_respond(&responder, &issuer, now)
                    && is_by(&answer.signed, &responder)
            })
    }
}

/// Whether a certificate is one of those that sign for this CA, and good now.
fn may_respond(responder: &X509Certificate<'_>, issuer: &X509Certificate<'_>, now: i64) -> bool {
    let validity = responder.validity();
    let is_good = (validity.not_before.timestamp()..=validity.not_after.timestamp()).contains(&now);
    let uses = responder.extended_key_usage().ok().flatten();
    is_good
        && responder.issuer().as_raw() == issuer.subject().as_raw()
        && uses.is_some_and(|uses| uses.value.ocsp_signing)
}

/// Whether this key made a signature, by any of the ways that TLS knows.
fn is_by(signed: &Signed<'_>, signer: &X509Certificate<'_>) -> bool {
    let Some((algorithm, key)) = public_key(signer.public_key().raw) else { return false };
    ring::default_provider().signature_verification_algorithms.all.iter().any(|way| {
        way.public_key_alg_id().as_ref() == algorithm
            && way.signature_alg_id().as_ref() == signed.algorithm
            && way.verify_signature(key, signed.text, signed.signature).is_ok()
    })
}

impl Identity {
    /// Whether it has a staple.
    #[must_use]
    pub fn is_stapled(&self) -> bool {
        self.key.ocsp.is_some()
    }

    /// The same with this staple, or with none. It must have been checked.
    #[must_use]
    pub fn stapled(&self, staple: Option<Vec<u8>>) -> Self {
        let CertifiedKey { cert, key, .. } = &*self.key;
        let mut key = CertifiedKey::new(cert.clone(), key.clone());
        key.ocsp = staple;
        Self { key: Arc::new(key), facts: self.facts().clone() }
    }
}

//! OCSP: an answer of a responder, and what it says of a certificate that it knows nothing of.

use wire::ocsp::{Answer, CERTIFICATES_MAX, Signed, Subject, public_key};

pub(crate) fn run(input: &[u8]) {
    let subject =
        Subject { issuer_name_hash: [1; 20], issuer_key_hash: [2; 20], serial: input.to_vec() };
    if input.len() < 1000 {
        assert!(Answer::read(&subject.question()).is_err(), "a question is no answer");
    }
    // Either may be read of anything; what is read lies within it.
    let within = |part: &[u8]| input.as_ptr_range().contains(&part.as_ptr()) || part.is_empty();
    if let Some((algorithm, key)) = public_key(input) {
        assert!(within(algorithm) && within(key));
    }
    if let Some(signed) = Signed::certificate(input) {
        assert!(within(signed.text) && within(signed.signature));
    }
    let Ok(answer) = Answer::read(input) else { return };
    assert!(answer.certificates.len() <= CERTIFICATES_MAX);
    assert!(answer.certificates.iter().all(|certificate| within(certificate)));
    assert!(within(answer.signed.text) && within(answer.signed.algorithm));
    assert_eq!(answer.about(&subject), None, "nobody has such hashes");
}

//! Keys and certificates that are made here: what stands in until a CA has issued one, what
//! shows a CA whose a name is, and the request for one.

use rcgen::{CertificateParams, CustomExtension, DistinguishedName, DnType, Error, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use server::Identity;
use time::{Duration, OffsetDateTime};

/// How long one that stands in is good: it is made anew at each start.
const STAND_IN: Duration = Duration::days(90);
/// A visitor's clock may be late.
const EARLIER: Duration = Duration::days(1);

/// What a CA is asked to sign, and the key for it.
pub(crate) struct SigningRequest {
    pub(crate) der: Vec<u8>,
    pub(crate) key: String,
}

/// A certificate that no browser believes, for these names.
pub(crate) fn stand_in(names: &[String]) -> Result<Identity, String> {
    let mut parameters = parameters(names).map_err(|error| error.to_string())?;
    parameters.distinguished_name.push(DnType::CommonName, "Wick, until a CA has issued one");
    let (certificate, key) = self_signed(&parameters).map_err(|error| error.to_string())?;
    Identity::of(vec![certificate], key).map_err(|error| error.to_string())
}

/// The certificate by which a name is proved (RFC 8737 §3), by the digest of the proof.
pub(crate) fn proof(name: &str, digest: &[u8]) -> Result<Identity, String> {
    let mut parameters = parameters(&[name.to_owned()]).map_err(|error| error.to_string())?;
    parameters.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let (certificate, key) = self_signed(&parameters).map_err(|error| error.to_string())?;
    Identity::for_a_ca(certificate, key).map_err(|error| error.to_string())
}

/// A new key, and the request for its certificate.
pub(crate) fn signing_request(name: &str) -> Result<SigningRequest, Error> {
    let key = KeyPair::generate()?;
    let request = parameters(&[name.to_owned()])?.serialize_request(&key)?;
    Ok(SigningRequest { der: request.der().to_vec(), key: key.serialize_pem() })
}

fn parameters(names: &[String]) -> Result<CertificateParams, Error> {
    let mut parameters = CertificateParams::new(names)?;
    parameters.distinguished_name = DistinguishedName::new();
    let now = OffsetDateTime::now_utc();
    parameters.not_before = now - EARLIER;
    parameters.not_after = now + STAND_IN;
    Ok(parameters)
}

fn self_signed(
    parameters: &CertificateParams,
) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), Error> {
    let key = KeyPair::generate()?;
    let certificate = parameters.self_signed(&key)?;
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    Ok((certificate.der().clone(), PrivateKeyDer::Pkcs8(key)))
}

//! A certificate with its key, and what a person wants to know of it.
//!
//! In: two PEM texts, which may be one file. Out: an [`Identity`] that can be shown to
//! visitors, or what is wrong with it. Invariant: the key belongs to the certificate; it is
//! never shown, written or logged.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, ParsedExtension, X509Extension};
use x509_parser::parse_x509_certificate;

/// id-ad-ocsp and id-pe-tlsfeature.
const OCSP: &str = "1.3.6.1.5.5.7.48.1";
const TLS_FEATURE: &str = "1.3.6.1.5.5.7.1.24";

/// Who we are to visitors of some names.
#[derive(Debug)]
pub struct Identity {
    pub(crate) key: Arc<CertifiedKey>,
    pub(super) facts: Facts,
}

/// What a certificate says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The names that it is for, in lower case; one may begin with `*.`.
    pub names: Vec<String>,
    /// The first second of its life, in unix time.
    pub not_before: i64,
    /// The last second of its life, in unix time.
    pub not_after: i64,
    /// Who signed it.
    pub issuer: String,
    /// Where its CA tells by HTTP whether it was revoked (OCSP), if anywhere.
    pub responder: Option<String>,
    /// Whether browsers shall take it only together with that word (RFC 7633).
    pub must_staple: bool,
}

/// Why two texts are no certificate and key.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum IdentityError {
    /// There is none, or what is there can't be read.
    #[error("there is no certificate in it: it has to begin with -----BEGIN CERTIFICATE-----")]
    NoCertificate,
    /// There is none, or what is there can't be read.
    #[error(
        "there is no key in it: it has to begin with -----BEGIN PRIVATE KEY-----, without a password"
    )]
    NoKey,
    /// They are of two pairs.
    #[error("the key does not belong to the certificate")]
    OtherKey,
    /// It isn't one that TLS can use.
    #[error("it can't be used: {0}")]
    Unusable(String),
}

impl Identity {
    /// Reads a chain, the server's own certificate first, and the key that belongs to it.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read(chain: &[u8], key: &[u8]) -> Result<Self, IdentityError> {
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(chain)
            .collect::<Result<_, _>>()
            .map_err(|_| IdentityError::NoCertificate)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| IdentityError::NoKey)?;
        Self::of(chain, key)
    }

    /// The same from DER.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn of(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, IdentityError> {
        let own = chain.first().ok_or(IdentityError::NoCertificate)?;
        let facts = Facts::of(own)?;
        let key =
            CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(|error| {
                match error {
                    rustls::Error::InconsistentKeys(_) => IdentityError::OtherKey,
                    other => IdentityError::Unusable(other.to_string()),
                }
            })?;
        Ok(Self { key: Arc::new(key), facts })
    }

    /// The same for one that is not for visitors, and says what they would not understand.
    ///
    /// # Errors
    /// The key can't be used.
    pub fn for_a_ca(
        certificate: CertificateDer<'static>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, IdentityError> {
        let facts = Facts::of(&certificate)?;
        let key = ring::default_provider().key_provider.load_private_key(key);
        let key = key.map_err(|error| IdentityError::Unusable(error.to_string()))?;
        Ok(Self { key: Arc::new(CertifiedKey::new(vec![certificate], key)), facts })
    }

    /// What the certificate says.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The certificate itself, as DER.
    #[must_use]
    pub fn certificate(&self) -> &[u8] {
        self.key.cert.first().map_or(&[], |own| own)
    }
}

impl Facts {
    fn of(certificate: &CertificateDer<'_>) -> Result<Self, IdentityError> {
        let unusable = |error: String| IdentityError::Unusable(error);
        let (_, certificate) = parse_x509_certificate(certificate)
            .map_err(|error| unusable(format!("the certificate can't be read ({error})")))?;
        let names = certificate
            .subject_alternative_name()
            .map_err(|error| unusable(format!("its names can't be read ({error})")))?;
        let names = names.iter().flat_map(|names| &names.value.general_names);
        let names = names.filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
            _ => None,
        });
        let validity = certificate.validity();
        Ok(Self {
            names: names.collect(),
            not_before: validity.not_before.timestamp(),
            not_after: validity.not_after.timestamp(),
            issuer: certificate.issuer().to_string(),
            responder: responder(&certificate),
            must_staple: must_staple(&certificate),
        })
    }

    /// Whether it is for this name (RFC 9525 §6.3: a star stands for one label).
    #[must_use]
    pub fn covers(&self, name: &str) -> bool {
        let star = name.split_once('.').map(|(_, rest)| rest);
        self.names
            .iter()
            .any(|own| own == name || own.strip_prefix("*.").is_some_and(|rest| Some(rest) == star))
    }
}

/// Where its authority information access sends who asks by OCSP (RFC 5280 §4.2.2.1).
fn responder(certificate: &X509Certificate<'_>) -> Option<String> {
    let all = certificate.extensions().iter().filter_map(|it| match it.parsed_extension() {
        ParsedExtension::AuthorityInfoAccess(access) => Some(access),
        _ => None,
    });
    all.flat_map(|access| access.iter()).find_map(|access| match &access.access_location {
        GeneralName::URI(uri) if access.access_method.to_id_string() == OCSP => {
            Some((*uri).to_owned()).filter(|uri| uri.starts_with("http://"))
        }
        _ => None,
    })
}

/// Whether its TLS features name `status_request`, which is 5.
fn must_staple(certificate: &X509Certificate<'_>) -> bool {
    let is_feature = |it: &&X509Extension<'_>| it.oid.to_id_string() == TLS_FEATURE;
    certificate
        .extensions()
        .iter()
        .find(is_feature)
        .is_some_and(|features| features.value.windows(3).any(|number| number == [2, 1, 5]))
}

#[cfg(test)]
pub(crate) mod tests {
    use rcgen::{CertifiedKey, generate_simple_self_signed};

    use super::*;

    fn pem(names: &[&str]) -> (String, String) {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(names).expect("a certificate");
        (cert.pem(), signing_key.serialize_pem())
    }

    pub(crate) fn identity(names: &[&str]) -> Identity {
        let (chain, key) = pem(names);
        Identity::read(chain.as_bytes(), key.as_bytes()).expect("they belong together")
    }

    #[test]
    fn a_pair_is_read_from_one_text_or_two_and_what_is_wrong_is_told() {
        let ((chain, key), (_, other)) = (pem(&["a.test"]), pem(&["b.test"]));
        let read = |chain: &str, key: &str| {
            Identity::read(chain.as_bytes(), key.as_bytes()).map(|read| read.facts().names.clone())
        };
        assert_eq!(read(&chain, &key), Ok(vec!["a.test".to_owned()]));
        let both = format!("a line of words\n{key}{chain}");
        assert_eq!(read(&both, &both), Ok(vec!["a.test".to_owned()]));
        assert_eq!(read(&chain, &other), Err(IdentityError::OtherKey));
        assert_eq!(read("", &key), Err(IdentityError::NoCertificate));
        assert_eq!(read(&chain, &chain), Err(IdentityError::NoKey));
        assert_eq!(read(&chain[..80], &key), Err(IdentityError::NoCertificate));
        let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(matches!(read(garbage, &key), Err(IdentityError::Unusable(_))));
        let shown = format!("{:?}", identity(&["a.test"]));
        assert!(!shown.contains("PRIVATE"), "{shown}");
    }

    #[test]
    fn a_star_stands_for_one_label() {
        let identity = identity(&["A.test", "*.b.test"]);
        for (name, is_covered) in [
            ("a.test", true),
            ("x.a.test", false),
            ("x.b.test", true),
            ("b.test", false),
            ("x.y.b.test", false),
            ("test", false),
        ] {
            assert_eq!(identity.facts().covers(name), is_covered, "{name}");
        }
    }
}

//! What the owner writes of certificates, read.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};

/// The directory of Let's Encrypt.
const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";
/// More CAs than anybody has a use for.
const DIRECTORIES_MAX: usize = 8;

/// A shorter key is a mistake.
const BINDING_KEY_BYTES_MIN: usize = 16;

/// The setting `certificate`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum CertificateSetting {
    /// From a CA.
    #[default]
    Auto,
    /// None at all.
    Off,
    /// The owner's own.
    File(PathBuf),
}

/// The setting `acme_directory`: CAs, by the addresses of their directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directories(pub(crate) Vec<String>);

impl Default for Directories {
    fn default() -> Self {
        Self(vec![LETS_ENCRYPT.to_owned()])
    }
}

impl Directories {
    /// Whether these are only such as issue for names of the public DNS.
    pub(crate) fn are_public(&self) -> bool {
        self.0.iter().all(|directory| directory == LETS_ENCRYPT)
    }
}

/// The setting `acme_eab_hmac_key`: a key that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct BindingKey(Vec<u8>);

impl BindingKey {
    /// Its bytes, for signing.
    pub(crate) fn reveal(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for BindingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BindingKey(…)")
    }
}

impl<'de> Deserialize<'de> for BindingKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use base64::Engine;
        use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
        let padding = DecodePaddingMode::Indifferent;
        let config = GeneralPurposeConfig::new().with_decode_padding_mode(padding);
        let reader = GeneralPurpose::new(&base64::alphabet::URL_SAFE, config);
        // Some CAs write the other alphabet of base64.
        let text = String::deserialize(deserializer)?.replace('+', "-").replace('/', "_");
        match reader.decode(text) {
            Ok(key) if key.len() >= BINDING_KEY_BYTES_MIN => Ok(Self(key)),
            // Not what was written: it may be most of a key.
            _ => Err(de::Error::custom(
                "this is no key for an external account: write it as the CA gives it, in \
                 base64url, as in \"zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W\"",
            )),
        }
    }
}

impl<'de> Deserialize<'de> for CertificateSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            path if path.contains(['/', '.']) => Ok(Self::File(PathBuf::from(path))),
            _ => Err(de::Error::custom(
                "write \"auto\", \"off\", or a file such as \"/etc/ssl/example.org/fullchain.pem\"",
            )),
        }
    }
}

impl<'de> Deserialize<'de> for Directories {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Directories;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the address of a CA's directory such as {LETS_ENCRYPT:?}, or a list of them")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Directories, E> {
        Ok(Directories(vec![directory(text)?]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Directories, A::Error> {
        let mut all = Vec::new();
        while let Some(text) = list.next_element::<String>()? {
            if all.len() == DIRECTORIES_MAX {
                return Err(de::Error::custom(format!("write at most {DIRECTORIES_MAX} CAs")));
            }
            all.push(directory(&text)?);
        }
        match all.is_empty() {
            true => Err(de::Error::custom(
                "an empty list names no CA: write certificate = \"off\" for sites that need none",
            )),
            false => Ok(Directories(all)),
        }
    }
}

fn directory<E: de::Error>(text: &str) -> Result<String, E> {
    match text.strip_prefix("https://").is_some_and(|rest| !rest.is_empty()) {
        true => Ok(text.to_owned()),
        false => Err(E::custom(format!(
            "the address of a CA's directory begins with https://, as in {LETS_ENCRYPT:?}"
        ))),
    }
}

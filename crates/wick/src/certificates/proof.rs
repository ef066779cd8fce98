//! What shows a CA whose a name is, on whichever node it looks.

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use server::{Shown, Tls};

use super::made;

/// How a CA is shown whose a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    /// By a page at port 80.
    Http,
    /// By a certificate at port 443.
    Tls,
}

/// What is shown of one name. It is no secret, but who could have one shown that is somebody
/// else's would get a certificate for the name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Proof {
    pub(crate) way: Way,
    pub(crate) name: String,
    pub(crate) token: String,
    /// The key authorization (RFC 8555 §8.1).
    pub(crate) text: String,
}

impl Proof {
    /// Shows it until what comes of this is dropped.
    ///
    /// # Errors
    /// It can't be shown; why.
    pub(crate) fn show(&self, tls: &Tls) -> Result<Shown, String> {
        let Self { name, token, text, .. } = self;
        let shown = match self.way {
            Way::Http => tls.show_proof(token, text),
            Way::Tls => {
                let digest = digest(&SHA256, text.as_bytes());
                tls.show_certificate(name, &made::proof(name, digest.as_ref())?)
            }
        };
        shown.ok_or_else(|| "too many names at a time".to_owned())
    }
}

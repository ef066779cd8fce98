//! What a node says at once: a message of the stream.

use serde::{Deserialize, Serialize};

/// Counts up when the shape changes so that an older node can't read it.
pub(crate) const FORM: u32 = 1;

/// A message. Nodes of the version before and after this one read it as well: fields may come,
/// and who doesn't know them goes without.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Said {
    /// The form that it has.
    pub form: u32,
    /// Who says it.
    pub node: String,
    /// Which run of that node's: a number that no other run has.
    pub instance: u64,
    /// Counts up by one within a run, from 1.
    pub number: u64,
    /// All that this run had to tell when the stream had come to this place is told.
    #[serde(default)]
    pub told_until: u64,
    /// Whether this run takes the place of one that is still there, and says goodbye itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_successor: bool,
    /// Whether it is the last thing that this run says: all that it had to tell is told.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_goodbye: bool,
    /// Whether something that was to be told is lost.
    #[serde(default, skip_serializing_if = "is_false")]
    pub has_lost: bool,
    /// Nodes that the owner says are gone for good.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// What is told, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_false(is: &bool) -> bool {
    !is
}

impl Said {
    /// Reads a message; none where it isn't one that this version understands.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let said: Self = serde_json::from_slice(bytes).ok()?;
        (said.form == FORM).then_some(said)
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        // It is made of texts and numbers, so it can always be written.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written_and_others_are_not() {
        let news = vec!["{\"a\":1}".to_owned()];
        let said =
            Said { form: 1, node: "a".into(), instance: 7, number: 3, news, ..Said::default() };
        assert_eq!(Said::read(&said.to_bytes()), Some(said.clone()));
        let newer = br#"{"form":1,"node":"a","instance":7,"number":3,"mood":"good"}"#;
        assert_eq!(Said::read(newer), Some(Said { news: Vec::new(), ..said.clone() }));
        let unknown = Said { form: 2, ..said };
        assert_eq!(Said::read(&unknown.to_bytes()), None);
        assert_eq!(Said::read(b"{"), None);
    }
}

//! What a node says at once: a message of the stream.
//!
//! Nodes one version apart read each other. What a reader that doesn't know it may go without
//! is a new field. What it may not is said in the next form: a reader of the form before takes
//! such a message's [`Envelope`], so that its node is waited for as ever, and takes it that
//! something was told that is lost on it.

use serde::{Deserialize, Serialize};

use crate::calm::Asks;

/// The form of a message that whoever knows this version understands whole. A later version says
/// in this form all that it still can.
pub(crate) const FORM: u32 = 1;

/// A message.
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
    /// At which address other nodes may ask it for pages; none: at none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// Whether its owner is about to take it off: nothing new is to come to it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_draining: bool,
    /// Nodes that the owner says are gone for good.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// What it asks of what is behind sources that it wants; none: it doesn't say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<Vec<Asks>>,
    /// What is told, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<String>,
    /// What it has to say of sources that one node reads for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leads: Vec<Lead>,
}

/// What a node says of a source that it reads for all, or wants to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Lead {
    /// The source, by the name that all nodes have for it.
    pub key: String,
    /// The place in the stream of the claim by which it reads; zero: this is a claim.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub epoch: u64,
    /// Of a claim: the place of the last word by a reader that was heard; zero: none was.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after: u64,
    /// How often following it has begun; zero: it isn't followed at this moment.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub begun: u64,
    /// All that was heard of it when the stream had come to this place is told; zero: no word
    /// about that.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub until: u64,
    /// Whether it reads it no more.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_over: bool,
    /// What it tells of it, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What stays as it is in every form.
#[derive(Deserialize)]
struct Envelope {
    form: u32,
    node: String,
    instance: u64,
    number: u64,
    #[serde(default)]
    told_until: u64,
    #[serde(default)]
    is_successor: bool,
    #[serde(default)]
    is_goodbye: bool,
    #[serde(default)]
    gone: Vec<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_false(is: &bool) -> bool {
    !is
}

impl Said {
    /// Reads a message; none where it isn't one. Of a form of later versions it bears that
    /// something is lost, whatever that message tells.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        match serde_json::from_slice::<Self>(bytes) {
            Ok(said) if said.form == FORM => Some(said),
            _ => Self::read_envelope(bytes),
        }
    }

    fn read_envelope(bytes: &[u8]) -> Option<Self> {
        let Envelope { form, node, instance, number, told_until, is_successor, is_goodbye, gone } =
            serde_json::from_slice(bytes).ok()?;
        let (has_lost, news) = (true, Vec::new());
        let said = Self {
            form,
            node,
            instance,
            number,
            told_until,
            is_successor,
            is_goodbye,
            has_lost,
            gone,
            news,
            ..Self::default()
        };
        (form > FORM).then_some(said)
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
        for bytes in [&b"{"[..], br#"{"form":0,"node":"a","instance":7,"number":3}"#] {
            assert_eq!(Said::read(bytes), None);
        }
        let wrong = br#"{"form":1,"node":"a","instance":7,"number":3,"news":[{"a":1}]}"#;
        assert_eq!(Said::read(wrong), None, "what ought to be understood and can't be is none");
    }

    #[test]
    fn of_the_next_form_the_envelope_is_read_and_the_rest_counts_as_lost() {
        let next = br#"{"form":2,"node":"a","instance":7,"number":3,"told_until":9,
            "is_goodbye":true,"gone":["z"],"mood":"good","news":[{"kind":"x"}],"has_lost":0}"#;
        let expected = Said {
            form: 2,
            node: "a".into(),
            instance: 7,
            number: 3,
            told_until: 9,
            is_goodbye: true,
            has_lost: true,
            gone: vec!["z".into()],
            ..Said::default()
        };
        assert_eq!(Said::read(next), Some(expected));
        assert_eq!(Said::read(br#"{"form":2,"node":"a"}"#), None, "without a number it is none");
    }
}

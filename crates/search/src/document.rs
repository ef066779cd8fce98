//! One document, and how it is kept whole beside its terms.
//!
//! The kept form is what [`crate::Index::get`] gives back and what an attribute's change
//! is made from. Invariant: [`Document::decode`] never panics, whatever bytes it gets.

use xxhash_rust::xxh3::xxh3_64;

/// A text with an id, in the order of its [`crate::Shape`].
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// What it is known by; putting it again replaces it.
    pub id: u64,
    /// The text of each field.
    pub fields: Vec<String>,
    /// The value of each attribute.
    pub attributes: Vec<Value>,
}

/// An attribute's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Of `Uint`, `Bigint`, `Bool` and `Timestamp`.
    Int(i64),
    /// Of `Float`.
    Float(f64),
    /// Of `Text`.
    Text(String),
    /// Of `Multi`.
    Multi(Vec<i64>),
}

impl Document {
    /// The id of what is named by a text, such as a URL. Never 0, which Sphinx's clients
    /// take for no document.
    #[must_use]
    pub fn id_of(name: &str) -> u64 {
        // Sphinx's clients in PHP read ids into signed numbers.
        (xxh3_64(name.as_bytes()) >> 1).max(1)
    }

    /// About how many bytes it is.
    #[must_use]
    pub fn size(&self) -> usize {
        let fields: usize = self.fields.iter().map(String::len).sum();
        fields + self.attributes.iter().map(Value::size).sum::<usize>()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.size() + 8 * (self.fields.len() + 4));
        out.extend_from_slice(&self.id.to_le_bytes());
        push_length(&mut out, self.fields.len());
        for field in &self.fields {
            push_bytes(&mut out, field.as_bytes());
        }
        push_length(&mut out, self.attributes.len());
        for value in &self.attributes {
            value.encode(&mut out);
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let id = u64::from_le_bytes(take(&mut rest, 8)?.try_into().ok()?);
        let fields = (0..take_length(&mut rest)?)
            .map(|_| Some(String::from_utf8_lossy(take_bytes(&mut rest)?).into_owned()))
            .collect::<Option<_>>()?;
        let attributes = (0..take_length(&mut rest)?)
            .map(|_| Value::decode(&mut rest))
            .collect::<Option<_>>()?;
        Some(Self { id, fields, attributes })
    }
}

impl Value {
    fn size(&self) -> usize {
        match self {
            Self::Int(_) | Self::Float(_) => 8,
            Self::Text(text) => text.len(),
            Self::Multi(values) => 8 * values.len(),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Int(number) => {
                out.push(0);
                out.extend_from_slice(&number.to_le_bytes());
            }
            Self::Float(number) => {
                out.push(1);
                out.extend_from_slice(&number.to_le_bytes());
            }
            Self::Text(text) => {
                out.push(2);
                push_bytes(out, text.as_bytes());
            }
            Self::Multi(values) => {
                out.push(3);
                push_length(out, values.len());
                values.iter().for_each(|one| out.extend_from_slice(&one.to_le_bytes()));
            }
        }
    }

    fn decode(rest: &mut &[u8]) -> Option<Self> {
        let number = |rest: &mut &[u8]| <[u8; 8]>::try_from(take(rest, 8)?).ok();
        Some(match take(rest, 1)?[0] {
            0 => Self::Int(i64::from_le_bytes(number(rest)?)),
            1 => Self::Float(f64::from_le_bytes(number(rest)?)),
            2 => Self::Text(String::from_utf8_lossy(take_bytes(rest)?).into_owned()),
            3 => {
                let values = (0..take_length(rest)?)
                    .map(|_| number(rest).map(i64::from_le_bytes))
                    .collect::<Option<_>>()?;
                Self::Multi(values)
            }
            _ => return None,
        })
    }
}

fn push_length(out: &mut Vec<u8>, length: usize) {
    // What is longer than four gigabytes was refused long before.
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    push_length(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

fn take_length(rest: &mut &[u8]) -> Option<usize> {
    let bytes = take(rest, 4)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(bytes)).ok()
}

fn take_bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take_length(rest)?;
    take(rest, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_nothing_else_is_read() {
        let document = Document {
            id: 7,
            fields: vec!["title".to_owned(), String::new()],
            attributes: vec![
                Value::Int(-3),
                Value::Float(0.5),
                Value::Text("한글".to_owned()),
                Value::Multi(vec![1, 2]),
            ],
        };
        let bytes = document.encode();
        assert_eq!(Document::decode(&bytes), Some(document));
        for cut in 0..bytes.len() {
            assert_eq!(Document::decode(&bytes[..cut]), None, "cut at {cut}");
        }
    }
}

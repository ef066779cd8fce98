//! Routes: the address of a page as its shape and the values in it.
//!
//! Any value may be the key of a row: a path segment, the number at the beginning or the end
//! of one (`/17-a-title`, `/thread-17.html`), the value of a parameter of the query.
//! Invariant: two targets of one shape have their values at the same places, by the same
//! names. What a program may read in another way than it is cut here has another shape.

use crate::strangers::{parameters_of, segments_of, shape};

/// The most values of a route; longer ones have no route, and are swept by everything.
const VALUES_MAX: usize = 24;

/// A page's address, as hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Of its shape.
    pub shape: u64,
    /// Of its values; 0 for one that may stand for something else, or is missing.
    pub values: Box<[u64]>,
}

/// A page's address in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelled {
    /// What its pages have in common, with the host.
    pub shape: String,
    /// Where a value stands, and which it is.
    pub values: Vec<(String, String)>,
}

impl Spelled {
    /// The route of a target; none where it has too many values.
    #[must_use]
    pub fn of(host: &str, target: &str) -> Option<Self> {
        let mut values = Vec::new();
        let mut push = |name: String, value: String| {
            values.push((name, value));
            (values.len() <= VALUES_MAX).then_some(())
        };
        for (index, segment) in segments_of(target).enumerate() {
            let place = index + 1;
            push(format!("path segment {place}"), segment.to_string())?;
            push(format!("first number of path segment {place}"), first_number(&segment))?;
            push(format!("last number of path segment {place}"), last_number(&segment))?;
        }
        let mut parameters: Vec<(String, String)> = parameters_of(target)
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        // PHP takes the last of those with one name, so their order stays.
        parameters.sort_by(|one, other| one.0.cmp(&other.0));
        let count = parameters.len();
        for (name, value) in parameters {
            push(format!("parameter {name}"), value)?;
        }
        // `;` separates parameters for some apps and not for others.
        let cuts: usize = target.bytes().filter(|byte| *byte == b';').count();
        let shape = shape(target);
        // It was cut, and what is missing may tell two apart.
        if shape.contains('\u{2026}') {
            return None;
        }
        let shape = match cuts {
            0 => format!("{host}{shape} ({count})"),
            _ => format!("{host}{shape} ({count}, {cuts} of them by \";\")"),
        };
        Some(Self { shape, values })
    }

    /// The same as hashes.
    #[must_use]
    pub fn route(&self, shape: impl Fn(&str) -> u64, value: impl Fn(&str) -> Option<u64>) -> Route {
        let values = self.values.iter().map(|(_, text)| value(text).unwrap_or(0));
        Route { shape: shape(&self.shape), values: values.collect() }
    }
}

/// The digits that a segment begins or goes on with; empty for a number alone.
fn first_number(segment: &str) -> String {
    let runs = || segment.split(|letter: char| !letter.is_ascii_digit());
    if segment.bytes().all(|byte| byte.is_ascii_digit()) {
        return String::new();
    }
    runs().find(|run| !run.is_empty()).unwrap_or_default().to_owned()
}

fn last_number(segment: &str) -> String {
    let runs = || segment.rsplit(|letter: char| !letter.is_ascii_digit());
    if segment.bytes().all(|byte| byte.is_ascii_digit()) {
        return String::new();
    }
    runs().find(|run| !run.is_empty()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(target: &str, expected: &str) {
        let spelled = Spelled::of("a.test", target).expect("few values");
        let values: Vec<_> = spelled.values.iter().filter(|(_, value)| !value.is_empty()).collect();
        let values: Vec<_> =
            values.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(format!("{} | {}", spelled.shape, values.join(", ")), expected);
    }

    #[test]
    fn a_route_is_a_shape_and_its_values() {
        check("/", "a.test/ (0) | ");
        check("/read?tid=17", "a.test/read?tid=* (1) | path segment 1: read, parameter tid: 17");
        check("/thread/17", "a.test/thread/* (0) | path segment 1: thread, path segment 2: 17");
        check(
            "/t/17-a-title",
            "a.test/t/* (0) | path segment 1: t, path segment 2: 17-a-title, first number of \
             path segment 2: 17, last number of path segment 2: 17",
        );
        check(
            "/x?b=2&a=%31",
            "a.test/x?a=*&b=* (2) | path segment 1: x, parameter a: 1, parameter b: 2",
        );
    }

    #[test]
    fn what_may_be_read_in_two_ways_has_a_shape_of_its_own() {
        let shape = |target| Spelled::of("a.test", target).map(|spelled| spelled.shape);
        assert_eq!(shape("/x?a=1&t=5"), shape("/x?t=6&a=2"));
        assert_ne!(shape("/x?a=1&t=5"), shape("/x?a=1;t=5"));
        assert_ne!(shape("/x?t=5"), shape("/x?t=5&t=6"));
        assert_ne!(shape("/x?t=5"), Spelled::of("b.test", "/x?t=5").map(|spelled| spelled.shape));
        assert_eq!(shape(&format!("/{}", "a/".repeat(20))), None);
    }
}

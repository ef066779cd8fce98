//! blitz's variables: `-v:NAME` with a kind, and `#{NAME}` where a value is put.
//!
//! Invariant: the same line asks for the same values, so that two runs can be compared.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// As many values as blitz made where nothing else was said.
const COUNT: usize = 1_000;
const COUNT_MAX: usize = 10_000;
const LENGTH_MAX: i64 = 1_000;
/// Stands for a variable where addresses are read: they may have no braces, and end at a `#`.
const HIDDEN: (&str, &str) = ("-wick-variable-", "-end-");

/// A name with the values that it takes in turns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variable {
    name: String,
    pub(crate) values: Vec<String>,
}

impl Variable {
    /// Reads `[a,b]` or `list[a,b]`, `alpha[MIN,MAX,COUNT]`, `number[MIN,MAX,COUNT]` or `udid`;
    /// the brackets may be left out, and the words be a letter long.
    ///
    /// # Errors
    /// A sentence about what is wrong.
    pub(crate) fn parse(name: &str, kind: &str) -> Result<Self, String> {
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let wrong = || {
            format!(
                "-v:{name} {kind} is not a variable: write [one,two], alpha[4,8], number[1,100] or udid behind a name of letters"
            )
        };
        let (word, within) = match kind.split_once('[') {
            Some((word, rest)) => (word, Some(rest.strip_suffix(']').ok_or_else(wrong)?)),
            None => (kind, None),
        };
        let limits = || -> Option<(i64, i64, usize)> {
            let Some(within) = within else { return Some((1, LENGTH_MAX, COUNT)) };
            let mut parts = within.split(',').map(str::trim);
            let (least, most) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            let count = parts.next().map_or(Some(COUNT), |count| count.parse().ok())?;
            let is_right = least <= most && (1..=COUNT_MAX).contains(&count);
            (is_right && parts.next().is_none()).then_some((least, most, count))
        };
        let dice = |number: usize| Dice::of(name, number);
        let values: Option<Vec<String>> = match (word, within) {
            ("" | "list", Some(list)) => {
                let values: Vec<_> = list.split(',').map(str::to_owned).collect();
                (values.len() <= COUNT_MAX).then_some(values)
            }
            ("a" | "alpha", _) => {
                let (least, most, count) =
                    if within.is_some() { limits() } else { Some((4, 8, COUNT)) }
                        .filter(|(least, most, _)| *least >= 0 && *most <= LENGTH_MAX)
                        .ok_or_else(wrong)?;
                Some((0..count).map(|number| dice(number).letters(least, most)).collect())
            }
            ("n" | "number", _) => {
                let (least, most, count) = limits().ok_or_else(wrong)?;
                let value = |number| dice(number).between(least, most).to_string();
                Some((0..count).map(value).collect())
            }
            ("u" | "udid", None) => Some((0..COUNT).map(|number| dice(number).udid()).collect()),
            _ => None,
        };
        let values = values.filter(|_| is_name).ok_or_else(wrong)?;
        Ok(Self { name: name.to_owned(), values })
    }

    /// Its name, and the value that it has in this turn.
    pub(crate) fn at(&self, number: usize) -> (&str, &str) {
        (&self.name, &self.values[number % self.values.len()])
    }
}

/// Puts values where their names stand.
pub(crate) fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let put =
        |text: String, (name, value): &(&str, &str)| text.replace(&format!("#{{{name}}}"), value);
    values.iter().fold(text.to_owned(), put)
}

/// An address that can be read, whatever its variables.
pub(crate) fn hide(address: &str) -> String {
    let mut parts = address.split("#{");
    let mut hidden = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        hidden.push_str(&format!("{}{name}{}{rest}", HIDDEN.0, HIDDEN.1));
    }
    hidden
}

/// The same with values; a name that has none stays as it was written.
pub(crate) fn show(path: &str, values: &[(&str, &str)]) -> String {
    let put = |text: String, (name, value): &(&str, &str)| {
        text.replace(&format!("{}{name}{}", HIDDEN.0, HIDDEN.1), value)
    };
    values.iter().fold(path.to_owned(), put)
}

/// Numbers that are the same in each run.
struct Dice(u64);

impl Dice {
    fn of(name: &str, number: usize) -> Self {
        let seed = BuildHasherDefault::<DefaultHasher>::default().hash_one((name, number));
        Self(seed | 1)
    }

    /// xorshift64*.
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn between(&mut self, least: i64, most: i64) -> i64 {
        let span = i128::from(most) - i128::from(least) + 1;
        let number = i128::from(least) + i128::from(self.next()) % span;
        i64::try_from(number).unwrap_or(least)
    }

    fn letters(&mut self, least: i64, most: i64) -> String {
        let length = self.between(least, most);
        (0..length).map(|_| char::from(b'a' + (self.next() >> 32) as u8 % 26)).collect()
    }

    /// The number of a device: twenty bytes.
    fn udid(&mut self) -> String {
        let (one, two, three) = (self.next(), self.next(), self.next() >> 32);
        format!("{one:016x}{two:016x}{three:08x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(kind: &str) -> Vec<String> {
        Variable::parse("x", kind).expect(kind).values
    }

    #[test]
    fn kinds_are_blitzs() {
        assert_eq!(values("[a,b]"), ["a", "b"]);
        assert_eq!(values("list[c]"), ["c"]);
        let words = values("a[2,3,50]");
        assert_eq!(words.len(), 50);
        assert!(words.iter().all(|word| (2..=3).contains(&word.len())), "{words:?}");
        let numbers = values("number[-2,2]");
        assert_eq!(numbers.len(), 1_000);
        for number in -2..=2 {
            assert!(numbers.contains(&number.to_string()), "{number}");
        }
        assert!(values("udid").iter().all(|one| one.len() == 40));
        assert_eq!(values("alpha"), values("a"), "the same line has the same values");
        for wrong in ["", "beta", "a[3,2]", "n[1]", "n[1,2,0]", "n[1,2,99999]", "[a", "u[1,2]"] {
            let error = Variable::parse("x", wrong).expect_err(wrong);
            assert!(error.contains("is not a variable: write [one,two]"), "{error}");
        }
        assert!(Variable::parse("a-b", "[c]").is_err());
    }

    #[test]
    fn values_stand_where_their_names_stood() {
        let all = [("a", "1"), ("b", "x y")];
        assert_eq!(fill("#{a}&#{b}&#{c}&#a", &all), "1&x y&#{c}&#a");
        assert_eq!(show(&hide("/#{a}?q=#{b}"), &all), "/1?q=x y");
    }
}

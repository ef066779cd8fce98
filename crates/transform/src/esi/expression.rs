//! Expressions: what `test="…"` asks.
//!
//! `==`, `!=`, `<`, `>`, `<=`, `>=`, then `!`, then `&`, then `|`; twice the last two is the
//! same. Operands are variables, `'texts'` and numbers; two whole numbers are compared as such.
//! What a request doesn't have is the empty text, and by itself an operand holds if it isn't
//! empty. What can't be read never holds.
//! Compiled to reverse Polish notation, so that nothing recurses.

use std::borrow::Cow;

use wire::RequestHead;

use super::variables::Variable;

/// A test with more operands and operators never holds.
const TOKENS_MAX: usize = 64;

/// A test, ready to be held against requests.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expression(Box<[Step]>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// A variable as it is written.
    Variable(Box<str>),
    Text(Box<str>),
    Act(Operator),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Open,
    Or,
    And,
    Not,
    Equal,
    Unequal,
    Less,
    More,
    AtMost,
    AtLeast,
}

impl Operator {
    /// What binds closer is larger.
    const fn rank(self) -> u8 {
        match self {
            Self::Open => 0,
            Self::Or => 1,
            Self::And => 2,
            Self::Not => 3,
            _ => 4,
        }
    }
}

/// The operators, longer ones first.
const OPERATORS: [(&str, Operator); 12] = [
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("&&", Operator::And),
    ("||", Operator::Or),
    ("&", Operator::And),
    ("|", Operator::Or),
    ("<", Operator::Less),
    (">", Operator::More),
    ("!", Operator::Not),
    ("(", Operator::Open),
];

impl Expression {
    /// Reads a test; none if it is none.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (mut steps, mut waiting) = (Vec::new(), Vec::new());
        let (mut rest, mut wants_operand) = (text.trim_start(), true);
        while !rest.is_empty() {
            if steps.len() + waiting.len() >= TOKENS_MAX {
                return None;
            }
            let bytes = if wants_operand {
                match operand(rest) {
                    Some((operand, bytes)) => {
                        steps.push(operand);
                        wants_operand = false;
                        bytes
                    }
                    None => {
                        let before = [("!", Operator::Not), ("(", Operator::Open)];
                        let (word, found) =
                            before.into_iter().find(|(word, _)| rest.starts_with(word))?;
                        waiting.push(found);
                        word.len()
                    }
                }
            } else if rest.starts_with(')') {
                loop {
                    match waiting.pop()? {
                        Operator::Open => break,
                        operator => steps.push(Step::Act(operator)),
                    }
                }
                1
            } else {
                let (word, found) = OPERATORS.iter().find(|(word, _)| rest.starts_with(word))?;
                if matches!(found, Operator::Not | Operator::Open) {
                    return None;
                }
                while waiting.last().is_some_and(|last| last.rank() >= found.rank()) {
                    steps.extend(waiting.pop().map(Step::Act));
                }
                waiting.push(*found);
                wants_operand = true;
                word.len()
            };
            rest = rest[bytes..].trim_start();
        }
        if wants_operand || waiting.contains(&Operator::Open) {
            return None;
        }
        steps.extend(waiting.into_iter().rev().map(Step::Act));
        Some(Self(steps.into()))
    }

    /// Whether it holds for a request.
    pub(super) fn holds(&self, request: &RequestHead) -> bool {
        let mut values: Vec<Value<'_>> = Vec::with_capacity(self.0.len());
        for step in &self.0 {
            let value = match step {
                Step::Text(text) => Value::Text(text.as_bytes().into()),
                Step::Variable(text) => match Variable::read(text.as_bytes()) {
                    Some((variable, _)) => Value::Text(variable.value(request).into_owned().into()),
                    None => return false,
                },
                Step::Act(Operator::Not) => match values.pop() {
                    Some(value) => Value::Truth(!value.holds()),
                    None => return false,
                },
                Step::Act(operator) => match (values.pop(), values.pop()) {
                    (Some(right), Some(left)) => Value::Truth(apply(*operator, &left, &right)),
                    _ => return false,
                },
            };
            values.push(value);
        }
        values.pop().is_some_and(|value| value.holds())
    }

    pub(super) fn bytes(&self) -> usize {
        let text = |step: &Step| match step {
            Step::Variable(text) | Step::Text(text) => text.len(),
            Step::Act(_) => 0,
        };
        size_of_val(&*self.0) + self.0.iter().map(text).sum::<usize>()
    }
}

/// The operand that a text begins with, and its length.
fn operand(text: &str) -> Option<(Step, usize)> {
    if text.starts_with('$') {
        let (_, bytes) = Variable::read(text.as_bytes())?;
        return Some((Step::Variable(text[..bytes].into()), bytes));
    }
    if let Some(quoted) = text.strip_prefix('\'') {
        let end = quoted.find('\'')?;
        return Some((Step::Text(quoted[..end].into()), end + 2));
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.'));
    let word = &text[..end.unwrap_or(text.len())];
    (!word.is_empty()).then(|| (Step::Text(word.into()), word.len()))
}

enum Value<'a> {
    Text(Cow<'a, [u8]>),
    Truth(bool),
}

impl Value<'_> {
    fn holds(&self) -> bool {
        match self {
            Self::Text(text) => !text.is_empty() && **text != *b"false",
            Self::Truth(truth) => *truth,
        }
    }

    fn text(&self) -> &[u8] {
        match self {
            Self::Text(text) => text,
            Self::Truth(true) => b"true",
            Self::Truth(false) => b"false",
        }
    }

    fn number(&self) -> Option<i64> {
        std::str::from_utf8(self.text()).ok()?.parse().ok()
    }
}

fn apply(operator: Operator, left: &Value<'_>, right: &Value<'_>) -> bool {
    let order = match (left.number(), right.number()) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => left.text().cmp(right.text()),
    };
    match operator {
        Operator::Or => left.holds() || right.holds(),
        Operator::And => left.holds() && right.holds(),
        Operator::Equal => order.is_eq(),
        Operator::Unequal => order.is_ne(),
        Operator::Less => order.is_lt(),
        Operator::More => order.is_gt(),
        Operator::AtMost => order.is_le(),
        Operator::AtLeast => order.is_ge(),
        Operator::Not | Operator::Open => false,
    }
}

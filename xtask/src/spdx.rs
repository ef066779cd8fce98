//! SPDX licence expressions: may we use a package that is offered on these terms?
//!
//! `OR` leaves the choice to us, `AND` asks for both, `WITH` names an exception
//! that is part of the term. The old spelling `MIT/Apache-2.0` means `OR`.

/// An expression that can't be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SpdxError {
    /// Something else was expected here.
    #[error("`{0}` was not expected")]
    Unexpected(String),
    /// The expression stops too soon.
    #[error("it ends in the middle")]
    Ends,
}

/// Whether some choice that the expression offers is made of allowed terms only.
pub(crate) fn is_allowed(expression: &str, allowed: &[&str]) -> Result<bool, SpdxError> {
    let mut reader = Reader { words: words(expression), allowed };
    let answer = reader.either()?;
    match reader.words.pop() {
        None => Ok(answer),
        Some(word) => Err(SpdxError::Unexpected(word)),
    }
}

/// The words of the expression, the next one last.
fn words(expression: &str) -> Vec<String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    spaced.split_whitespace().rev().map(str::to_owned).collect()
}

struct Reader<'a> {
    words: Vec<String>,
    allowed: &'a [&'a str],
}

impl Reader<'_> {
    fn either(&mut self) -> Result<bool, SpdxError> {
        let mut answer = self.both()?;
        while self.take("OR") {
            answer |= self.both()?;
        }
        Ok(answer)
    }

    fn both(&mut self) -> Result<bool, SpdxError> {
        let mut answer = self.term()?;
        while self.take("AND") {
            answer &= self.term()?;
        }
        Ok(answer)
    }

    fn term(&mut self) -> Result<bool, SpdxError> {
        if self.take("(") {
            let answer = self.either()?;
            return match self.words.pop() {
                Some(word) if word == ")" => Ok(answer),
                Some(word) => Err(SpdxError::Unexpected(word)),
                None => Err(SpdxError::Ends),
            };
        }
        let mut term = self.name()?;
        if self.take("WITH") {
            term = format!("{term} WITH {}", self.name()?);
        }
        Ok(self.allowed.contains(&term.as_str()))
    }

    fn name(&mut self) -> Result<String, SpdxError> {
        let word = self.words.pop().ok_or(SpdxError::Ends)?;
        match word.as_str() {
            "(" | ")" | "OR" | "AND" | "WITH" => Err(SpdxError::Unexpected(word)),
            _ => Ok(word),
        }
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.last().is_some_and(|next| next == word);
        if is_next {
            self.words.pop();
        }
        is_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expression: &str, expected: Result<bool, SpdxError>) {
        let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"];
        assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
    }

    #[test]
    fn either_may_be_chosen_and_both_must_fit() {
        check("MIT", Ok(true));
        check("GPL-3.0-only", Ok(false));
        check("MIT OR GPL-3.0-only", Ok(true));
        check("GPL-3.0-only OR MIT", Ok(true));
        check("MIT AND GPL-3.0-only", Ok(false));
        check("MIT AND Apache-2.0", Ok(true));
        check("MIT/Apache-2.0", Ok(true));
        check("GPL-3.0-only / MIT", Ok(true));
    }

    #[test]
    fn and_binds_tighter_than_or_and_brackets_bind_tightest() {
        check("MIT OR GPL-3.0-only AND GPL-2.0-only", Ok(true));
        check("GPL-3.0-only AND MIT OR GPL-2.0-only", Ok(false));
        check("(MIT OR GPL-3.0-only) AND GPL-2.0-only", Ok(false));
        check("(MIT OR GPL-3.0-only) AND Apache-2.0", Ok(true));
        check("((MIT))", Ok(true));
    }

    #[test]
    fn an_exception_is_part_of_its_term() {
        check("Apache-2.0 WITH LLVM-exception", Ok(true));
        check("MIT WITH LLVM-exception", Ok(false));
        check("GPL-2.0-only WITH Classpath-exception-2.0 OR MIT", Ok(true));
    }

    #[test]
    fn nonsense_is_an_error_and_never_a_yes() {
        let unexpected = |word: &str| Err(SpdxError::Unexpected(word.to_owned()));
        check("", Err(SpdxError::Ends));
        check("MIT OR", Err(SpdxError::Ends));
        check("(MIT", Err(SpdxError::Ends));
        check("MIT)", unexpected(")"));
        check("MIT Apache-2.0", unexpected("Apache-2.0"));
        check("OR MIT", unexpected("OR"));
        check("Apache-2.0 WITH", Err(SpdxError::Ends));
    }
}

//! Function length: from `fn` to its closing brace, comments included, since
//! what has to fit the screen is what is seen.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, File, ImplItemFn, ItemFn, Signature, TraitItemFn};

/// The height of a screen.
const FUNCTION_LINES_MAX: usize = 70;

/// A finding for each function that is longer than the limit, tests included.
pub(crate) fn check(path: &str, file: &File) -> Vec<String> {
    let mut walk = Walk { path, findings: Vec::new() };
    walk.visit_file(file);
    walk.findings
}

struct Walk<'a> {
    path: &'a str,
    findings: Vec<String>,
}

impl Walk<'_> {
    fn measure(&mut self, signature: &Signature, block: &Block) {
        let line = |span: Span| (span.start().line, span.end().line);
        let (first, last) = (line(signature.fn_token.span).0, line(block.span()).1);
        let lines = last + 1 - first;
        if lines > FUNCTION_LINES_MAX {
            self.findings.push(format!(
                "{}:{first}: `{}` has {lines} lines; {FUNCTION_LINES_MAX} is the most",
                self.path, signature.ident
            ));
        }
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(block) = &function.default {
            self.measure(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::check as check_functions;

    /// Puts a function of `lines` lines where `{}` stands and looks for findings.
    fn check(frame: &str, lines: usize, expected: &[&str]) {
        let body = "    // a line\n".repeat(lines - 2);
        let text = frame.replace("{}", &format!("fn story(&self) {{\n{body}}}\n"));
        let file = syn::parse_file(&text).expect("the sample is Rust");
        assert_eq!(check_functions("a.rs", &file), expected, "{frame} with {lines} lines");
    }

    #[test]
    fn seventy_lines_fit_and_one_more_does_not() {
        let told = ["a.rs:2: `story` has 71 lines; 70 is the most"];
        for frame in ["impl A {\n{}}\n", "trait A {\n{}}\n", "impl B for A {\n{}}\n"] {
            check(frame, 70, &[]);
            check(frame, 71, &told);
        }
    }

    #[test]
    fn tests_and_inner_functions_are_measured_too() {
        let frame = "mod tests { impl A {\n#[test] {}}}\n";
        check(frame, 71, &["a.rs:2: `story` has 71 lines; 70 is the most"]);
        let body = "    // a line\n".repeat(69);
        let text = format!("fn outer() {{\nfn inner() {{\n{body}}}\n}}\n");
        let file = syn::parse_file(&text).expect("the sample is Rust");
        let found = check_functions("a.rs", &file);
        assert_eq!(
            found,
            [
                "a.rs:1: `outer` has 73 lines; 70 is the most",
                "a.rs:2: `inner` has 71 lines; 70 is the most",
            ]
        );
    }

    #[test]
    fn a_trait_function_without_a_body_has_no_length() {
        let file = syn::parse_file("trait A {\nfn story(&self);\n}\n").expect("the sample is Rust");
        assert_eq!(check_functions("a.rs", &file), Vec::<String>::new());
    }
}

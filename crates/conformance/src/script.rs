//! Script: whether a script can be read at all. One that can't does nothing in any browser.
//!
//! In: a script's text and what it is. Out: the first mistake and its place, if there is one.
//! `QuickJS` compiles it. Nothing of it is run: a statement is put before it that ends the run
//! before the script's first, and there is nothing in that world that could be reached.
//! Law: ECMAScript, with the grammar for browsers (Annex B).
//! Invariants: 1. any text is read in bounded stack ([`STACK_BYTES_MAX`]) and memory
//! ([`MEMORY_BYTES_MAX`]); what needs more is taken for right. 2. A place lies in the text.

use rquickjs::context::EvalOptions;
use rquickjs::context::intrinsic::{Eval, Promise, RegExpCompiler};
use rquickjs::{CatchResultExt, CaughtError, Context, Ctx, Exception, Module, Runtime, Value};

/// Of the thread that asks; those of tokio and of tests have twice as much.
const STACK_BYTES_MAX: usize = 1 << 20;
/// Sixteen times what a script of the largest size takes.
const MEMORY_BYTES_MAX: usize = 256 << 20;
/// What ends the run before a script's first statement, on a line of its own.
const STOP: &str = "throw 0;\n";
/// What stands before a handler, whose text is the body of a function.
const HANDLER: &str = "throw 0;function handler(event){\n";

/// What a script is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// As in `<script>`.
    Classic,
    /// As in `<script type=module>`.
    Module,
    /// As in `onclick`.
    Handler,
    /// A file: nobody knows which of the first two.
    File,
}

/// Why a script can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptFault {
    /// The line in the script, from 1.
    pub line: u32,
    /// The column, from 1; 0 where it isn't known.
    pub column: u32,
    /// What is wrong, in the words of the compiler.
    pub message: String,
}

/// What makes scripts unreadable; made once for a page with all its scripts.
pub struct Scripts {
    runtime: Option<Runtime>,
}

impl Default for Scripts {
    fn default() -> Self {
        Self::new()
    }
}

impl Scripts {
    /// A compiler.
    #[must_use]
    pub fn new() -> Self {
        // It fails for want of memory only; then nothing is judged.
        let runtime = Runtime::new().ok();
        if let Some(runtime) = &runtime {
            runtime.set_max_stack_size(STACK_BYTES_MAX);
            runtime.set_memory_limit(MEMORY_BYTES_MAX);
        }
        Self { runtime }
    }

    /// The first mistake of a script.
    #[must_use]
    pub fn check(&self, text: &str, script: Script) -> Option<ScriptFault> {
        if is_misread(text) {
            return None;
        }
        match script {
            Script::Classic => self.classic(text),
            Script::Module => self.module(text),
            Script::Handler => self.compile(&format!("{HANDLER}{text}\n}}"), text),
            Script::File => {
                let classic = self.classic(text)?;
                let module = self.module(text)?;
                Some(if has_imports(text) { module } else { classic })
            }
        }
    }

    fn classic(&self, text: &str) -> Option<ScriptFault> {
        // What begins so is a comment up to the end of its line, and can only stand first.
        match text.strip_prefix("#!") {
            Some(rest) => self.compile(&format!("{STOP}//{rest}"), text),
            None => self.compile(&format!("{STOP}{text}"), text),
        }
    }

    /// Compiles what begins with a line that stops it.
    fn compile(&self, stopped: &str, text: &str) -> Option<ScriptFault> {
        let mut options = EvalOptions::default();
        options.strict = is_strict(text);
        self.within(|context| {
            let result: rquickjs::Result<Value<'_>> = context.eval_with_options(stopped, options);
            fault(result.catch(context).err()?, 1)
        })
    }

    fn module(&self, text: &str) -> Option<ScriptFault> {
        self.within(|context| {
            let result = Module::declare(context.clone(), "module", text);
            fault(result.catch(context).err()?, 0)
        })
    }

    fn within(&self, what: impl FnOnce(&Ctx<'_>) -> Option<ScriptFault>) -> Option<ScriptFault> {
        let runtime = self.runtime.as_ref()?;
        let context = Context::builder().with::<Eval>().with::<RegExpCompiler>().with::<Promise>();
        let context: Context = context.build(runtime).ok()?;
        context.with(|context| what(&context))
    }
}

/// Whether a script has an argument that is called `async`, which `QuickJS` doesn't understand.
fn is_misread(text: &str) -> bool {
    text.match_indices("async")
        .any(|(at, word)| text[at + word.len()..].trim_start().starts_with("=>"))
}

/// Whether a script says first that it is strict.
fn is_strict(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("\"use strict\"") || text.starts_with("'use strict'")
}

/// Whether a line begins as only modules' lines do.
fn has_imports(text: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.trim_start().split(|letter: char| !letter.is_ascii_alphabetic());
        matches!(words.next(), Some("import" | "export"))
    })
}

/// What an exception says of the script; those that aren't about its grammar say nothing.
fn fault(caught: CaughtError<'_>, lines_before: u32) -> Option<ScriptFault> {
    let CaughtError::Exception(exception) = caught else { return None };
    let name: String = exception.as_object().get("name").ok()?;
    if name != "SyntaxError" {
        return None;
    }
    let message = exception.message().unwrap_or_default();
    let (line, column) = place(&exception).unwrap_or((lines_before + 1, 0));
    let line = line.saturating_sub(lines_before).max(1);
    Some(ScriptFault { line, column, message })
}

/// As in `    at eval_script:3:1`.
fn place(exception: &Exception<'_>) -> Option<(u32, u32)> {
    let stack = exception.stack()?;
    let mut parts = stack.lines().next()?.rsplit(':');
    let column = parts.next()?.trim().parse().ok()?;
    Some((parts.next()?.parse().ok()?, column))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, script: Script) -> String {
        Scripts::new().check(text, script).map_or_else(String::new, |fault| {
            format!("{}:{} {}", fault.line, fault.column, fault.message)
        })
    }

    #[test]
    fn a_mistake_is_told_with_its_place() {
        for (text, expected) in [
            ("var a = 1;\nif (a) {", "2:9 unexpected token in expression: ''"),
            ("a = 'b\nc'", "1:5 unexpected end of string"),
            ("f(1, 2", "1:7 Unexpected end of input"),
            ("let a; let a", "1:13 invalid redefinition of lexical identifier"),
            ("return 1", "1:1 return not in a function"),
            ("a = /(/", "1:0 expecting ')'"),
            ("'use strict'; with (a) {}", "1:15 invalid keyword: with"),
        ] {
            assert_eq!(told(text, Script::Classic), expected, "{text}");
        }
    }

    #[test]
    fn what_browsers_run_is_right() {
        for text in [
            "",
            "#!/bin/node\nvar a",
            "<!-- old\nvar a = 1\n//-->",
            "var a\n--> old too",
            "//<![CDATA[\nvar a\n//]]>",
            "with (a) { b = 010 }",
            "a = b\n++c\nd\n/e/g.test(f)",
            "var yield, let, async, await, static; async => 1",
            "class A { static #b = 1; static { this.c } get [d]() { return this.#b?.e } }",
            "a ??= b ** c; d = 1_000n; async function* e() { for await (const f of g) yield f }",
            "import('a'); f`${{}}`; label: for (;;) continue label; /(?<n>a)\\k<n>/v",
            "var undefined; function f() {} function f() {}",
        ] {
            assert_eq!(told(text, Script::Classic), "", "{text}");
        }
        let module = "import a from './a.js' with { type: 'json' };\nexport default await a";
        assert_eq!(told(module, Script::Module), "");
        assert_eq!(told(module, Script::File), "");
        assert_ne!(told(module, Script::Classic), "");
        assert_eq!(told("return false", Script::Handler), "");
        assert_ne!(told("return false)", Script::Handler), "");
    }

    #[test]
    fn a_file_that_is_neither_a_script_nor_a_module_is_told_as_what_it_seems_to_be() {
        assert_eq!(
            told("import a from 'b'\nvar await", Script::File),
            "2:5 variable name expected"
        );
        assert_eq!(told("with (a) {} }", Script::File), "1:13 unexpected token in expression: '}'");
    }

    #[test]
    fn nothing_is_run() {
        for text in ["for (;;);", "}; for (;;); function f() {", "throw new SyntaxError('mine')"] {
            for script in [Script::Classic, Script::Handler, Script::Module] {
                assert!(!told(text, script).contains("mine"), "{text}");
            }
        }
        assert_eq!(told("throw new SyntaxError('mine')", Script::Classic), "");
    }

    #[test]
    fn no_depth_takes_the_stack() {
        for piece in ["(", "[", "!", "{", "a=>", "if(1)", "`${", "new ", "[...", "a?b:", "x="] {
            let text = piece.repeat(100_000);
            for script in [Script::Classic, Script::Module, Script::Handler] {
                assert!(!told(&text, script).contains("mine"), "{piece}");
            }
        }
        // In bytes that are no text in any way, too.
        assert!(!told(&"/(".repeat(100_000), Script::Classic).is_empty());
    }
}

//! Style sheets and scripts of pages, read for mistakes.

use conformance::{Script, Scripts, Style, check_style};

/// Whatever the sheet, it is read to its end, and findings lie within it, in its order.
pub(crate) fn run_style(input: &[u8]) {
    let css = conformance::file_text(input, None);
    let lines = css.split(['\n', '\r']).count();
    for style in [Style::Sheet, Style::Attribute] {
        let mut before = (1, 1);
        for finding in check_style(&css, style) {
            let place = (finding.line, finding.column);
            assert!(place >= before, "findings come in the sheet's order: {finding:?}");
            assert!(finding.line as usize <= lines, "a line: {finding:?}");
            assert!(finding.column as usize <= css.len() + 1, "a column: {finding:?}");
            before = place;
        }
    }
}

/// Whatever the script, it is read and not run, and its mistake lies within it.
pub(crate) fn run_script(input: &[u8]) {
    let text = conformance::file_text(input, None);
    let scripts = Scripts::new();
    for script in [Script::Classic, Script::Module, Script::Handler, Script::File] {
        if let Some(fault) = scripts.check(&text, script) {
            // A handler may end on the line that closes it; U+2028 breaks lines, too.
            let lines = text.split(['\n', '\r', '\u{2028}', '\u{2029}']).count();
            assert!(fault.line as usize <= lines + 1, "a line of the script: {fault:?}");
            assert!(!fault.message.is_empty());
        }
    }
}

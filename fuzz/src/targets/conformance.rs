//! Pages held against HTML's specification.

/// Whatever the page, it is read to its end, and findings lie within it, in its order.
pub(crate) fn run(input: &[u8]) {
    let (charset, html) = match input.split_first() {
        Some((0, html)) => (Some("iso-8859-1"), html),
        Some((1, html)) => (Some("utf-8"), html),
        Some((2, html)) => (Some("shift_jis"), html),
        Some((3, html)) => (Some("utf-16be"), html),
        Some((4, html)) => (Some("iso-2022-jp"), html),
        Some((5, html)) => (Some("gb18030"), html),
        _ => (None, input),
    };
    let findings = conformance::check(html, charset);
    assert!(findings.len() <= conformance::FINDINGS_MAX + 1);
    let breaks = html.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
    let mut before = (1, 1);
    for finding in &findings {
        let place = (finding.line, finding.column);
        assert!(place >= before, "findings come in the page's order: {finding:?}");
        assert!(finding.line as usize <= breaks + 1, "a line of the page: {finding:?}");
        // No encoding makes more characters than it has bytes.
        assert!(finding.column as usize <= html.len() + 1, "a column of the page: {finding:?}");
        assert!(!finding.message.is_empty() && !finding.rule.is_empty());
        before = place;
    }
}

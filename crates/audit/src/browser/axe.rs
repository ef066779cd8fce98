//! What axe-core says of a page, as findings.
//!
//! In: its answer as [`SCRIPT`] bounds it. Out: a finding for each element, under axe's own
//! rule, as bad as axe says that its impact is.

use serde::Deserialize;

use crate::finding::{Finding, Place, Severity};
use crate::rules::AXE;
use crate::tests::bounded;

/// Rules of one page, as many as there are in axe.
const RULES_MAX: usize = 200;
/// What is told of an element, and of what is wrong with it.
const HTML_BYTES_MAX: usize = 160;
const TEXT_BYTES_MAX: usize = 300;

/// Has a page judged: what is beyond the bounds stays there. It runs in a world of its own, so
/// that nothing of the page's changes what it does.
pub(super) const SCRIPT: &str = "axe.run(document, {resultTypes: ['violations'], iframes: false})
  .then(found => JSON.stringify({version: axe.version, violations: found.violations.slice(0, 200).map(
    ({id, impact, help, helpUrl, nodes}) => ({id, impact: impact || '', help: help.toWellFormed(),
      url: helpUrl, count: nodes.length, nodes: nodes.slice(0, 50).map(node => ({
        impact: node.impact || '', html: node.html.slice(0, 2000).toWellFormed(),
        target: node.target.join(' ').slice(0, 500).toWellFormed(),
        summary: (node.failureSummary || '').slice(0, 1000).toWellFormed()}))}))}))";

/// What [`SCRIPT`] gives.
#[derive(Debug, Deserialize)]
pub(super) struct Told {
    /// axe's.
    pub version: String,
    violations: Vec<Violation>,
}

#[derive(Debug, Deserialize)]
struct Violation {
    id: String,
    impact: String,
    help: String,
    url: String,
    count: usize,
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    impact: String,
    html: String,
    target: String,
    summary: String,
}

/// Rules of axe that are rules here, too: what both find is told once.
const ALSO: &[(&str, &str)] = &[
    ("button-name", "button-text"),
    ("document-title", "title-missing"),
    ("duplicate-id", "id-duplicate"),
    ("duplicate-id-active", "id-duplicate"),
    ("duplicate-id-aria", "id-duplicate"),
    ("frame-title", "frame-title"),
    ("heading-order", "heading-order"),
    ("html-has-lang", "lang-missing"),
    ("image-alt", "image-alt"),
    ("input-button-name", "button-text"),
    ("label", "label-missing"),
    ("select-name", "label-missing"),
    ("landmark-one-main", "landmark-main"),
    ("link-name", "link-text"),
    ("meta-viewport", "viewport-zoom"),
    ("page-has-heading-one", "heading-first"),
];

impl Told {
    /// Reads what the script gave.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("axe-core's answer: {error}"))
    }

    /// Its findings of a page, but for what is `known` of it already by rules of our own.
    pub(super) fn findings(&self, url: &str, known: impl Fn(&str) -> bool) -> Vec<Finding> {
        let is_told = |violation: &&Violation| {
            let also = ALSO.iter().filter(|(axe, _)| *axe == violation.id);
            let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
            also.clone().all(|(_, own)| !known(own)) && violation.id.bytes().all(is_plain)
        };
        let mut findings = Vec::new();
        for violation in self.violations.iter().filter(is_told).take(RULES_MAX) {
            violation.findings(url, &mut findings);
        }
        findings.sort();
        findings.dedup();
        bounded(findings)
    }
}

impl Violation {
    fn findings(&self, url: &str, findings: &mut Vec<Finding>) {
        let (rule, place) = (format!("{AXE}{}", self.id), Place::default());
        let help = short(&self.help, TEXT_BYTES_MAX);
        let page = self.url.split('?').next().unwrap_or("");
        let page = if page.starts_with("https://") { format!(" ({page})") } else { String::new() };
        for node in &self.nodes {
            let impact = if node.impact.is_empty() { &self.impact } else { &node.impact };
            let message = format!(
                "{} at {}: {} {help}{page}",
                short(&node.html, HTML_BYTES_MAX),
                short(&node.target, HTML_BYTES_MAX),
                short(&reasons(&node.summary), TEXT_BYTES_MAX),
            );
            let (rule, url) = (rule.clone(), url.to_owned());
            findings.push(Finding { severity: severity(impact), rule, url, place, message });
        }
        let left = self.count.saturating_sub(self.nodes.len());
        if left > 0 {
            let message = format!("and {left} more elements of the page: {help}{page}");
            let (severity, url) = (severity(&self.impact), url.to_owned());
            findings.push(Finding { severity, rule, url, place, message });
        }
    }
}

/// How bad an impact is.
fn severity(impact: &str) -> Severity {
    match impact {
        "critical" | "serious" => Severity::Error,
        "moderate" => Severity::Warning,
        _ => Severity::Notice,
    }
}

/// What is wrong, without the words by which axe makes a list of it.
fn reasons(summary: &str) -> String {
    let lines = summary.lines().filter(|line| !line.starts_with("Fix "));
    let mut told = String::new();
    for line in lines.map(|line| line.trim().trim_end_matches('.')).filter(|it| !it.is_empty()) {
        told.push_str(line);
        told.push_str(". ");
    }
    told.trim_end().to_owned()
}

/// A text in one line, as far as it is told.
fn short(text: &str, bytes_max: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ").replace(char::is_control, "");
    match text.floor_char_boundary(bytes_max) {
        end if end < text.len() => format!("{}…", &text[..end]),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = r##"{"version": "4.10.3", "violations": [
      {"id": "color-contrast", "impact": "serious", "help": "Elements must meet thresholds",
       "url": "https://dequeuniversity.com/rules/axe/4.10/color-contrast?application=axeAPI",
       "count": 60, "nodes": [{"impact": "serious", "html": "<p\n class=\"f\">", "target": ".f",
         "summary": "Fix any of the following:\n  Element has insufficient contrast of 1.6."}]},
      {"id": "image-alt", "impact": "critical", "help": "Images", "url": "javascript:1", "count": 1,
       "nodes": [{"impact": "", "html": "<img>", "target": "img", "summary": ""}]},
      {"id": "region", "impact": "moderate", "help": "Regions", "url": "", "count": 1,
       "nodes": [{"impact": "minor", "html": "<b>", "target": "b", "summary": ""}]}]}"##;

    fn told(known: &str) -> Vec<String> {
        let findings = Told::read(TOLD).unwrap().findings("http://a.test/", |rule| rule == known);
        let told = findings
            .iter()
            .map(|one| format!("{} {} {}", one.severity.as_str(), one.rule, one.message));
        told.collect()
    }

    #[test]
    fn each_element_is_told_as_bad_as_axe_says_with_the_page_that_tells_more() {
        let page = "(https://dequeuniversity.com/rules/axe/4.10/color-contrast)";
        let contrast = format!(
            "error axe-color-contrast <p class=\"f\"> at .f: Element has insufficient contrast of \
             1.6. Elements must meet thresholds {page}"
        );
        let more = format!(
            "error axe-color-contrast and 59 more elements of the page: Elements must meet \
             thresholds {page}"
        );
        let image = "error axe-image-alt <img> at img:  Images";
        let region = "notice axe-region <b> at b:  Regions";
        assert_eq!(told(""), [contrast.as_str(), &more, image, region]);
        assert_eq!(told("image-alt"), [contrast.as_str(), &more, region], "known already");
    }

    #[test]
    fn what_is_told_is_bounded() {
        assert_eq!(short("a \n b\u{7}", 9), "a b");
        assert_eq!(short("ää", 3), "ä…");
        assert!(Told::read("{}").is_err());
    }
}

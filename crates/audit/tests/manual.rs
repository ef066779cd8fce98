//! The table of `docs/audit.md`, made from the table of rules: a test fails when the two differ.

use std::fmt::Write;

use audit::rules::RULES;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/audit.md");
const HEAD: &str = "\n## Rules\n";

#[test]
fn the_page_of_the_audit_has_every_rule() {
    let mut table = String::from(
        "\nAn id never changes. Rules of `html-…` are those of the crate `conformance`, which \
         holds pages against HTML's specification as vnu does: its errors are warnings here, \
         since browsers mend them, its warnings notices, and what a rule below says isn't said \
         a second time. Rules of `axe-…` are those of axe-core, where `--browser` asks it.\n\n\
         | id | kind | | what is wrong | why, and how to mend it | source |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for rule in RULES {
        let severity = rule.severity.as_str();
        let why = format!("{} {}", rule.why, rule.mend).replace('<', "&lt;");
        writeln!(
            table,
            "| `{}` | {} | {severity} | {} | {why} | {} |",
            rule.id,
            rule.kind.as_str(),
            rule.title,
            rule.source
        )
        .expect("a string takes all");
    }
    table.push_str(
        "\nThe table is made from the code by `WRITE_MANUAL=1 cargo test -p audit --test manual`.\n",
    );
    let page = std::fs::read_to_string(PAGE).expect("the page is there");
    let (before, _) = page.split_once(HEAD).expect("it has the chapter");
    let made = format!("{before}{HEAD}{table}");
    if std::env::var_os("WRITE_MANUAL").is_some() {
        std::fs::write(PAGE, made).expect("it can be written");
        return;
    }
    assert!(
        made == page,
        "docs/audit.md isn't what the code says; write it anew with \
         WRITE_MANUAL=1 cargo test -p audit --test manual"
    );
}

//! What `conformance` finds in style sheets that are named on the command line.

use conformance::{Style, check_style};

fn main() -> std::io::Result<()> {
    for path in std::env::args().skip(1) {
        let css = std::fs::read(&path)?;
        for found in check_style(&String::from_utf8_lossy(&css), Style::Sheet) {
            println!("{path}:{}:{}: {} {}", found.line, found.column, found.rule, found.message);
        }
    }
    Ok(())
}

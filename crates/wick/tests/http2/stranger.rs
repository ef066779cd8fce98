//! A stranger who reads a shared page and writes from it, all over HTTP/2.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use crate::wick::{Wick, has_php, open_folder, until};
use crate::{output, program};

/// Lays the specimen, what it needs and folders for its data into a folder of its own.
fn lay_out() -> TempDir {
    let outer = open_folder();
    let specimens = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specimens");
    for part in ["token-hidden-field", "lib"] {
        let from = specimens.join(part).display().to_string();
        output(Path::new("cp"), &["-rL", &from, &outer.path().display().to_string()]);
    }
    let data = outer.path().join("data");
    fs::create_dir(&data).expect("a folder");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o777)).expect("it is ours");
    let (prepended, shown) = (outer.path().join("folders.php"), data.display());
    fs::write(&prepended, format!("<?php\nputenv('SPECIMEN_DATA={shown}');\n")).expect("a file");
    let settings = format!(
        "auto_prepend_file = \"{}\"\nsession.save_path = \"{shown}\"\n",
        prepended.display()
    );
    fs::write(outer.path().join("token-hidden-field/.user.ini"), settings).expect("a file");
    outer
}

/// What stands in `text` between the first `before` and the next quotation mark.
fn quoted<'a>(text: &'a str, before: &str) -> &'a str {
    let rest = text.split_once(before).map_or("", |(_, rest)| rest);
    rest.split('"').next().unwrap_or_default()
}

#[test]
fn a_form_on_a_shared_page_is_sent_over_http2_and_taken() {
    let Some(curl) = program("curl").filter(|_| has_php()) else { return };
    let outer = lay_out();
    let root = outer.path().join("token-hidden-field").display().to_string();
    let (wick, address) = Wick::serve(&[&root]);
    let origin = format!("http://{address}");
    let page = format!("{origin}/post/1");
    let mut shared = String::new();
    until("a page for strangers from memory", || {
        shared = output(&curl, &["-s", "-i", "--http2-prior-knowledge", &page]);
        shared.lines().any(|line| line.starts_with("cache-status: wick; hit"))
    });
    assert!(shared.starts_with("HTTP/2 200"), "{shared}");
    assert!(!shared.contains("\nset-cookie:"), "{shared}");
    let (_, form) = shared.split_once("<form id=\"comment\"").expect("a form");
    let (action, token) = (quoted(form, "action=\""), quoted(form, "name=\"token\" value=\""));
    let jar = outer.path().join("jar").display().to_string();
    let from = [format!("Origin: {origin}"), format!("Referer: {page}")];
    let as_visitor = ["-s", "-i", "--http2-prior-knowledge", "-c", &jar, "-b", &jar];
    assert!(!token.is_empty(), "{form}");
    let (form, url) =
        (format!("token={token}&author=Bob+Frame&body=Words"), format!("{origin}{action}"));
    let sent =
        ["-H", &from[0], "-H", &from[1], "-H", "Sec-Fetch-Site: same-origin", "-d", &form, &url];
    let answer = output(&curl, &[&as_visitor[..], &sent].concat());
    assert!(answer.starts_with("HTTP/2 303"), "{answer}");
    assert!(answer.contains("\nset-cookie:") && answer.contains("detail=bound"), "{answer}");
    let after = output(&curl, &[&as_visitor[..], &[&page]].concat());
    assert!(after.contains("Thank you, Bob Frame"), "{after}");
    // A form without the shared page's token is refused, so the token was what let it through.
    let forged = output(
        &curl,
        &[
            "-s",
            "-i",
            "--http2-prior-knowledge",
            "-d",
            "token=x&author=Eve&body=y",
            &format!("{origin}{action}"),
        ],
    );
    assert!(forged.starts_with("HTTP/2 403"), "{forged}");
    wick.stop();
}

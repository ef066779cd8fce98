//! curl, nghttp and h2load.

use crate::origin::Origin;
use crate::wick::{Wick, open_folder};
use crate::{output, program, serve_page};

#[test]
fn curl_is_answered_as_over_http11() {
    let Some(curl) = program("curl") else { return };
    let (wick, address, _folder) = serve_page("<p>home</p>");
    let url = format!("http://{address}/");
    let ask = |arguments: &[&str]| {
        let shown = "%{http_version} %{http_code} %{size_download}";
        let all = ["-s", "--http2-prior-knowledge", "-o", "/dev/null", "-w", shown];
        output(&curl, &[&all, arguments].concat())
    };
    for (arguments, expected) in [
        (&[url.as_str()][..], "2 200 11"),
        (&["-I", &url], "2 200 0"),
        (&["-r", "3-6", &url], "2 206 4"),
        (&["-H", "If-None-Match: *", &url], "2 304 0"),
        (&["-d", "a=b", &url], "2 405 "),
        (&["-H", "Host: a,b", &url], "2 400 "),
        (&[&format!("{url}none")], "2 404 "),
        (&[&format!("{url}%2eenv")], "2 403 "),
    ] {
        let said = ask(arguments);
        assert!(said.starts_with(expected), "{arguments:?}: {said}, not {expected}");
    }
    // The same port goes on to speak the older protocol, and is not talked out of it.
    for flag in ["--http1.1", "--http2"] {
        let shown = ["-s", "-o", "/dev/null", "-w", "%{http_version} %{http_code}", flag, &url];
        assert_eq!(output(&curl, &shown), "1.1 200");
    }
    wick.stop();
}

#[test]
fn a_large_body_reaches_the_origin_whole() {
    let Some(curl) = program("curl") else { return };
    let origin = Origin::begin();
    let (wick, address) = Wick::serve(&[&origin.url()]);
    let folder = open_folder();
    let body: Vec<u8> = (0..1_000_000u32).map(|place| (place / 251) as u8).collect();
    let sum = body.iter().fold(0u32, |sum, &byte| sum.wrapping_mul(31) + u32::from(byte));
    let file = folder.path().join("body");
    std::fs::write(&file, &body).expect("a file");
    let (data, url) = (format!("@{}", file.display()), format!("http://{address}/"));
    let said = output(&curl, &["-s", "--http2-prior-knowledge", "--data-binary", &data, &url]);
    assert_eq!(said, format!("1000000 bytes, {sum}"));
    wick.stop();
}

#[test]
fn nghttp_fetches_many_at_once() {
    let Some(nghttp) = program("nghttp") else { return };
    let (wick, address, _folder) = serve_page(&"x".repeat(100_000));
    let url = format!("http://{address}/");
    let said = output(&nghttp, &["-n", "-s", "-m", "100", &url]);
    let answers = said.lines().filter(|line| line.contains(" 200 ")).count();
    assert_eq!(answers, 100, "{said}");
    wick.stop();
}

#[test]
fn h2load_gets_every_answer_whole() {
    let Some(h2load) = program("h2load") else { return };
    let (wick, address, _folder) = serve_page(&"x".repeat(9435));
    let url = format!("http://{address}/");
    let said = output(&h2load, &["-n", "5000", "-c", "10", "-m", "100", &url]);
    assert!(said.contains("5000 succeeded, 0 failed, 0 errored, 0 timeout"), "{said}");
    assert!(said.contains(&format!("({}) data", 5000 * 9435)), "{said}");
    wick.stop();
}

#[test]
fn an_access_log_names_the_protocol_and_a_stop_tells_of_no_trouble() {
    let Some(curl) = program("curl") else { return };
    let folder = open_folder();
    std::fs::write(folder.path().join("index.html"), "home").expect("a file");
    let (log, settings) = (folder.path().join("access.log"), folder.path().join("wick.toml"));
    let text = format!(
        "access_log = \"{}\"\naccess_log_format = \"combined\"\n[[site]]\norigin = \"{}\"\n",
        log.display(),
        folder.path().display()
    );
    std::fs::write(&settings, text).expect("a file");
    let (wick, address) = Wick::serve(&["--config", &settings.display().to_string()]);
    output(&curl, &["-s", "--http2-prior-knowledge", &format!("http://{address}/?hush")]);
    let ended = wick.stop();
    let line = std::fs::read_to_string(&log).expect("a log");
    assert!(line.contains("\"GET / HTTP/2.0\" 200"), "{line}");
    assert!(!ended.output.contains("HTTP/2"), "{}", ended.output);
}

//! What the markup crate makes of every attack, in a real browser that would run it.
//!
//! All renderings lie in one page, whose policy forbids what is fetched and no script. Every
//! event that a handler could wait for is sent to every element; then nothing may have run,
//! nothing may have left its place, and no link may lead where a script would run. A second
//! page whose policy forbids scripts must have nothing to report. That all this would be
//! seen is shown by a page on which something does run.
//! Where Chromium is missing nothing is checked, loudly; `scripts/setup test` brings it.

#[path = "../strangers/browser.rs"]
#[allow(dead_code, reason = "other tests ask more of it")]
mod browser;
#[path = "../command_line/origin.rs"]
#[allow(dead_code, reason = "other tests ask more of it")]
mod origin;
#[path = "../../../markup/tests/attacks/suite.rs"]
#[allow(dead_code, reason = "the crate's own test asks more of it")]
mod suite;

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;

use browser::{Browser, Outcome};
use markup::{BUILT_IN, Dialect, Form, Options, Renderer};
use origin::Origin;

/// Notices what runs, and what the browser was kept from; no click leads anywhere.
const WATCH: &str = "window.ran = []; window.kept = [];
    for (const name of ['alert', 'msgbox', 'parent_alert'])
      window[name] = () => { ran.push(name); };
    addEventListener('securitypolicyviolation', event => {
      if (event.effectiveDirective.startsWith('script')) kept.push(event.blockedURI); }, true);
    addEventListener('click', event => event.preventDefault(), true);";

/// Sends everything to everybody, and tells what is wrong, one finding a line.
const LOOK: &str = "(async () => {
    const found = [];
    const events = ['click', 'mouseover', 'mouseenter', 'mousedown', 'pointerover', 'focus',
      'focusin', 'load', 'error', 'toggle', 'animationstart', 'transitionend', 'input', 'paste'];
    for (const element of document.querySelectorAll('main *')) {
      for (const type of events)
        element.dispatchEvent(new Event(type, {bubbles: true, cancelable: true}));
      for (const name of element.getAttributeNames())
        if (name.startsWith('on') || name === 'srcdoc' || name === 'id' || name === 'name')
          found.push(`<${element.localName} ${name}>`);
      if (['script', 'style', 'base', 'meta', 'form', 'object', 'embed', 'svg', 'math', 'link']
          .includes(element.localName)) found.push(`<${element.localName}>`);
    }
    // A lone colon is the scheme of what is no address to the browser, and leads nowhere.
    const schemes = [':', 'http:', 'https:', 'ftp:', 'ftps:', 'mailto:', 'magnet:', 'ed2k:', 'irc:',
      'ircs:', 'news:', 'xmpp:'];
    for (const link of document.querySelectorAll('main a'))
      if (!schemes.includes(link.protocol)) found.push(`a link to ${link.href}`);
    for (const image of document.querySelectorAll('main img'))
      if (!/^https?:/.test(image.src)) found.push(`an image from ${image.src}`);
    const posts = document.querySelectorAll('body > main > section');
    const all = document.querySelectorAll('body > main > *, body > *');
    if (posts.length !== POSTS || all.length !== POSTS + 1) found.push(`${posts.length} posts`);
    posts.forEach((post, at) => {
      if (post.dataset.at !== String(at)) found.push(`post ${at} is out of its place`); });
    await new Promise(done => setTimeout(() => setTimeout(done)));
    return [...found, ...ran.map(name => 'ran ' + name),
      ...kept.map(what => 'would have run: ' + what)].join('\\n');
  })()";

/// What is allowed on the pages.
const OPEN: &str = "img-src 'none'; frame-src 'none'; connect-src 'none'";
const CLOSED: &str = "script-src 'nonce-watch'; img-src 'none'; frame-src 'none'";

#[test]
fn no_browser_runs_anything_of_a_post() {
    if !browser::is_installed() {
        eprintln!("SKIPPED: Chromium is not installed (scripts/setup test installs it)");
        return;
    }
    let browser = Arc::new(Browser::start().expect("Chromium starts"));
    let outcome = visit(&browser);
    browser.end().expect("Chromium ends");
    if let Err(fault) = outcome {
        panic!("{fault}");
    }
}

fn visit(browser: &Arc<Browser>) -> Outcome<()> {
    let posts = renderings();
    let planted = [
        "<img src=x onerror=alert(1)>".to_owned(),
        "<a href=\"javascript:alert(1)\">x</a>".to_owned(),
        "</section></main><b>out".to_owned(),
    ];
    let count = posts.len();
    let pages = [
        answer(&posts, OPEN),
        answer(&posts, CLOSED),
        answer(&planted, OPEN),
        answer(&planted, CLOSED),
    ];
    let origin = Origin::new(move |head, stream| serve(&pages, head, stream));
    let tab = browser.tab("Mozilla/5.0")?;
    let look = |page: usize, posts: usize| {
        tab.open(&format!("{}/{page}", origin.url()))?;
        tab.ask(&LOOK.replace("POSTS", &posts.to_string()))
    };
    for page in [0, 1] {
        let found = look(page, count)?;
        if !found.is_empty() {
            return Err(format!("page {page}: {found}"));
        }
    }
    let (open, closed) = (look(2, 3)?, look(3, 3)?);
    for seen in ["ran alert", "<img onerror>", "a link to javascript:", " posts"] {
        if !open.contains(seen) {
            return Err(format!("the page on which something runs shows no {seen:?}: {open}"));
        }
    }
    match closed.contains("would have run") {
        true => Ok(()),
        false => Err(format!("nothing was kept from running: {closed}")),
    }
}

/// Every attack, by every dialect, in every form.
fn renderings() -> Vec<String> {
    let mut posts = Vec::new();
    for (name, _) in BUILT_IN {
        for form in [Form::Typed, Form::Stored, Form::Escaped] {
            let dialect = Dialect::built_in(name).expect("it is built in");
            let options = Options { form: Some(form), ..Options::default() };
            let renderer = Renderer::new(dialect, options);
            for attack in suite::ATTACKS {
                let mut html = Vec::new();
                renderer.render(attack.as_bytes(), &mut html);
                posts.push(String::from_utf8(html).expect("HTML is UTF-8"));
            }
        }
    }
    posts
}

fn answer(posts: &[String], policy: &str) -> Vec<u8> {
    let mut page = format!(
        "<!doctype html><html><head><title>Posts</title>\
         <script nonce=watch>{WATCH}</script></head><body><main>"
    );
    for (at, post) in posts.iter().enumerate() {
        page.push_str(&format!("<section data-at={at}>{post}</section>"));
    }
    page.push_str("</main></body></html>");
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\
         Content-Security-Policy: {policy}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
        page.len()
    )
    .into_bytes()
}

fn serve(pages: &[Vec<u8>], head: &str, stream: &mut TcpStream) {
    let path = head.split(' ').nth(1).unwrap_or("/");
    let page = path[1..].parse().ok().and_then(|number: usize| pages.get(number));
    let nothing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    // A visitor who went away is the test's affair.
    let _ = stream.write_all(page.map_or(&nothing[..], |page| page));
}

//! A site on loopback: pages by their path, what was asked for in order, and no time of its own.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use audit::{Live, Plan, Report, Tests, run};
use url::Url;

/// Requests to all sites so far.
static MOMENTS: AtomicUsize = AtomicUsize::new(0);

/// How often who waits looks.
const LOOK: Duration = Duration::from_millis(200);

/// What is asked: target and head, in small letters.
pub(crate) struct Asked {
    pub target: String,
    pub head: String,
}

/// What is answered: status line's code, fields, body.
#[derive(Clone)]
pub(crate) struct Reply {
    pub status: u16,
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
}

type Maker = Box<dyn Fn(&Asked, usize) -> Reply + Send + Sync>;

/// A site: its pages, and what makes those that are not always the same.
#[derive(Default)]
pub(crate) struct Site {
    pub pages: BTreeMap<String, Reply>,
    pub makers: BTreeMap<String, Maker>,
    /// After so many answers none is given any more, until [`Served::release`].
    pub holds_after: Option<usize>,
}

/// How a site is audited, with its book in `state`.
pub(crate) fn plan(served: &Served, state: &Path) -> Plan {
    Plan {
        sites: vec![Url::parse(&served.url()).expect("an address")],
        also: Vec::new(),
        named: Vec::new(),
        pages: 100,
        depth: 10,
        external: 0,
        probes: 10,
        stored: None,
        baseline: None,
        browser: None,
        tests: Tests::ALL,
        rate: None,
        state: state.to_owned(),
        anew: false,
    }
}

/// Audits.
pub(crate) fn audited(plan: &Plan, live: &Live) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(run(plan, live)).expect("TLS can be set up")
}

/// A site that is served.
pub(crate) struct Served {
    pub address: SocketAddr,
    state: Arc<State>,
}

struct State {
    site: Site,
    asked: Mutex<Vec<String>>,
    /// Which of all requests to all sites each was.
    moments: Mutex<Vec<usize>>,
    changed: Condvar,
    is_released: Mutex<bool>,
    released: Condvar,
}

impl Served {
    pub(crate) fn begin(site: Site) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
        let address = listener.local_addr().expect("it is bound");
        let state = Arc::new(State {
            site,
            asked: Mutex::default(),
            moments: Mutex::default(),
            changed: Condvar::new(),
            is_released: Mutex::new(false),
            released: Condvar::new(),
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || state.serve(&stream));
            }
        });
        Self { address, state }
    }

    /// A site that another process serves.
    pub(crate) fn elsewhere(url: &str) -> Self {
        let address = url.trim_start_matches("http://").trim_end_matches('/').parse();
        Self { address: address.expect("an address"), ..Self::begin(Site::default()) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Everything that was asked for, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.state.asked.lock().expect("no server panicked").clone()
    }

    /// Which of all requests to all sites each of them was.
    pub(crate) fn moments(&self) -> Vec<usize> {
        self.state.moments.lock().expect("no server panicked").clone()
    }

    /// Waits until so much was asked for, and looks now and then whether it still may be.
    pub(crate) fn wait_for(&self, count: usize, mut look: impl FnMut()) {
        let mut asked = self.state.asked.lock().expect("no server panicked");
        while asked.len() < count {
            let whole = self.state.changed.wait_timeout(asked, LOOK);
            asked = whole.expect("no server panicked").0;
            look();
        }
    }

    /// Answers all that is held.
    pub(crate) fn release(&self) {
        *self.state.is_released.lock().expect("no server panicked") = true;
        self.state.released.notify_all();
    }
}

impl State {
    fn serve(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                match reader.read_line(&mut head) {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                }
            }
            let mut words = head.split(' ');
            let method = words.next().unwrap_or("").to_owned();
            let target = words.next().unwrap_or("").to_owned();
            let reply = self.reply(&Asked { target, head: head.to_ascii_lowercase() });
            let mut out = format!("HTTP/1.1 {} X\r\n", reply.status);
            for (name, value) in &reply.fields {
                out.push_str(&format!("{name}: {value}\r\n"));
            }
            out.push_str(&format!("content-length: {}\r\n\r\n", reply.body.len()));
            let mut bytes = out.into_bytes();
            if method != "HEAD" {
                bytes.extend(&reply.body);
            }
            let mut stream = stream;
            if stream.write_all(&bytes).is_err() {
                return;
            }
        }
    }

    fn reply(&self, asked: &Asked) -> Reply {
        let (times, count) = {
            let mut all = self.asked.lock().expect("no server panicked");
            all.push(asked.target.clone());
            let moment = MOMENTS.fetch_add(1, Ordering::Relaxed);
            self.moments.lock().expect("no server panicked").push(moment);
            self.changed.notify_all();
            (all.iter().filter(|one| **one == asked.target).count(), all.len())
        };
        if self.site.holds_after.is_some_and(|most| count > most) {
            let held = self.is_released.lock().expect("no server panicked");
            let held = self.released.wait_while(held, |is_released| !*is_released);
            drop(held.expect("no server panicked"));
        }
        if let Some(make) = self.site.makers.get(&asked.target) {
            return make(asked, times);
        }
        self.site.pages.get(&asked.target).cloned().unwrap_or_else(|| reply(404, "", ""))
    }
}

/// An answer with fields written as `name: value`, one in a line.
pub(crate) fn reply(status: u16, fields: &str, body: &str) -> Reply {
    let fields = fields
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Reply { status, fields, body: body.into() }
}

/// The fields of a page that nothing is to be said of.
pub(crate) const FIELDS: &str = "content-type: text/html; charset=utf-8
cache-control: max-age=60
x-content-type-options: nosniff
content-security-policy: default-src 'self'; frame-ancestors 'self'";

/// A page that nothing is to be said of, with this title and content.
pub(crate) fn page(title: &str, content: &str) -> Reply {
    let body = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<title>{title}</title>\n\
         <meta name=\"description\" content=\"About {title}.\">\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n{content}\n</main>\n</body>\n</html>\n"
    );
    reply(200, FIELDS, &body)
}

/// A site that nothing is to be said of: every kind of thing that is tested, done well.
pub(crate) fn clean() -> Site {
    let mut site = Site::default();
    let mut put = |path: &str, reply: Reply| drop(site.pages.insert(path.to_owned(), reply));
    let robots = "User-agent: *\nDisallow: /private\nSitemap: /map.xml\n";
    put("/robots.txt", reply(200, "content-type: text/plain", robots));
    let map = "<urlset><url><loc>/mapped</loc></url></urlset>";
    put("/map.xml", reply(200, "content-type: application/xml\ncache-control: max-age=60", map));
    let home = "<a href=\"/one#part\">One</a> <a href=\"/two\">Two</a> <a href=\"/moved\">Moved</a>\
        <a href=\"/private/x\">Private</a> <a href=\"/logout\">Leave</a>\
        <a href=\"http://198.51.100.7/elsewhere\">Elsewhere</a>\
        <a href=\"/feed.xml\">News</a>\n\
        <img src=\"/i.png\" alt=\"A candle\" width=\"8\" height=\"8\">\n\
        <form action=\"/send\" method=\"post\"><label for=\"name\">Name</label>\
        <input id=\"name\" name=\"name\"><button>Send</button></form>\n\
        <iframe src=\"/framed\" title=\"A frame\"></iframe>";
    put("/", page("Home", home));
    put("/one", page("One", "<h2 id=\"part\">Part</h2><a href=\"/\">Home</a>"));
    put(
        "/two",
        page(
            "Two",
            "<a href=\"/one\"><img src=\"/i.png\" alt=\"One\" width=\"8\" height=\"8\"></a>",
        ),
    );
    put("/mapped", page("Mapped", "<p>text"));
    put("/framed", page("Framed", "<p>text"));
    put("/fed", page("Fed", "<p>text"));
    put("/moved", reply(302, "location: /one", ""));
    let feed = "<rss><channel><item><link>/fed</link></item></channel></rss>";
    put(
        "/feed.xml",
        reply(200, "content-type: application/rss+xml\ncache-control: max-age=60", feed),
    );
    put("/i.png", reply(200, "content-type: image/png\ncache-control: max-age=60", "png"));
    site
}

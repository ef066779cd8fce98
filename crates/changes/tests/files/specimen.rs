//! A site that keeps its notes in files and writes two files at each reading, on PHP's own
//! server: what readers do is learned as noise, and an editor's saving is not.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use changes::noise::Persona;
use changes::{Change, Event, Feed, Learner, Operation, Signature};

struct Site {
    server: Child,
    address: String,
}

impl Site {
    /// None where there is no PHP.
    fn start(data: &Path) -> Option<Self> {
        let specimen = concat!(env!("CARGO_MANIFEST_DIR"), "/../../specimens/flat-notes");
        let address = loopback::address().to_string();
        let server = Command::new("php")
            .args(["-S", &address, "-t", specimen])
            .env("SPECIMEN_DATA", data)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut site = Self { server, address };
        while TcpStream::connect(&site.address).is_err() {
            assert_eq!(
                site.server.try_wait().expect("it can be asked"),
                None,
                "PHP's server ended"
            );
            std::thread::yield_now();
        }
        Some(site)
    }

    fn read(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        // In one piece: PHP's server doesn't wait for a second.
        let request = format!("GET {path} HTTP/1.0\r\nHost: a.test\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.contains(" 200 OK"), "{answer}");
        answer
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// What is told until `is_last`, that included.
async fn told(feed: &mut Feed, is_last: impl Fn(&Change) -> bool) -> Vec<Signature> {
    let mut told = Vec::new();
    loop {
        match feed.next().await {
            Event::Change(change) => {
                told.push(Signature::from(&change));
                if is_last(&change) {
                    return told;
                }
            }
            Event::Lost(lost) => assert_eq!(lost.to_string(), "", "{told:?}"),
            _ => {}
        }
    }
}

#[tokio::test]
async fn what_readers_write_is_noise_and_an_edit_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    std::fs::create_dir(&data).expect("a folder");
    let Some(site) = Site::start(&data) else { return };
    site.read("/post/1");
    let mut feed = Feed::files(data.clone());
    while feed.next().await != Event::Recovered {}

    let (mut learner, mut now) = (Learner::default(), 100_000);
    for _ in 0..2 {
        for persona in [Persona::Fresh, Persona::Returning, Persona::Fresh, Persona::Returning] {
            learner.probe_began("/post/1", "/post/#", persona, now);
            site.read("/post/1");
            learner.probe_ended(now + 50);
            // The counter is the last that a reading writes.
            let is_counter = |change: &Change| format!("{:?}", change.key).contains("counter.txt");
            for signature in told(&mut feed, is_counter).await {
                learner.saw(&signature, now + 50);
            }
            now += 100;
        }
        now += 20_000;
        learner.settle(now);
    }
    // Another note, whose cache is in another folder, is read as the first was.
    site.read("/post/2");
    let is_counter = |change: &Change| format!("{:?}", change.key).contains("counter.txt");
    let of_reading = told(&mut feed, is_counter).await;
    let news: Vec<_> = of_reading.iter().filter(|one| !learner.is_noise(one)).collect();
    // That its folder was made is news, once.
    assert!(
        news.iter()
            .all(|one| one.operation == Operation::Insert && &*one.rows.table == "data/cache"),
        "{news:?}"
    );

    let note = data.join("notes/1.txt");
    std::fs::write(data.join("notes/new"), "Another title\nAnd words.\n").expect("a file");
    std::fs::rename(data.join("notes/new"), &note).expect("it is saved");
    let is_note = |change: &Change| {
        &*change.table == "data/notes" && change.key == changes::KeyClass::of(["1.txt"])
    };
    let edit = told(&mut feed, is_note).await;
    assert!(edit.last().is_some_and(|last| !learner.is_noise(last)), "{edit:?}");
    assert!(site.read("/post/1").contains("Another title"));
}

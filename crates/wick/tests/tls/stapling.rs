//! OCSP stapling: a responder of OpenSSL's that tells the truth, and some that don't, asked by
//! Wick; what is stapled is read by OpenSSL's client, which checks it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::running::{Ground, Running};
use crate::wick::until;

/// Extensions of what the CA issues, by their sections; `HERE` is the responder.
const SETTINGS: &str = "[ca]\ndefault_ca=x\n[x]\ndir=.\ndatabase=index.txt\nserial=serial\n\
     new_certs_dir=.\ndefault_md=sha256\npolicy=p\nunique_subject=no\n[p]\ncommonName=supplied\n\
     [leaf]\nauthorityInfoAccess=OCSP;URI:http://HERE/ocsp\nsubjectAltName=DNS:a.test\n\
     [must]\nauthorityInfoAccess=OCSP;URI:http://HERE/ocsp\nsubjectAltName=DNS:a.test\n\
     tlsfeature=status_request\n[signer]\nextendedKeyUsage=OCSPSigning\n";

/// A CA of OpenSSL's, and a responder that speaks for it.
struct Responder {
    folder: PathBuf,
    asked: Arc<AtomicUsize>,
}

fn openssl(folder: &Path, arguments: &str) -> bool {
    let words = arguments.split_whitespace();
    let ended = Command::new("openssl")
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    ended.is_ok_and(|status| status.success())
}

impl Responder {
    /// Certificates: the site's (`a`), another of the CA (`b`), one that may sign (`signer`), and
    /// another CA (`other`).
    fn begin(folder: PathBuf) -> Self {
        fs::create_dir(&folder).expect("a folder");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let here = listener.local_addr().expect("an address").to_string();
        fs::write(folder.join("ca.cnf"), SETTINGS.replace("HERE", &here)).expect("a file");
        fs::write(folder.join("index.txt"), "").expect("a file");
        fs::write(folder.join("serial"), "1000").expect("a file");
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
        for ca in ["ca", "other"] {
            let made = format!("req -x509 {key} -keyout {ca}.key -out {ca}.pem -subj /CN={ca}");
            assert!(openssl(&folder, &made), "openssl is there (scripts/setup test installs it)");
        }
        for (name, section) in [("a", "leaf"), ("b", "must"), ("signer", "signer")] {
            let asked = format!("req {key} -keyout {name}.key -out {name}.csr -subj /CN={name}");
            let signed = format!(
                "ca -config ca.cnf -batch -notext -cert ca.pem -keyfile ca.key -days 30 \
                 -in {name}.csr -out {name}.crt -extensions {section}"
            );
            assert!(openssl(&folder, &asked) && openssl(&folder, &signed), "{name}");
            let read = |file: &str| fs::read_to_string(folder.join(file)).expect("a file");
            let chain = read(&format!("{name}.crt")) + &read("ca.pem");
            fs::write(folder.join(format!("{name}.pem")), chain).expect("a file");
        }
        assert!(openssl(&folder, "ocsp -issuer ca.pem -cert b.crt -no_nonce -reqout other.req"));
        let responder = Self { folder: folder.clone(), asked: Arc::default() };
        responder.answers("ca", "a");
        let asked = responder.asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                asked.fetch_add(1, Ordering::SeqCst);
                // Who asks in a way that can't be read is told nothing.
                let _ = answer(stream, &folder);
            }
        });
        responder
    }

    /// Signs from now on by this, with more that OpenSSL is told.
    fn answers(&self, signer: &str, more: &str) {
        let request = if more == "other" { "other.req" } else { "asked" };
        let minutes = if more == "old" { 1 } else { 60 };
        let how = format!(
            "ocsp -index index.txt -CA ca.pem -rsigner {signer}.pem -rkey {signer}.key \
             -reqin {request} -respout answer -nmin {minutes}"
        );
        fs::write(self.folder.join("how"), how).expect("a file");
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn settings(&self, ground: &Ground, label: &str, name: &str) -> String {
        let file = |end: &str| self.folder.join(format!("{name}.{end}"));
        format!(
            "[[site]]\nhosts = [\"a.test\"]\norigin = {:?}\ncertificate = {:?}\n\
             certificate_key = {:?}\n",
            ground.site(label, "page"),
            file("pem"),
            file("key")
        )
    }

    /// What a visitor is shown of the certificate's status.
    fn shown(&self, address: SocketAddr) -> String {
        let said = Command::new("openssl")
            .args(["s_client", "-connect", &address.to_string(), "-servername", "a.test"])
            .args(["-status", "-CAfile", "ca.pem"])
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .expect("openssl is there");
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        let is_told =
            |line: &&str| line.contains("Cert Status:") || line.contains("OCSP response: no");
        text.lines().find(is_told).map(|line| line.trim().to_owned()).unwrap_or(text)
    }
}

fn answer(stream: TcpStream, folder: &Path) -> Option<()> {
    let mut out = stream.try_clone().ok()?;
    let mut input = BufReader::new(stream);
    let (mut length, mut line) = (0, String::new());
    while line != "\r\n" {
        line.clear();
        input.read_line(&mut line).ok()?;
        let line = line.to_ascii_lowercase();
        if let Some(bytes) = line.strip_prefix("content-length:") {
            length = bytes.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    fs::write(folder.join("asked"), body).ok()?;
    let how = fs::read_to_string(folder.join("how")).ok()?;
    if !openssl(folder, &how) {
        return out.write_all(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n").ok();
    }
    let answer = fs::read(folder.join("answer")).ok()?;
    write!(out, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", answer.len()).ok()?;
    out.write_all(&answer).ok()
}

const NONE: &str = "OCSP response: no response sent";

#[test]
fn what_a_responder_says_is_shown_with_the_certificate_and_kept() {
    let ground = Ground::new();
    let responder = Responder::begin(ground.path().join("ca"));
    let settings = responder.settings(&ground, "one", "a");
    let good = |running: &Running| responder.shown(running.tls) == "Cert Status: good";
    let running = ground.serve_tls(&settings);
    until("a staple", || good(&running));
    running.stop();
    assert_eq!(responder.asked(), 1, "it is good for an hour");
    // After a restart it is there before anybody is asked.
    responder.answers("other", "");
    let running = ground.serve_tls(&settings);
    until("the same staple", || good(&running));
    running.stop();
    assert_eq!(responder.asked(), 1);
    // One who was told to may sign for the CA.
    fs::remove_dir_all(ground.path().join("state/certificates")).expect("it was kept there");
    responder.answers("signer", "");
    let running = ground.serve_tls(&settings);
    until("a staple by another", || good(&running));
    running.stop();
}

#[test]
fn a_responder_that_lies_is_not_believed() {
    let ground = Ground::new();
    let responder = Responder::begin(ground.path().join("ca"));
    let settings = responder.settings(&ground, "one", "a");
    for (signer, more, why) in [
        ("other", "", "not signed by the CA"),
        // Of the same CA, but nobody told it to.
        ("b", "", "not signed by the CA"),
        ("ca", "other", "about another certificate"),
        ("ca", "old", "not good now"),
        ("none", "", "it answered 500"),
    ] {
        responder.answers(signer, more);
        let mut running = ground.serve_tls(&settings);
        let line = running.wick.line("no new staple for a.test from http://127.0.0.1:");
        assert!(line.contains(why), "{why}: {line}");
        assert_eq!(responder.shown(running.tls), NONE, "{why}");
        running.stop();
    }
    assert!(openssl(
        &responder.folder,
        "ca -config ca.cnf -cert ca.pem -keyfile ca.key -revoke a.crt"
    ));
    responder.answers("ca", "");
    let mut running = ground.serve_tls(&settings);
    let line = running.wick.line("no new staple for a.test from ");
    assert!(line.contains("was revoked"), "{line}");
    assert_eq!(responder.shown(running.tls), NONE);
    running.stop();
}

#[test]
fn the_check_warns_of_what_browsers_refuse_without_a_staple() {
    let ground = Ground::new();
    let responder = Responder::begin(ground.path().join("ca"));
    for (name, expected) in [("a", false), ("b", true)] {
        let settings = responder.settings(&ground, name, name);
        let said = ground.run("check", &format!("listen_tls = \"127.0.0.1:0\"\n{settings}")).end();
        assert!(said.output.contains("stapled with what http://127.0.0.1:"), "{}", said.output);
        assert_eq!(said.output.contains("(must-staple)"), expected, "{}", said.output);
    }
    assert_eq!(responder.asked(), 0);
}

//! The php-fpm that is installed here, started and asked for real.
//!
//! Without php-fpm these tests check nothing and say so loudly.

use std::os::unix::fs::PermissionsExt;

use http_body_util::BodyExt;
use tempfile::TempDir;
use wire::{Body, Fields, RequestHead, body};

use super::*;
use crate::{Call, OriginError, PhpOptions, PhpOrigin};

const SCRIPT: &str = r#"<?php
switch ($_SERVER['PATH_INFO'] ?? '') {
    case '': echo 'hello ', $_GET['name'] ?? ''; break;
    case '/echo': echo $_SERVER['CONTENT_TYPE'], ' ', file_get_contents('php://input'); break;
    case '/upload':
        $file = $_FILES['file'];
        echo $file['error'], ' ', $file['size'], ' ', md5_file($file['tmp_name']);
        break;
    case '/log': error_log("first line\nsecond"); echo 'logged'; break;
    case '/die': posix_kill(posix_getpid(), 9); break;
    case '/file': header('X-Sendfile: ' . __DIR__ . '/photo.jpg'); break;
    case '/large': echo str_repeat('0123456789', 300000); break;
    case '/together':
        // Answers once as many of these run at the same time as were asked for.
        $marks = __DIR__ . '/together';
        touch($marks . '/' . uniqid('', true));
        for ($step = 0; $step < 5000 && count(scandir($marks)) - 2 < $_GET['n']; $step++) usleep(2000);
        echo count(scandir($marks)) - 2;
        break;
    case '/status': http_response_code(404); header('X-A: 1'); header('X-A: 2', false); echo 'no'; break;
    case '/user': echo posix_getpwuid(posix_geteuid())['name'], ' ', getenv('BOARD_DATA'); break;
    case '/database':
        foreach (['mysqli', 'pdo_mysql'] as $name) {
            echo extension_loaded($name) ? ini_get("$name.default_socket") : '/run/database', ' ';
        }
        break;
    case '/ini':
        $cache = opcache_get_status(false);
        echo $cache['opcache_enabled'] ? 'on ' : 'off ', ini_get('opcache.memory_consumption'), ' ',
            ini_get('upload_max_filesize'), ' ', ini_get('post_max_size');
        break;
    default:
        foreach (['SCRIPT_NAME', 'PATH_INFO', 'PHP_SELF', 'REQUEST_URI', 'HTTP_HOST', 'SERVER_PORT'] as $name) {
            echo $_SERVER[$name], "\n";
        }
}
"#;

struct Site {
    folder: TempDir,
    run: TempDir,
    log: Arc<parking_lot::Mutex<Vec<String>>>,
}

impl Site {
    fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        // Scripts run as another user, who must be able to read them.
        let readable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(), readable).expect("the folder is ours");
        std::fs::write(folder.path().join("index.php"), SCRIPT).expect("a file can be written");
        std::fs::write(folder.path().join("photo.jpg"), "jpeg").expect("a file can be written");
        let run = TempDir::new().expect("a temporary folder can be made");
        Self { folder, run, log: Arc::default() }
    }

    fn options(&self) -> FpmOptions {
        let log = self.log.clone();
        FpmOptions {
            children: Some(2),
            environment: vec![("BOARD_DATA".to_owned(), "/var/lib/board".to_owned())],
            database_socket: Some("/run/database".into()),
            log: Arc::new(move |line: &str| log.lock().push(line.to_owned())),
            ..FpmOptions::new(self.folder.path(), self.run.path())
        }
    }

    /// Starts php-fpm; none, with a loud message, where it isn't installed.
    async fn start(&self) -> Option<(Fpm, PhpOrigin)> {
        self.start_with(2).await
    }

    async fn start_with(&self, children: usize) -> Option<(Fpm, PhpOrigin)> {
        if program::find().is_none() {
            eprintln!("\n*** php-fpm is not installed: THIS TEST CHECKS NOTHING ***\n");
            return None;
        }
        let options = FpmOptions { children: Some(children), ..self.options() };
        let fpm = Fpm::start(options).await.expect("the installed php-fpm starts");
        let options = PhpOptions { log: self.options().log, ..PhpOptions::for_children(children) };
        let origin = PhpOrigin::new(self.folder.path(), fpm.dial(), options);
        Some((fpm, origin))
    }
}

fn call(line: &str, content_type: &str, body: Option<Body>) -> Call {
    let (method, target) = line.split_once(' ').expect("a method and a target");
    let mut fields = Fields::new();
    if !content_type.is_empty() {
        fields.put(wire::Name::ContentType, content_type);
    }
    let head = RequestHead {
        method: method.parse().expect("a method"),
        target: target.to_owned(),
        host: "site:8080".to_owned(),
        fields,
        ..RequestHead::default()
    };
    let address = "127.0.0.1:8080".parse().expect("an address");
    Call {
        head,
        body,
        body_length: None,
        peer: address,
        local: address,
        scheme: "http",
        is_counted: true,
        early: None,
        phases: None,
    }
}

async fn ask_with(origin: &PhpOrigin, call: Call) -> Result<String, OriginError> {
    let answer = origin.send(call).await?;
    let status = answer.head.status;
    let body = answer.body.collect().await.expect("the body is whole").to_bytes();
    Ok(format!("{status} {}", String::from_utf8_lossy(&body)))
}

async fn ask(origin: &PhpOrigin, line: &str) -> String {
    ask_with(origin, call(line, "", None)).await.unwrap_or_else(|error| error.to_string())
}

/// Waits for what must come, and fails if it doesn't within a generous bound.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let bound = std::time::Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(std::time::Instant::now() < bound, "waited for: {what}");
        tokio::task::yield_now().await;
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn scripts_run_and_find_what_they_expect() {
    let site = Site::new();
    let Some((fpm, origin)) = site.start().await else { return };
    let user = fpm.user().map_or_else(|| std::env::var("USER").unwrap_or_default(), str::to_owned);
    for (line, seen) in [
        ("GET /?name=ann", "200 hello ann".to_owned()),
        ("GET /no/such/page", "200 hello ".to_owned()),
        ("GET /index.php/status", "404 no".to_owned()),
        ("GET /index.php/user", format!("200 {user} /var/lib/board")),
        ("GET /index.php/file", "200 jpeg".to_owned()),
        ("GET /index.php/large", format!("200 {}", "0123456789".repeat(300_000))),
        ("HEAD /index.php/large", "200 ".to_owned()),
        (
            "GET /index.php/a%20b?c=%20d",
            "200 /index.php\n/a b\n/index.php/a b\n/index.php/a%20b?c=%20d\nsite:8080\n8080\n"
                .to_owned(),
        ),
    ] {
        assert_eq!(ask(&origin, line).await, seen, "{line}");
    }
    assert!(origin.counters().reuses.read() > 0, "connections are kept");
    let settings = ask(&origin, "GET /index.php/ini").await;
    assert!(settings.starts_with("200 on 1") || settings.starts_with("200 on 2"), "{settings}");
    assert!(settings.ends_with(" 64M 65M"), "{settings}");
    let sockets = ask(&origin, "GET /index.php/database").await;
    assert_eq!(sockets.trim_end(), "200 /run/database /run/database");
    origin.retire();
    fpm.stop().await;
}

/// Asks this often at once for a page that comes only while all of them are made; the
/// connections are kept afterwards.
async fn together(site: &Site, origin: &PhpOrigin, requests: usize) -> Vec<String> {
    let marks = site.folder.path().join("together");
    std::fs::create_dir(&marks).expect("a folder can be made");
    let writable = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(&marks, writable).expect("the folder is ours");
    let line = format!("GET /index.php/together?n={requests}");
    let seen = futures_util::future::join_all((0..requests).map(|_| ask(origin, &line))).await;
    std::fs::remove_dir_all(&marks).expect("the folder is ours");
    seen
}

#[tokio::test]
async fn every_child_serves_also_while_connections_to_others_are_kept() {
    const CHILDREN: usize = 6;
    let site = Site::new();
    let Some((fpm, origin)) = site.start_with(CHILDREN).await else { return };
    for kept in 1..CHILDREN {
        together(&site, &origin, kept).await;
        let seen = together(&site, &origin, CHILDREN).await;
        assert_eq!(seen, vec![format!("200 {CHILDREN}"); CHILDREN], "with {kept} kept");
    }
    origin.retire();
    fpm.stop().await;
}

#[tokio::test]
async fn bodies_small_and_large_arrive_whole() {
    let site = Site::new();
    let Some((fpm, origin)) = site.start().await else { return };
    let echo = call("POST /index.php/echo", "text/odd", Some(body::full("small")));
    assert_eq!(ask_with(&origin, echo).await, Ok("200 text/odd small".to_owned()));
    let file = vec![b'f'; 20 << 20];
    let mut form =
        b"--cut\r\nContent-Disposition: form-data; name=file; filename=f\r\n\r\n".to_vec();
    form.extend_from_slice(&file);
    form.extend_from_slice(b"\r\n--cut--\r\n");
    let kind = "multipart/form-data; boundary=cut";
    let upload = call("POST /index.php/upload", kind, Some(body::full(form)));
    // md5 of 20 MiB of the letter f, by `head -c 20971520 /dev/zero | tr '\0' f | md5sum`.
    let seen = format!("200 0 {} {}", file.len(), "8fb5d7a4aea4815b63027af0ab569766");
    assert_eq!(ask_with(&origin, upload).await, Ok(seen));
    assert_eq!(origin.counters().spooled_bodies.read(), 1);
    origin.retire();
    fpm.stop().await;
}

#[tokio::test]
async fn complaints_reach_the_log_and_a_script_that_dies_is_an_error_of_the_origin() {
    let site = Site::new();
    let Some((fpm, origin)) = site.start().await else { return };
    assert_eq!(ask(&origin, "GET /index.php/log").await, "200 logged");
    until("the log", || site.log.lock().iter().any(|line| line.contains("second"))).await;
    let died = ask_with(&origin, call("POST /index.php/die", "", None)).await;
    assert!(matches!(died, Err(OriginError::Reset(_))), "{died:?}");
    assert_eq!(ask(&origin, "GET /").await, "200 hello ");
    assert_eq!(fpm.restarts(), 0);
    origin.retire();
    fpm.stop().await;
}

#[tokio::test]
async fn a_crashed_php_fpm_is_started_again_and_visitors_wait_for_it() {
    let site = Site::new();
    let Some((fpm, origin)) = site.start().await else { return };
    assert_eq!(ask(&origin, "GET /").await, "200 hello ");
    let first = fpm.process_id().expect("it runs");
    let master = rustix::process::Pid::from_raw(first as i32).expect("an id");
    rustix::process::kill_process(master, rustix::process::Signal::KILL).expect("it runs");
    until("a restart", || fpm.process_id().is_none_or(|id| id != first)).await;
    assert_eq!(ask(&origin, "GET /?name=again").await, "200 hello again");
    assert_eq!(fpm.restarts(), 1);
    until("the end of its children", || !is_running(first)).await;
    assert_ne!(fpm.process_id(), Some(first));
    origin.retire();
    fpm.stop().await;
}

/// The processes that bear the run folder's configuration or are of the group.
fn is_running(group: u32) -> bool {
    let group = rustix::process::Pid::from_raw(group as i32).expect("an id");
    rustix::process::test_kill_process_group(group).is_ok()
}

#[tokio::test]
async fn php_fpm_goes_with_us_however_we_go() {
    let site = Site::new();
    let Some((fpm, origin)) = site.start().await else { return };
    assert_eq!(ask(&origin, "GET /").await, "200 hello ");
    let group = fpm.process_id().expect("it runs");
    origin.retire();
    fpm.stop().await;
    until("a farewell", || !is_running(group)).await;
    assert!(!site.run.path().join("php-fpm.sock").exists());

    let (fpm, origin) = site.start().await.expect("it started before");
    assert_eq!(ask(&origin, "GET /").await, "200 hello ");
    let group = fpm.process_id().expect("it runs");
    drop(fpm);
    until("an end", || !is_running(group)).await;
}

#[tokio::test]
async fn what_a_killed_wick_left_behind_is_ended_at_the_next_start() {
    let site = Site::new();
    let Some((mut left, origin)) = site.start().await else { return };
    assert_eq!(ask(&origin, "GET /").await, "200 hello ");
    let group = left.process_id().expect("it runs");
    // As if Wick had been killed: nobody watches, and nobody ends the processes.
    left.task.take().expect("it is watched").abort();
    let master = rustix::process::Pid::from_raw(group as i32).expect("an id");
    rustix::process::kill_process(master, rustix::process::Signal::KILL).expect("it runs");
    left.process = Arc::default();
    assert!(is_running(group), "the children outlive their master");
    let (fpm, origin) = site.start().await.expect("it started before");
    until("the left-over's end", || !is_running(group)).await;
    assert_eq!(ask(&origin, "GET /").await, "200 hello ");
    origin.retire();
    fpm.stop().await;
}

#[tokio::test]
async fn what_keeps_php_fpm_from_starting_is_said_with_its_cure() {
    let site = Site::new();
    let failing = FpmOptions { program: Some("/bin/false".into()), ..site.options() };
    let error = Fpm::start(failing).await.err().expect("false is no php-fpm").to_string();
    assert!(error.starts_with("/bin/false did not start: it ended with exit status: 1"), "{error}");
    let long = site.run.path().join("x".repeat(120));
    let failing =
        FpmOptions { run_folder: long, program: Some("/bin/false".into()), ..site.options() };
    let error = Fpm::start(failing).await.err().expect("the path is too long").to_string();
    assert!(error.ends_with("choose another with --state"), "{error}");
    assert!(FpmError::Missing.to_string().contains("apt-get install php-fpm"));
}

#[tokio::test]
async fn php_fpm_tells_of_itself_and_no_visitor_can_ask_it() {
    let site = Site::new();
    let Some((fpm, origin)) = site.start().await else { return };
    assert_eq!(ask(&origin, "GET /").await, "200 hello ");
    // A child that is only being made isn't counted yet; while its own counts don't fit together
    // php-fpm answers 500.
    let bound = std::time::Instant::now() + Duration::from_secs(20);
    loop {
        let asked = origin.inquire(fpm.status_path(), "json&full").await;
        if let Ok(asked) = &asked {
            let page = String::from_utf8_lossy(asked.as_deref().expect("a child is free"));
            assert!(page.contains("\"processes\":["), "{page}");
            if page.contains("\"total processes\":2") {
                break;
            }
        }
        assert!(std::time::Instant::now() < bound, "{asked:?}");
        tokio::task::yield_now().await;
    }
    if let Some(script) = fpm.opcache_script() {
        let asked = origin.inquire(script, "").await.expect("it answers");
        let told = asked.expect("a child is free");
        let told = String::from_utf8_lossy(&told);
        assert!(told.contains("\"memory_usage\":{\"used_memory\":"), "{told}");
        let none = origin.inquire(Path::new("/none.php"), "").await;
        assert!(matches!(none, Err(OriginError::Malformed(_))), "{none:?}");
    }
    assert_eq!(ask(&origin, "GET /wick-status?json").await, "200 hello ", "it is the app's");
    let script = fpm.opcache_script().map(Path::to_owned);
    let load = origin.load();
    assert_eq!((load.slots, load.taken, load.waiting), (2, 0, 0));
    origin.retire();
    fpm.stop().await;
    assert!(script.is_none_or(|script| !script.exists()));
}

#[tokio::test]
async fn nobody_waits_for_what_php_fpm_is_asked_about_itself() {
    let site = Site::new();
    let Some((fpm, origin)) = site.start_with(1).await else { return };
    let begun = origin.send(call("GET /index.php/large", "", None)).await.expect("it answers");
    assert_eq!(origin.inquire(fpm.status_path(), "json").await, Ok(None), "its child is busy");
    drop(begun);
    origin.retire();
    fpm.stop().await;
}

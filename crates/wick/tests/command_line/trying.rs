//! `wick doctor --try`: a real php-fpm is measured with and without JIT, through a real nginx.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::daemon;
use crate::wick::{Ended, PATIENCE, Wick, until};

const SYSTEM_USER: &str = "www-data";

/// What JIT makes several times quicker.
const QUICKER: &str = "<?php\n\
    function tried() {\n\
        $sum = 0;\n\
        for ($i = 0; $i < 60000; $i++) {\n\
            for ($j = 0; $j < 3; $j++) { $sum = ($sum + $i * $j) & 0xffff; }\n\
        }\n\
        return $sum;\n\
    }\n\
    echo tried();\n";

/// A php-fpm and an nginx before it, and a root whose settings they have.
struct Site {
    folder: TempDir,
    servers: Vec<Child>,
    port: u16,
}

impl Drop for Site {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

fn php_fpm() -> Option<PathBuf> {
    let names = fs::read_dir("/usr/sbin").ok()?.flatten().map(|entry| entry.path());
    names.into_iter().find(|path| path.to_string_lossy().contains("/php-fpm8"))
}

impl Site {
    fn start() -> Option<Self> {
        let Some(program) = php_fpm() else {
            eprintln!("SKIPPED: php-fpm is not installed (scripts/setup test installs it)");
            return None;
        };
        let folder = daemon::folder("try", SYSTEM_USER);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let mut site = Self { folder, servers: Vec::new(), port };
        for name in ["proc", "sys"] {
            fs::create_dir_all(site.at("root")).expect("a folder");
            symlink(format!("/{name}"), site.at(&format!("root/{name}"))).expect("a link");
        }
        let here = site.folder.path().display().to_string();
        site.put("quicker.php", QUICKER);
        site.put("kept.html", "kept");
        let user = match rustix::process::geteuid().is_root() {
            true => "user = www-data\ngroup = www-data\n",
            false => "",
        };
        let pools = "root/etc/php/8.2/fpm/pool.d";
        let name = site.folder.path().file_name().and_then(|name| name.to_str()).expect("a name");
        let pool = format!(
            "[{name}]\n{user}listen = {here}/s\nlisten.mode = 0666\npm = static\n\
             pm.max_children = 1\npm.status_path = /status\n"
        );
        site.put(&format!("{pools}/www.conf"), &pool);
        let main = "root/etc/php/8.2/fpm/php-fpm.conf";
        site.put(
            main,
            &format!("[global]\nerror_log = {here}/log\ninclude = {here}/{pools}/*.conf\n"),
        );
        let own = format!("{here}/root/etc/php/8.2/fpm/conf.d");
        fs::create_dir_all(&own).expect("a folder");
        let version = program.to_string_lossy().replace("/usr/sbin/php-fpm", "");
        let mut fpm = Command::new("setpriv");
        fpm.env("PHP_INI_SCAN_DIR", format!("/etc/php/{version}/fpm/conf.d:{own}"));
        fpm.args(["--pdeathsig", "KILL"]).arg(program).args(["--nodaemonize", "--fpm-config"]);
        site.run(fpm.arg(site.at(main)));
        let nginx = format!(
            "daemon off;\nuser {SYSTEM_USER};\nworker_processes 1;\npid {here}/pid;\n\
             error_log {here}/errors;\nevents {{ worker_connections 64; }}\nhttp {{\naccess_log off;\n\
             client_body_temp_path {here}/b; proxy_temp_path {here}/p; fastcgi_temp_path {here}/f;\n\
             uwsgi_temp_path {here}/u; scgi_temp_path {here}/g;\nserver {{\nlisten 127.0.0.1:{port};\n\
             root {here};\nlocation ~ php$ {{\nfastcgi_pass unix:{here}/s;\n\
             fastcgi_param SCRIPT_FILENAME {here}$uri;\nfastcgi_param REQUEST_METHOD GET;\n}}\n}}\n}}\n"
        );
        site.put("nginx.conf", &nginx);
        let mut nginx = Command::new("setpriv");
        nginx.args(["--pdeathsig", "KILL", "nginx", "-e"]).arg(site.at("errors"));
        site.run(nginx.arg("-c").arg(site.at("nginx.conf")));
        let bound = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() || !site.at("s").exists() {
            assert!(Instant::now() < bound, "the servers don't start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(site)
    }

    fn run(&mut self, command: &mut Command) {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.servers.push(command.spawn().expect("it starts"));
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn doctor(&self, more: &[&str]) -> Wick {
        let (root, state) = (self.at("root"), self.at("state"));
        let [root, state] = [&root, &state].map(|path| path.to_str().expect("a path"));
        // Others' MariaDB is left alone.
        let nobody = "mysql://nobody@localhost/?socket=/nowhere";
        let fixed =
            ["doctor", "--root", root, "--state", state, "--window", "1ms", "--mysql", nobody];
        Wick::run(&[&fixed[..], more].concat())
    }

    fn try_jit(&self, page: &str, rounds: &str) -> Wick {
        let url = format!("http://127.0.0.1:{}/{page}", self.port);
        let tried = ["--try", "jit", "--url", &url, "--rounds", rounds, "--time", "100ms", "--yes"];
        self.doctor(&tried)
    }

    /// The settings that were written, and whether there is anything to take back.
    fn written(&self) -> (Option<String>, bool) {
        let written = fs::read_to_string(self.at("root/etc/php/8.2/fpm/conf.d/99-wick-doctor.ini"));
        let snapshots = fs::read_dir(self.at("state/doctor"));
        (written.ok(), snapshots.is_ok_and(|mut snapshots| snapshots.next().is_some()))
    }

    fn refused(&self, ended: &Ended, why: &str) {
        assert_eq!(ended.status.code(), Some(2), "{}{}", ended.output, ended.errors);
        assert!(ended.errors.contains(why), "{}", ended.errors);
        assert_eq!(self.written(), (None, false));
    }
}

#[test]
fn jit_is_tried_in_turns_and_stays_only_where_it_gains() {
    let Some(site) = Site::start() else { return };
    site.refused(&site.try_jit("none.php", "4").end(), "the page answers 404");
    site.refused(&site.try_jit("kept.html", "4").end(), "name a page that isn't kept");
    let elsewhere = ["--try", "jit", "--url", "http://192.0.2.1/", "--yes"];
    site.refused(&site.doctor(&elsewhere).end(), "a page of this machine");

    let mut stopped = site.try_jit("quicker.php", "1000");
    stopped.line("round 1 of 1000");
    stopped.signal(Signal::INT);
    site.refused(&stopped.end(), "interrupted; all is as it was");

    let killed = site.try_jit("quicker.php", "1000");
    until("the change", || site.written().0.is_some());
    killed.signal(Signal::KILL);
    drop(killed.end());
    if site.written().1 {
        assert_eq!(site.doctor(&["--rollback"]).end().status.code(), Some(0));
    }
    assert_eq!(site.written(), (None, false));

    // A machine that does much else may take several tries until it shows.
    let bound = Instant::now() + PATIENCE;
    let kept = loop {
        let ended = site.try_jit("quicker.php", "4").end();
        if ended.status.code() == Some(0) {
            break ended;
        }
        assert_eq!(
            (ended.status.code(), site.written()),
            (Some(1), (None, false)),
            "{}",
            ended.output
        );
        assert!(Instant::now() < bound, "{}{}", ended.output, ended.errors);
    };
    assert!(kept.output.contains("it is on now"), "{}", kept.output);
    let (text, can_go_back) = site.written();
    let text = text.expect("it is kept");
    assert!(text.contains("opcache.jit = tracing\n") && can_go_back, "{text}");
    let json = site.doctor(&["--format", "json"]).end();
    let told: serde_json::Value = serde_json::from_str(&json.output).expect("JSON");
    let unseen = told["unseen"].as_array().expect("a list");
    assert!(unseen.iter().any(|one| one["id"] == "jit"), "it is on: {}", json.output);
    let parts = told["budget"]["parts"].as_array().expect("a list");
    assert!(parts.iter().any(|one| one["name"] == "PHP's JIT"), "{}", json.output);

    assert_eq!(site.doctor(&["--rollback"]).end().status.code(), Some(0));
    assert_eq!(site.written(), (None, false));
}

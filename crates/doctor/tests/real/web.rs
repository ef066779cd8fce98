//! Web servers: an Apache with PHP inside, and an nginx that is about to have no file left.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use doctor::Class;
use tempfile::TempDir;

use super::{all_found, daemon, examine, find, options, root};

const SYSTEM_USER: &str = "www-data";
const START_MAX: Duration = Duration::from_secs(30);
/// Files that nginx may have open, and connections that it is given.
const FILES: usize = 64;
const CONNECTIONS: usize = 48;

/// A server with settings of its own; it goes with this.
struct Web {
    root: TempDir,
    _run: TempDir,
    child: Child,
    port: u16,
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Web {
    fn start(
        root: TempDir,
        run: TempDir,
        port: u16,
        program: &str,
        arguments: &[&dyn AsRef<Path>],
    ) -> Self {
        let mut server = Command::new("setpriv");
        server.args(["--pdeathsig", "KILL", "prlimit"]).arg(format!("--nofile={FILES}"));
        server.arg(program).args(arguments.iter().map(|one| one.as_ref()));
        server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = server.spawn().expect("the server starts");
        let mut web = Self { root, _run: run, child, port };
        let bound = Instant::now() + START_MAX;
        while web.connect().is_none() {
            assert!(web.child.try_wait().expect("it can be asked").is_none(), "{program} ended");
            assert!(Instant::now() < bound, "{program} doesn't start");
            std::thread::sleep(Duration::from_millis(20));
        }
        web
    }

    fn connect(&self) -> Option<TcpStream> {
        TcpStream::connect(("127.0.0.1", self.port)).ok()
    }
}

fn write(root: &TempDir, path: &str, text: &str) -> PathBuf {
    let path = root.path().join(path);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, text).expect("a file");
    path
}

/// Debian's module, by its version.
fn php_module() -> Option<PathBuf> {
    let modules = std::fs::read_dir("/usr/lib/apache2/modules").ok()?.flatten();
    let mut modules = modules.map(|module| module.path());
    modules.find(|path| path.to_string_lossy().contains("/libphp"))
}

/// One whose settings allow so many workers.
fn apache(workers: u64) -> Option<Web> {
    let Some(php) = php_module() else {
        eprintln!("SKIPPED: libapache2-mod-php is not installed; scripts/setup test installs it");
        return None;
    };
    let (root, run, port) = (root(), daemon::folder("apa", SYSTEM_USER), loopback::port());
    let loaded = write(
        &root,
        "etc/apache2/mods-enabled/php.load",
        &format!("LoadModule php_module {}\n", php.display()),
    );
    let prefork = write(
        &root,
        "etc/apache2/mods-enabled/mpm_prefork.conf",
        &format!("ServerLimit {workers}\nMaxRequestWorkers {workers}\nStartServers 3\n"),
    );
    let folder = run.path().display();
    let text = format!(
        "ServerRoot {folder}\nPidFile {folder}/pid\nErrorLog {folder}/log\nServerName localhost\n\
         Listen 127.0.0.1:{port}\nUser {SYSTEM_USER}\nGroup {SYSTEM_USER}\n\
         LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so\n\
         LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n\
         Include {}\nInclude {}\n",
        loaded.display(),
        prefork.display()
    );
    let main = write(&root, "etc/apache2/apache2.conf", &text);
    Some(Web::start(root, run, port, "apache2", &[&"-DFOREGROUND", &"-f", &main]))
}

#[tokio::test]
async fn php_inside_a_real_apache_is_found_and_how_many_workers_fit() {
    // More than any machine has memory for, and few.
    for (workers, class) in [(20_000, Class::Danger), (4, Class::Slow)] {
        let Some(web) = apache(workers) else { return };
        let (_, examination) = examine(&options(web.root.path().into(), None)).await;
        let found = find(&examination, "mod_php").expect("it is found");
        assert_eq!(found.class, class, "{found:?}");
        assert!(found.evidence.starts_with(&format!("{workers} workers of ")), "{found:?}");
        let fault = format!("PHP inside, and {workers} workers");
        all_found("Apache", &[("mod_php", &fault)], &examination);
    }
}

#[tokio::test]
async fn a_real_nginx_that_has_most_of_its_files_open_is_found() {
    let (root, run, port) = (root(), daemon::folder("ngx", SYSTEM_USER), loopback::port());
    let folder = run.path().display();
    let text = format!(
        "daemon off;\nuser {SYSTEM_USER};\nworker_processes 1;\npid {folder}/pid;\n\
         error_log {folder}/log;\nevents {{ worker_connections {FILES}; }}\nhttp {{\n\
         access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;\n\
         fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n\
         server {{ listen 127.0.0.1:{port}; return 204; }}\n}}\n"
    );
    let main = write(&root, "etc/nginx/nginx.conf", &text);
    let log = run.path().join("log");
    let web = Web::start(root, run, port, "nginx", &[&"-e", &log, &"-c", &main]);
    let options = options(web.root.path().into(), None);
    let about_nginx = |examination: &doctor::checks::Examination| {
        let mut found = examination.findings.iter();
        found.any(|one| one.id == "open_files" && one.subject == "nginx")
    };
    assert!(!about_nginx(&examine(&options).await.1), "it has files enough");
    let held: Vec<_> = (0..CONNECTIONS).filter_map(|_| web.connect()).collect();
    assert_eq!(held.len(), CONNECTIONS);
    let bound = Instant::now() + START_MAX;
    while !about_nginx(&examine(&options).await.1) {
        assert!(Instant::now() < bound, "it is not found");
    }
    println!("| `open_files` | nginx: {CONNECTIONS} connections of {FILES} files | yes | – |");
}

//! What php-fpm is told: its configuration file and its command line.
//!
//! Settings of php.ini are only ever raised: what the machine's owner wrote there
//! stays where it is enough. The opcode cache takes its size when the master starts,
//! so that can't stand in the pool's section and goes on the command line.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::FpmError;
use super::inquiry::STATUS_PATH;
use super::program::Facts;

/// What a child is reckoned to need.
const CHILD_BYTES: u64 = 64 << 20;
/// Uploads up to this size work without any setting.
const UPLOAD_BYTES: u64 = 64 << 20;
/// A Unix socket's path may have no more bytes on Linux, with the NUL behind it.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Everything that php-fpm is started with.
pub(crate) struct Plan {
    pub(crate) program: PathBuf,
    pub(crate) run_folder: PathBuf,
    pub(crate) user: Option<String>,
    pub(crate) children: usize,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) database_socket: Option<PathBuf>,
    pub(crate) visitor: Option<(u32, u32)>,
    pub(crate) slow_after: Option<Duration>,
    pub(crate) facts: Facts,
}

impl Plan {
    pub(crate) fn socket(&self) -> PathBuf {
        self.run_folder.join("php-fpm.sock")
    }

    pub(crate) fn file(&self) -> PathBuf {
        configuration_file(&self.run_folder)
    }

    /// Where it is noted what slow requests do, if that is wanted.
    pub(crate) fn slow_log(&self) -> Option<PathBuf> {
        self.slow_after.map(|_| self.run_folder.join("slow.log"))
    }

    /// Makes the slow log, for who is to read it: php-fpm would make one for itself alone.
    fn make_slow_log(&self) -> std::io::Result<()> {
        let Some(path) = self.slow_log() else { return Ok(()) };
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        match self.visitor {
            Some((user, group)) => std::os::unix::fs::chown(&path, Some(user), Some(group)),
            None => Ok(()),
        }
    }

    /// Writes the configuration file.
    pub(crate) fn write(&self) -> Result<(), FpmError> {
        self.make_slow_log().map_err(|error| unusable(&self.run_folder, &error))?;
        let socket = self.socket();
        if socket.as_os_str().len() > SOCKET_PATH_BYTES_MAX {
            let reason = "its path is too long for a socket".to_owned();
            return Err(FpmError::RunFolder { path: self.run_folder.clone(), reason });
        }
        let text = self.text()?;
        std::fs::write(self.file(), text).map_err(|error| unusable(&self.run_folder, &error))
    }

    /// The command line.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            "--nodaemonize".to_owned(),
            "--fpm-config".to_owned(),
            self.file().display().to_string(),
        ];
        for (name, value) in self.settings() {
            arguments.push("-d".to_owned());
            arguments.push(format!("{name}={value}"));
        }
        arguments
    }

    /// Settings of PHP itself; apps may still change those that PHP lets them.
    fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = Vec::new();
        let facts = &self.facts;
        for name in ["post_max_size", "upload_max_filesize"] {
            if facts.bytes(name).is_none_or(|bytes| bytes < UPLOAD_BYTES) {
                // A form has more in it than its file.
                let extra = if name == "post_max_size" { 1 } else { 0 };
                settings.push((name, format!("{}M", (UPLOAD_BYTES >> 20) + extra)));
            }
        }
        if facts.has_opcache() {
            settings.push(("opcache.enable", "1".to_owned()));
            settings.push(("opcache.validate_timestamps", "1".to_owned()));
            let at_least = [
                ("opcache.memory_consumption", 128),
                ("opcache.interned_strings_buffer", 16),
                ("opcache.max_accelerated_files", 20_000),
            ];
            for (name, wanted) in at_least {
                if facts.number(name).is_none_or(|number| number < wanted) {
                    settings.push((name, wanted.to_string()));
                }
            }
        }
        settings
    }

    fn text(&self) -> Result<String, FpmError> {
        let mut text = String::from("; Written by wick at every start.\n[global]\n");
        // Lines go to standard error, which Wick reads.
        text.push_str("error_log = /proc/self/fd/2\nlog_level = notice\n");
        text.push_str("daemonize = no\nsystemd_interval = 0\n");
        let _ =
            writeln!(text, "process_control_timeout = 10s\n\n[{}]", pool_name(&self.run_folder));
        let user = self.user.iter().map(|user| format!("user = {user}\n"));
        text.extend(user);
        let _ = writeln!(text, "listen = {}", self.socket().display());
        if let Some((user, group)) = self.visitor {
            let _ = writeln!(text, "listen.owner = {user}\nlisten.group = {group}");
        }
        text.push_str("listen.mode = 0600\nlisten.backlog = 1024\n");
        // A pool that grows only as php-fpm thinks right starves: a child whose connection
        // is kept counts as idle there, so no other is made for a connection that nobody
        // accepts. See docs/decisions/php-fpm-static-children.md.
        let _ = writeln!(text, "pm = static\npm.max_children = {}", self.children);
        text.push_str("pm.max_requests = 5000\n");
        let _ = writeln!(text, "pm.status_path = {STATUS_PATH}");
        text.push_str("request_terminate_timeout = 300s\n");
        if let (Some(path), Some(after)) = (self.slow_log(), self.slow_after) {
            // It knows whole seconds only, and zero as never.
            let seconds = after.as_secs().max(1);
            let _ = writeln!(text, "slowlog = {}", path.display());
            let _ = writeln!(text, "request_slowlog_timeout = {seconds}s");
            text.push_str("request_slowlog_trace_depth = 20\n");
        }
        text.push_str("catch_workers_output = yes\ndecorate_workers_output = no\n");
        text.push_str("security.limit_extensions = .php\nclear_env = yes\n");
        text.push_str("env[PATH] = /usr/local/bin:/usr/bin:/bin\n");
        for (name, value) in &self.environment {
            let is_name =
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if !is_name || !is_value(value) {
                return Err(FpmError::Variable(name.clone()));
            }
            let _ = writeln!(text, "env[{name}] = \"{value}\"");
        }
        if let Some(socket) = &self.database_socket {
            for setting in ["mysqli.default_socket", "pdo_mysql.default_socket"] {
                let socket = socket.to_str().filter(|socket| is_value(socket));
                let socket = socket.ok_or_else(|| FpmError::Variable(setting.to_owned()))?;
                let _ = writeln!(text, "php_admin_value[{setting}] = \"{socket}\"");
            }
        }
        // What scripts complain of comes over their connection, with their request.
        text.push_str("php_admin_flag[log_errors] = on\nphp_admin_value[error_log] =\n");
        Ok(text)
    }
}

/// Whether a value stays one within double quotes.
fn is_value(value: &str) -> bool {
    !value.contains(['"', '\n', '\r', '\0', '$', '\\'])
}

/// The configuration file's place, by which a left-over master is known as ours.
pub(crate) fn configuration_file(run_folder: &Path) -> PathBuf {
    run_folder.join("php-fpm.conf")
}

/// The pool's name, which its children bear in the list of processes: another for
/// each run folder, so that no Wick takes another's children for its own.
pub(crate) fn pool_name(run_folder: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    run_folder.hash(&mut hasher);
    format!("wick-{:016x}", hasher.finish())
}

/// Makes the run folder, for our user alone or for one more to pass through, and gives its
/// absolute path.
pub(crate) fn prepare_folder(folder: &Path, is_passed: bool) -> Result<PathBuf, FpmError> {
    let failed = |error: &std::io::Error| unusable(folder, error);
    let path = std::path::absolute(folder).map_err(|error| failed(&error))?;
    let is_plain = path.to_str().is_some_and(|text| {
        text.bytes().all(|b| b.is_ascii_alphanumeric() || b"/-._+@,".contains(&b))
    });
    if !is_plain {
        let reason = "php-fpm can't read paths with such characters".to_owned();
        return Err(FpmError::RunFolder { path, reason });
    }
    let mode = if is_passed { 0o711 } else { 0o700 };
    let made = std::fs::DirBuilder::new().recursive(true).mode(mode).create(&path);
    made.map_err(|error| failed(&error))?;
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(&path, permissions).map_err(|error| failed(&error))?;
    Ok(path)
}

fn unusable(folder: &Path, error: &std::io::Error) -> FpmError {
    FpmError::RunFolder { path: folder.to_path_buf(), reason: error.to_string() }
}

/// As many children as the free memory feeds, from 2 (or two a core) to 32.
pub(crate) fn fitting_children() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    children_for(available_bytes(&text), cores)
}

fn children_for(available_bytes: Option<u64>, cores: usize) -> usize {
    let fitting = available_bytes.map_or(0, |bytes| (bytes / CHILD_BYTES) as usize);
    fitting.clamp(2, 32).max(cores * 2)
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Whom scripts run as. Only root can choose: the owner of the site's folder, so that
/// an app may write what its owner may; a folder of root's, as packages have it, is
/// run by the web server's user, who may write only where the package lets it.
pub(crate) fn worker_user(site: &Path) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let owner = std::fs::metadata(site).map_or(0, |data| data.uid());
    Some(choose_user(&users, owner))
}

fn choose_user(passwd: &str, owner: u32) -> String {
    let users = || passwd.lines().filter_map(|line| line.split_once(':'));
    let uid = |rest: &str| rest.split(':').nth(1).and_then(|uid| uid.parse::<u32>().ok());
    let by_owner = users().find(|(_, rest)| owner != 0 && uid(rest) == Some(owner));
    let by_name = || {
        let names = ["www-data", "apache", "nginx", "http", "www", "nobody"];
        names.iter().find_map(|name| users().find(|(user, _)| user == name))
    };
    by_owner.or_else(by_name).map_or("nobody", |(user, _)| user).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_fit_the_memory_and_are_never_fewer_than_two_a_core() {
        let meminfo = "MemTotal: 9 kB\nMemAvailable:    1048576 kB\n";
        assert_eq!(available_bytes(meminfo), Some(1 << 30));
        for (bytes, cores, children) in [
            (Some(1 << 30), 2, 16),
            (Some(64 << 30), 2, 32),
            (Some(64 << 30), 32, 64),
            (Some(10 << 20), 1, 2),
            (None, 4, 8),
        ] {
            assert_eq!(children_for(bytes, cores), children, "{bytes:?} on {cores}");
        }
    }

    #[test]
    fn scripts_run_as_the_sites_owner_and_never_as_root() {
        let passwd = "root:x:0:0::/root:/bin/sh\nwww-data:x:33:33::/:\nann:x:1000:1000::/:\n";
        for (owner, user) in [(1000, "ann"), (0, "www-data"), (4711, "www-data"), (33, "www-data")]
        {
            assert_eq!(choose_user(passwd, owner), user);
        }
        assert_eq!(choose_user("root:x:0:0::/root:/bin/sh\n", 0), "nobody");
    }

    fn plan(facts: &str, environment: &[(&str, &str)]) -> Plan {
        let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        Plan {
            program: "/usr/sbin/php-fpm".into(),
            run_folder: "/run/wick".into(),
            user: Some("ann".into()),
            children: 7,
            environment: environment.iter().map(own).collect(),
            database_socket: None,
            visitor: None,
            slow_after: None,
            facts: Facts::parse(facts),
        }
    }

    #[test]
    fn settings_are_raised_where_they_are_too_small_and_left_where_not() {
        let small = plan(
            "post_max_size => 8M => 8M\nupload_max_filesize => 200M => 200M\n\
             opcache.enable => Off => Off\nopcache.memory_consumption => 256 => 256\n",
            &[],
        );
        let arguments = small.arguments().join(" ");
        assert!(arguments.contains("-d post_max_size=65M"), "{arguments}");
        assert!(!arguments.contains("upload_max_filesize"), "{arguments}");
        assert!(arguments.contains("-d opcache.enable=1"), "{arguments}");
        assert!(!arguments.contains("memory_consumption"), "{arguments}");
        assert!(!plan("a => b => c\n", &[]).arguments().join(" ").contains("opcache"));
    }

    #[test]
    fn localhost_leads_to_another_socket_where_one_is_named() {
        let at = |socket: &str| Plan { database_socket: Some(socket.into()), ..plan("", &[]) };
        let text = at("/run/wick/tap").text().expect("a harmless path is accepted");
        for line in ["mysqli", "pdo_mysql"] {
            let line = format!("php_admin_value[{line}.default_socket] = \"/run/wick/tap\"\n");
            assert!(text.contains(&line), "{text}");
        }
        assert!(at("/run/\"\nuser = root").text().is_err());
        assert!(!plan("", &[]).text().expect("as ever").contains("default_socket"));
    }

    #[test]
    fn slow_requests_are_noted_only_where_that_is_wanted() {
        let text = |slow_after| Plan { slow_after, ..plan("", &[]) }.text().expect("as ever");
        assert!(!text(None).contains("slow"));
        let told = text(Some(Duration::from_millis(2500)));
        assert!(told.contains("slowlog = /run/wick/slow.log\nrequest_slowlog_timeout = 2s\n"));
        assert!(text(Some(Duration::from_millis(1))).contains("request_slowlog_timeout = 1s\n"));
    }

    #[test]
    fn its_socket_is_for_one_user_whom_the_configuration_names_by_number() {
        let of = |visitor| Plan { visitor, ..plan("", &[]) }.text().expect("a configuration");
        assert!(
            of(Some((33, 34))).contains("listen.owner = 33\nlisten.group = 34\nlisten.mode = 0600")
        );
        assert!(!of(None).contains("listen.owner"));
    }

    #[test]
    fn a_variable_can_add_nothing_to_the_configuration() {
        let text = plan("", &[("BOARD_DATA", "/var/lib/board data")]).text();
        let text = text.expect("a harmless variable is accepted");
        assert!(text.contains("env[BOARD_DATA] = \"/var/lib/board data\"\n"), "{text}");
        assert!(text.contains("user = ann\n") && text.contains("pm.max_children = 7\n"), "{text}");
        assert!(text.contains("pm = static\n"), "{text}");
        for (name, value) in [("A", "x\"\nuser = root"), ("A]\nb", "x"), ("", "x"), ("A", "$B")] {
            let error = plan("", &[(name, value)]).text().err();
            assert_eq!(error, Some(FpmError::Variable(name.to_owned())));
        }
    }
}

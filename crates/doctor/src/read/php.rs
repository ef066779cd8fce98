//! php-fpm: what it says of itself over its own socket.
//!
//! The command line's PHP has other settings and another opcode cache; so php-fpm is asked by
//! FastCGI. That takes a script, which lies in the folder for temporary files for a moment and
//! prints only what [`SCRIPT`] names. Where it can't be asked, its files are read instead, which
//! `pools` does. Of several php-fpm's each is asked.

mod pools;

use std::fs::Permissions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use wire::fastcgi::{Kind, RecordReader, close_stream, encode_param, write_begin, write_stream};

use super::Root;
use super::processes::{private, processor_seconds};
use crate::machine::{Counters, Keeper, Machine, Pool, Unseen};
use crate::temporary::upload_folder;

pub(super) use self::pools::read_pools;

/// The most of an answer that is read.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// What php-fpm runs for us. Only these settings are told: others may hold passwords.
const SCRIPT: &str = r"<?php
$names = ['opcache.enable', 'opcache.memory_consumption', 'opcache.max_accelerated_files',
    'opcache.interned_strings_buffer', 'opcache.validate_timestamps', 'opcache.revalidate_freq',
    'opcache.jit', 'opcache.jit_buffer_size', 'realpath_cache_size', 'realpath_cache_ttl',
    'memory_limit', 'session.save_handler', 'session.save_path', 'session.gc_probability',
    'session.gc_divisor', 'upload_tmp_dir', 'max_execution_time'];
$set = [];
foreach ($names as $name) { $value = ini_get($name); if ($value !== false) $set[$name] = $value; }
echo json_encode(['set' => $set,
    'opcache' => function_exists('opcache_get_status') ? @opcache_get_status(false) : false,
    'realpath_cache_bytes' => realpath_cache_size(),
    'version' => PHP_VERSION, 'extensions' => get_loaded_extensions()],
    JSON_PARTIAL_OUTPUT_ON_ERROR);
";

/// What a pool said.
#[derive(Default)]
struct Told {
    /// Its status page, or why that isn't to be had; none: it has none.
    status: Option<Result<Value, String>>,
    /// What the script printed, or why it didn't; none: it wasn't asked.
    script: Option<Result<Value, String>>,
}

/// Asks every php-fpm how it is, until then: each pool's status page, and one pool of each for
/// the opcode cache.
pub(super) async fn count(root: &Root, machine: &Machine, until: Instant) -> Machine {
    let mut seen = Machine::default();
    log(root, &machine.pools, &mut seen.now);
    sessions(root, machine, &mut seen);
    uploads(root, machine, &mut seen.now);
    let told = match root.is_recorded() {
        true => recorded(root, machine),
        false => all_asked(root, machine, until).await,
    };
    for (pool, told) in machine.pools.iter().zip(told) {
        match told.status {
            Some(Ok(status)) => {
                status_page(pool, &status, &mut seen.now);
                children(root, pool, &status, &mut seen.now);
            }
            Some(Err(why)) => seen.unseen.push(Unseen {
                what: format!("the status page of php-fpm's pool {}", pool.name),
                cure: format!(
                    "{why}; {}",
                    quiet(pool, "until then nobody knows how busy they are")
                ),
            }),
            None => (),
        }
        match told.script {
            Some(Ok(said)) => take(&said, machine.names_of_php(&pool.version), &mut seen),
            Some(Err(why)) => seen.unseen.push(Unseen {
                what: format!("the opcode cache of php-fpm's pool {}", pool.name),
                cure: format!("{why}; {}", quiet(pool, "until then php.ini's files are judged")),
            }),
            None => (),
        }
    }
    seen
}

/// What would help: a Wick keeps its connections, and a child that has one takes no other.
fn quiet(pool: &Pool, until: &str) -> String {
    match pool.keeper {
        Some(Keeper::Wick) => format!(
            "while visitors keep all its children busy their Wick has each of them: look in a \
             quieter minute, and see wick top meanwhile; {until}"
        ),
        _ => until.to_owned(),
    }
}

/// Whether a pool is the first of its php-fpm, whose pools share one opcode cache.
fn is_first(machine: &Machine, at: usize) -> bool {
    let version = &machine.pools[at].version;
    machine.pools.iter().position(|pool| pool.version == *version) == Some(at)
}

fn recorded(root: &Root, machine: &Machine) -> Vec<Told> {
    let read = |name: String| serde_json::from_str::<Value>(&root.recorded(&name)?).ok();
    let each = machine.pools.iter().enumerate().map(|(at, pool)| {
        let name = pool.counted_as.as_ref().unwrap_or(&pool.name).replace('/', "_");
        let version = pool.version.replace('/', "_");
        let own = is_first(machine, at).then(|| read(format!("php-{version}.json"))).flatten();
        let script = if at == 0 { own.or_else(|| read("php.json".into())) } else { own };
        Told { status: read(format!("fpm-{name}.json")).map(Ok), script: script.map(Ok) }
    });
    each.collect()
}

/// All pools at once; of one pool the status first, so that our own script isn't in it.
async fn all_asked(root: &Root, machine: &Machine, until: Instant) -> Vec<Told> {
    let mut asked = JoinSet::new();
    for (at, pool) in machine.pools.iter().cloned().enumerate() {
        let (root, is_first) = (root.clone(), is_first(machine, at));
        asked.spawn(async move {
            let mut told = Told::default();
            let read = |json: Vec<u8>| {
                serde_json::from_slice(&json).map_err(|_| "it answers something else".to_owned())
            };
            if let Some(path) = pool.settings.get("pm.status_path") {
                let answer = ask(&pool, path, "json&full", until).await;
                told.status = Some(answer.and_then(read));
            }
            if is_first {
                told.script = Some(run_script(&root, &pool, until).await.and_then(read));
            }
            (at, told)
        });
    }
    let mut all: Vec<Told> = machine.pools.iter().map(|_| Told::default()).collect();
    while let Some(told) = asked.join_next().await {
        if let Ok((at, told)) = told {
            all[at] = told;
        }
    }
    all
}

/// What the script told. Settings that files told are only those of one SAPI, so these count.
fn take(told: &Value, (settings, numbers): (String, String), seen: &mut Machine) {
    let mut set = |name: &str, value: String| {
        seen.settings.insert(format!("{settings}{name}"), value);
    };
    set("asked", "1".into());
    for (name, value) in told.get("set").and_then(Value::as_object).into_iter().flatten() {
        set(name, value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    for name in told.get("extensions").and_then(Value::as_array).into_iter().flatten() {
        let name = name.as_str().unwrap_or_default().to_ascii_lowercase();
        set(&format!("extension.{name}"), "1".into());
    }
    if let Some(version) = told.get("version").and_then(Value::as_str) {
        set("version", version.to_owned());
    }
    if let Some(bytes) = told.get("realpath_cache_bytes").and_then(Value::as_f64) {
        seen.now.insert(format!("{settings}realpath_cache_bytes"), bytes);
    }
    if let Some(opcache) = told.get("opcache") {
        flatten(numbers.trim_end_matches('.'), opcache, &mut seen.now);
    }
}

fn flatten(name: &str, value: &Value, counters: &mut Counters) {
    match value {
        Value::Object(each) => {
            each.iter().for_each(|(key, value)| flatten(&format!("{name}.{key}"), value, counters));
        }
        Value::Number(number) => {
            counters.extend(number.as_f64().map(|number| (name.to_owned(), number)));
        }
        Value::Bool(is) => drop(counters.insert(name.to_owned(), f64::from(u8::from(*is)))),
        _ => (),
    }
}

/// Numbers of a pool's status page, and of its children's last requests together.
fn status_page(pool: &Pool, status: &Value, counters: &mut Counters) {
    let name = pool.counter("");
    flatten(name.trim_end_matches('.'), status, counters);
    let children = status.get("processes").and_then(Value::as_array);
    let numbers = |key: &str| {
        let each = children.into_iter().flatten().filter_map(|child| child.get(key)?.as_f64());
        let mut each: Vec<f64> = each.collect();
        each.sort_by(f64::total_cmp);
        each
    };
    let times = numbers("request duration");
    let at = (times.len() * 95).div_ceil(100).saturating_sub(1);
    counters.extend(times.get(at).map(|us| (format!("{name}request_us"), *us)));
    if !times.is_empty() {
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        counters.insert(format!("{name}request_mean_us"), mean);
    }
    let memory = numbers("last request memory");
    counters.insert(format!("{name}requests_seen"), memory.len() as f64);
    counters.extend(memory.last().map(|bytes| (format!("{name}request_bytes"), *bytes)));
}

/// What each child has answered so far, has of memory for itself, and had of a processor: read
/// together, so that whether it grows, and what a request takes, can be told.
fn children(root: &Root, pool: &Pool, status: &Value, counters: &mut Counters) {
    for child in status.get("processes").and_then(Value::as_array).into_iter().flatten() {
        let number = |key: &str| child.get(key).and_then(Value::as_u64);
        let (Some(pid), Some(requests)) = (number("pid"), number("requests")) else { continue };
        let name = pool.counter(&format!("child.{pid}"));
        let seconds = u32::try_from(pid).ok().and_then(|pid| processor_seconds(root, pid));
        counters.extend(seconds.map(|seconds| (format!("{name}.cpu_seconds"), seconds)));
        let rollup = root.text(&format!("proc/{pid}/smaps_rollup"));
        counters.insert(format!("{name}.requests"), requests as f64);
        let Some(bytes) = rollup.and_then(|rollup| private(&rollup)) else { continue };
        counters.insert(format!("{name}.private_bytes"), bytes as f64);
    }
}

/// Bytes of uploads that lie where PHP keeps them until they are moved. It calls such a file
/// `php` and six letters or digits.
fn uploads(root: &Root, machine: &Machine, counters: &mut Counters) {
    let folder = upload_folder(machine.set("php.upload_tmp_dir"));
    let Some(names) = root.names(folder.trim_start_matches('/')) else { return };
    let is_one = |name: &&String| name.len() == 9 && name.starts_with("php");
    let files = names.iter().filter(is_one).map(|name| root.at(&format!("{folder}/{name}")));
    let sizes = files.filter_map(|path| Some(std::fs::metadata(path).ok()?.len()));
    counters.insert("php.upload_bytes".into(), sizes.sum::<u64>() as f64);
}

/// How often the log says that a pool had no child left, since php-fpm's last start.
fn log(root: &Root, pools: &[Pool], counters: &mut Counters) {
    for pool in pools {
        let path = format!("var/log/php{}-fpm.log", pool.version);
        let Some(text) = root.text(&path) else { continue };
        let since = text.rfind("ready to handle connections").unwrap_or(0);
        let wanted = format!("[pool {}] server reached", pool.name);
        let times = text[since..].matches(&wanted).count();
        counters.insert(pool.counter("log.children_max_reached"), times as f64);
    }
}

/// Where Debian has them, in a folder whose old files a timer removes.
const SESSIONS: &str = "/var/lib/php/sessions";
const TIMERS: &[&str] = &[
    "lib/systemd/system/phpsessionclean.timer",
    "usr/lib/systemd/system/phpsessionclean.timer",
    "etc/cron.d/php",
];

fn sessions(root: &Root, machine: &Machine, seen: &mut Machine) {
    let path = machine.set("php.session.save_path").filter(|path| path.starts_with('/'));
    let path = path.unwrap_or(SESSIONS).to_owned();
    if let Some(names) = root.names(path.trim_start_matches('/')) {
        seen.now.insert("php.session_files".into(), names.len() as f64);
    }
    let is_cleaned = path == SESSIONS && TIMERS.iter().any(|timer| root.at(timer).exists());
    seen.settings.insert("php.session_timer".into(), u8::from(is_cleaned).to_string());
}

async fn run_script(root: &Root, pool: &Pool, until: Instant) -> Result<Vec<u8>, String> {
    let (folder, seen_as) = script_folder(root, pool);
    let written = || {
        let mut file =
            tempfile::Builder::new().prefix("wick-doctor-").suffix(".php").tempfile_in(&folder)?;
        file.as_file().set_permissions(Permissions::from_mode(0o644))?;
        file.write_all(SCRIPT.as_bytes())?;
        Ok::<_, std::io::Error>(file)
    };
    let file = written().map_err(|error| format!("no script can be written ({error})"))?;
    let name = file.path().file_name().unwrap_or_default();
    ask(pool, &seen_as.join(name).to_string_lossy(), "", until).await
}

/// Where a php-fpm finds a file of ours: the folder for temporary files, which is another's where
/// its unit has one of its own (`PrivateTmp`); and what it calls that folder.
fn script_folder(root: &Root, pool: &Pool) -> (PathBuf, PathBuf) {
    let ours = std::env::temp_dir();
    let mounts = |pid: &str| std::fs::read_link(root.at(&format!("proc/{pid}/ns/mnt"))).ok();
    let its = pool.master.map(|pid| pid.to_string()).filter(|pid| {
        let its = mounts(pid);
        its.is_some() && its != mounts("self")
    });
    let own = its.map(|pid| root.at(&format!("proc/{pid}/root/tmp"))).filter(|path| path.is_dir());
    match own {
        Some(folder) => (folder, Path::new("/tmp").to_owned()),
        None => (ours.clone(), ours),
    }
}

/// Has a pool run a script, or show its status page; what it prints.
async fn ask(pool: &Pool, script: &str, query: &str, until: Instant) -> Result<Vec<u8>, String> {
    let listen = pool.settings.get("listen").map(String::as_str).unwrap_or_default();
    let listen = listen.replace("$pool", &pool.name);
    let asked = async {
        if listen.starts_with('/') {
            let stream = UnixStream::connect(&listen).await;
            exchange(stream.map_err(|error| closed(&listen, &error))?, script, query).await
        } else {
            let address = match listen.parse::<u16>() {
                Ok(port) => format!("127.0.0.1:{port}"),
                Err(_) => listen.clone(),
            };
            let stream = TcpStream::connect(&address).await;
            exchange(stream.map_err(|error| closed(&address, &error))?, script, query).await
        }
    };
    match timeout_at(until, asked).await {
        Ok(answer) => answer,
        Err(_) => Err("no answer in time".to_owned()),
    }
}

/// Why a socket isn't open to us, and what would help.
fn closed(socket: &str, error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            format!("{socket} isn't for us: run as root, or as a user that may write to it")
        }
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
            format!("nobody listens on {socket}: start php-fpm, or remove the pool's file")
        }
        _ => format!("{socket}: {error}"),
    }
}

async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    script: &str,
    query: &str,
) -> Result<Vec<u8>, String> {
    let mut params = Vec::new();
    for (name, value) in [
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("REQUEST_METHOD", "GET"),
        ("REQUEST_URI", script),
        ("SCRIPT_NAME", script),
        ("SCRIPT_FILENAME", script),
        ("QUERY_STRING", query),
        ("REMOTE_ADDR", "127.0.0.1"),
    ] {
        encode_param(&mut params, name.as_bytes(), value.as_bytes());
    }
    let mut out = Vec::new();
    write_begin(&mut out, false);
    write_stream(&mut out, Kind::Params, &params);
    close_stream(&mut out, Kind::Params);
    close_stream(&mut out, Kind::Stdin);
    stream.write_all(&out).await.map_err(|error| error.to_string())?;
    let mut records = RecordReader::default();
    let mut said = Vec::new();
    let mut is_over = false;
    while !is_over && said.len() < ANSWER_BYTES_MAX {
        let got = stream.read_buf(records.buffer_mut()).await.map_err(|error| error.to_string())?;
        while let Some(record) = records.next_record().map_err(|error| error.to_string())? {
            match record.kind {
                Kind::Stdout => said.extend_from_slice(&record.content),
                Kind::End => is_over = true,
                _ => (),
            }
        }
        is_over |= got == 0;
    }
    let head = said.windows(4).position(|four| four == b"\r\n\r\n");
    let head = head.ok_or("it answers nothing that can be read")?;
    match said.starts_with(b"Status: ") {
        true => Err(format!("it answers {}", String::from_utf8_lossy(&said[8..11.min(head)]))),
        false => Ok(said.split_off(head + 4)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_page_is_numbers() {
        let status = serde_json::json!({"listen queue": 3, "pool": "www", "processes": [
            {"request duration": 10, "last request memory": 7},
            {"request duration": 30, "last request memory": 9}]});
        let mut counters = Counters::new();
        status_page(&Pool { name: "www".into(), ..Pool::default() }, &status, &mut counters);
        assert_eq!(counters["fpm.www.listen queue"], 3.0);
        assert_eq!(
            (counters["fpm.www.request_us"], counters["fpm.www.request_bytes"]),
            (30.0, 9.0)
        );
    }
}

//! php-fpm: its pools as their files say, and what it says of itself over its own socket.
//!
//! The command line's PHP has other settings and another opcode cache; so php-fpm is asked by
//! FastCGI. That takes a script, which lies in the folder for temporary files for a moment and
//! prints only what [`SCRIPT`] names. Where it can't be asked, its files are read instead.

use std::fs::Permissions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use wire::fastcgi::{Kind, RecordReader, close_stream, encode_param, write_begin, write_stream};

use super::processes::private;
use super::{PATIENCE, Root};
use crate::machine::{Counters, Machine, Pool, Unseen};
use crate::settings_file::{Dialect, lines};
use crate::temporary::upload_folder;

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

/// The pools that files tell of and that run, and the php.ini beside them.
pub(super) fn read_pools(root: &Root, machine: &mut Machine) {
    let mut homes: Vec<(String, String)> = Vec::new();
    for version in root.names("etc/php").unwrap_or_default() {
        homes.push((version.clone(), format!("etc/php/{version}/fpm")));
    }
    homes.push((String::new(), "etc/php-fpm.d/..".to_owned()));
    for (version, home) in homes {
        let (folder, main) = match version.is_empty() {
            true => ("etc/php-fpm.d".to_owned(), "/etc/php-fpm.conf".to_owned()),
            false => (format!("{home}/pool.d"), format!("/{home}/php-fpm.conf")),
        };
        let mut pools = Vec::new();
        for file in root.files(&folder, ".conf") {
            read_pool(&version, &root.text(&file).unwrap_or_default(), &mut pools);
        }
        if pools.is_empty() || runs(machine, &main) {
            machine.pools.append(&mut pools);
        } else {
            machine.unseen.push(Unseen {
                what: format!("how the pools of /{folder} do"),
                cure: "their php-fpm doesn't run: start it, or remove their files".into(),
            });
        }
        let ini = if version.is_empty() { "etc/php.ini" } else { &format!("{home}/php.ini") };
        let mut files = vec![ini.to_owned()];
        files.extend(root.files(&format!("{home}/conf.d"), ".ini"));
        for file in &files {
            read_ini(&root.text(file).unwrap_or_default(), machine);
        }
    }
}

/// Whether a php-fpm runs by this file: its master calls itself by it, or was called with it.
fn runs(machine: &Machine, main: &str) -> bool {
    let mut processes = machine.processes.iter();
    processes.any(|one| one.name.starts_with("php-fpm") && one.title.contains(main))
}

/// A pool that several files tell of is one, as php-fpm reads them.
fn read_pool(version: &str, text: &str, pools: &mut Vec<Pool>) {
    for line in lines(Dialect::Ini, text) {
        if line.section.is_empty() || line.section == "global" {
            continue;
        }
        let is_it = |pool: &Pool| pool.version == version && pool.name == line.section;
        let at = pools.iter().position(is_it).unwrap_or_else(|| {
            let name = line.section.to_owned();
            pools.push(Pool { version: version.to_owned(), name, ..Pool::default() });
            pools.len() - 1
        });
        pools[at].settings.insert(line.name.to_owned(), line.value.to_owned());
    }
}

fn read_ini(text: &str, machine: &mut Machine) {
    for line in lines(Dialect::Ini, text) {
        if line.name == "zend_extension" || line.name == "extension" {
            let name = line.value.rsplit('/').next().unwrap_or_default().trim_end_matches(".so");
            machine.settings.insert(format!("php.extension.{name}"), "1".into());
        } else {
            machine.settings.insert(format!("php.{}", line.name), line.value.to_owned());
        }
    }
}

/// Asks php-fpm how it is: each pool's status page, and one pool for the opcode cache.
pub(super) async fn count(root: &Root, machine: &mut Machine, counters: &mut Counters) {
    log(root, &machine.pools, counters);
    sessions(root, machine, counters);
    for pool in machine.pools.clone() {
        let recorded = root.recorded(&format!("fpm-{}.json", pool.name));
        let answer = match (&recorded, pool.settings.get("pm.status_path")) {
            (Some(text), _) => Some(text.clone().into_bytes()),
            (None, Some(path)) if !root.is_recorded() => ask(&pool, path, "json&full").await.ok(),
            _ => None,
        };
        let Some(status) = answer.and_then(|json| serde_json::from_slice(&json).ok()) else {
            continue;
        };
        status_page(&pool.name, &status, counters);
        children(root, &pool.name, &status, counters);
    }
    uploads(root, machine, counters);
    let first = machine.pools.first().cloned();
    let Some(first) = first else { return };
    let told = match root.recorded("php.json") {
        Some(text) => Ok(text.into_bytes()),
        None if root.is_recorded() => return,
        None => run_script(&first).await,
    };
    let told = told.and_then(|json| {
        serde_json::from_slice::<Value>(&json).map_err(|_| "it answers something else".to_owned())
    });
    match told {
        Ok(told) => take(&told, machine, counters),
        Err(why) => machine.unseen.push(Unseen {
            what: format!("the opcode cache of php-fpm's pool {}", first.name),
            cure: format!("{why}; until then php.ini's files are what is judged"),
        }),
    }
}

/// What the script told. Settings that files told are only those of one SAPI, so these count.
fn take(told: &Value, machine: &mut Machine, counters: &mut Counters) {
    machine.settings.insert("php.asked".into(), "1".into());
    if let Some(set) = told.get("set").and_then(Value::as_object) {
        for (name, value) in set {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            machine.settings.insert(format!("php.{name}"), value);
        }
    }
    machine.settings.retain(|name, _| !name.starts_with("php.extension."));
    for name in told.get("extensions").and_then(Value::as_array).into_iter().flatten() {
        let name = name.as_str().unwrap_or_default().to_ascii_lowercase();
        machine.settings.insert(format!("php.extension.{name}"), "1".into());
    }
    if let Some(version) = told.get("version").and_then(Value::as_str) {
        machine.settings.insert("php.version".into(), version.to_owned());
    }
    if let Some(bytes) = told.get("realpath_cache_bytes").and_then(Value::as_f64) {
        counters.insert("php.realpath_cache_bytes".into(), bytes);
    }
    if let Some(opcache) = told.get("opcache") {
        flatten("opcache", opcache, counters);
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
fn status_page(pool: &str, status: &Value, counters: &mut Counters) {
    let name = format!("fpm.{pool}");
    flatten(&name, status, counters);
    let children = status.get("processes").and_then(Value::as_array);
    let numbers = |key: &str| {
        let each = children.into_iter().flatten().filter_map(|child| child.get(key)?.as_f64());
        let mut each: Vec<f64> = each.collect();
        each.sort_by(f64::total_cmp);
        each
    };
    let times = numbers("request duration");
    let at = (times.len() * 95).div_ceil(100).saturating_sub(1);
    counters.extend(times.get(at).map(|us| (format!("{name}.request_us"), *us)));
    let memory = numbers("last request memory").last().copied();
    counters.extend(memory.map(|bytes| (format!("{name}.request_bytes"), bytes)));
}

/// What each child has answered so far, and has of memory for itself: read together, so that
/// whether it grows can be told.
fn children(root: &Root, pool: &str, status: &Value, counters: &mut Counters) {
    for child in status.get("processes").and_then(Value::as_array).into_iter().flatten() {
        let number = |key: &str| child.get(key).and_then(Value::as_u64);
        let (Some(pid), Some(requests)) = (number("pid"), number("requests")) else { continue };
        let rollup = root.text(&format!("proc/{pid}/smaps_rollup"));
        let Some(bytes) = rollup.and_then(|rollup| private(&rollup)) else { continue };
        let name = format!("fpm.{pool}.child.{pid}");
        counters.insert(format!("{name}.requests"), requests as f64);
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
        counters.insert(format!("fpm.{}.log.children_max_reached", pool.name), times as f64);
    }
}

/// Where Debian has them, in a folder whose old files a timer removes.
const SESSIONS: &str = "/var/lib/php/sessions";
const TIMERS: &[&str] = &[
    "lib/systemd/system/phpsessionclean.timer",
    "usr/lib/systemd/system/phpsessionclean.timer",
    "etc/cron.d/php",
];

fn sessions(root: &Root, machine: &mut Machine, counters: &mut Counters) {
    let path = machine.set("php.session.save_path").filter(|path| path.starts_with('/'));
    let path = path.unwrap_or(SESSIONS).to_owned();
    if let Some(names) = root.names(path.trim_start_matches('/')) {
        counters.insert("php.session_files".into(), names.len() as f64);
    }
    let is_cleaned = path == SESSIONS && TIMERS.iter().any(|timer| root.at(timer).exists());
    machine.settings.insert("php.session_timer".into(), u8::from(is_cleaned).to_string());
}

async fn run_script(pool: &Pool) -> Result<Vec<u8>, String> {
    let written = || {
        let mut file = tempfile::Builder::new().prefix("wick-doctor-").suffix(".php").tempfile()?;
        file.as_file().set_permissions(Permissions::from_mode(0o644))?;
        file.write_all(SCRIPT.as_bytes())?;
        Ok::<_, std::io::Error>(file)
    };
    let file = written().map_err(|error| format!("no script can be written ({error})"))?;
    ask(pool, &file.path().to_string_lossy(), "").await
}

/// Has a pool run a script, or show its status page; what it prints.
async fn ask(pool: &Pool, script: &str, query: &str) -> Result<Vec<u8>, String> {
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
    match timeout(PATIENCE, asked).await {
        Ok(answer) => answer,
        Err(_) => Err(format!("no answer within {:.1} s", Duration::as_secs_f64(&PATIENCE))),
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
    fn a_pool_that_two_files_tell_of_is_one() {
        let mut pools = Vec::new();
        read_pool(
            "8.2",
            "[global]\npid = x\n[www]\npm = dynamic\npm.max_children = 5\n",
            &mut pools,
        );
        read_pool("8.2", "[www]\npm.max_children = 9\n[b]\npm = static\n", &mut pools);
        assert_eq!(pools.len(), 2);
        assert_eq!((pools[0].children_max(), pools[1].children_max()), (Some(9), None));
        assert_eq!(pools[0].settings["pm"], "dynamic");
    }

    #[test]
    fn a_status_page_is_numbers() {
        let status = serde_json::json!({"listen queue": 3, "pool": "www", "processes": [
            {"request duration": 10, "last request memory": 7},
            {"request duration": 30, "last request memory": 9}]});
        let mut counters = Counters::new();
        status_page("www", &status, &mut counters);
        assert_eq!(counters["fpm.www.listen queue"], 3.0);
        assert_eq!(
            (counters["fpm.www.request_us"], counters["fpm.www.request_bytes"]),
            (30.0, 9.0)
        );
    }
}

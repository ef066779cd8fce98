//! munin's node protocol: a few graphs of the last look, asked for in lines of text.
//!
//! Law: the protocol's description in the Munin Guide ("Data exchange between master and node").
//! Invariants: 1. few connections, short lines, and time-outs. 2. whatever is asked, the answer
//! is known lines that end with a dot.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use super::now::Now;
use super::watch::Look;

const CONNECTIONS_MAX: usize = 4;
const LINE_BYTES_MAX: u64 = 256;
/// How long a client may take for a line.
const LINE_TIMEOUT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(200);
/// By what the node is known to munin's server.
const NODE: &str = "wick";

/// Serves what comes to `listener`, for as long as this is polled.
pub(crate) async fn serve(listener: TcpListener, looks: watch::Receiver<Arc<Look>>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Ok(place) = places.clone().try_acquire_owned() else { continue };
        let looks = looks.clone();
        tokio::spawn(async move {
            // How a connection ended is its client's business.
            let _ = converse(stream, &looks).await;
            drop(place);
        });
    }
}

async fn converse(stream: TcpStream, looks: &watch::Receiver<Arc<Look>>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    stream.write_all(format!("# munin node at {NODE}\n").as_bytes()).await?;
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = (&mut stream).take(LINE_BYTES_MAX);
        let read = limited.read_until(b'\n', &mut line);
        let Ok(length) = timeout(LINE_TIMEOUT, read).await else { return Ok(()) };
        if length? == 0 || line.last() != Some(&b'\n') {
            return Ok(());
        }
        let answer = answer(&String::from_utf8_lossy(&line), &looks.borrow().clone().now);
        let Some(answer) = answer else { return Ok(()) };
        match timeout(LINE_TIMEOUT, stream.write_all(answer.as_bytes())).await {
            Ok(written) => written?,
            Err(_) => return Ok(()),
        }
    }
}

/// One graph.
struct Graph {
    name: &'static str,
    /// What it is, in munin's words.
    head: &'static str,
    fields: fn(&Now) -> Vec<Field>,
}

/// One line of a graph.
struct Field {
    name: &'static str,
    label: &'static str,
    /// What munin makes of it besides.
    more: &'static str,
    value: Option<u64>,
}

fn field(name: &'static str, label: &'static str, value: Option<u64>) -> Field {
    Field { name, label, more: "", value }
}

fn rate(name: &'static str, label: &'static str, value: Option<u64>) -> Field {
    Field { name, label, more: "type DERIVE\nmin 0\n", value }
}

const GRAPHS: &[Graph] = &[
    Graph {
        name: "wick_requests",
        head: "graph_title Requests\ngraph_vlabel requests per ${graph_period}\n",
        fields: |now| {
            let fetches = now.counters.iter().find(|count| count.name == "fetches");
            vec![
                rate("answers", "answers", Some(now.answers)),
                rate("hits", "from memory", Some(now.hits)),
                rate("fetches", "asked of the origin", fetches.map(|count| count.number)),
            ]
        },
    },
    Graph {
        name: "wick_hits",
        head: "graph_title Answers from memory\ngraph_vlabel %\ngraph_args -l 0 -u 100\n\
               graph_info The share since the start.\n",
        fields: |now| {
            let percent = now.hits.saturating_mul(100).checked_div(now.answers);
            vec![field("ratio", "from memory", percent)]
        },
    },
    Graph {
        name: "wick_memory",
        head: "graph_title Memory\ngraph_vlabel bytes\ngraph_args --base 1024 -l 0\n",
        fields: |now| {
            vec![
                field("resident", "process", now.machine.process.resident_bytes),
                field("used", "cache", Some(now.cache.used_bytes)),
                field("limit", "most for the cache", Some(now.cache.limit_bytes)),
            ]
        },
    },
    Graph {
        name: "wick_connections",
        head: "graph_title Connections\ngraph_vlabel connections\ngraph_args -l 0\n",
        fields: |now| {
            vec![
                field("open", "open", Some(now.connections)),
                field("queue", "not accepted yet", now.machine.accept_queue),
            ]
        },
    },
    Graph {
        name: "wick_php",
        head: "graph_title PHP\ngraph_vlabel children\ngraph_args -l 0\n",
        fields: |now| {
            let pools = || now.sites.iter().filter_map(|site| site.php.as_ref()?.pool.as_ref());
            let has = pools().next().is_some();
            let sum = |of: fn(&observe::machine::php::Pool) -> u64| {
                has.then(|| pools().map(of).sum::<u64>())
            };
            vec![
                field("active", "busy", sum(|pool| pool.active)),
                field("total", "all", sum(|pool| pool.total)),
                field("queue", "requests that wait", {
                    has.then(|| now.sites.iter().filter_map(|site| site.waiting).sum())
                }),
            ]
        },
    },
];

/// The answer to a line; none if the client says that it is done.
fn answer(line: &str, now: &Now) -> Option<String> {
    let mut words = line.split_ascii_whitespace();
    let (command, argument) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let graph = GRAPHS.iter().find(|graph| graph.name == argument);
    Some(match command {
        "cap" => "cap\n".to_owned(),
        "nodes" => format!("{NODE}\n.\n"),
        "version" => format!("munins node on {NODE} version: {}\n", now.version),
        "list" => {
            let names: Vec<_> = GRAPHS.iter().map(|graph| graph.name).collect();
            format!("{}\n", names.join(" "))
        }
        "config" | "fetch" => match graph {
            None => "# Unknown service\n.\n".to_owned(),
            Some(graph) if command == "config" => config(graph, now),
            Some(graph) => fetch(graph, now),
        },
        "quit" | "." => return None,
        _ => "# Unknown command. Try cap, list, nodes, config, fetch, version or quit\n".to_owned(),
    })
}

fn config(graph: &Graph, now: &Now) -> String {
    let mut text = format!("{}graph_category wick\n", graph.head);
    for Field { name, label, more, .. } in (graph.fields)(now) {
        let _ = writeln!(text, "{name}.label {label}");
        for line in more.lines() {
            let _ = writeln!(text, "{name}.{line}");
        }
    }
    text + ".\n"
}

fn fetch(graph: &Graph, now: &Now) -> String {
    let mut text = String::new();
    for Field { name, value, .. } in (graph.fields)(now) {
        // U is munin's word for what is not known.
        let value = value.map_or_else(|| "U".to_owned(), |value| value.to_string());
        let _ = writeln!(text, "{name}.value {value}");
    }
    text + ".\n"
}

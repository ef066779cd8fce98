//! `wick bench`, as a person types it: our own words, blitz's and ab's.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::bench::blitz::Step;
use crate::bench::typed_ab::Ab;

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a person.
    Text,
    /// For a program; docs/bench.md names its fields.
    Json,
    /// As ab writes it.
    Ab,
}

/// `wick bench`.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
By default requests begin on a schedule, whatever the target does (open model), and a latency \
begins at the moment at which its request was intended. With -c or -n each connection asks again \
when it was answered (closed model), which hides how long a stall kept others waiting.

blitz's lines are taken as they are: -p 1-250:60 -T 4000 -r california URL. So are ab's: \
-n 10000 -c 200 -k URL, and the report is then ab's. A letter that both have means what it means \
with blitz if there is a pattern (--pattern, or a -p with one), and else what it means with ab. \
blitz's are -A (user agent), -b (cookie), -d (data), -e (referer), -H, -p, -r (region), -s \
(status), -T (milliseconds), -u (user:password), -v:NAME (variable), -X (method) and their long \
names; what stands before an address counts for it, and several addresses are steps that each \
visitor takes.

Ends with status 0 when something was measured, 1 when nothing could be, 2 for a wrong line, 3 \
when the run is void, 4 when --vs or --compare found the target slower, 130 after Ctrl-C, which \
gives the report so far.")]
pub(crate) struct Bench {
    /// What to load: http://HOST/PATH, https://HOST/PATH or unix:/SOCKET:/PATH. Several of the
    /// same host are asked for in turns.
    #[arg(value_name = "URL", required_unless_present = "region")]
    pub(crate) addresses: Vec<String>,
    /// What a line of blitz's asks for, where our own words can't say it.
    #[arg(skip)]
    pub(crate) steps: Vec<Step>,
    /// Requests begun in a second [default: 50].
    #[arg(long, value_name = "R", conflicts_with_all = ["pattern", "concurrency", "requests"])]
    pub(crate) rate: Option<f64>,
    /// How long, as in 30s [default: 10s].
    #[arg(long, value_name = "TIME", value_parser = super::read_duration, conflicts_with_all = ["pattern", "time_limit"])]
    pub(crate) duration: Option<Duration>,
    /// Rates over time: FROM-TO:SECONDS is a ramp, RATE:SECONDS a step; several with commas.
    #[arg(long, value_name = "PATTERN", conflicts_with_all = ["concurrency", "requests", "time_limit"])]
    pub(crate) pattern: Option<String>,
    /// Closed model: so many connections, each asking again when it was answered.
    #[arg(short = 'c', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) concurrency: Option<u32>,
    /// ab: so many requests in all.
    #[arg(short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,
    /// ab: at most so many seconds.
    #[arg(short = 't', value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) time_limit: Option<u64>,
    /// ab: keep connections; without -n and -t they are always kept.
    #[arg(short = 'k')]
    pub(crate) keep: bool,
    /// The version of HTTP; by 2 and 3, a hundred requests at one time share a connection.
    #[arg(long, value_name = "1|2|3", default_value_t = 1, hide_default_value = true, conflicts_with = "no_keep_alive", value_parser = clap::value_parser!(u8).range(1..=3))]
    pub(crate) http: u8,
    /// A connection for each request.
    #[arg(long, conflicts_with = "keep")]
    pub(crate) no_keep_alive: bool,
    /// A header field, as in "Name: value"; may be given several times.
    #[arg(short = 'H', long = "header", value_name = "FIELD")]
    pub(crate) fields: Vec<String>,
    /// A cookie, as in "name=value"; may be given several times.
    #[arg(short = 'C', long = "cookie", value_name = "COOKIE")]
    pub(crate) cookies: Vec<String>,
    /// A file that is sent as the body, with POST unless -m says otherwise.
    #[arg(short = 'p', long = "body", value_name = "FILE")]
    pub(crate) body: Option<PathBuf>,
    /// With --pattern blitz's timeout in milliseconds, with -p or -u ab's content type.
    #[arg(short = 'T', value_name = "MS|TYPE")]
    pub(crate) timeout_or_type: Option<String>,
    /// The method [default: GET, or POST with -p].
    #[arg(short = 'm', long = "method", value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// blitz's region, or ab's "go on after errors"; means nothing here.
    #[arg(short = 'r', value_name = "REGION", num_args = 0..=1, default_missing_value = "")]
    pub(crate) region: Option<String>,
    /// How long an answer may take, as in 4s [default: 30s].
    #[arg(long, value_name = "TIME", value_parser = super::read_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Open model: connections at one time, at most.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) connections: u32,
    /// Threads of the generator [default: half the cores, at most 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) threads: Option<u16>,
    /// A file of addresses of the same host, one in a line, each with a weight before it if it is
    /// not 1, as in "3 /news"; # begins a remark.
    #[arg(long, value_name = "FILE")]
    pub(crate) urls: Option<PathBuf>,
    /// A file of scenarios, in TOML: what a visitor does step by step; docs/bench.md tells how.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["urls", "body", "method", "fields", "cookies"])]
    pub(crate) scenario: Option<PathBuf>,
    /// An access log in the combined format, played again with its arrivals; or the state folder
    /// of a Wick, whose history is played with its arrivals, the paths that were asked for and
    /// its share of hits. GET and HEAD only.
    #[arg(long, value_name = "FILE|DIR", conflicts_with_all = ["urls", "scenario", "rate", "duration", "pattern", "concurrency", "requests", "time_limit", "body", "method"])]
    pub(crate) replay: Option<PathBuf>,
    /// How much of a history is played, a day at most.
    #[arg(
        long,
        value_name = "TIME",
        requires = "replay",
        default_value = "1h",
        hide_default_value = true,
        value_parser = super::read_duration
    )]
    pub(crate) since: Duration,
    /// How much faster than it was, as in 2x.
    #[arg(
        long,
        value_name = "SPEED",
        requires = "replay",
        default_value = "1x",
        hide_default_value = true
    )]
    pub(crate) speed: String,
    /// So many visitors, who take turns and keep the cookies that they are given.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub(crate) visitors: u32,
    /// Closed model: how long a visitor thinks between an answer and the next request.
    #[arg(long, value_name = "TIME", value_parser = super::read_duration)]
    pub(crate) think: Option<Duration>,
    /// Believe any certificate.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// You may load this host, which is not this machine; has to be the name in URL.
    #[arg(long, value_name = "HOST")]
    pub(crate) i_may_load: Vec<String>,
    /// At most so many requests a second [default: no cap on this machine, 1000 on others].
    #[arg(long, value_name = "R")]
    pub(crate) rate_cap: Option<f64>,
    /// How the report is written [default: text; ab with -n or -t].
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// Write the report as a page, with plots, to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write a log of histograms to this file, for the tools of HdrHistogram.
    #[arg(long, value_name = "FILE")]
    pub(crate) hdr: Option<PathBuf>,
    /// Load this too, in turns with URL, and tell whether it is slower or faster; --duration (2s)
    /// is then that of a round.
    #[arg(long, value_name = "OTHER", conflicts_with_all = ["requests", "time_limit", "replay", "hdr", "compare", "csv"])]
    pub(crate) vs: Option<String>,
    /// With --vs, how many rounds of both.
    #[arg(long, value_name = "N", requires = "vs", default_value_t = 10, hide_default_value = true, value_parser = clap::value_parser!(u16).range(4..=1_000))]
    pub(crate) rounds: u16,
    /// Keep the report in this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Compare with a report that was kept, and tell whether this is slower or faster.
    #[arg(long, value_name = "FILE")]
    pub(crate) compare: Option<PathBuf>,
    /// What only ab has.
    #[command(flatten)]
    pub(crate) ab: Ab,
}

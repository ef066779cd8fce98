//! What ab has on its command line besides what `wick bench` has itself.
//!
//! The manual of ab 2.3 is the measure. What a load keeps no figures for, or a client of ours
//! doesn't speak, is refused with a sentence ([`Ab::refused`]) rather than ignored.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;

/// ab's own options.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "ab's options")]
pub(crate) struct Ab {
    /// How many seconds an answer may take [default: 30].
    #[arg(short = 's', value_name = "SECONDS", conflicts_with = "timeout", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seconds: Option<u64>,
    /// Ask with HEAD.
    #[arg(short = 'i', conflicts_with_all = ["method", "body", "put"])]
    pub(crate) head: bool,
    /// A file that is sent as the body with PUT; -T is its content type.
    #[arg(short = 'u', value_name = "FILE", conflicts_with = "body")]
    pub(crate) put: Option<PathBuf>,
    /// Name and password for the site, as in ann:secret, sent with each request.
    #[arg(short = 'A', value_name = "USER:PASSWORD")]
    pub(crate) user: Option<String>,
    /// The same for a proxy on the way.
    #[arg(short = 'P', value_name = "USER:PASSWORD")]
    pub(crate) proxy_user: Option<String>,
    /// Answers may be of different lengths: in ab's report others count as failed.
    #[arg(short = 'l')]
    pub(crate) any_length: bool,
    /// Say nothing while it runs.
    #[arg(short = 'q')]
    pub(crate) quiet: bool,
    /// Leave the table of percentages out of ab's report.
    #[arg(short = 'd')]
    pub(crate) no_percentages: bool,
    /// Leave medians and deviations out of ab's report.
    #[arg(short = 'S')]
    pub(crate) no_deviations: bool,
    /// Write how long each percentage of the requests took to this file, in CSV.
    #[arg(short = 'e', value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    #[arg(short = 'v', value_name = "LEVEL", hide = true)]
    verbosity: Option<u8>,
    #[arg(short = 'g', value_name = "FILE", hide = true)]
    gnuplot: Option<PathBuf>,
    #[arg(short = 'X', value_name = "PROXY", hide = true)]
    proxy: Option<String>,
    #[arg(short = 'b', value_name = "BYTES", hide = true)]
    window: Option<String>,
    #[arg(short = 'B', value_name = "ADDRESS", hide = true)]
    from: Option<String>,
    #[arg(short = 'f', value_name = "PROTOCOL", hide = true)]
    tls: Option<String>,
    #[arg(short = 'Z', value_name = "SUITE", hide = true)]
    suite: Option<String>,
    #[arg(short = 'E', value_name = "FILE", hide = true)]
    certificate: Option<PathBuf>,
    #[arg(short = 'I', hide = true)]
    no_sni: bool,
    #[arg(short = 'w', hide = true)]
    tables: bool,
    #[arg(short = 'x', value_name = "ATTRIBUTES", hide = true)]
    table: Option<String>,
    #[arg(short = 'y', value_name = "ATTRIBUTES", hide = true)]
    row: Option<String>,
    #[arg(short = 'z', value_name = "ATTRIBUTES", hide = true)]
    cell: Option<String>,
}

impl Ab {
    /// Why a line can't be run as ab would run it.
    pub(crate) fn refused(&self) -> Option<&'static str> {
        let is_other_tls = |tls: &str| !["ALL", "TLS1.2", "TLS1.3"].contains(&tls);
        let has_tables =
            self.tables || self.table.is_some() || self.row.is_some() || self.cell.is_some();
        [
            (
                self.verbosity.is_some_and(|level| level > 1),
                "-v above 1 shows single answers, and a load keeps none of them",
            ),
            (
                self.gnuplot.is_some(),
                "-g wants the time of every single request, and memory would grow with them: --hdr FILE has their spread, second by second",
            ),
            (self.proxy.is_some(), "-X: a load goes to the target itself, never by a proxy"),
            (self.window.is_some(), "-b: the kernel chooses the buffers of connections"),
            (self.from.is_some(), "-B: the kernel chooses the address that requests come from"),
            (
                self.tls.as_deref().is_some_and(is_other_tls),
                "-f: TLS 1.2 and 1.3 are spoken, whichever the target prefers",
            ),
            (self.suite.is_some(), "-Z: the target chooses among the cipher suites of today"),
            (self.certificate.is_some(), "-E: certificates of clients aren't sent"),
            (self.no_sni, "-I: the name of the target is always sent with TLS"),
            (has_tables, "-w, -x, -y and -z are ab's tables of HTML: --html FILE writes a page"),
        ]
        .into_iter()
        .find_map(|(is_asked_for, why)| is_asked_for.then_some(why))
    }

    /// The fields that names and passwords are sent in.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (String, String)> {
        let basic = |name: &str, user: &Option<String>| {
            let user = user.as_ref()?;
            Some((name.to_owned(), format!("Basic {}", STANDARD.encode(user))))
        };
        let both =
            [basic("Authorization", &self.user), basic("Proxy-Authorization", &self.proxy_user)];
        both.into_iter().flatten()
    }
}

//! The command line, as a person types it.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use base::amount;
use clap::error::ErrorKind;
use clap::{ArgGroup, Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::audit::Audit;
use crate::bench::{Bench, translate};
use crate::queries::Queries;

/// Makes an ordinary dynamic site fast on one small machine.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// Reads a line, the program's name before it. blitz's lines have words of their own.
    pub(crate) fn read(
        words: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Result<Self, clap::Error> {
        let words = words.into_iter().map(Into::into).collect();
        let wrong = |why| Self::command().error(ErrorKind::ValueValidation, why);
        let translated = translate(words).map_err(wrong)?;
        let mut arguments = Self::try_parse_from(translated.words)?;
        if let Command::Bench(bench) = &mut arguments.command {
            bench.steps = translated.steps;
        }
        Ok(arguments)
    }
}

/// What Wick can be told to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a site: a folder with PHP or plain files in it, or an http:// origin.
    Serve(Serve),
    /// Show a PHP site before and behind Wick, with the numbers, then keep serving it.
    Demo(Demo),
    /// Try everything that serve would do with the same arguments, say what it means and what
    /// is wrong, and serve nothing. SITE may be a settings file.
    Check(Serve),
    /// Ask the running Wick what would become of a visitor's request, and why.
    Explain(Explain),
    /// Make pages of the running Wick unusable: by address, tag or host, or all of them.
    Purge(Purge),
    /// Overrule what the running Wick has learned about a site: at once, over restarts, and until
    /// it is taken back. Without a rule it shows what was overruled. wick.toml stays as it is,
    /// and counts where both speak.
    Overrule(Overrule),
    /// Show the last answers of the running Wick: what became of each, why, and where its time
    /// went.
    Log(Log),
    /// Watch the running Wick: requests, hits, the origin, routes, reasons and the slowest
    /// requests, once a second. Without a terminal it shows them once.
    Top(Top),
    /// Ask the running Wick about the other nodes of its cluster, or take one off that is gone.
    Cluster(Cluster),
    /// Ask the running Wick how the indexes stand that clients of Sphinx's search.
    Sphinx(Sphinx),
    /// Ask the tracker of the running Wick: how it stands, about a user or a torrent, and why
    /// somebody has the credit that they have.
    Tracker(Tracker),
    /// Look something up in a site's search as the running Wick has it, or ask how it stands.
    Search(SearchAsked),
    /// Put the dictionary of a language into the state folder, by which its words are found in
    /// all their forms.
    #[command(subcommand)]
    Dict(DictionaryCommand),
    /// Have the running Wick read its settings file again. No connection is closed, and what is
    /// stored stays.
    Reload(Reload),
    /// Have the binary that is on the disk now take the place of the running one: no request
    /// fails, and no connection is refused.
    Upgrade(Upgrade),
    /// Write what a shell needs to complete this command line to standard output.
    Completions(Completions),
    /// Write the manual page to standard output, or one for each command into a folder.
    Manual(Manual),
    /// Let a site's MariaDB or MySQL tell Wick of each change at once: shows what that takes,
    /// asks, does it, and says how to undo it. It serves nothing, and ends when it is done.
    Follow(Follow),
    /// Read the settings of nginx, Caddy, Varnish or Apache, write a wick.toml that does the same
    /// as far as Wick can, and say what was left, and why. Nothing else is changed.
    Import(Import),
    /// Load a site and tell how it bears it: on a schedule, or as ab and blitz do.
    Bench(Box<Bench>),
    /// Visit every page of a site, each once, and tell what is broken, slow, hard to use or kept
    /// from caches, and what is new since the last time. Ends with status 0 if there is nothing
    /// that --fail-on names, 1 if there is, 2 if a site could not be audited.
    Audit(Box<Audit>),
    /// Examine this machine: memory, PHP, databases, the kernel. Says what to change, the worst
    /// first, with evidence and the way back, and changes nothing unless told to. Ends with
    /// status 0 if there is nothing to do, 1 if there is, 2 if it could not look.
    Doctor(Doctor),
    /// Tell which queries a database's time goes to, by its slow log or by what the server itself
    /// counts, and what is new, gone or worse since the last time.
    Queries(Queries),
}

/// `wick serve`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Serve {
    /// A folder with a site in it, or an origin such as http://127.0.0.1:3000; may be left
    /// out when the settings file names sites.
    pub(crate) site: Option<String>,
    /// Address to listen on; may be given several times [default: 127.0.0.1:8080; with
    /// --domain port 80 of all addresses].
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Vec<SocketAddr>,
    /// A name that the site is found by from everywhere; may be given several times. Listens on
    /// ports 80 and 443 of all addresses, gets certificates from Let's Encrypt, whose terms you
    /// agree to, and sends visitors to HTTPS.
    #[arg(long, value_name = "NAME")]
    pub(crate) domain: Vec<String>,
    /// Address to listen on for HTTPS; may be given several times [default: none, or port 443 of
    /// all addresses with --domain].
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen_tls: Vec<SocketAddr>,
    /// The most memory that the cache may make the process use [default: 64M].
    #[arg(long, value_name = "SIZE", value_parser = read_bytes)]
    pub(crate) memory: Option<u64>,
    /// Keep stored pages on the disk as well, in at most so much of the state folder, so that they
    /// outlive a restart, and bodies too large for memory [default: they are kept in memory only].
    #[arg(long, value_name = "SIZE", value_parser = read_bytes)]
    pub(crate) disk: Option<u64>,
    /// A settings file; what is said on the command line wins over it.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where Wick keeps what it must not lose [default: /var/lib/wick for root, else the
    /// user's state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// A php-fpm that runs already, as unix:PATH or tcp:HOST:PORT, instead of our own.
    #[arg(long, value_name = "SOCKET")]
    pub(crate) php: Option<String>,
    /// Serving threads [default: one for each core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: Option<u16>,
    /// Write a line for each answer to this file, or to standard error for "-".
    #[arg(long, value_name = "FILE")]
    pub(crate) access_log: Option<PathBuf>,
    /// As whom to serve when root starts it [default: wick, or www-data where there is no such
    /// user].
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Be the process that stays root.
    #[arg(long, hide = true)]
    pub(crate) keep_for: Option<String>,
    /// Take the place of the Wick that runs with the same state folder, as "wick upgrade" does.
    #[arg(long)]
    pub(crate) take_over: bool,
}

/// `wick demo`.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// The folder of a PHP site to show, instead of an app.
    #[arg(conflicts_with = "app")]
    pub(crate) site: Option<PathBuf>,
    /// The app to show; all but the board are copied from Debian's packages into a temporary
    /// folder that goes when the demo ends [default: board].
    #[arg(long, value_enum)]
    pub(crate) app: Option<DemoApp>,
    /// Address to listen on; a port that is taken gives way to the next free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// Seconds that each of the two measurements takes.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub(crate) seconds: u64,
    /// Stop after the measurement instead of serving on.
    #[arg(long)]
    pub(crate) once: bool,
}

/// `wick explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The whole address, as in http://example.org/page.
    #[arg(value_parser = read_url)]
    pub(crate) url: String,
    /// A cookie that the visitor has, as in "name=value"; may be given several times.
    #[arg(long, value_name = "COOKIE")]
    pub(crate) cookie: Vec<String>,
    /// What the visitor's browser calls itself.
    #[arg(long, value_name = "UA")]
    pub(crate) user_agent: Option<String>,
    /// The state folder of the running Wick [default: /var/lib/wick for root, else the user's
    /// state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
}

/// `wick purge`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).multiple(true))]
pub(crate) struct Purge {
    /// The whole address of a page, as in http://example.org/page; may be given several times.
    #[arg(value_parser = read_url, group = "what", value_name = "URL")]
    pub(crate) urls: Vec<String>,
    /// A tag: every page goes that the app has given it; may be given several times.
    #[arg(long, value_name = "TAG", group = "what")]
    pub(crate) tag: Vec<String>,
    /// A host: all its pages go; may be given several times.
    #[arg(long, value_name = "HOST", group = "what")]
    pub(crate) host: Vec<String>,
    /// Everything, on all sites.
    #[arg(long, group = "what")]
    pub(crate) all: bool,
    /// Pages are stale instead, and may be served once more while newer ones are made.
    #[arg(long)]
    pub(crate) soft: bool,
    /// The state folder of the running Wick [default: /var/lib/wick for root, else the user's
    /// state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
}

/// `wick overrule`.
#[derive(Debug, Args)]
pub(crate) struct Overrule {
    /// What is ruled; all but the last one say what the setting of that name says.
    #[arg(requires = "subject", value_name = "RULE")]
    pub(crate) rule: Option<Ruled>,
    /// About what: a cookie's name, a class of addresses as "wick explain" shows it, or a kind of
    /// change such as "posts(views)".
    #[arg(value_name = "SUBJECT")]
    pub(crate) subject: Option<String>,
    /// The site's name, as "wick explain" shows it; may be left out where there is only one.
    #[arg(long, value_name = "NAME")]
    pub(crate) site: Option<String>,
    /// Take such a ruling back.
    #[arg(long)]
    pub(crate) take_back: bool,
    /// The state folder of the running Wick [default: /var/lib/wick for root, else the user's
    /// state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
}

/// What may be ruled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Ruled {
    /// A cookie is the app's: its bearers pass.
    AppCookies,
    /// A cookie identifies nobody: no server reads it.
    ForeignCookies,
    /// A class of addresses is never shared among strangers.
    NeverShare,
    /// A kind of change changes no page.
    ChangesIgnored,
    /// A kind of change does.
    ChangesHeeded,
    /// Forget why a class is not shared at the moment: it is tried again.
    Forget,
}

/// `wick log`.
#[derive(Debug, Args)]
pub(crate) struct Log {
    /// Only answers with this verdict or reason, as in "pass", "cookie", "pass(cookie)" or
    /// "no-store".
    #[arg(long, value_name = "WHY")]
    pub(crate) why: Option<String>,
    /// Only those of a route, as in "/thread/{id}", or of paths that begin so, as in "/thread/*".
    #[arg(long, value_name = "ROUTE")]
    pub(crate) route: Option<String>,
    /// Only those with this status, or of this class, as in "5xx".
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// Those of so long ago until now, as in "1h", from the disk: also from before a restart, and
    /// where no Wick runs. Of hits only some are kept.
    #[arg(long, value_name = "TIME", value_parser = read_duration, conflicts_with = "follow")]
    pub(crate) since: Option<Duration>,
    /// Go on with those to come, until Ctrl-C.
    #[arg(long)]
    pub(crate) follow: bool,
    /// How many of the last to show [default: 40; all with --since].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) lines: Option<u16>,
    /// The state folder of the running Wick [default: /var/lib/wick for root, else the user's
    /// state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
}

/// `wick top`.
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// Show everything once, as plain text.
    #[arg(long)]
    pub(crate) once: bool,
    /// The state folder of the running Wick [default: /var/lib/wick for root, else the user's
    /// state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
}

/// `wick cluster`.
#[derive(Debug, Args)]
pub(crate) struct Cluster {
    /// What to ask.
    #[command(subcommand)]
    pub(crate) command: ClusterCommand,
    /// The state folder of the running Wick [default: /var/lib/wick for root, else the user's
    /// state folder].
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) state: Option<PathBuf>,
}

/// What `wick cluster` can be asked.
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Whether this node has heard all that was told, and how the others stand.
    Status {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Take nodes off that are gone for good and never said goodbye. The others wait for them
    /// until then: what is older than the lag limit is asked for again.
    Forget {
        /// Their names.
        #[arg(required = true, value_name = "NODE")]
        nodes: Vec<String>,
    },
    /// Have nothing new come to this node, before it is stopped: other nodes ask it for no pages
    /// any more, and /healthz of its admin listener says 503, so that what shares out visitors
    /// sends it no more. What comes all the same is served.
    Drain,
    /// Take that back.
    Join,
}

/// `wick sphinx`.
#[derive(Debug, Args)]
pub(crate) struct Sphinx {
    /// What to ask.
    #[command(subcommand)]
    pub(crate) command: SphinxCommand,
    /// The state folder of the running Wick [default: /var/lib/wick for root, else the user's
    /// state folder].
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) state: Option<PathBuf>,
}

/// What `wick sphinx` can be asked.
#[derive(Debug, Subcommand)]
pub(crate) enum SphinxCommand {
    /// Each index: its documents, when it was made and will be, and what is wrong.
    Status,
}

/// `wick tracker`.
#[derive(Debug, Args)]
pub(crate) struct Tracker {
    /// What to ask.
    #[command(subcommand)]
    pub(crate) command: TrackerCommand,
    /// The state folder of the running Wick [default: /var/lib/wick for root, else the user's
    /// state folder].
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) state: Option<PathBuf>,
}

/// What `wick tracker` can be asked.
#[derive(Debug, Subcommand)]
pub(crate) enum TrackerCommand {
    /// Peers, torrents, announces, refusals, and how far the database is.
    Status,
    /// Put the torrents of a list into the tracker's own tables.
    Import(TrackerImport),
    /// A user's sessions.
    User {
        /// The user's number in the site's database.
        id: u32,
    },
    /// A torrent's swarm.
    Torrent {
        /// Its info hash: 40 hexadecimal digits.
        hash: String,
    },
    /// Users and torrents whose figures honest clients don't tell, the worst first.
    Suspects,
    /// Why a user has the credit that they have of a torrent: the last entries of the ledger.
    Explain {
        /// The user's number in the site's database.
        user: u32,
        /// The torrent's number there.
        torrent: u32,
    },
}

/// `wick tracker import`.
#[derive(Debug, Args)]
pub(crate) struct TrackerImport {
    /// A file of info hashes, 40 hexadecimal digits in a line; # begins a remark.
    #[arg(value_name = "LIST")]
    pub(crate) list: PathBuf,
    /// The settings file of the tracker; without it the torrents go into the file in the state
    /// folder.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// `wick search`.
#[derive(Debug, Args)]
pub(crate) struct SearchAsked {
    /// What to look for; or `status`, for what is in each site's index and what was done for it,
    /// or `queries`, for what visitors look for most and what nothing fitted (`'"status"'` looks
    /// for that word).
    #[arg(required = true)]
    pub(crate) query: Vec<String>,
    /// Of several sites that are searched, the one with this in its name.
    #[arg(long, value_name = "NAME")]
    pub(crate) site: Option<String>,
    /// Show it as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// The state folder of the running Wick [default: /var/lib/wick for root, else the user's
    /// state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
}

/// `wick dict`.
#[derive(Debug, Subcommand)]
pub(crate) enum DictionaryCommand {
    /// Fetch a dictionary, check it by its sum, and unpack it: of ko 34 MB that become 110 MB, of
    /// ja 13 MB that become 53 MB, of zh 19 MB that become 5 MB.
    Add(DictionaryAdd),
}

/// `wick dict add`.
#[derive(Debug, Args)]
pub(crate) struct DictionaryAdd {
    /// The language: `ko`, `ja` or `zh`. Others need no dictionary.
    #[arg(value_name = "LANGUAGE")]
    pub(crate) language: String,
    /// The package as a file, where this machine may not fetch it.
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// An index of Python packages that has it [default: https://pypi.org/simple/].
    #[arg(long, value_name = "URL", conflicts_with = "from")]
    pub(crate) index: Option<String>,
    /// The state folder of the running Wick [default: /var/lib/wick for root, else the user's
    /// state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
}

/// `wick reload`.
#[derive(Debug, Args)]
pub(crate) struct Reload {
    /// The state folder of the running Wick [default: /var/lib/wick for root, else the user's
    /// state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
}

/// `wick upgrade`.
#[derive(Debug, Args)]
pub(crate) struct Upgrade {
    /// The state folder of the running Wick [default: /var/lib/wick for root, else the user's
    /// state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
}

/// `wick completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Which shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// `wick manual`.
#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// A folder that is there, for wick.1 and a page for each command.
    pub(crate) folder: Option<PathBuf>,
}

/// `wick follow`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Follow {
    /// The folder of the site, or one of its host names if there is a settings file; may be left
    /// out when that names one site only.
    pub(crate) site: Option<String>,
    /// The settings file that "wick serve" is given.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The state folder that "wick serve" is given [default: /var/lib/wick for root, else the
    /// user's state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Do it without asking.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Take back what was done: the user, its login and the settings file.
    #[arg(long)]
    pub(crate) undo: bool,
    /// The name of the database's user that is made for Wick.
    #[arg(long, value_name = "NAME", default_value = "wick", value_parser = read_user)]
    pub(crate) user: String,
    /// The Unix socket at which the database's root logs in [default: the one that the database
    /// names].
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// The folder whose *.cnf files the database reads [default: that of Debian's or Red Hat's
    /// package].
    #[arg(long, value_name = "DIR")]
    pub(crate) settings_folder: Option<PathBuf>,
    /// What restarts the database, as a shell takes it [default: systemctl or service, with the
    /// name that the package gives it].
    #[arg(long, value_name = "COMMAND")]
    pub(crate) restart_command: Option<String>,
    /// Seconds that the database may take for a restart.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    pub(crate) wait: u64,
}

/// `wick import`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Import {
    /// nginx.conf or one of its servers, a Caddyfile, a .vcl or a .htaccess; several are put
    /// together. What they include is read too.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Write the settings to this file, which may not be there yet [default: standard output].
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// End with status 1 if anything was left that you have to see to.
    #[arg(long)]
    pub(crate) strict: bool,
    /// What the files are, if their names don't tell.
    #[arg(long = "as", value_enum, value_name = "KIND")]
    pub(crate) language: Option<ImportLanguage>,
}

/// `wick doctor`.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("change"))]
pub(crate) struct Doctor {
    /// How long to watch what counts; choose busy minutes.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = read_duration)]
    pub(crate) window: Duration,
    /// Also tell what is fine, and what could not be judged, with the reasons.
    #[arg(long)]
    pub(crate) all: bool,
    /// How to tell it.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: DoctorFormat,
    /// Where MariaDB or MySQL is, as mysql://USER:PASSWORD@HOST/ or
    /// mysql://USER@localhost/?socket=PATH [default: $WICK_DOCTOR_MYSQL, or the socket of the
    /// one that runs here, as root].
    #[arg(long, value_name = "URL")]
    pub(crate) mysql: Option<String>,
    /// Where PostgreSQL is, as postgres://USER:PASSWORD@HOST/DATABASE [default:
    /// $WICK_DOCTOR_POSTGRES, or it isn't asked].
    #[arg(long, value_name = "URL")]
    pub(crate) postgres: Option<String>,
    /// Where this machine's backups lie: the newest file below it is to be younger than a week.
    #[arg(long, value_name = "DIR")]
    pub(crate) backups: Option<PathBuf>,
    /// Do what this number of the list says: shows the exact difference, asks, writes files of
    /// our own, watches, and takes it back by itself if anything gets worse.
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["rollback", "format"])]
    #[arg(group = "change")]
    pub(crate) apply: Option<usize>,
    /// Measure a page with and without this, in turns, and keep what is better: it has to gain 3 %
    /// or more. php-fpm is reloaded each time.
    #[arg(long = "try", value_enum, value_name = "WHAT", requires = "url")]
    #[arg(group = "change", conflicts_with_all = ["rollback", "format"])]
    pub(crate) trial: Option<TrialOf>,
    /// The page to measure: one of this machine, that PHP answers each time.
    #[arg(long, value_name = "URL", requires = "trial")]
    pub(crate) url: Option<String>,
    /// How often each of the two is measured.
    #[arg(long, value_name = "NUMBER", default_value = "10", requires = "trial")]
    #[arg(value_parser = clap::value_parser!(u32).range(4..=1000))]
    pub(crate) rounds: u32,
    /// How long the page is loaded each time, after as long to warm up.
    #[arg(long, value_name = "TIME", default_value = "3s", requires = "trial")]
    #[arg(value_parser = read_duration)]
    pub(crate) time: Duration,
    /// Do it without asking.
    #[arg(long, requires = "change")]
    pub(crate) yes: bool,
    /// How long to watch after a change.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = read_duration)]
    pub(crate) watch: Duration,
    /// Take back what was applied last.
    #[arg(long)]
    pub(crate) rollback: bool,
    /// Where what was before is kept [default: /var/lib/wick for root, else the user's state
    /// folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// A recorded machine to examine instead of this one.
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) root: Option<PathBuf>,
}

/// What the doctor can try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrialOf {
    /// PHP's compiler to machine code, in the opcode cache.
    Jit,
}

/// How the doctor tells what it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorFormat {
    /// For people.
    Text,
    /// For programs: an object with findings, fine, unseen, hidden and budget.
    Json,
}

/// Whose settings can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportLanguage {
    /// nginx.
    Nginx,
    /// Caddy.
    Caddy,
    /// Varnish.
    Vcl,
    /// Apache's .htaccess.
    Htaccess,
}

impl From<ImportLanguage> for import::Language {
    fn from(language: ImportLanguage) -> Self {
        match language {
            ImportLanguage::Nginx => Self::Nginx,
            ImportLanguage::Caddy => Self::Caddy,
            ImportLanguage::Vcl => Self::Vcl,
            ImportLanguage::Htaccess => Self::Htaccess,
        }
    }
}

/// Names that need no quoting anywhere, and that old servers take.
fn read_user(text: &str) -> Result<String, &'static str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    match (1..=32).contains(&text.len()) && text.bytes().all(is_plain) && text != "root" {
        true => Ok(text.to_owned()),
        false => Err("write at most 32 letters, digits and _; root is taken"),
    }
}

fn read_url(text: &str) -> Result<String, &'static str> {
    match text.starts_with("http://") || text.starts_with("https://") {
        true => Ok(text.to_owned()),
        false => Err("write the whole address, as in http://example.org/page"),
    }
}

/// What the demo can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DemoApp {
    /// The small board of this repository.
    Board,
    /// DokuWiki.
    Dokuwiki,
    /// WordPress, with a MariaDB of its own.
    Wordpress,
}

fn read_duration(text: &str) -> Result<Duration, String> {
    base::amount::parse_duration(text).map_err(|error| error.to_string())
}

fn read_bytes(text: &str) -> Result<u64, amount::AmountError> {
    amount::parse_bytes(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_serve_line_is_read() {
        let line = "wick serve /srv/site --listen 127.0.0.1:1 --memory 128M --threads 2";
        let arguments = Arguments::try_parse_from(line.split(' ')).expect("a right line");
        let Command::Serve(serve) = arguments.command else { panic!("serve was asked for") };
        assert_eq!(serve.memory, Some(128 << 20));
        assert_eq!(serve.listen.len(), 1);
        let wrong = Arguments::try_parse_from(["wick", "serve", "x", "--memory", "much"]);
        assert!(wrong.expect_err("no size").to_string().contains("write a number with K, M or G"));
    }
}

//! A php-fpm of our own: found, configured, started, kept alive and stopped.
//!
//! It runs in the foreground in a process group of its own, with a configuration in
//! a private folder, and listens on a socket that only Wick's user may open.
//! Invariants: 1. It is started again after a crash, with growing pauses. 2. None
//! outlives the [`Fpm`]; what a killed Wick left behind is ended at the next start.
//! Start at [`Fpm::start`].

mod configuration;
mod inquiry;
mod left_over;
mod program;
mod supervisor;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base::{Counter, Shutdown};
use tokio::task::JoinHandle;

use crate::{Counters, Dial, Log, LogSink};
use inquiry::{OpcacheScript, STATUS_PATH};

/// What php-fpm shall be like.
#[derive(Clone)]
pub struct FpmOptions {
    /// The site's folder: its owner runs the scripts when Wick runs as root.
    pub site: PathBuf,
    /// A folder for socket, configuration and process id; made if it is missing.
    pub run_folder: PathBuf,
    /// Children; none: as many as fit the memory that is free.
    pub children: Option<usize>,
    /// The program; none: the newest that is installed.
    pub program: Option<PathBuf>,
    /// Variables that scripts find in their environment.
    pub environment: Vec<(String, String)>,
    /// The socket that an app finds its MariaDB or MySQL at where it says `localhost` and names
    /// none; none: the one of php.ini.
    pub database_socket: Option<PathBuf>,
    /// The user and group that alone may open its socket, by number; none: those of this process.
    pub visitor: Option<(u32, u32)>,
    /// After how long it is noted where a request is, in whole seconds; none: never.
    pub slow_after: Option<Duration>,
    /// Where its messages go.
    pub log: LogSink,
}

impl FpmOptions {
    /// For the site in `site`, with what is needed at run time in `run_folder`.
    #[must_use]
    pub fn new(site: impl Into<PathBuf>, run_folder: impl Into<PathBuf>) -> Self {
        Self {
            site: site.into(),
            run_folder: run_folder.into(),
            children: None,
            program: None,
            environment: Vec::new(),
            database_socket: None,
            visitor: None,
            slow_after: None,
            log: Log::standard_error(),
        }
    }
}

/// Why there is no php-fpm; each message holds the cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FpmError {
    /// None is installed.
    #[error(
        "php-fpm is not installed: install it (apt-get install php-fpm), \
         or name a running one with --php unix:PATH"
    )]
    Missing,
    /// The run folder can't be used.
    #[error("{path} can't be used for php-fpm's socket ({reason}): choose another with --state")]
    RunFolder {
        /// Where it is.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A variable's name or value can't stand in php-fpm's configuration.
    #[error("the variable {0:?} can't be given to PHP: no quotes, line breaks or dollar signs")]
    Variable(String),
    /// It ended, or did not listen in time.
    #[error("{program} did not start: {reason}")]
    Start {
        /// Which program.
        program: PathBuf,
        /// What it said last.
        reason: String,
    },
}

/// A running php-fpm. Dropping it ends the processes at once; [`Fpm::stop`] lets
/// requests finish.
pub struct Fpm {
    socket: PathBuf,
    program: PathBuf,
    user: Option<String>,
    children: usize,
    restarts: Arc<Counter>,
    process: Arc<supervisor::Group>,
    /// None where it can't be written: less is known then.
    opcache_script: Option<OpcacheScript>,
    slow_log: Option<PathBuf>,
    stop: Shutdown,
    task: Option<JoinHandle<()>>,
}

impl Fpm {
    /// Finds php-fpm, starts it and waits until it listens.
    ///
    /// # Errors
    /// See [`FpmError`]; nothing is left running.
    pub async fn start(options: FpmOptions) -> Result<Self, FpmError> {
        let program = match &options.program {
            Some(program) => program.clone(),
            None => program::find().ok_or(FpmError::Missing)?,
        };
        let run_folder =
            configuration::prepare_folder(&options.run_folder, options.visitor.is_some())?;
        left_over::end(&run_folder).await;
        let facts = program::facts(&program).await;
        let children = options.children.unwrap_or_else(configuration::fitting_children).max(1);
        let user = configuration::worker_user(&options.site);
        let plan = configuration::Plan {
            program: program.clone(),
            run_folder,
            user: user.clone(),
            children,
            environment: options.environment,
            database_socket: options.database_socket,
            visitor: options.visitor,
            slow_after: options.slow_after,
            facts,
        };
        plan.write()?;
        let opcache_script = plan
            .facts
            .has_opcache()
            .then(|| OpcacheScript::write(&plan.run_folder, plan.user.as_deref()).ok());
        let log = Log::new(options.log, Arc::new(Counters::default()));
        let restarts = Arc::new(Counter::default());
        let process = Arc::new(supervisor::Group::default());
        let (socket, slow_log) = (plan.socket(), plan.slow_log());
        let mut supervisor = supervisor::Supervisor {
            plan,
            log,
            restarts: restarts.clone(),
            process: process.clone(),
        };
        let child = supervisor.launch().await?;
        let stop = Shutdown::default();
        let task = tokio::spawn(supervisor.keep_alive(child, stop.clone()));
        Ok(Self {
            socket,
            program,
            user,
            children,
            restarts,
            process,
            opcache_script: opcache_script.flatten(),
            slow_log,
            stop,
            task: Some(task),
        })
    }

    /// How to reach it.
    #[must_use]
    pub fn dial(&self) -> Dial {
        Dial::Unix(self.socket.clone())
    }

    /// Where it listens.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Children: the most connections that make sense.
    #[must_use]
    pub fn children(&self) -> usize {
        self.children
    }

    /// Where its status page is asked for ([`crate::PhpOrigin::inquire`]).
    #[must_use]
    pub fn status_path(&self) -> &'static Path {
        Path::new(STATUS_PATH)
    }

    /// The script that tells of its opcode cache, if it has one.
    #[must_use]
    pub fn opcache_script(&self) -> Option<&Path> {
        self.opcache_script.as_ref().map(OpcacheScript::path)
    }

    /// Where it is noted what slow requests do, if it is.
    #[must_use]
    pub fn slow_log(&self) -> Option<&Path> {
        self.slow_log.as_deref()
    }

    /// The program that runs.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The user whom scripts run as, if it is not Wick's own.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// How often it was started again after a crash.
    #[must_use]
    pub fn restarts(&self) -> u64 {
        self.restarts.read()
    }

    /// The same, for who goes on looking at it.
    #[must_use]
    pub fn restarts_counter(&self) -> Arc<Counter> {
        self.restarts.clone()
    }

    /// The master's process id; none while it is being started again.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Lets running requests finish, for a few seconds, and ends php-fpm. Retire the
    /// origin first ([`crate::Origin::retire`]): it waits for kept connections as well.
    pub async fn stop(mut self) {
        self.stop.begin();
        if let Some(task) = self.task.take() {
            // The supervisor bounds its own farewell; this is for a runtime in trouble.
            let _ = tokio::time::timeout(Duration::from_secs(20), task).await;
        }
    }
}

impl Drop for Fpm {
    fn drop(&mut self) {
        self.stop.begin();
        if let Some(task) = &self.task {
            task.abort();
        }
        self.process.kill();
    }
}

#[cfg(test)]
mod tests;

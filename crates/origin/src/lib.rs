//! Talking to PHP, to files and to other servers.
//!
//! An [`Origin`] takes a [`Call`] and gives an [`Answer`] or an [`OriginError`].
//! It decides nothing about caching and nothing about visitors: the caller has
//! cleaned the request's fields and reads the answer's.
//! Start at [`Origin::send`].

mod answer;
mod call;
mod counters;
mod dial;
mod error;
mod files;
mod fpm;
mod ground;
mod htaccess;
mod http_origin;
mod log;
mod path;
mod php;
mod pool;
mod script;
mod slots;
mod stamp;
mod stopwatch;
mod timeouts;
mod turns;

pub use answer::Answer;
pub use call::{Call, EarlySink};
pub use counters::Counters;
pub use dial::{Dial, MemoryDial};
pub use error::{Fault, OriginError, Refusal};
pub use files::{FileAt, FilesOrigin, OpenFile};
pub use fpm::{Fpm, FpmError, FpmOptions};
pub use http_origin::{
    AddressError, HealthCheck, HttpOptions, HttpOrigin, HttpServer, ServersError, TlsError,
    TlsSettings, Tunnel, Upgrading,
};
pub use log::{Log, LogSink};
pub use php::{PhpAddressError, PhpOptions, PhpOrigin, SendFolders, Spool};
pub use slots::{Load, SlotLimits};
pub use stamp::Stamp;
pub use timeouts::Timeouts;

/// Where a site's answers come from.
pub enum Origin {
    /// Another HTTP server, or several.
    Http(HttpOrigin),
    /// A folder with PHP in it; its static files come from here as well.
    Php(PhpOrigin),
    /// A folder without PHP.
    Files(FilesOrigin),
}

impl Origin {
    /// Sends one request and waits for the head of its answer.
    ///
    /// Dropping the future gives the request up; the origin sees its connection close.
    ///
    /// # Errors
    /// Whatever kept an answer from coming; see [`OriginError::status`].
    pub async fn send(&self, call: Call) -> Result<Answer, OriginError> {
        self.send_after(std::future::ready(Ok(())), call).await
    }

    /// The same, with something to be done before any program runs for it; what is only read
    /// from a file doesn't wait for that. An error of it is the answer.
    ///
    /// # Errors
    /// As [`Origin::send`], and what `before` says.
    pub async fn send_after(
        &self,
        before: impl Future<Output = Result<(), OriginError>> + Send,
        call: Call,
    ) -> Result<Answer, OriginError> {
        match self {
            Self::Http(origin) => {
                before.await?;
                origin.send(call).await
            }
            Self::Php(origin) => origin.send_after(before, call).await,
            Self::Files(origin) => origin.send(&call),
        }
    }

    /// Whether some of its answers are files of a folder here.
    #[must_use]
    pub fn has_files(&self) -> bool {
        !matches!(self, Self::Http(_))
    }

    /// The file that a path stands for, given as sent, without its query; none where something
    /// else would answer, or nothing.
    #[must_use]
    pub fn file_at(&self, path: &str) -> Option<FileAt> {
        match self {
            Self::Http(_) => None,
            Self::Php(origin) => origin.file_at(path),
            Self::Files(origin) => origin.file_at(path),
        }
    }

    /// Whether connections may go on in another protocol.
    #[must_use]
    pub fn switches(&self) -> bool {
        matches!(self, Self::Http(_))
    }

    /// Sends a request to go on in another protocol; whether that is one that was asked for
    /// is for the caller to see.
    ///
    /// # Errors
    /// As [`Origin::send`]; also where [`Origin::switches`] says no.
    pub async fn upgrade(&self, call: Call) -> Result<Upgrading, OriginError> {
        match self {
            Self::Http(origin) => origin.upgrade(call).await,
            Self::Php(_) | Self::Files(_) => Err(OriginError::Upgrade),
        }
    }

    /// Whether interim answers may come before the answer: PHP has no way to send any.
    #[must_use]
    pub fn sends_hints(&self) -> bool {
        matches!(self, Self::Http(_))
    }

    /// How each of an origin's servers stands, where there are several.
    #[must_use]
    pub fn standing(&self) -> Vec<String> {
        match self {
            Self::Http(origin) => origin.standing(),
            Self::Php(_) | Self::Files(_) => Vec::new(),
        }
    }

    /// Watches over the origin's health for as long as this is polled; ends at once where
    /// there is nothing to watch over.
    pub async fn watch(&self) {
        if let Self::Http(origin) = self {
            origin.watch().await;
        }
    }

    /// Closes unused connections and keeps none from now on, for a stop in good order:
    /// a php-fpm that is asked to finish waits for those who hold its children.
    pub fn retire(&self) {
        match self {
            Self::Http(origin) => origin.retire(),
            Self::Php(origin) => origin.retire(),
            Self::Files(_) => {}
        }
    }

    /// How busy it is; none for files, which nobody waits for.
    #[must_use]
    pub fn load(&self) -> Option<Load> {
        match self {
            Self::Http(origin) => Some(origin.load()),
            Self::Php(origin) => Some(origin.load()),
            Self::Files(_) => None,
        }
    }

    /// What has happened so far, for the dashboard.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        match self {
            Self::Http(origin) => origin.counters(),
            Self::Php(origin) => origin.counters(),
            Self::Files(origin) => origin.counters(),
        }
    }
}

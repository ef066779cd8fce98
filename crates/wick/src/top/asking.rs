//! The thread that asks the running Wick once a second, and goes on trying when it is gone.
//!
//! Bound: one answer waits to be seen; while it does, nothing more is asked.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError};
use std::time::Duration;

use crate::control::{ControlError, ask_observed};
use crate::observing::asking::Question;
use crate::observing::overview::Overview;

const INTERVAL: Duration = Duration::from_secs(1);

/// What came since the last look.
pub(super) enum Told {
    Nothing,
    Overview(Box<Overview>),
    /// Why there is no answer.
    Trouble(String),
    /// The thread has panicked, which has put the terminal back.
    Never,
}

/// Asks for as long as this is there; the thread notices the end with its next answer.
pub(super) struct Asking(Receiver<Result<Overview, ControlError>>);

impl Asking {
    pub(super) fn begin(state: PathBuf) -> io::Result<Self> {
        let (tell, told) = mpsc::sync_channel(1);
        std::thread::Builder::new().name("asking".into()).spawn(move || ask_on(&state, &tell))?;
        Ok(Self(told))
    }

    pub(super) fn told(&self) -> Told {
        match self.0.try_recv() {
            Ok(Ok(overview)) => Told::Overview(Box::new(overview)),
            Ok(Err(ControlError::NotRunning(_))) => {
                Told::Trouble("no Wick is running: it is tried again each second".to_owned())
            }
            Ok(Err(error)) => Told::Trouble(crate::control::printable(&error.to_string())),
            Err(TryRecvError::Empty) => Told::Nothing,
            Err(TryRecvError::Disconnected) => Told::Never,
        }
    }
}

fn ask_on(state: &std::path::Path, tell: &SyncSender<Result<Overview, ControlError>>) {
    loop {
        std::thread::sleep(INTERVAL);
        if tell.send(ask_observed(state, &Question::Overview {})).is_err() {
            return;
        }
    }
}

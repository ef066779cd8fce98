//! The terminal while it is drawn on; as it was before when this is dropped, or on a panic.

use std::io::{self, Stdout, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::prelude::CrosstermBackend;
use ratatui::{Frame, Terminal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Whether there is anything to be put back. Leaving the other screen twice would move the
/// cursor above what a panic wrote.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// The other screen of the terminal, where keys come at once and are not shown.
pub(super) struct Screen(Terminal<CrosstermBackend<Stdout>>);

impl Screen {
    pub(super) fn open() -> io::Result<Self> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
        enable_raw_mode()?;
        IS_OPEN.store(true, Ordering::SeqCst);
        let opened = execute!(stdout(), EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        opened.map(Self).inspect_err(|_| restore())
    }

    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.0.draw(draw).map(|_| ())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Whether there is an event to be read; waits for it at most so long.
///
/// crossterm reads a terminal that was closed over and over again and never returns, so it is
/// asked only where there is one.
pub(super) fn has_event(patience: Duration) -> io::Result<bool> {
    expect_terminal(Duration::ZERO)?;
    if event::poll(Duration::ZERO)? {
        return Ok(true);
    }
    expect_terminal(patience)?;
    event::poll(Duration::ZERO)
}

/// Waits until there is something to be read; fails if the terminal was closed.
fn expect_terminal(patience: Duration) -> io::Result<()> {
    let input = io::stdin();
    let mut polled = [PollFd::new(&input, PollFlags::IN)];
    let patience = Timespec { tv_sec: 0, tv_nsec: i64::from(patience.subsec_nanos()) };
    match poll(&mut polled, Some(&patience)) {
        // A signal, as one that tells of another size.
        Err(Errno::INTR) => return Ok(()),
        polled => polled?,
    };
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    match polled[0].revents().intersects(gone) {
        true => Err(io::Error::other("it was closed")),
        false => Ok(()),
    }
}

/// A terminal that is gone has nothing to be put back.
fn restore() {
    if !IS_OPEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

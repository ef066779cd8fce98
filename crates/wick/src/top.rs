//! `wick top`: the running Wick, looked at once a second.
//!
//! [`asking`] asks on a thread of its own, so that keys are heard while an answer is waited
//! for; [`Watching`] keeps the answers of a minute and takes their differences; [`screen`]
//! draws what [`View`] makes of them, and [`Controls`] is what the keys did.
//! Invariant: however it ends, the terminal is as it was.

mod asking;
mod controls;
mod numbers;
mod plain;
mod screen;
mod terminal;
mod theme;
mod view;
mod watching;

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::crossterm::event::{self, Event};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::announce::say;
use crate::arguments::Top;
use crate::control::{ControlError, ask_observed, printable};
use crate::observing::asking::Question;
use crate::observing::overview::Overview;
use crate::plan;
use asking::{Asking, Told};
use controls::Controls;
use terminal::Screen;
use theme::Theme;
use view::View;
use watching::Watching;

/// How soon an answer or a signal is noticed while no key comes.
const TURN: Duration = Duration::from_millis(100);

/// Watches until the owner has seen enough, or shows everything once.
pub(crate) fn run(arguments: &Top) -> Result<(), ControlError> {
    let state = arguments.state.clone().unwrap_or_else(plan::default_state);
    let first = clean(ask_observed::<Overview>(&state, &Question::Overview {})?);
    if arguments.once || !has_terminal() {
        let mut watching = Watching::default();
        watching.add(first);
        say(&plain::text(&View::of(&watching, &Controls::default())));
        return Ok(());
    }
    let has_ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, has_ended.clone()).map_err(ControlError::Terminal)?;
    }
    let asking = Asking::begin(state).map_err(ControlError::Terminal)?;
    let mut screen = Screen::open().map_err(ControlError::Terminal)?;
    let watched = watch(&mut screen, &asking, first, &has_ended);
    drop(screen);
    watched.map_err(ControlError::Terminal)
}

/// Whether there is a terminal that can be drawn on.
fn has_terminal() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_dumb
}

/// Draws when there is something new: an answer, a key, another size.
fn watch(
    screen: &mut Screen,
    asking: &Asking,
    first: Overview,
    has_ended: &AtomicBool,
) -> io::Result<()> {
    let theme = Theme::of_environment();
    let (mut watching, mut controls) = (Watching::default(), Controls::default());
    let mut trouble = None;
    watching.add(first);
    while !has_ended.load(Ordering::Relaxed) {
        let view = View::of(&watching, &controls);
        screen.draw(|frame| {
            controls.rows_shown = screen::draw(frame, &view, &controls, trouble.as_deref(), theme);
        })?;
        loop {
            let mut is_new = false;
            if terminal::has_event(TURN)? {
                if let Event::Key(key) = event::read()? {
                    controls.press(key, view.rows.len());
                }
                // Whatever else it was, what is drawn may not be right any more.
                is_new = true;
            }
            match asking.told() {
                Told::Nothing => {}
                Told::Never => return Err(io::Error::other("nobody asks the server any more")),
                Told::Trouble(why) => (trouble, is_new) = (Some(why), true),
                Told::Overview(overview) => {
                    trouble = None;
                    is_new = true;
                    if !controls.is_paused {
                        watching.add(clean(*overview));
                    }
                }
            }
            if controls.has_quit {
                return Ok(());
            }
            if is_new || has_ended.load(Ordering::Relaxed) {
                break;
            }
        }
    }
    Ok(())
}

/// The same, with nothing in it that could move the cursor: parts of it come from visitors.
fn clean(mut overview: Overview) -> Overview {
    let texts = |text: &mut String| *text = printable(text);
    texts(&mut overview.version);
    for route in &mut overview.routes {
        texts(&mut route.site);
        texts(&mut route.route);
    }
    overview.reasons.iter_mut().for_each(|reason| texts(&mut reason.why));
    for line in &mut overview.slowest {
        for text in [&mut line.method, &mut line.host, &mut line.path, &mut line.verdict] {
            texts(text);
        }
        line.phases.iter_mut().for_each(|(word, _)| texts(word));
    }
    overview
}

#[cfg(test)]
mod tests;

//! What stands out, and how: by the sixteen colours, or without any.

use ratatui::style::{Color, Modifier, Style};

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    /// A number that one looks for.
    Strong,
    /// A word beside it.
    Faint,
    Good,
    Warning,
    Bad,
    /// A key, or the heading that rows are sorted by.
    Key,
    /// The line above a list.
    Heading,
}

/// Whether there are colours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Theme {
    pub(super) has_colours: bool,
}

impl Theme {
    /// `NO_COLOR` with any content means none (<https://no-color.org>).
    pub(super) fn of_environment() -> Self {
        Self { has_colours: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
    }

    /// Without colours what is bad is reversed, so that it can't be overlooked either.
    pub(super) fn style(self, tone: Tone) -> Style {
        let plain = Style::new();
        let coloured = |colour, otherwise| match self.has_colours {
            true => plain.fg(colour),
            false => plain.add_modifier(otherwise),
        };
        match tone {
            Tone::Plain => plain,
            Tone::Strong => plain.add_modifier(Modifier::BOLD),
            Tone::Faint => coloured(Color::DarkGray, Modifier::DIM),
            Tone::Good => coloured(Color::Green, Modifier::empty()),
            Tone::Warning => coloured(Color::Yellow, Modifier::BOLD),
            Tone::Bad => coloured(Color::LightRed, Modifier::REVERSED),
            Tone::Key => plain.add_modifier(Modifier::REVERSED),
            Tone::Heading => coloured(Color::Cyan, Modifier::UNDERLINED),
        }
    }
}

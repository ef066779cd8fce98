//! What the keys did: the order of the routes, the filter, the pause.
//!
//! Bound: a filter has at most [`FILTER_CHARS_MAX`] letters.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

const FILTER_CHARS_MAX: usize = 60;

/// By what routes are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    #[default]
    Requests,
    /// The lowest share first: that is where something can be gained.
    Hits,
    Origin,
    P99,
    Errors,
}

impl Sort {
    fn of_key(key: char) -> Option<Self> {
        Some(match key {
            'r' => Self::Requests,
            'h' => Self::Hits,
            'o' => Self::Origin,
            'p' => Self::P99,
            'e' => Self::Errors,
            _ => return None,
        })
    }
}

/// What counts are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Window {
    #[default]
    SinceStart,
    Minute,
}

/// Everything that keys change.
#[derive(Clone, Debug, Default)]
pub(super) struct Controls {
    pub(super) sort: Sort,
    pub(super) is_reversed: bool,
    pub(super) window: Window,
    pub(super) filter: String,
    /// Whether letters belong to the filter.
    pub(super) is_typing: bool,
    pub(super) is_paused: bool,
    pub(super) shows_help: bool,
    pub(super) has_quit: bool,
    /// How many routes are above the first that is shown.
    pub(super) scroll: usize,
    /// How many were shown last.
    pub(super) rows_shown: usize,
}

impl Controls {
    /// Does what a key is for; there are so many routes.
    pub(super) fn press(&mut self, key: KeyEvent, rows: usize) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        let with_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if with_control => self.has_quit = true,
            KeyCode::Char(_) if with_control => {}
            code if self.is_typing => self.write(code),
            KeyCode::Char(letter) => self.act(letter),
            KeyCode::Esc if self.shows_help => self.shows_help = false,
            KeyCode::Esc => self.filter.clear(),
            code => self.move_by(code, rows),
        }
    }

    fn act(&mut self, letter: char) {
        if self.shows_help && letter != 'q' {
            self.shows_help = false;
            return;
        }
        match letter {
            'q' => self.has_quit = true,
            ' ' => self.is_paused = !self.is_paused,
            '/' => self.is_typing = true,
            '?' => self.shows_help = true,
            'w' => {
                self.window = match self.window {
                    Window::SinceStart => Window::Minute,
                    Window::Minute => Window::SinceStart,
                }
            }
            _ => {
                let Some(sort) = Sort::of_key(letter) else { return };
                self.is_reversed = sort == self.sort && !self.is_reversed;
                (self.sort, self.scroll) = (sort, 0);
            }
        }
    }

    fn write(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => (self.is_typing, self.filter) = (false, String::new()),
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(letter) if self.filter.chars().count() < FILTER_CHARS_MAX => {
                self.filter.push(letter);
                self.scroll = 0;
            }
            _ => {}
        }
    }

    fn move_by(&mut self, code: KeyCode, rows: usize) {
        let page = self.rows_shown.max(1);
        let last = rows.saturating_sub(page);
        // The list may have become shorter since the last key.
        let at = self.scroll.min(last);
        self.scroll = match code {
            KeyCode::Up => at.saturating_sub(1),
            KeyCode::Down => at + 1,
            KeyCode::PageUp => at.saturating_sub(page),
            KeyCode::PageDown => at + page,
            KeyCode::Home => 0,
            KeyCode::End => last,
            _ => at,
        }
        .min(last);
    }

    /// Whether a text has the filter in it, whatever the case of its letters.
    pub(super) fn lets_through(&self, text: &str) -> bool {
        self.filter.is_empty() || text.to_lowercase().contains(&self.filter.to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(keys: &str) -> Controls {
        let mut controls = Controls { rows_shown: 4, ..Controls::default() };
        for letter in keys.chars() {
            let (code, modifiers) = match letter {
                '\n' => (KeyCode::Enter, KeyModifiers::NONE),
                '\x1b' => (KeyCode::Esc, KeyModifiers::NONE),
                '\x08' => (KeyCode::Backspace, KeyModifiers::NONE),
                '\x03' => (KeyCode::Char('c'), KeyModifiers::CONTROL),
                '↓' => (KeyCode::Down, KeyModifiers::NONE),
                '⇟' => (KeyCode::PageDown, KeyModifiers::NONE),
                '⇱' => (KeyCode::Home, KeyModifiers::NONE),
                '⇲' => (KeyCode::End, KeyModifiers::NONE),
                letter => (KeyCode::Char(letter), KeyModifiers::NONE),
            };
            controls.press(KeyEvent::new(code, modifiers), 10);
        }
        controls
    }

    #[test]
    fn keys_sort_and_a_second_time_the_other_way_round() {
        for (keys, sort, is_reversed) in [
            ("", Sort::Requests, false),
            ("r", Sort::Requests, true),
            ("o", Sort::Origin, false),
            ("oo", Sort::Origin, true),
            ("ooo", Sort::Origin, false),
            ("ooe", Sort::Errors, false),
            ("hx", Sort::Hits, false),
        ] {
            let controls = after(keys);
            assert_eq!((controls.sort, controls.is_reversed), (sort, is_reversed), "{keys}");
        }
        assert_eq!([after("w").window, after("ww").window], [Window::Minute, Window::SinceStart]);
    }

    #[test]
    fn letters_of_a_filter_are_no_keys() {
        let typed = after("/qe r");
        assert!(typed.is_typing && !typed.has_quit && !typed.is_paused);
        assert_eq!(typed.filter, "qe r");
        assert!(typed.lets_through("A QE R B") && !typed.lets_through("qer"));
        assert_eq!(after("/ab\x08c\n").filter, "ac");
        assert_eq!(after("/ab\ne").sort, Sort::Errors);
        assert_eq!(after("/ab\x1b").filter, "");
        assert_eq!(after("/ab\n\x1b").filter, "");
        assert_eq!(after(&format!("/{}", "x".repeat(1000))).filter.len(), FILTER_CHARS_MAX);
        assert!(after("/ab\x03").has_quit);
    }

    #[test]
    fn help_goes_with_the_next_key_and_a_list_ends() {
        assert!(after("?").shows_help && !after("?e").shows_help);
        assert_eq!(after("?e").sort, Sort::Requests);
        assert!(after("?q").has_quit && after(" ").is_paused && !after("  ").is_paused);
        let scrolls = ["↓", "⇟", "⇟⇟⇟", "⇲↓", "⇲⇱", "↓e"].map(|keys| after(keys).scroll);
        assert_eq!(scrolls, [1, 4, 6, 6, 0, 0]);
    }
}

//! The screen: a head with the last minute, the routes, the reasons and the slowest, the keys.
//!
//! It fits 80 columns and 24 lines; what is narrower or lower shows less, and what is larger
//! shows more. Nothing here knows of a terminal.

use base::amount::show_bytes;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use super::controls::{Controls, Sort, Window};
use super::numbers::{count, cut, percent, rate, since, sparkline, time, time_or_none};
use super::theme::{Theme, Tone};
use super::view::{Head, Row, View};

/// Lines of the lists below the routes, and how high a screen has room for them.
const LISTS_LINES: u16 = 7;
const LISTS_LINES_FEW: u16 = 4;
const TALL: u16 = 24;
const LOW: u16 = 18;
/// Columns from which on the median is shown too.
const WIDE: u16 = 96;
/// Columns of what stands at the left of the head.
const LABEL: usize = 9;
const VALUE: usize = 18;
/// What every key does, for the line below and for the help.
const KEYS: [(&str, &str, &str); 10] = [
    ("r", "req", "sort by requests; the same key again turns the order round"),
    ("h", "hits", "sort by the share of hits, the lowest first"),
    ("o", "origin", "sort by the time that the origin worked"),
    ("p", "p99", "sort by the time that 99 % did not exceed"),
    ("e", "5xx", "sort by answers with a status of 500 or more"),
    ("w", "window", "counts since the start, or of the last minute"),
    ("/", "filter", "only routes and requests with this text in them"),
    ("␣", "pause", "nothing changes until the space bar is pressed again"),
    ("?", "help", "this list; arrows and page keys scroll the routes"),
    ("q", "quit", "leave; so does Ctrl-C"),
];

/// Draws everything; says how many routes there was room for.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    view: &View,
    controls: &Controls,
    trouble: Option<&str>,
    theme: Theme,
) -> usize {
    let area = frame.area();
    let lists = match area.height {
        TALL.. => LISTS_LINES,
        LOW.. => LISTS_LINES_FEW,
        _ => 0,
    };
    let [title, head, routes, below, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(5),
        Constraint::Min(0),
        Constraint::Length(lists),
        Constraint::Length(1),
    ])
    .areas(area);
    let mut pen = Pen { frame, theme };
    pen.title(title, view, controls, trouble);
    pen.head(head, &view.head);
    let shown = match controls.shows_help {
        true => {
            pen.help(routes);
            controls.rows_shown
        }
        false => pen.routes(routes, view, controls),
    };
    pen.lists(below, view);
    pen.foot(foot, controls);
    shown
}

struct Pen<'f, 'b> {
    frame: &'f mut Frame<'b>,
    theme: Theme,
}

impl Pen<'_, '_> {
    fn span(&self, text: impl Into<String>, tone: Tone) -> Span<'static> {
        Span::styled(text.into(), self.theme.style(tone))
    }

    fn lines(&mut self, area: Rect, lines: Vec<Line<'static>>) {
        for (line, row) in lines.into_iter().zip(area.rows()) {
            self.frame.render_widget(line, row);
        }
    }

    /// Who it is; what is out of the ordinary stands at the right.
    fn title(&mut self, area: Rect, view: &View, controls: &Controls, trouble: Option<&str>) {
        let head = &view.head;
        let mut line = Line::from(vec![
            self.span(format!(" Wick {}", head.version), Tone::Strong),
            self.span(
                format!("  up {}  {} connections", since(head.uptime_seconds), head.connections),
                Tone::Faint,
            ),
        ]);
        let width = usize::from(area.width);
        let said = match (trouble, controls.is_paused, head.now_seconds) {
            (Some(why), ..) => {
                self.span(format!(" {} ", cut(why, width.saturating_sub(20))), Tone::Bad)
            }
            (None, true, _) => self.span(" paused ", Tone::Key),
            (None, false, Some(seconds)) => self.span(format!("last {seconds} s "), Tone::Faint),
            (None, false, None) => self.span("since the start ", Tone::Faint),
        };
        let room = width.saturating_sub(said.width());
        if line.width() > room {
            line =
                Line::from(self.span(cut(&format!(" Wick {}", head.version), room), Tone::Strong));
        }
        line.push_span(" ".repeat(room.saturating_sub(line.width())));
        line.push_span(said);
        self.lines(area, vec![line]);
    }

    fn head(&mut self, area: Rect, head: &Head) {
        let [left, right] =
            Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)])
                .areas(area);
        let is_bad = |is_bad| if is_bad { Tone::Bad } else { Tone::Strong };
        let times = format!("{} / {}", time_or_none(head.p50_us), time_or_none(head.p99_us));
        let rates = [
            ("Requests", format!("{}/s", rate(head.rate)), Tone::Strong, &head.past.requests),
            ("Hits", percent(head.hits, head.requests), Tone::Strong, &head.past.hits),
            ("p50 p99", times, Tone::Strong, &head.past.p99_us),
            (
                "5xx",
                format!("{}/s", rate(head.errors_rate)),
                is_bad(head.errors > 0),
                &head.past.errors,
            ),
        ];
        let width = usize::from(left.width).saturating_sub(LABEL + VALUE + 3);
        let lines = rates.map(|(label, value, tone, past)| {
            Line::from(vec![
                self.span(format!(" {label:<LABEL$}"), Tone::Faint),
                self.span(value.clone(), tone),
                Span::raw(" ".repeat((VALUE + 1).saturating_sub(value.chars().count()))),
                self.span(sparkline(past, width), Tone::Good),
            ])
        });
        self.lines(left, lines.into());
        let workers = match head.slots {
            0 => "–".to_owned(),
            slots => format!("{} of {slots} busy, {} wait", head.slots_taken, head.waiting),
        };
        let memory =
            format!("{} of {}", show_bytes(head.resident_bytes), show_bytes(head.memory_bytes));
        let sums = [
            (
                "Answers",
                format!("{}, {} of them 5xx", count(head.requests_all), count(head.errors_all)),
                Tone::Plain,
            ),
            ("Workers", workers, if head.waiting > 0 { Tone::Warning } else { Tone::Plain }),
            ("Memory", memory, Tone::Plain),
            (
                "Cache",
                format!("{}, {} pages", show_bytes(head.cache_bytes), count(head.pages)),
                Tone::Plain,
            ),
        ];
        let lines = sums.map(|(label, value, tone)| {
            Line::from(vec![
                self.span(format!(" {label:<LABEL$}"), Tone::Faint),
                self.span(value, tone),
            ])
        });
        self.lines(right, lines.into());
    }

    fn routes(&mut self, area: Rect, view: &View, controls: &Controls) -> usize {
        let columns = Columns::of(area.width);
        let shown = usize::from(area.height.saturating_sub(1));
        let scroll = controls.scroll.min(view.rows.len().saturating_sub(shown));
        let mut lines = vec![self.headings(columns, view, controls)];
        let visible = view.rows.iter().skip(scroll).take(shown);
        lines.extend(visible.map(|row| self.row(columns, row)));
        if view.rows.is_empty() {
            let why = match controls.filter.is_empty() {
                true => " no requests yet",
                false => " no route has that in its name (Esc shows all)",
            };
            lines.push(Line::from(self.span(why, Tone::Faint)));
        }
        self.lines(area, lines);
        shown
    }

    fn headings(&self, columns: Columns, view: &View, controls: &Controls) -> Line<'static> {
        let window = match controls.window {
            Window::SinceStart => "since the start",
            Window::Minute => "last minute",
        };
        let filter = match controls.filter.as_str() {
            "" => String::new(),
            filter => format!(" /{filter}"),
        };
        let name = match view.rows.len() {
            1 => format!(" 1 route{filter}, {window}"),
            routes => format!(" {routes} routes{filter}, {window}"),
        };
        let mut line = Line::from(self.span(columns.name(&name), Tone::Heading));
        let all = [
            (Some(Sort::Requests), "REQUESTS"),
            (None, "REQ/S"),
            (Some(Sort::Hits), "HITS"),
            (Some(Sort::Origin), "ORIGIN"),
            (None, "P50"),
            (Some(Sort::P99), "P99"),
            (Some(Sort::Errors), "5XX"),
        ];
        for ((sort, word), width) in all.into_iter().zip(columns.widths()) {
            let is_chosen = sort == Some(controls.sort);
            let tone = if is_chosen { Tone::Key } else { Tone::Heading };
            if width > 0 {
                let arrow = match (is_chosen, controls.is_reversed) {
                    (false, _) => "",
                    (true, false) => "▼",
                    (true, true) => "▲",
                };
                line.push_span(self.span(format!("{:>width$}", format!("{word}{arrow}")), tone));
            }
        }
        line
    }

    fn row(&self, columns: Columns, row: &Row) -> Line<'static> {
        let cells = [
            (count(row.requests), Tone::Strong),
            (rate(row.rate), Tone::Plain),
            (percent(row.hits, row.requests), hits_tone(row)),
            (time(row.origin_us), Tone::Plain),
            (time_or_none(row.p50_us), Tone::Plain),
            (time_or_none(row.p99_us), Tone::Plain),
            (count(row.errors), if row.errors > 0 { Tone::Bad } else { Tone::Faint }),
        ];
        let mut line = Line::from(Span::raw(columns.name(&format!(" {}", row.name))));
        for ((text, tone), width) in cells.into_iter().zip(columns.widths()) {
            if width > 0 {
                let room = width.saturating_sub(text.chars().count());
                line.push_span(" ".repeat(room));
                line.push_span(self.span(text, tone));
            }
        }
        line
    }

    fn help(&mut self, area: Rect) {
        let mut lines = vec![Line::from(self.span(" Keys", Tone::Heading))];
        lines.extend(KEYS.map(|(key, _, what)| {
            Line::from(vec![
                Span::raw("  "),
                self.span(format!(" {key} "), Tone::Key),
                Span::raw(format!("  {what}")),
            ])
        }));
        self.lines(area, lines);
    }

    /// The reasons at the left, the slowest requests at the right.
    fn lists(&mut self, area: Rect, view: &View) {
        let [left, right] =
            Layout::horizontal([Constraint::Length(39), Constraint::Min(0)]).areas(area);
        let title = format!(" {:<18}{:>9}{:>9} ", "Reasons", "REQUESTS", "ORIGIN");
        let mut lines = vec![Line::from(self.span(title, Tone::Heading))];
        lines.extend(view.reasons.iter().map(|reason| {
            Line::from(vec![
                Span::raw(format!(" {:<18}", cut(&reason.why, 18))),
                self.span(format!("{:>9}", count(reason.requests)), Tone::Strong),
                Span::raw(format!("{:>9}", time(reason.origin_us))),
            ])
        }));
        self.lines(left, lines);
        let width = usize::from(right.width);
        let title = format!("{:<width$}", cut("Slowest of the last 5 minutes", width));
        let mut lines = vec![Line::from(self.span(title, Tone::Heading))];
        lines.extend(view.slowest.iter().map(|line| {
            let is_bad = line.status >= 500;
            let what = format!("{} {} {}", line.method, line.path, line.verdict);
            Line::from(vec![
                self.span(format!("{:>7} ", time(line.took_us)), Tone::Strong),
                self.span(line.status.to_string(), if is_bad { Tone::Bad } else { Tone::Plain }),
                Span::raw(format!(" {}", cut(&what, width.saturating_sub(12)))),
            ])
        }));
        self.lines(right, lines);
    }

    fn foot(&mut self, area: Rect, controls: &Controls) {
        if controls.is_typing {
            let line = Line::from(vec![
                self.span(format!("/{}", controls.filter), Tone::Strong),
                self.span(" ", Tone::Key),
                self.span("  Enter keeps the filter, Esc clears it", Tone::Faint),
            ]);
            return self.lines(area, vec![line]);
        }
        let mut keys = KEYS;
        let width: usize =
            keys.iter().map(|(key, word, _)| key.chars().count() + word.len() + 2).sum();
        if width > usize::from(area.width) {
            // Where there is no room for all, these two lead to the others, and out.
            keys.rotate_right(2);
        }
        let mut line = Line::default();
        for (key, word, _) in keys {
            line.push_span(self.span(key, Tone::Key));
            line.push_span(Span::raw(format!(" {word} ")));
        }
        self.lines(area, vec![line]);
    }
}

/// Where almost nothing comes from memory, something may be gained.
fn hits_tone(row: &Row) -> Tone {
    match (row.hits * 100).checked_div(row.requests) {
        Some(90..) => Tone::Good,
        Some(0..50) => Tone::Warning,
        _ => Tone::Plain,
    }
}

/// How wide the columns of the routes are.
#[derive(Clone, Copy)]
struct Columns {
    name: usize,
    has_median: bool,
}

impl Columns {
    fn of(width: u16) -> Self {
        let mut columns = Self { name: 0, has_median: width >= WIDE };
        let numbers: usize = columns.widths().iter().sum();
        columns.name = usize::from(width).saturating_sub(numbers).max(8);
        columns
    }

    /// Requests, a second, hits, origin, median, p99, errors.
    fn widths(self) -> [usize; 7] {
        [11, 8, 8, 9, if self.has_median { 9 } else { 0 }, 9, 7]
    }

    fn name(self, text: &str) -> String {
        format!("{:<width$}", cut(text, self.name), width = self.name)
    }
}

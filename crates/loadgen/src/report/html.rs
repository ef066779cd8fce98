//! The report as one page that needs nothing beside it: figures, and plots as SVG.
//!
//! Invariant: nothing that came from a target or a command line stands in it but as text
//! ([`escape`]); the page asks for nothing, and runs no script.

use std::fmt::Write as _;

use crate::report::Summary;
use crate::report::summary::{PointFigures, Spread};
use crate::report::text::{count, millis};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 220.0;
/// Room for the numbers at the left and below.
const LEFT: f64 = 70.0;
const BELOW: f64 = 28.0;
/// Where the lowest line of text stands: its letters reach below it.
const BASE: f64 = HEIGHT - 5.0;

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
table{border-collapse:collapse;margin:1rem 0}th,td{padding:.2rem .7rem;text-align:right;\
border-bottom:1px solid #8884}th:first-child,td:first-child{text-align:left}\
svg{width:100%;height:auto}text{font:12px system-ui,sans-serif;fill:currentColor}\
.void{border:2px solid #c22;padding:.5rem 1rem}:root{color-scheme:light dark}\
.a{stroke:#1769aa;fill:none}.b{stroke:#2e7d32;fill:none}.c{stroke:#c77700;fill:none}\
.d{stroke:#c62828;fill:none}path{stroke-width:1.6}.axis{stroke:#8886;stroke-width:1}";

/// All of it, as a page.
#[must_use]
pub fn html(summary: &Summary) -> String {
    let mut out = String::new();
    // Writing to a String can't fail.
    let _ = write(&mut out, summary);
    out
}

/// The beginning of a page, down to its heading.
pub(crate) fn begin(out: &mut String, title: &str) -> std::fmt::Result {
    let title = escape(title);
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'\"><title>{title}: wick bench</title>\
         <style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n"
    )
}

fn write(out: &mut String, summary: &Summary) -> std::fmt::Result {
    begin(out, &summary.target)?;
    let (address, model) = (escape(&summary.address), escape(&summary.model));
    writeln!(out, "<p>At {address}, {model} model, {:.2} s.</p>", summary.seconds)?;
    if summary.stopped {
        writeln!(out, "<p>Stopped before its end: this is what was measured until then.</p>")?;
    }
    if let Some(why) = &summary.void {
        writeln!(out, "<p class=\"void\"><strong>Void:</strong> {}</p>", escape(why))?;
    }
    figures(out, summary)?;
    times(out, summary)?;
    let (points, width) = (&summary.points, summary.point_seconds.max(1) as f64);
    let rate = |figure: fn(&PointFigures) -> u64| -> Vec<f64> {
        points.iter().map(|point| figure(point) as f64 / width).collect()
    };
    let mut rates =
        vec![Line { name: "answered", class: "a", values: rate(|point| point.answered) }];
    // A line along the bottom would look as if something had failed.
    if summary.failed > 0 {
        rates.push(Line { name: "failed", class: "d", values: rate(|point| point.failed) });
    }
    plot(out, "Requests a second", &rates, width)?;
    let time = |figure: fn(&Spread) -> u64| -> Vec<f64> {
        points.iter().map(|point| figure(&point.latency) as f64 / 1_000.0).collect()
    };
    let latencies = [
        Line { name: "p50", class: "a", values: time(|spread| spread.p50_us) },
        Line { name: "p90", class: "b", values: time(|spread| spread.p90_us) },
        Line { name: "p99", class: "c", values: time(|spread| spread.p99_us) },
        Line { name: "max", class: "d", values: time(|spread| spread.max_us) },
    ];
    plot(out, "Latency, milliseconds", &latencies, width)?;
    writeln!(out, "</body></html>")
}

fn figures(out: &mut String, summary: &Summary) -> std::fmt::Result {
    writeln!(out, "<table>")?;
    let own = &summary.generator;
    for (name, value) in [
        ("requests begun", count(summary.begun)),
        ("answered", count(summary.answered)),
        ("answers a second", format!("{:.1}", summary.answers_per_second)),
        ("failed", count(summary.failed)),
        ("bytes of bodies", count(summary.body_bytes)),
        ("connections opened", count(summary.connections)),
        ("late by the generator", count(own.late)),
        ("waited for a connection", count(own.waited_for_target)),
        ("generator, CPU seconds", format!("{:.2}", own.cpu_seconds)),
    ] {
        writeln!(out, "<tr><th scope=\"row\">{name}</th><td>{value}</td></tr>")?;
    }
    for (status, answers) in &summary.statuses {
        let answers = count(*answers);
        writeln!(out, "<tr><th scope=\"row\">status {status}</th><td>{answers}</td></tr>")?;
    }
    for (kind, failures) in &summary.failures {
        let (kind, first) = (escape(kind), escape(&failures.first));
        let failed = count(failures.count);
        writeln!(out, "<tr><th scope=\"row\">{kind}: {first}</th><td>{failed}</td></tr>")?;
    }
    writeln!(out, "</table>")
}

fn times(out: &mut String, summary: &Summary) -> std::fmt::Result {
    let names = ["min", "mean", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "max"];
    write!(out, "<table><tr><th scope=\"col\">milliseconds</th>")?;
    names.iter().try_for_each(|name| write!(out, "<th scope=\"col\">{name}</th>"))?;
    writeln!(out, "</tr>")?;
    for (name, spread) in [("latency", &summary.latency), ("service time", &summary.service)] {
        let Spread { min_us, p50_us, p75_us, p90_us, p95_us, p99_us, .. } = *spread;
        let Spread { mean_us, p999_us, p9999_us, max_us, .. } = *spread;
        let mean_us = mean_us.round() as u64;
        write!(out, "<tr><th scope=\"row\">{name}</th>")?;
        let middle = [mean_us, p50_us, p75_us, p90_us, p95_us, p99_us, p999_us, p9999_us];
        let mut row = [min_us].into_iter().chain(middle).chain([max_us]);
        row.try_for_each(|micros| write!(out, "<td>{}</td>", millis(micros)))?;
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</table>")
}

struct Line<'a> {
    name: &'a str,
    class: &'a str,
    values: Vec<f64>,
}

fn plot(out: &mut String, title: &str, lines: &[Line<'_>], width: f64) -> std::fmt::Result {
    let most = lines.iter().flat_map(|line| &line.values).fold(0.0f64, |a, &b| a.max(b));
    let step = step(most);
    let top = step * (most / step).ceil().max(1.0) * 1.03;
    let count = lines.iter().map(|line| line.values.len()).max().unwrap_or(0);
    let x = |place: usize| LEFT + (WIDTH - LEFT) * place as f64 / (count.max(2) - 1) as f64;
    let y = |value: f64| (HEIGHT - BELOW) * (1.0 - value / top);
    writeln!(out, "<h2>{title}</h2>")?;
    writeln!(out, "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">")?;
    let digits = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    for value in (0..).map(|number| f64::from(number) * step).take_while(|value| *value < top) {
        let (at, end) = (y(value), LEFT - 8.0);
        writeln!(out, "<path class=\"axis\" d=\"M{LEFT} {at:.1}H{WIDTH}\"/>")?;
        let at = at + 4.0;
        writeln!(
            out,
            "<text x=\"{end}\" y=\"{at:.1}\" text-anchor=\"end\">{value:.digits$}</text>"
        )?;
    }
    let end = count as f64 * width;
    writeln!(out, "<text x=\"{LEFT}\" y=\"{BASE}\">0 s</text>")?;
    writeln!(out, "<text x=\"{WIDTH}\" y=\"{BASE}\" text-anchor=\"end\">{end} s</text>")?;
    for (number, line) in lines.iter().enumerate() {
        write!(out, "<path class=\"{}\" d=\"", line.class)?;
        for (place, value) in line.values.iter().enumerate() {
            let step = if place == 0 { 'M' } else { 'L' };
            write!(out, "{step}{:.1} {:.1}", x(place), y(*value))?;
        }
        writeln!(out, "\"/>")?;
        let at = LEFT + 80.0 + number as f64 * 110.0;
        writeln!(out, "<path class=\"{}\" d=\"M{at} {}h18\"/>", line.class, BASE - 4.0)?;
        writeln!(out, "<text x=\"{}\" y=\"{BASE}\">{}</text>", at + 24.0, line.name)?;
    }
    writeln!(out, "</svg>")
}

/// What lies between two lines of a scale that reaches so far: three to six of them, with
/// numbers that are easily read.
fn step(most: f64) -> f64 {
    let most = most.max(1e-6);
    let power = 10f64.powf(most.log10().floor());
    let steps = [0.2, 0.5, 1.0, 2.0].map(|step| step * power);
    steps.into_iter().find(|step| most / step <= 5.0).unwrap_or(power)
}

/// A text as it stands in HTML, in an element or between quotes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            sign => out.push(sign),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn nothing_that_was_received_becomes_markup() {
        let mut summary = samples::open();
        summary.target = "<script>alert(1)</script>\"'&".to_owned();
        let page = html(&summary);
        assert!(!page.contains("<script") && !page.contains("<no whole answer>"), "{page}");
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"));
        assert!(page.contains("&lt;no whole answer&gt;"));
        assert!(page.contains("<strong>Void:</strong> 2.0 %"));
        assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
    }

    #[test]
    fn scales_have_numbers_that_are_easily_read() {
        for (most, expected) in [
            (0.0, 2e-7),
            (0.07, 0.02),
            (1.0, 0.2),
            (1.1, 0.5),
            (3.0, 1.0),
            (7.0, 2.0),
            (367.0, 100.0),
            (150_000.0, 50_000.0),
        ] {
            let found = step(most);
            assert!((found / expected - 1.0).abs() < 1e-9, "{most}: {found}");
        }
    }

    #[test]
    fn plots_have_a_point_for_each_second() {
        let page = html(&samples::open());
        let path = page.split("class=\"a\" d=\"").nth(1).expect("a line of the rates");
        let path = path.split('"').next().unwrap_or_default();
        assert_eq!(path.matches(['M', 'L']).count(), samples::open().points.len(), "{path}");
        let nothing = html(&Summary { points: Vec::new(), ..samples::open() });
        assert!(nothing.ends_with("</body></html>\n"));
    }
}

//! The report as ab writes it, for whoever reads ab's, person or script.
//!
//! Names, order and units are ab's; times are in milliseconds, as whole numbers in the tables.
//! In one thing it differs: standard deviations and medians come from histograms, to three digits.

use std::fmt::Write as _;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::plan::Plan;
use crate::request::Request;
use crate::run::Outcome;
use crate::tally::FailureKind;
use crate::target::Endpoint;

/// What of it is shown; ab's `-d`, `-S` and `-l` each take something back.
#[derive(Clone, Copy, Debug)]
pub struct AbLooks {
    /// The table of percentages.
    pub percentages: bool,
    /// Medians and standard deviations.
    pub deviations: bool,
    /// Answers of another length than the first are no failures.
    pub any_length: bool,
}

/// All of it, as text.
#[must_use]
pub fn ab(plan: &Plan, outcome: &Outcome, request: &Request, looks: AbLooks) -> String {
    let mut out = String::new();
    // Writing to a String can't fail.
    let _ = write(&mut out, plan, outcome, request, looks);
    out
}

/// How long each percentage of the requests took at most, as CSV: ab's `-e`.
#[must_use]
pub fn ab_percentages(outcome: &Outcome) -> String {
    let total = &outcome.tally.service;
    let mut out = "Percentage served,Time in ms\n".to_owned();
    for percent in 0..=100u32 {
        let at = total.value_at_quantile(f64::from(percent) / 100.0).min(total.max());
        let at = if percent == 0 { total.min() } else { at };
        let _ = writeln!(out, "{percent},{:.3}", at as f64 / 1_000.0);
    }
    out
}

fn write(
    out: &mut String,
    plan: &Plan,
    outcome: &Outcome,
    request: &Request,
    looks: AbLooks,
) -> std::fmt::Result {
    let tally = &outcome.tally;
    let port = match &plan.target.endpoint {
        Endpoint::Tcp(address) => address.port(),
        Endpoint::Unix(_) => 0,
    };
    writeln!(out, "Server Software:        {}", tally.server)?;
    writeln!(out, "Server Hostname:        {}", plan.target.host)?;
    writeln!(out, "Server Port:            {port}\n")?;
    writeln!(out, "Document Path:          {}", request.wanted.path)?;
    let other_lengths = if looks.any_length { 0 } else { tally.other_lengths };
    let length = match looks.any_length {
        true => "Variable".to_owned(),
        false => format!("{} bytes", tally.first_length.unwrap_or_default()),
    };
    writeln!(out, "Document Length:        {length}\n")?;
    let seconds = outcome.time.as_secs_f64().max(1e-9);
    let done = tally.answered();
    let not_2xx = done - tally.statuses.range(200..300).map(|(_, count)| count).sum::<u64>();
    let failed = tally.failed() + other_lengths;
    writeln!(out, "Concurrency Level:      {}", plan.connections)?;
    writeln!(out, "Time taken for tests:   {seconds:.3} seconds")?;
    writeln!(out, "Complete requests:      {done}")?;
    writeln!(out, "Failed requests:        {failed}")?;
    if failed > 0 {
        let of = |kinds: &[FailureKind]| -> u64 {
            kinds.iter().filter_map(|kind| tally.failures.get(kind)).map(|one| one.count).sum()
        };
        let connect = of(&[FailureKind::Connect, FailureKind::Tls]);
        let receive = of(&[FailureKind::Receive, FailureKind::Send]);
        let rest = failed - connect - receive - other_lengths;
        writeln!(
            out,
            "   (Connect: {connect}, Receive: {receive}, Length: {other_lengths}, Exceptions: {rest})"
        )?;
    }
    if not_2xx > 0 {
        writeln!(out, "Non-2xx responses:      {not_2xx}")?;
    }
    if plan.keeps {
        writeln!(out, "Keep-Alive requests:    {}", tally.keepable)?;
    }
    let total = tally.head_bytes + tally.body_bytes;
    writeln!(out, "Total transferred:      {total} bytes")?;
    if !request.wanted.body.is_empty() {
        writeln!(out, "Total body sent:        {}", request.whole.len() as u64 * tally.begun)?;
    }
    writeln!(out, "HTML transferred:       {} bytes", tally.body_bytes)?;
    let rate = done as f64 / seconds;
    let each = if done == 0 { 0.0 } else { 1_000.0 / rate };
    let all = plan.connections as f64 * each;
    writeln!(out, "Requests per second:    {rate:.2} [#/sec] (mean)")?;
    writeln!(out, "Time per request:       {all:.3} [ms] (mean)")?;
    writeln!(out, "Time per request:       {each:.3} [ms] (mean, across all concurrent requests)")?;
    let kilobytes = total as f64 / 1_024.0 / seconds;
    writeln!(out, "Transfer rate:          {kilobytes:.2} [Kbytes/sec] received\n")?;
    times(out, outcome, looks.deviations)?;
    if looks.percentages { percentiles(out, &tally.service) } else { Ok(()) }
}

fn times(out: &mut String, outcome: &Outcome, deviations: bool) -> std::fmt::Result {
    let tally = &outcome.tally;
    writeln!(out, "Connection Times (ms)")?;
    let heads = if deviations { "min  mean[+/-sd] median   max" } else { "min   avg   max" };
    writeln!(out, "              {heads}")?;
    for (name, times) in [
        ("Connect:", &tally.connect),
        ("Processing:", &tally.processing),
        ("Waiting:", &tally.waiting),
        ("Total:", &tally.service),
    ] {
        if !deviations {
            let mean = times.mean() / 1_000.0;
            let (min, max) = (whole(times.min()), whole(times.max()));
            writeln!(out, "{name:<11} {min:>5} {mean:>5.0}{max:>5}")?;
            continue;
        }
        let median = times.value_at_quantile(0.5);
        writeln!(
            out,
            "{name:<11} {:>5} {:>4.0} {:>5.1} {:>6} {:>7}",
            whole(times.min()),
            times.mean() / 1_000.0,
            times.stdev() / 1_000.0,
            whole(median),
            whole(times.max()),
        )?;
    }
    Ok(())
}

fn percentiles(out: &mut String, total: &Histogram<u64>) -> std::fmt::Result {
    writeln!(out, "\nPercentage of the requests served within a certain time (ms)")?;
    for percent in [50, 66, 75, 80, 90, 95, 98, 99] {
        let at = total.value_at_quantile(f64::from(percent) / 100.0).min(total.max());
        writeln!(out, "{percent:>4}% {:>6}", whole(at))?;
    }
    writeln!(out, " 100% {:>6} (longest request)", whole(total.max()))
}

fn whole(micros: u64) -> u64 {
    let rounded = Duration::from_micros(micros) + Duration::from_micros(500);
    u64::try_from(rounded.as_millis()).unwrap_or(u64::MAX)
}

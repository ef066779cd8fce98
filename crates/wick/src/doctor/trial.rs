//! `--try`: a change is applied and taken back in turns while a page is loaded, and stays only
//! if that was shown to gain.
//!
//! What counts is the time that PHP's children had a processor, for each request that they
//! answered: a busy machine makes every answer late, but gives nobody more to do.
//! Invariants: 1. the machine's own state comes back after an error, and after Ctrl-C; after a
//! `kill -9` by `--rollback`. 2. only pages of this machine are loaded. 3. what a cache answered
//! is no measurement of PHP.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use doctor::Machine;
use doctor::apply::{Plan, roll_back};
use doctor::read::{Options, Root, glance, php_seconds};
use doctor::report::Report;
use doctor::trial::{GAIN_MIN, Trial, Verdict};
use loadgen::Live;
use loadgen::permission::permit;
use loadgen::plan::{Closed, Load, Protocol, Work};
use loadgen::report::Summary;
use loadgen::request::{Mix, Request, Wanted};
use loadgen::statistics::{Difference, SAMPLES_MIN, paired};
use loadgen::target::Target;

use super::{FOUND, agreed};
use crate::announce::say;
use crate::arguments::{Doctor, TrialOf};
use crate::bench::listen;

/// How long php-fpm may take to read its files again.
const RELOAD_MAX: Duration = Duration::from_secs(20);
/// How often it is asked whether it has.
const STEP: Duration = Duration::from_millis(100);
/// An answer that takes longer is a failure.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Of the answers, PHP itself has to have given as many.
const BY_PHP_MIN: f64 = 0.9;

/// Tries, and tells.
pub(super) async fn run(
    wanted: &Doctor,
    examined: (&Machine, &Report),
    options: &Options,
    state: &Path,
) -> Result<u8, Box<dyn Error>> {
    let (machine, report) = examined;
    let trial = match wanted.trial {
        Some(TrialOf::Jit) => Trial::jit(machine, &report.budget)?,
        None => return Err("nothing to try was named".into()),
    };
    let url = wanted.url.as_deref().ok_or("name a page with --url")?;
    let page = page(url, wanted.time)?;
    let change = Plan::of(&trial.finding, &Root::new(&options.root))?;
    say(&format!(
        "{}: {}\n\n{}\nphp-fpm is reloaded {} times, and {url} loaded by one visitor for {} s each \
         time.\n\n",
        trial.finding.id,
        trial.finding.fix.words,
        change.difference(),
        wanted.rounds + 1,
        wanted.time.as_secs_f64() * 2.0
    ));
    if !wanted.yes && !agreed()? {
        say("Nothing was changed.\n");
        return Ok(FOUND);
    }
    let interrupted = listen()?;
    let mut bench = Bench { trial, change, page, options, state, is_other: false };
    let measured = bench.measure(wanted.rounds, &interrupted).await;
    let judged = measured.map(|rounds| bench.judge(&rounds));
    let keeps = judged.as_ref().is_ok_and(|(verdict, _)| *verdict == Verdict::Other);
    if let Err(error) = bench.switch(keeps).await {
        let first = judged.err().map(|first| format!("{first}; and ")).unwrap_or_default();
        let place = if keeps { "in place" } else { "back" };
        return Err(
            format!("{first}it can't be put {place}: {error}; see wick doctor --rollback").into()
        );
    }
    let (_, words) = judged?;
    say(&words);
    Ok(if keeps { 0 } else { FOUND })
}

/// One visitor who asks for a page again and again.
fn page(url: &str, time: Duration) -> Result<Arc<loadgen::Plan>, Box<dyn Error>> {
    let (target, path) = Target::parse(url)?;
    permit(&target, &[], None, None).map_err(|_| "name a page of this machine with --url")?;
    let request = Request::new(Wanted::get(path), &target, true)?;
    Ok(Arc::new(loadgen::Plan {
        work: Work::Requests(Mix::new(vec![(request, 1.0)])?),
        load: Load::Closed(Closed {
            requests: None,
            time: Some(time),
            rate_max: None,
            think: Duration::ZERO,
        }),
        target,
        connections: 1,
        keeps: true,
        timeout: TIMEOUT,
        threads: 1,
        visitors: 0,
        protocol: Protocol::Http1,
        // It is this machine's own, under whatever name.
        verifies: false,
    }))
}

struct Bench<'a> {
    trial: Trial,
    change: Plan,
    page: Arc<loadgen::Plan>,
    options: &'a Options,
    state: &'a Path,
    /// Whether the change is applied now.
    is_other: bool,
}

impl Bench<'_> {
    /// What PHP works for a request in each round, as it was and with the change, in milliseconds.
    async fn measure(
        &mut self,
        rounds: u32,
        interrupted: &AtomicBool,
    ) -> Result<Vec<(f64, f64)>, Box<dyn Error>> {
        let mut measured = Vec::new();
        for round in 0..rounds {
            let mut of_round = [(0.0, 0.0); 2];
            // A B, B A: neither is always the one that comes later.
            let first = round % 2 == 1;
            for other in [first, !first] {
                self.switch(other).await?;
                self.load().await?;
                of_round[usize::from(other)] = self.work().await?;
                if interrupted.load(Ordering::Relaxed) {
                    return Err("interrupted; all is as it was".into());
                }
            }
            let [own, other] = of_round;
            say(&format!(
                "round {} of {rounds}: PHP works {:.3} ms of {:.3} for a request as it was, {:.3} of \
                 {:.3} with the change\n",
                round + 1,
                own.0,
                own.1,
                other.0,
                other.1
            ));
            measured.push((own.0, other.0));
        }
        Ok(measured)
    }

    /// What PHP works for a request, and what the request takes (its median), in milliseconds.
    async fn work(&self) -> Result<(f64, f64), Box<dyn Error>> {
        let root = Root::new(&self.options.root);
        let before = glance(self.options).await?;
        let began = php_seconds(&root);
        let summary = self.load().await?;
        let ended = php_seconds(&root);
        let requests = by_php(&summary, &before, &glance(self.options).await?)?;
        let worked = |(pid, seconds): (&u32, &f64)| seconds - began.get(pid).unwrap_or(&0.0);
        let seconds: f64 = ended.iter().map(worked).sum();
        if seconds <= 0.0 {
            return Err("how long PHP works can't be seen: /proc/PID/schedstat is missing".into());
        }
        Ok((seconds * 1000.0 / requests, summary.latency.p50_us as f64 / 1000.0))
    }

    /// Applies the change or takes it back, and waits until php-fpm has it.
    async fn switch(&mut self, other: bool) -> Result<(), Box<dyn Error>> {
        let machine = glance(self.options).await?;
        if self.is_other != other {
            if other {
                self.change.apply(self.options, &machine, self.state).await?;
            } else {
                roll_back(self.options, &machine, self.state).await?;
            }
            self.is_other = other;
        }
        let bound = Instant::now() + RELOAD_MAX;
        while !self.trial.is_in(&glance(self.options).await?, other) {
            if Instant::now() > bound {
                return Err("php-fpm doesn't take it over, or doesn't answer: see its log".into());
            }
            tokio::time::sleep(STEP).await;
        }
        Ok(())
    }

    async fn load(&self) -> Result<Summary, Box<dyn Error>> {
        let bound = Instant::now() + TIMEOUT;
        let mut summary = self.load_once().await?;
        // A machine that does much else may not have come to the first request within its time.
        while summary.begun == 0 && Instant::now() < bound {
            summary = self.load_once().await?;
        }
        if let Some((status, _)) = summary.statuses.iter().find(|(status, _)| **status != 200) {
            return Err(format!("the page answers {status}: name one that answers 200").into());
        }
        if summary.failed > 0 || summary.answered == 0 {
            return Err(format!(
                "{} of {} requests for the page failed: see that it answers, within {} s",
                summary.failed,
                summary.begun,
                TIMEOUT.as_secs()
            )
            .into());
        }
        Ok(summary)
    }

    async fn load_once(&self) -> Result<Summary, Box<dyn Error>> {
        let page = Arc::clone(&self.page);
        // The generator has a runtime of its own.
        let loaded = tokio::task::spawn_blocking(move || {
            let outcome = loadgen::run(&page, &Live::new(page.threads))?;
            Ok::<_, loadgen::RunError>(Summary::of(&page, &outcome))
        });
        Ok(loaded.await??)
    }

    fn judge(&self, rounds: &[(f64, f64)]) -> (Verdict, String) {
        // Of the time without it, what PHP works longer or less with it.
        let pairs: Vec<(f64, f64)> = rounds
            .iter()
            .map(|&(own, other)| if self.trial.is_on { (other, own) } else { (own, other) })
            .collect();
        let Some(difference) = paired(&pairs) else {
            return (
                Verdict::Unknown,
                format!("Fewer than {SAMPLES_MIN} rounds show nothing: all is as it was.\n"),
            );
        };
        let Difference { share, low, high, smallest, .. } = difference;
        let verdict = self.trial.verdict(low, share, high);
        let percent = |share: f64| format!("{:+.1} %", share * 100.0);
        let seen = format!(
            "With JIT PHP works {} for the page ({} to {} at 99 % confidence).",
            percent(share),
            percent(low),
            percent(high)
        );
        let least = GAIN_MIN * 100.0;
        let words = match (verdict, self.trial.is_on) {
            (Verdict::Other, false) => {
                format!("That is a gain of {least:.0} % or more: it is on now.")
            }
            (Verdict::AsItWas, true) => {
                format!("That is a gain of {least:.0} % or more: it stays on.")
            }
            (Verdict::Other, true) => format!("That is no gain of {least:.0} %: it is off now."),
            (Verdict::AsItWas, false) => format!("That is no gain of {least:.0} %: it stays off."),
            (Verdict::Unknown, _) => format!(
                "Whether that is a gain of {least:.0} % isn't shown, so all is as it was. Such a \
                 measurement finds {} four times out of five: give more --rounds, a longer --time, \
                 or a quieter hour.",
                percent(smallest)
            ),
        };
        let undo = match verdict {
            Verdict::Other => " \"wick doctor --rollback\" takes it back.",
            _ => "",
        };
        (verdict, format!("{seen}\n{words}{undo}\n"))
    }
}

/// How many requests PHP itself answered, others' too; as many as were asked for, where its pools
/// don't count.
fn by_php(summary: &Summary, before: &Machine, after: &Machine) -> Result<f64, String> {
    let all = |machine: &Machine| -> Option<f64> {
        let pools = machine.pools.iter();
        pools.map(|pool| machine.now(&pool.counter("accepted conn"))).sum()
    };
    let answered = summary.answered as f64;
    let (Some(was), Some(is)) = (all(before), all(after)) else { return Ok(answered) };
    match is - was >= answered * BY_PHP_MIN {
        true => Ok(is - was),
        false => Err(format!(
            "PHP gave {} of {answered} answers, a cache the others: name a page that isn't kept, or \
             the web server behind the cache",
            (is - was).max(0.0)
        )),
    }
}

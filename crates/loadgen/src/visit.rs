//! What one slot does: dials when it has no connection, asks, and has it counted.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use httparse::Header;

use crate::connection::{Deadline, Exchanged, Failure, Line};
use crate::cookies::Jar;
use crate::line::Lines;
use crate::plan::{Plan, Work};
use crate::recorded::Recorded;
use crate::request::Request;
use crate::response::Witness;
use crate::story::{PAGE_BYTES_MAX, Step, Story, Taken};
use crate::tally::{FailureKind, Times};
use crate::worker::{Floor, Job};

/// A server that refuses is asked again no sooner, by the same slot in the closed model.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(10);

/// A slot with its connection, if it has one.
pub(crate) struct Visit {
    place: usize,
    line: Option<Line>,
    deadline: Deadline,
    buffer: Vec<u8>,
}

/// What is looked at in an answer.
#[derive(Default)]
struct Eyes<'a> {
    jar: Option<&'a RefCell<Jar>>,
    server: Option<String>,
    page: Option<Vec<u8>>,
}

impl Witness for Eyes<'_> {
    fn wants_fields(&self) -> bool {
        self.jar.is_some() || self.server.is_some()
    }

    fn fields(&mut self, fields: &[Header<'_>]) {
        if let Some(jar) = self.jar {
            let mut jar = jar.borrow_mut();
            let set = fields.iter().filter(|field| field.name.eq_ignore_ascii_case("set-cookie"));
            set.for_each(|field| jar.set(field.value));
        }
        if let Some(server) = &mut self.server {
            let named = fields.iter().find(|field| field.name.eq_ignore_ascii_case("server"));
            let text = named.map(|field| String::from_utf8_lossy(field.value).into_owned());
            *server = text.unwrap_or_default();
        }
    }

    fn body(&mut self, bytes: &[u8]) {
        if let Some(page) = &mut self.page {
            let room = PAGE_BYTES_MAX.saturating_sub(page.len());
            page.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }
}

/// An answer with what its connection cost.
struct Asked {
    exchanged: Exchanged,
    connect: Duration,
    sent: Instant,
}

impl Visit {
    pub(crate) fn new(place: usize) -> Self {
        Self { place, line: None, deadline: Deadline::new(), buffer: Vec::new() }
    }

    /// Does one job, a request or a whole scenario, and counts what became of it.
    pub(crate) async fn perform(&mut self, floor: &Rc<Floor>, job: &Job, begun: Instant) {
        let was_good = match &floor.plan.work {
            Work::Requests(mix) => {
                let mut eyes = Eyes { jar: floor.jar(job), ..Eyes::default() };
                let request = &mix.all()[mix.pick(job.number)];
                let asked = self.ask(floor, request, begun, &mut eyes).await;
                note(floor, job.intended, begun, asked)
            }
            Work::Recorded(recorded) => Box::pin(self.repeat(floor, job, begun, recorded)).await,
            // A slot's task has room for the largest of its ways; those that most don't go, or
            // once a connection, have theirs elsewhere (so below).
            Work::Stories(mix) => {
                Box::pin(self.play(floor, job, &mix.all()[mix.pick(job.number)])).await
            }
        };
        if !was_good {
            tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
        }
    }

    /// Asks what was asked once.
    async fn repeat(
        &mut self,
        floor: &Rc<Floor>,
        job: &Job,
        begun: Instant,
        recorded: &Recorded,
    ) -> bool {
        let Plan { target, keeps, .. } = &*floor.plan;
        let request = recorded.request(job.request.unwrap_or_default(), target, *keeps);
        let mut eyes = Eyes { jar: floor.jar(job), ..Eyes::default() };
        let asked = match request {
            Ok(request) => self.ask(floor, &request, begun, &mut eyes).await,
            Err(error) => Err(Failure::new(FailureKind::Send, error)),
        };
        note(floor, job.intended, begun, asked)
    }

    /// Plays a scenario until its end, or until something in it isn't as expected.
    async fn play(&mut self, floor: &Rc<Floor>, job: &Job, story: &Story) -> bool {
        let own = RefCell::default();
        let mut taken = Taken::new();
        let mut intended = job.intended;
        for (number, step) in story.steps.iter().enumerate() {
            if !step.think.is_zero() {
                // A thought comes after the answer before it; only the first step is scheduled.
                intended = if number == 0 { intended } else { Instant::now() } + step.think;
                tokio::time::sleep_until(intended.into()).await;
            } else if number > 0 {
                intended = Instant::now();
            }
            floor.tally.borrow_mut().begun += u64::from(number > 0);
            let jar = Some(floor.jar(job).unwrap_or(&own));
            let page = step.takes().then(Vec::new);
            let mut eyes = Eyes { jar, page, ..Eyes::default() };
            let begun = Instant::now();
            let asked = self.step(floor, step, begun, &mut taken, &mut eyes).await;
            if !note(floor, intended, begun, asked) {
                return false;
            }
        }
        true
    }

    async fn step(
        &mut self,
        floor: &Floor,
        step: &Step,
        begun: Instant,
        taken: &mut Taken,
        eyes: &mut Eyes<'_>,
    ) -> Result<Asked, Failure> {
        let unexpected = |why: String| Failure::new(FailureKind::Unexpected, why);
        let mut made = None;
        let Plan { target, keeps, .. } = &*floor.plan;
        let request = step.request(target, *keeps, taken, &mut made).map_err(unexpected)?;
        let asked = self.ask(floor, request, begun, eyes).await?;
        let status = asked.exchanged.answer.status;
        if let Some(expected) = step.expect.filter(|expected| *expected != status) {
            let path = &request.wanted.path;
            return Err(unexpected(format!("{path}: status {status}, and not {expected}")));
        }
        let page = eyes.page.take().unwrap_or_default();
        step.take(&page, taken).map_err(unexpected)?;
        Ok(asked)
    }

    async fn ask(
        &mut self,
        floor: &Floor,
        request: &Request,
        begun: Instant,
        eyes: &mut Eyes<'_>,
    ) -> Result<Asked, Failure> {
        let deadline = begun + floor.plan.timeout;
        let Self { place, line, deadline: timer, buffer } = self;
        let asked = match &floor.lines {
            None => {
                let asking = pin!(ask(floor, request, begun, line, eyes, buffer));
                timer.hold(deadline, asking).await
            }
            Some(lines) => {
                let mut asking = Box::pin(ask_over(lines, *place, floor, request, eyes));
                timer.hold(deadline, asking.as_mut()).await
            }
        };
        let asked = asked.unwrap_or_else(|| {
            let seconds = floor.plan.timeout.as_secs_f64();
            Err(Failure::new(FailureKind::Timeout, format!("no whole answer in {seconds} s")))
        });
        if asked.is_err() {
            self.line = None;
        }
        asked
    }
}

/// Counts what became of a request; whether it was answered.
fn note(floor: &Floor, intended: Instant, begun: Instant, asked: Result<Asked, Failure>) -> bool {
    let mut tally = floor.tally.borrow_mut();
    match asked {
        Ok(Asked { exchanged, connect, sent }) => {
            let since = |moment: Instant| exchanged.end.saturating_duration_since(moment);
            let waiting = exchanged.first_byte.saturating_duration_since(sent);
            let times = Times { latency: since(intended), service: since(begun), connect, waiting };
            tally.answer(since(floor.begin), &times, &exchanged.answer);
            true
        }
        Err(failure) => {
            tally.fail(floor.begin.elapsed(), failure.kind, || failure.why);
            false
        }
    }
}

/// The same over a connection that is shared.
async fn ask_over(
    lines: &Lines,
    place: usize,
    floor: &Floor,
    request: &Request,
    eyes: &mut Eyes<'_>,
) -> Result<Asked, Failure> {
    let cookies = eyes.jar.and_then(|jar| jar.borrow().field().map(str::to_owned));
    let (exchanged, connect, sent) = lines.ask(place, floor, request, cookies, eyes).await?;
    floor.tally.borrow_mut().kept += u64::from(connect.is_zero());
    Ok(Asked { exchanged, connect, sent })
}

async fn ask(
    floor: &Floor,
    request: &Request,
    begun: Instant,
    line: &mut Option<Line>,
    eyes: &mut Eyes<'_>,
    buffer: &mut Vec<u8>,
) -> Result<Asked, Failure> {
    let own = eyes.jar.map(RefCell::borrow);
    let bytes = match own.as_ref().and_then(|jar| jar.field()) {
        Some(cookies) => {
            request.write_with_cookies(cookies, buffer);
            &buffer[..]
        }
        None => &request.whole,
    };
    drop(own);
    loop {
        let (mut open, connect, sent) = match line.take() {
            Some(open) => (open, Duration::ZERO, begun),
            None => {
                let dialled = Instant::now();
                let stream = Box::pin(floor.dialer.dial()).await?;
                let sent = Instant::now();
                let mut tally = floor.tally.borrow_mut();
                tally.connections += 1;
                eyes.server = (tally.connections == 1).then(String::new);
                (Line::new(stream), sent - dialled, sent)
            }
        };
        match open.exchange(bytes, request.is_head(), eyes).await {
            Ok(exchanged) => {
                let mut tally = floor.tally.borrow_mut();
                tally.kept += u64::from(open.answers > 1);
                if let Some(server) = eyes.server.take() {
                    tally.server = server;
                }
                if exchanged.answer.keeps && floor.plan.keeps {
                    *line = Some(open);
                }
                return Ok(Asked { exchanged, connect, sent });
            }
            // The server closed the connection while nobody used it (RFC 9112 §9.3.1).
            Err(failure) if failure.is_unanswered && open.answers > 0 && request.is_safe() => {
                floor.tally.borrow_mut().resent += 1;
            }
            Err(failure) => return Err(failure),
        }
    }
}

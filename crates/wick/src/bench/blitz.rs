//! blitz's lines as they are.
//!
//! In: the words of a line. Out: the words that the rest of `wick bench` understands, and the
//! steps that they ask for, each with what stood before its address. A line is blitz's if it has
//! a pattern: `--pattern`, or a `-p` whose value has a pattern's form. Several of blitz's letters
//! are ab's too, with other meanings (`-A`, `-b`, `-d`, `-e`, `-s`, `-u`, `-X`), so they are taken
//! out here before anybody else reads them.
//! Invariants: 1. A line without a pattern passes as it is. 2. What blitz had and a load has no
//! use for is refused with a sentence, never ignored in silence.

use std::ffi::OsString;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use loadgen::plan::Work;
use loadgen::request::{Mix, Request, Wanted, read_field};
use loadgen::schedule::Pattern;
use loadgen::story::Story;
use loadgen::target::Target;

use crate::bench::plan::{PlanError, read};
use crate::bench::typed::Bench;
use crate::bench::variable::{Variable, fill, hide, show};

/// What is asked at one address, as blitz writes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Step {
    url: String,
    fields: Vec<String>,
    cookies: Vec<String>,
    data: Vec<String>,
    method: Option<String>,
    status: Option<u16>,
    variables: Vec<Variable>,
}

/// What the words of a line became.
#[derive(Debug, Default)]
pub(crate) struct Translated {
    pub(crate) words: Vec<OsString>,
    pub(crate) steps: Vec<Step>,
    open: Step,
    /// blitz has one with each step; the last one counts.
    timeout: Option<String>,
}

/// Options of blitz that say nothing to a load, and what to write instead.
const REFUSED: [(&[&str], &str); 5] = [
    (
        &["-D", "--dump-header"],
        "-D shows the heads of single answers, and a load keeps none of them",
    ),
    (&["-V", "--verbose"], "-V shows single answers, and a load keeps none of them"),
    (&["-o", "--output"], "-o is blitz's file of CSV: --save FILE keeps the report, as JSON"),
    (&["-f"], "-f csv isn't written: --save FILE keeps the report, as JSON"),
    (
        &["-1", "-2", "-3", "--tlsv1", "--sslv2", "--sslv3"],
        "SSL and TLS 1.0 aren't spoken: leave -1, -2 and -3 out",
    ),
];

/// Reads the words of a line, the program's name and `bench` among them.
///
/// # Errors
/// A sentence about what is wrong.
pub(crate) fn translate(words: Vec<OsString>) -> Result<Translated, String> {
    let texts: Option<Vec<String>> =
        words.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    let is_blitz = |texts: &[String]| {
        texts.get(1).is_some_and(|word| word == "bench") && has_pattern(&texts[2..])
    };
    let Some(texts) = texts.filter(|texts| is_blitz(texts)) else {
        return Ok(Translated { words, ..Translated::default() });
    };
    let mut translated = Translated { words: words[..2].to_vec(), ..Translated::default() };
    let mut rest = texts.into_iter().skip(2);
    while let Some(word) = rest.next() {
        translated.take(&word, &mut rest)?;
    }
    translated.end()
}

fn has_pattern(words: &[String]) -> bool {
    let is_short = |pair: &[String]| pair[0] == "-p" && Pattern::parse(&pair[1]).is_ok();
    words.iter().any(|word| word == "--pattern" || word.starts_with("--pattern="))
        || words.windows(2).any(is_short)
}

impl Translated {
    /// Takes one word, with its value if it has one.
    fn take(&mut self, word: &str, rest: &mut impl Iterator<Item = String>) -> Result<(), String> {
        if let Some((_, why)) = REFUSED.iter().find(|(names, _)| names.contains(&word)) {
            return Err((*why).to_owned());
        }
        if !word.starts_with('-') || word == "-" {
            self.words.push(word.into());
            let step = Step { url: word.to_owned(), ..std::mem::take(&mut self.open) };
            self.steps.push(step);
            return Ok(());
        }
        let (name, glued) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word, None),
        };
        let mut value = || {
            let value = glued.clone().or_else(|| rest.next());
            value.ok_or_else(|| format!("{name} has to have a value behind it"))
        };
        let step = &mut self.open;
        match name {
            "-A" | "--user-agent" => step.fields.push(format!("User-Agent: {}", value()?)),
            "-b" | "--cookie" => step.cookies.push(value()?),
            "-d" | "--data" => step.data.push(value()?),
            "-e" | "--referer" => step.fields.push(format!("Referer: {}", value()?)),
            "-H" | "--header" => step.fields.push(value()?),
            "-s" | "--status" => {
                let text = value()?;
                let status = text.parse().ok().filter(|status| (200..1000).contains(status));
                let wrong = || format!("\"{text}\" is not a status, which -s is with a pattern");
                step.status = Some(status.ok_or_else(wrong)?);
            }
            "-u" | "--user" => {
                let user = value()?;
                let user = if user.contains(':') { user } else { format!("{user}:") };
                step.fields.push(format!("Authorization: Basic {}", STANDARD.encode(user)));
            }
            "-X" | "--request" => step.method = Some(value()?),
            "-T" => self.timeout = Some(value()?),
            // Regions mean nothing here; cookies are kept from step to step without being named.
            "-r" | "--region" | "-x:c" | "--xtract:cookie" => drop(value()?),
            "--timeout" => {
                let text = value()?;
                if text.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(format!(
                        "--timeout {text} is milliseconds in blitz and seconds here: write -T {text}, or a unit, as in --timeout 4s"
                    ));
                }
                self.words.extend(["--timeout".into(), text.into()]);
            }
            "--format" => {
                let format = value()?;
                if format == "csv" {
                    return Err(REFUSED[3].1.to_owned());
                }
                self.words.extend(["--format".into(), format.into()]);
            }
            "-p" => {
                let value = value()?;
                let name = if Pattern::parse(&value).is_ok() { "--pattern" } else { "-p" };
                self.words.extend([name.into(), value.into()]);
            }
            _ => return self.take_other(word, name, rest),
        }
        Ok(())
    }

    /// Takes a variable, or an option that is no more blitz's than anybody's.
    fn take_other(
        &mut self,
        word: &str,
        name: &str,
        rest: &mut impl Iterator<Item = String>,
    ) -> Result<(), String> {
        let variable = name.strip_prefix("-v:").or_else(|| name.strip_prefix("--variable:"));
        if let Some(variable) = variable {
            let value = rest.next().unwrap_or_default();
            self.open.variables.push(Variable::parse(variable, &value)?);
            return Ok(());
        }
        self.words.push(word.into());
        if word == name && takes_value(name) {
            self.words.extend(rest.next().map(OsString::from));
        }
        Ok(())
    }

    fn end(mut self) -> Result<Self, String> {
        let late = std::mem::take(&mut self.open);
        match &mut self.steps[..] {
            _ if late == Step::default() => {}
            // With one address there is no doubt which one is meant.
            [only] => only.add(late),
            [] => self.steps.push(late),
            _ => return Err("what is said of an address has to stand before it".to_owned()),
        }
        if let [only] = &self.steps[..]
            && only.is_ordinary()
        {
            self.words.extend(only.words());
            self.steps.clear();
        }
        if let Some(timeout) = self.timeout.take() {
            self.words.extend(["-T".into(), timeout.into()]);
        }
        Ok(self)
    }
}

/// Whether a word behind this option belongs to it.
fn takes_value(name: &str) -> bool {
    let command = Bench::augment_args(clap::Command::new("bench"));
    let is_named = |argument: &&clap::Arg| match name.strip_prefix("--") {
        Some(long) => argument.get_long() == Some(long),
        None => argument.get_short().is_some_and(|short| name == format!("-{short}")),
    };
    command.get_arguments().find(is_named).is_some_and(|one| one.get_action().takes_values())
}

impl Step {
    /// Whether all of it can be said in our own words.
    fn is_ordinary(&self) -> bool {
        self.data.is_empty() && self.variables.is_empty() && self.status.is_none()
    }

    /// It in our own words, but for the address.
    fn words(&self) -> impl Iterator<Item = OsString> {
        let fields = self.fields.iter().map(|field| format!("--header={field}"));
        let cookies = self.cookies.iter().map(|cookie| format!("--cookie={cookie}"));
        let method = self.method.iter().map(|method| format!("--method={method}"));
        fields.chain(cookies).chain(method).map(OsString::from)
    }

    /// The same at another address.
    pub(crate) fn at(&self, url: &str) -> Self {
        Self { url: url.to_owned(), ..self.clone() }
    }

    fn add(&mut self, late: Self) {
        self.fields.extend(late.fields);
        self.cookies.extend(late.cookies);
        self.data.extend(late.data);
        self.variables.extend(late.variables);
        self.method = late.method.or(self.method.take());
        self.status = late.status.or(self.status);
    }

    /// The request with these values, of which there are as many as the longest variable has.
    fn request(
        &self,
        typed: &Bench,
        target: &Target,
        keeps: bool,
        values: &[(&str, &str)],
    ) -> Result<Request, PlanError> {
        let path = target.another(&hide(&self.url))?;
        let path = target.path_here(&show(&path, values))?;
        let mut fields = Vec::new();
        for field in typed.fields.iter().chain(&self.fields) {
            fields.push(read_field(&fill(field, values))?);
        }
        let cookies: Vec<_> =
            typed.cookies.iter().chain(&self.cookies).map(|one| fill(one, values)).collect();
        if !cookies.is_empty() {
            fields.push(("Cookie".to_owned(), cookies.join("; ")));
        }
        let body = self.body(typed, values)?;
        let names_type = fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if !self.data.is_empty() && !names_type {
            let form = "application/x-www-form-urlencoded".to_owned();
            fields.push(("Content-Type".to_owned(), form));
        }
        let usual = if body.is_some() { "POST" } else { "GET" };
        let method = self.method.as_deref().or(typed.method.as_deref()).unwrap_or(usual);
        let (method, body) = (method.to_owned(), body.unwrap_or_default());
        Ok(Request::new(Wanted { method, path, fields, body }, target, keeps)?)
    }

    /// What `-d` says, or the file of our own `--body`.
    fn body(&self, typed: &Bench, values: &[(&str, &str)]) -> Result<Option<Vec<u8>>, PlanError> {
        if self.data.is_empty() {
            return typed.body.as_deref().map(read).transpose();
        }
        let mut body = Vec::new();
        for (number, data) in self.data.iter().enumerate() {
            if number > 0 {
                body.push(b'&');
            }
            match data.strip_prefix('@') {
                Some(file) => body.extend(read(file.as_ref())?),
                None => body.extend(fill(data, values).into_bytes()),
            }
        }
        Ok(Some(body))
    }
}

/// What the steps ask for: one of them is a request, several are what each visitor does.
pub(crate) fn work(typed: &Bench, target: &Target, keeps: bool) -> Result<Work, PlanError> {
    let steps = &typed.steps;
    let variables = || steps.iter().flat_map(|step| &step.variables);
    let count = variables().map(|variable| variable.values.len()).max().unwrap_or(1);
    let (mut requests, mut stories) = (Vec::new(), Vec::new());
    for number in 0..count {
        let values: Vec<_> = variables().map(|variable| variable.at(number)).collect();
        let request = |step: &Step| step.request(typed, target, keeps, &values);
        match &steps[..] {
            [Step { status: None, .. }] => requests.push((request(&steps[0])?, 1.0)),
            steps => {
                let steps = steps.iter().map(|step| Ok((request(step)?, step.status)));
                stories.push((Story::of(steps.collect::<Result<_, PlanError>>()?), 1.0));
            }
        }
    }
    Ok(match requests.is_empty() {
        true => Work::Stories(Mix::new(stories)?),
        false => Work::Requests(Mix::new(requests)?),
    })
}

//! A visitor by program who fills in forms as a browser with scripts would.
//!
//! Scripts don't run here: what a specimen's script adds is said in its description.
//! A [`Walk`] is a client, the page that it has open, and what it did.

use serde_json::Value;

use crate::browser::Outcome;
use crate::client::{Answer, Client, Request, resolved};
use crate::page::{self, Form};
use crate::specimen::{PASSWORD, Site, Specimen, Step, USER};

/// A visitor who walks over a specimen.
pub(crate) struct Walk<'a> {
    pub(crate) client: Client,
    pub(crate) specimen: &'a Specimen,
    /// The page that is open.
    at: String,
    html: String,
}

/// Fields in which a guest finds their own name again.
const NAMES: [&str; 4] = ["author", "sender", "name", "address"];

/// Texts for the fields that bear these `id`s.
pub(crate) type Written<'a> = [(&'a str, &'a str)];

impl<'a> Walk<'a> {
    pub(crate) fn new(client: Client, specimen: &'a Specimen) -> Self {
        Self { client, specimen, at: String::new(), html: String::new() }
    }

    /// Opens a page.
    pub(crate) fn read(&mut self, target: &str) -> Outcome<Answer> {
        let answer = self.client.read(target)?;
        self.open(target, &answer);
        Ok(answer)
    }

    fn open(&mut self, target: &str, answer: &Answer) {
        self.at = target.to_owned();
        self.html.clone_from(&answer.body);
    }

    /// The form of the open page that has a field with this `id`.
    pub(crate) fn form(&self, id: &str) -> Outcome<Form> {
        let mut forms = page::forms(&self.html).into_iter();
        let form = forms.find(|form| form.fields.iter().any(|field| field.id == id));
        form.ok_or_else(|| {
            let shown = page::text(&self.html).join(" / ");
            format!("{}: no form with a field {id}: {shown}", self.at)
        })
    }

    /// Fills in the form that has the first of the fields, and sends it.
    pub(crate) fn send(&mut self, written: &Written<'_>) -> Outcome<Answer> {
        let form = self.form(written.first().map_or("", |(id, _)| id))?;
        let pairs = form.filled(written);
        let target = match form.action.as_str() {
            "" => self.at.clone(),
            action => self.client.path_of(action),
        };
        let answer = match (form.is_post, form.is_by_script) {
            (true, true) => self.send_by_script(&target, &pairs)?,
            (true, false) => self.client.submit(&self.at, &target, &pairs)?,
            (false, _) => {
                let query = Request::form("", &pairs).body;
                let request = Request::get(&format!("{target}?{query}"));
                self.client.send(&self.client.same_origin(request, &self.at))?
            }
        };
        self.open(&target, &answer);
        Ok(answer)
    }

    /// As the scripts of the specimens do: in the background, then on to what the answer says.
    fn send_by_script(&mut self, target: &str, pairs: &[(String, String)]) -> Outcome<Answer> {
        let script = self.specimen.script.clone().ok_or("a form by script, and no script")?;
        let token = self.script_token(&script.from)?;
        let request = Request::form(target, pairs).with(&script.header, &token);
        let answer = self.client.background(request, &self.at)?;
        match serde_json::from_str::<Value>(&answer.body) {
            Ok(said) if said["location"].is_string() => {
                let place = said["location"].as_str().unwrap_or("/");
                self.client.read(place.split('#').next().unwrap_or(place))
            }
            _ => Ok(answer),
        }
    }

    fn script_token(&mut self, from: &Value) -> Outcome<String> {
        if let Some(name) = from["cookie"].as_str() {
            let pair = self.client.jar.iter().find(|(known, _)| known == name);
            return Ok(pair.map(|(_, value)| value.clone()).unwrap_or_default());
        }
        if let Some(target) = from["json"].as_str() {
            let answer = self.client.background(Request::get(target), &self.at)?;
            let said: Value = serde_json::from_str(&answer.body).unwrap_or_default();
            let key = from["key"].as_str().unwrap_or_default();
            return Ok(said[key].as_str().unwrap_or_default().to_owned());
        }
        let name = from["meta"].as_str().unwrap_or_default();
        let tags = self.html.split("<meta").skip(1).filter_map(|rest| rest.split('>').next());
        let mut named = tags.filter(|tag| page::attribute(tag, "name").as_deref() == Some(name));
        Ok(named.next().and_then(|tag| page::attribute(tag, "content")).unwrap_or_default())
    }

    /// Logs in, and sees that the site then knows this visitor.
    pub(crate) fn log_in(&mut self) -> Outcome<()> {
        let login = &self.specimen.login;
        self.read(&login.page)?;
        take_time(login.wait_seconds);
        let answer = self.send(&[("user", USER), ("password", PASSWORD)])?;
        match self.is_member()? {
            true => Ok(()),
            false => Err(format!("the log-in failed: {}\n{}", answer.head, answer.body)),
        }
    }

    pub(crate) fn is_member(&mut self) -> Outcome<bool> {
        let front = self.read(&self.specimen.front.clone())?;
        Ok(page::text(&front.body).join(" ").contains(&self.specimen.login.proof))
    }

    /// Keeps a private note, and sees that the account shows it.
    pub(crate) fn keep_note(&mut self, note: &str) -> Outcome<()> {
        let secret = &self.specimen.secret;
        self.read(&secret.page)?;
        take_time(secret.wait_seconds);
        let answer = self.send(&[(&secret.parameter, note)])?;
        match self.read(&secret.page)?.body.contains(note) {
            true => Ok(()),
            false => Err(format!("the note was not kept: {}\n{}", answer.head, answer.body)),
        }
    }

    /// Comments as whoever this is.
    pub(crate) fn comment(&mut self, target: &str, words: &str) -> Outcome<Answer> {
        self.read(target)?;
        self.send(&[("body", words), ("author", "Bill")])
    }

    /// Whether the open page has a form for comments.
    pub(crate) fn can_comment(&self) -> bool {
        self.form("body").is_ok()
    }

    /// Does what guests of this specimen do, from the first page to the last text.
    pub(crate) fn be_guest(&mut self, site: &Site, mark: &str) -> Outcome<()> {
        let guest = &self.specimen.guest;
        self.read(&guest.page)?;
        let mut written: Vec<(&str, String)> = Vec::new();
        for step in &guest.steps {
            match step {
                Step::Fill(field, text) => {
                    written.push((id_of(field), text.replace("{mark}", mark)))
                }
                Step::Captcha(field) => written.push((id_of(field), self.read_captcha(site)?)),
                Step::Click(what) => self.click(what, &std::mem::take(&mut written))?,
                Step::Visit(target) => drop(self.read(target)?),
                Step::WaitSeconds(seconds) => take_time(*seconds),
                Step::Expect(text) => self.expect(&text.replace("{mark}", mark), true)?,
                Step::Lacks(text) => self.expect(&text.replace("{mark}", mark), false)?,
            }
        }
        Ok(())
    }

    /// Sends the first form of what guests do as soon as its page is there, and looks at
    /// nothing that follows; none where there is more to it than a form.
    pub(crate) fn send_first_form(&mut self, mark: &str) -> Outcome<Option<Answer>> {
        let guest = &self.specimen.guest;
        self.read(&guest.page)?;
        let mut written: Vec<(&str, String)> = Vec::new();
        for step in &guest.steps {
            match step {
                Step::Fill(field, text) => {
                    written.push((id_of(field), text.replace("{mark}", mark)));
                }
                Step::Click(_) => break,
                _ => return Ok(None),
            }
        }
        let Some((first, _)) = written.first() else { return Ok(None) };
        let form = self.form(first)?;
        if form.is_by_script || !form.is_post {
            return Ok(None);
        }
        let written: Vec<_> = written.iter().map(|(id, text)| (*id, text.as_str())).collect();
        let target = self.client.path_of(&form.action);
        let request = Request::form(&target, &form.filled(&written));
        self.client.send(&self.client.same_origin(request, &self.at)).map(Some)
    }

    /// What such a guest is told, and what stands in this guest's own forms: nobody else reads
    /// these, while what a guest writes may be for everybody.
    pub(crate) fn private_texts(&self, mark: &str) -> Vec<String> {
        let steps = &self.specimen.guest.steps;
        let written = steps.iter().filter_map(|step| match step {
            Step::Fill(field, text) if text.contains("{mark}") => Some((field, text)),
            _ => None,
        });
        let written: Vec<_> = written.collect();
        let is_written = |text: &String| written.iter().any(|(_, other)| *other == text);
        let told = steps.iter().filter_map(|step| match step {
            Step::Expect(text) if text.contains("{mark}") && !is_written(text) => Some(text),
            _ => None,
        });
        // A name that is found in the form again; other fields may show what is public.
        let names = written.iter().filter(|(field, _)| NAMES.contains(&id_of(field)));
        let filled = names.map(|(_, text)| format!("value=\"{text}\""));
        filled.chain(told.cloned()).map(|text| text.replace("{mark}", mark)).collect()
    }

    /// Presses a button of a form or follows a link.
    fn click(&mut self, what: &str, written: &[(&str, String)]) -> Outcome<()> {
        let written: Vec<_> = written.iter().map(|(id, text)| (*id, text.as_str())).collect();
        if what.ends_with(" button") {
            return self.send(&written).map(|_| ());
        }
        let name = if what.starts_with('#') { "id" } else { "class" };
        let mut links = self.html.split("<a").skip(1).filter_map(|rest| rest.split('>').next());
        let link = links.find(|tag| page::attribute(tag, name).as_deref() == Some(id_of(what)));
        let place = link.and_then(|tag| page::attribute(tag, "href"));
        let place = place.ok_or_else(|| format!("{}: no link {what}", self.at))?;
        let target = resolved(&self.at, &self.client.path_of(&place));
        let request = self.client.same_origin(Request::get(&target), &self.at);
        let answer = self.client.go(&request)?;
        self.open(&target, &answer);
        Ok(())
    }

    /// Looks at the picture of the open page; what it shows is known to the specimen.
    fn read_captcha(&mut self, site: &Site) -> Outcome<String> {
        let picture = page::attribute_after(&self.html, "<img src=\"").ok_or("no picture")?;
        let request = Request::get(&self.client.path_of(&picture))
            .with("Sec-Fetch-Site", "same-origin")
            .with("Sec-Fetch-Mode", "no-cors")
            .with("Sec-Fetch-Dest", "image")
            .with("Accept", "image/*")
            .with("Referer", &format!("{}{}", self.client.origin(), self.at));
        self.client.send(&request)?;
        site.captcha_answer(&self.client.jar)
    }

    fn expect(&self, text: &str, is_wanted: bool) -> Outcome<()> {
        let shown = page::text(&self.html).join(" ");
        match shown.contains(text) == is_wanted {
            true => Ok(()),
            false => Err(format!("{}: {text:?} is wanted: {is_wanted}; {shown}", self.at)),
        }
    }
}

/// The name behind a `#` or a `.`.
fn id_of(selector: &str) -> &str {
    selector.trim_start_matches(['#', '.'])
}

/// Reads a form for as long as it wants to be read, by the specimen's own clock.
pub(crate) fn take_time(seconds: u64) {
    std::thread::sleep(std::time::Duration::from_secs(seconds));
}

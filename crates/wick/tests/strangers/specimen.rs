//! A specimen: a small site of ours that models one trap, and how to visit it.
//!
//! `specimens/NAME/specimen.json` says which pages there are, how to log in, and what a
//! guest does. Start at [`all`]; a [`Site`] is a specimen that runs, in a folder of its
//! own, once behind Wick and once without.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use crate::browser::Outcome;
use crate::served::{Manner, Served};

/// A specimen's description.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Specimen {
    /// Its folder's name.
    #[serde(skip)]
    pub(crate) name: String,
    pub(crate) front: String,
    /// Pages that strangers may share.
    pub(crate) crawl: Vec<String>,
    /// Pages that strangers may not share.
    #[serde(default)]
    pub(crate) never_shared: Vec<String>,
    /// Pages that strangers could share and that Wick has a reason to pass.
    #[serde(default)]
    pub(crate) passes: Vec<Passed>,
    pub(crate) login: Login,
    pub(crate) guest: Guest,
    /// What every visitor who is logged in keeps for themselves.
    pub(crate) secret: Secret,
    /// What a script of the pages adds to their forms.
    pub(crate) script: Option<Script>,
    /// Where a captcha's answer lies, which no test can read from its picture.
    pub(crate) captcha: Option<Captcha>,
    /// What no stranger may ever be shown.
    #[serde(default)]
    pub(crate) never_shown: Vec<Hidden>,
    /// What stands before a word that no two visitors may read alike.
    #[serde(default)]
    pub(crate) personal: Vec<String>,
}

/// A page that passes.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Passed {
    pub(crate) path: String,
}

/// A text that a page hides from strangers.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Hidden {
    pub(crate) page: String,
    pub(crate) text: String,
}

/// A note that the header of every page begins with, once somebody has written it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Secret {
    pub(crate) page: String,
    /// The field's name before a specimen gives it another; also its `id`.
    pub(crate) parameter: String,
    #[serde(default)]
    pub(crate) wait_seconds: u64,
}

/// A header that a script adds, and where it finds the value.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Script {
    pub(crate) header: String,
    pub(crate) from: Value,
}

/// A file below the data folder, named after a cookie's value.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Captcha {
    pub(crate) cookie: String,
    pub(crate) file: String,
}

/// How `ann` logs in.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Login {
    pub(crate) page: String,
    pub(crate) user_field: String,
    pub(crate) password_field: String,
    pub(crate) submit: String,
    /// What only she reads on the front page.
    pub(crate) proof: String,
    /// How long the form wants to be read.
    #[serde(default)]
    pub(crate) wait_seconds: u64,
}

/// What somebody does who is not logged in.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Guest {
    pub(crate) page: String,
    pub(crate) steps: Vec<Step>,
}

/// One thing that a person does or sees.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// Writes a text into the field that a selector finds.
    Fill(String, String),
    /// Clicks what a selector finds.
    Click(String),
    /// Goes to a page.
    Visit(String),
    /// Reads a text.
    Expect(String),
    /// Does not read a text.
    Lacks(String),
    /// Writes the answer of the captcha into a field.
    Captcha(String),
    /// Takes time.
    WaitSeconds(u64),
}

/// The name and the password of the user that every specimen has.
pub(crate) const USER: &str = "ann";
pub(crate) const PASSWORD: &str = "wonderland";

/// Every specimen with a description, by name.
pub(crate) fn all() -> Outcome<Vec<Specimen>> {
    let folder = folder();
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names: Vec<_> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names.retain(|name| folder.join(name).join("specimen.json").is_file());
    names.iter().map(|name| read(name)).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specimens")
}

fn read(name: &str) -> Outcome<Specimen> {
    let path = folder().join(name).join("specimen.json");
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(&path).map_err(|error| told(&error))?;
    let specimen: Specimen = serde_json::from_str(&text).map_err(|error| told(&error))?;
    Ok(Specimen { name: name.to_owned(), ..specimen })
}

/// A specimen that runs.
pub(crate) struct Site {
    pub(crate) specimen: Specimen,
    /// Behind Wick.
    pub(crate) wick: Served,
    /// The same files and data, as the origin answers.
    pub(crate) plain: Served,
    folder: TempDir,
}

impl Site {
    /// Copies a specimen and serves it.
    pub(crate) fn start(specimen: &Specimen, manner: Manner) -> Outcome<Self> {
        let folder = TempDir::new().map_err(|error| error.to_string())?;
        copy(&specimen.name, folder.path(), &[]).map_err(|error| format!("a copy: {error}"))?;
        let root = folder.path().join(&specimen.name);
        let wick = Served::start(&root, manner)?;
        let plain = Served::start(&root, Manner::WithoutCache)?;
        Ok(Self { specimen: specimen.clone(), wick, plain, folder })
    }

    /// The answer of the captcha that a visitor with these cookies was shown.
    pub(crate) fn captcha_answer(&self, cookies: &[(String, String)]) -> Outcome<String> {
        let captcha = self.specimen.captcha.as_ref().ok_or("the specimen has no captcha")?;
        let cookie = cookies.iter().find(|(name, _)| *name == captcha.cookie);
        let (_, value) = cookie.ok_or_else(|| format!("no cookie {}", captcha.cookie))?;
        let path = self.folder.path().join("data").join(captcha.file.replace("{cookie}", value));
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// Lays a specimen, what it shares with others, and an empty data folder into `to`; its
/// scripts find these variables.
pub(crate) fn copy(name: &str, to: &Path, variables: &[(&str, &str)]) -> std::io::Result<()> {
    // Scripts run as another user, who must be able to read them and to write data.
    fs::set_permissions(to, fs::Permissions::from_mode(0o755))?;
    for part in [name, "lib"] {
        if folder().join(part).exists() {
            let copied = Command::new("cp").arg("-rL").arg(folder().join(part)).arg(to).status()?;
            if !copied.success() {
                return Err(std::io::Error::other(format!("cp of {part}: {copied}")));
            }
        }
    }
    let (data, sessions) = (to.join("data"), to.join("sessions"));
    for folder in [&data, &sessions] {
        fs::create_dir(folder)?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o777))?;
    }
    // Wick gives php-fpm no variables without a setting, and there shall be none.
    let prepended = to.join("data-folder.php");
    let data = data.display().to_string();
    let ours = [("SPECIMEN_DATA", data.as_str())];
    let variables = variables.iter().chain(&ours);
    let script = variables.map(|(name, value)| {
        format!("putenv('{name}={value}'); $_SERVER['{name}'] = '{value}';\n")
    });
    fs::write(&prepended, format!("<?php\n{}", script.collect::<String>()))?;
    let settings = format!(
        "auto_prepend_file = \"{}\"\nsession.save_path = \"{}\"\n",
        prepended.display(),
        sessions.display()
    );
    fs::write(to.join(name).join(".user.ini"), settings)
}

//! `wick dict add ko`, `ja` or `zh`: the dictionary by which the words of a language are found, put
//! into the state folder, and opened from there.
//!
//! In: the package as PyPI has it, fetched or given as a file. Out: its files, unpacked, with its
//! licence. Invariant: nothing is unpacked but the one package whose sum is pinned, whoever hands it
//! out; so an index may be any mirror.
//! Bounds: an index of [`INDEX_BYTES_MAX`], a package of [`PACK_BYTES_MAX`].

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base::amount::show_bytes;
use base::complaint::complain;
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use origin::Answer;
use search::text::{
    Chinese, Dictionaries, Japanese, Korean, Morphemes, Pack, PackError, Unusable, Wordlist,
};
use serde::Deserialize;
use tokio::time::timeout;
use wire::{Fields, Name};

use crate::announce::say;
use crate::arguments::DictionaryAdd;
use crate::plan;
use crate::post::Address;
use crate::run::single_threaded;

/// Where packages are, as PEP 503 and PEP 691 have it.
const INDEX: &str = "https://pypi.org/simple/";
const INDEX_TYPE: &str = "application/vnd.pypi.simple.v1+json";
const INDEX_BYTES_MAX: usize = 4 << 20;
const PACK_BYTES_MAX: u64 = 64 << 20;
/// How long a server may say nothing.
const SILENCE_MAX: Duration = Duration::from_secs(60);
const REDIRECTS_MAX: usize = 4;

/// Why there is no dictionary.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DictionaryError {
    /// There is none for this language.
    #[error(
        "there is no dictionary for \"{0}\": there are ko, ja and zh; other languages need none"
    )]
    Unknown(String),
    /// It couldn't be fetched.
    #[error(
        "{file} can't be fetched: {1}; try again, or fetch it by another way (`{by_pip}`) and name the \
         file: wick dict add {code} --from FILE",
        file = .0.file, by_pip = by_pip(.0), code = .0.code
    )]
    Away(&'static Pack, String),
    /// The folder can't be written.
    #[error(
        "{0} can't be written: {1}; name another state folder by --state, or run this as its owner"
    )]
    Folder(PathBuf, io::Error),
    /// It can't be unpacked.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// What was unpacked can't be used.
    #[error(transparent)]
    Unusable(#[from] Unusable),
    /// The system refuses what every process needs.
    #[error("the system gives no runtime: {0}")]
    System(String),
}

/// How the package is fetched without Wick.
fn by_pip(pack: &Pack) -> String {
    let source = if pack.file.ends_with(".whl") { "" } else { "--no-binary :all: " };
    format!("pip download --no-deps {source}{}=={}", pack.package, pack.version)
}

/// Puts a dictionary into the state folder.
pub(crate) fn add(arguments: &DictionaryAdd) -> Result<(), DictionaryError> {
    let language = arguments.language.as_str();
    let pack = Pack::of(language).ok_or_else(|| DictionaryError::Unknown(language.to_owned()))?;
    let state = arguments.state.clone().unwrap_or_else(plan::default_state);
    let folder = state.join("dict");
    fs::create_dir_all(&folder).map_err(|error| DictionaryError::Folder(folder.clone(), error))?;
    let fetched = folder.join(".fetched");
    let package = match &arguments.from {
        Some(file) => file.clone(),
        None => {
            let index = arguments.index.as_deref().unwrap_or(INDEX);
            let runtime =
                single_threaded().map_err(|why| DictionaryError::System(why.to_string()))?;
            runtime.block_on(fetch(pack, index, &fetched))?;
            fetched.clone()
        }
    };
    let unpacked = pack.unpack(&package, &folder.join(pack.code));
    if arguments.from.is_none() {
        // A next time fetches it again.
        let _ = fs::remove_file(&fetched);
    }
    unpacked?;
    let own = folder.join(pack.code);
    match pack.code {
        "ko" => drop(Korean::open(&own)?),
        "ja" => drop(Japanese::open(&own)?),
        _ => drop(Chinese::open(&own)?),
    }
    say(&format!(
        "{} from the next start on (`wick upgrade` makes one without a pause);\nindexes are made anew \
         then. The dictionary and its licence are in {}\n",
        pack.gain,
        own.display()
    ));
    Ok(())
}

/// All dictionaries that are in a state folder.
pub(crate) fn dictionaries(state: &Path) -> Dictionaries {
    let japanese =
        opened(state, "ja", Japanese::open).map(|one| Arc::new(one) as Arc<dyn Wordlist>);
    let chinese = opened(state, "zh", Chinese::open).map(|one| Arc::new(one) as Arc<dyn Wordlist>);
    Dictionaries { korean: korean(state), japanese, chinese }
}

/// The Korean dictionary, if it is in the state folder.
pub(crate) fn korean(state: &Path) -> Option<Arc<dyn Morphemes>> {
    opened(state, "ko", Korean::open).map(|one| Arc::new(one) as Arc<dyn Morphemes>)
}

/// The dictionary of a language, if it is there; one that can't be used is told.
fn opened<T>(state: &Path, code: &str, open: impl Fn(&Path) -> Result<T, Unusable>) -> Option<T> {
    let folder = state.join("dict").join(code);
    if !folder.is_dir() {
        return None;
    }
    open(&folder).inspect_err(|error| complain(error)).ok()
}

/// What an index says of a package.
#[derive(Deserialize)]
struct Package {
    files: Vec<PackageFile>,
}

#[derive(Deserialize)]
struct PackageFile {
    filename: String,
    url: String,
}

async fn fetch(pack: &'static Pack, index: &str, to: &Path) -> Result<(), DictionaryError> {
    let away = |why| DictionaryError::Away(pack, why);
    let page = format!("{}/{}/", index.trim_end_matches('/'), pack.package);
    let answer = ask(&page).await.map_err(away)?;
    let body = Limited::new(answer.1.body, INDEX_BYTES_MAX).collect();
    let told = timeout(SILENCE_MAX, body).await;
    let told = told.map_err(|_| away(format!("{page} takes too long")))?;
    let told = told.map_err(|error| away(format!("{page}: {error}")))?.to_bytes();
    let package: Package = serde_json::from_slice(&told)
        .map_err(|error| away(format!("{page} is no index of packages: {error}")))?;
    let file = package.files.into_iter().find(|file| file.filename == pack.file);
    let file = file.ok_or_else(|| away(format!("{page} doesn't have it")))?;
    let url = url::Url::parse(&answer.0).and_then(|base| base.join(&file.url));
    let url = url.map_err(|error| away(format!("{page} names a wrong address: {error}")))?;
    download(pack, url.as_str(), to).await
}

/// Writes what is at an address into a file, and shows on a terminal how far it is.
async fn download(pack: &'static Pack, url: &str, to: &Path) -> Result<(), DictionaryError> {
    let away = |why| DictionaryError::Away(pack, why);
    let failed = |error| DictionaryError::Folder(to.to_owned(), error);
    let (_, answer) = ask(url).await.map_err(away)?;
    let whole = answer.length;
    let mut body = answer.body;
    let mut file = fs::File::create(to).map_err(failed)?;
    let (mut done, mut shown) = (0_u64, 0);
    let is_shown = io::stderr().is_terminal();
    loop {
        let next = timeout(SILENCE_MAX, body.frame()).await;
        let Some(frame) = next.map_err(|_| away(format!("{url} says nothing any more")))? else {
            break;
        };
        let frame = frame.map_err(|error| away(format!("{url} broke off: {error}")))?;
        let Ok(bytes): Result<Bytes, _> = frame.into_data() else { continue };
        done += bytes.len() as u64;
        if done > PACK_BYTES_MAX {
            return Err(away(format!("{url} is larger than it can be")));
        }
        file.write_all(&bytes).map_err(failed)?;
        if is_shown && (done >> 20) != shown {
            shown = done >> 20;
            let of = whole.map(|whole| format!(" of {}", show_bytes(whole))).unwrap_or_default();
            // A terminal that is gone stops nothing.
            let _ = write!(io::stderr(), "\r{}{of}", show_bytes(done));
        }
    }
    if is_shown {
        let _ = writeln!(io::stderr(), "\r{}: {}", pack.file, show_bytes(done));
    }
    match whole {
        Some(whole) if whole != done => Err(away(format!("{url} broke off"))),
        _ => Ok(()),
    }
}

/// The answer with status 200 that an address leads to, and by which address it came.
async fn ask(url: &str) -> Result<(String, Answer), String> {
    let mut url = url.to_owned();
    for _ in 0..=REDIRECTS_MAX {
        let answer = timeout(SILENCE_MAX, ask_once(&url)).await;
        let answer = answer.map_err(|_| format!("{url} doesn't answer"))??;
        match (answer.head.status, answer.head.fields.text(Name::Location)) {
            (200, _) => return Ok((url, answer)),
            (301 | 302 | 303 | 307 | 308, Some(to)) => {
                let base = url::Url::parse(&url).map_err(|error| format!("{url}: {error}"))?;
                let to = base.join(to).map_err(|error| format!("{url} leads nowhere: {error}"))?;
                // What was asked for safely isn't given otherwise.
                if base.scheme() == "https" && to.scheme() != "https" {
                    return Err(format!("{url} leads away from HTTPS"));
                }
                url = to.into();
            }
            (status, _) => return Err(format!("{url} answers {status}")),
        }
    }
    Err(format!("{url} leads in a circle"))
}

async fn ask_once(url: &str) -> Result<Answer, String> {
    let address = Address::parse(url)
        .ok_or_else(|| format!("{url} is no address: write one such as {INDEX}"))?;
    let origin = address.origin().ok_or_else(|| format!("{url} is no address of a server"))?;
    let mut fields = Fields::new();
    fields.push("Accept", format!("{INDEX_TYPE}, */*;q=0.1"));
    let call = address.call(http::Method::GET, fields, None);
    origin.send(call).await.map_err(|error| format!("{url}: {error}"))
}

#[cfg(test)]
mod tests {
    use search::text::PACKS;

    use super::*;

    #[test]
    fn languages_without_a_dictionary_are_told_those_with_one() {
        let wanted =
            DictionaryAdd { language: "th".to_owned(), from: None, index: None, state: None };
        let told = add(&wanted).expect_err("there is none").to_string();
        assert!(told.contains("no dictionary for \"th\""), "{told}");
        for pack in PACKS {
            assert!(told.contains(pack.code), "{told}");
        }
    }

    #[test]
    fn what_cannot_be_fetched_is_told_with_another_way() {
        for (code, way) in [
            ("ko", "`pip download --no-deps python-mecab-ko-dic==2.1.1.post2`"),
            ("ja", "`pip download --no-deps --no-binary :all: ipadic==1.0.0`"),
        ] {
            let pack = Pack::of(code).expect("there is one");
            let told = DictionaryError::Away(pack, "it is away".to_owned()).to_string();
            assert!(told.contains(way) && told.contains("--from FILE"), "{told}");
        }
    }
}

//! `wick dict add ko`: the dictionary by which Korean is searched by morphemes, put into the state
//! folder.
//!
//! In: the package as PyPI has it, fetched or given as a file. Out: its files, unpacked, with its
//! licence (Apache-2.0). Invariant: nothing is unpacked but the one package whose sum is pinned,
//! whoever hands it out; so an index may be any mirror.
//! Bounds: an index of [`INDEX_BYTES_MAX`], a package of [`PACK_BYTES_MAX`].

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::amount::show_bytes;
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use origin::Answer;
use search::text::{Korean, PACK_NAME, unpack};
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
const PACKAGE: &str = "python-mecab-ko-dic";
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
    #[error("there is no dictionary for \"{0}\": there is one for ko; other languages need none")]
    Unknown(String),
    /// It couldn't be fetched.
    #[error(
        "{PACK_NAME} can't be fetched: {0}; try again, or fetch it by another way (`pip download \
         --no-deps python-mecab-ko-dic==2.1.1.post2`) and name the file: wick dict add ko --from FILE"
    )]
    Away(String),
    /// The folder can't be written.
    #[error(
        "{0} can't be written: {1}; name another state folder by --state, or run this as its owner"
    )]
    Folder(PathBuf, io::Error),
    /// It can't be unpacked.
    #[error(transparent)]
    Pack(#[from] search::text::PackError),
    /// What was unpacked can't be used.
    #[error(transparent)]
    Unusable(#[from] search::text::KoreanError),
    /// The system refuses what every process needs.
    #[error("the system gives no runtime: {0}")]
    System(String),
}

/// Puts a dictionary into the state folder.
pub(crate) fn add(arguments: &DictionaryAdd) -> Result<(), DictionaryError> {
    if arguments.language != "ko" {
        return Err(DictionaryError::Unknown(arguments.language.clone()));
    }
    let state = arguments.state.clone().unwrap_or_else(plan::default_state);
    let folder = state.join("dict");
    fs::create_dir_all(&folder).map_err(|error| DictionaryError::Folder(folder.clone(), error))?;
    let fetched = folder.join(".fetched");
    let pack = match &arguments.from {
        Some(file) => file.clone(),
        None => {
            let index = arguments.index.as_deref().unwrap_or(INDEX);
            let runtime =
                single_threaded().map_err(|why| DictionaryError::System(why.to_string()))?;
            runtime.block_on(fetch(index, &fetched))?;
            fetched.clone()
        }
    };
    let unpacked = unpack(&pack, &folder.join("ko"));
    if arguments.from.is_none() {
        // A next time fetches it again.
        let _ = fs::remove_file(&fetched);
    }
    unpacked?;
    Korean::open(&folder.join("ko"))?;
    say(&format!(
        "Korean is searched by morphemes from the next start on (`wick upgrade` makes one without a \
         pause);\nindexes are made anew then. The dictionary and its licence are in {}\n",
        folder.join("ko").display()
    ));
    Ok(())
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

async fn fetch(index: &str, to: &Path) -> Result<(), DictionaryError> {
    let away = DictionaryError::Away;
    let page = format!("{}/{PACKAGE}/", index.trim_end_matches('/'));
    let answer = ask(&page).await.map_err(away)?;
    let body = Limited::new(answer.1.body, INDEX_BYTES_MAX).collect();
    let told = timeout(SILENCE_MAX, body).await;
    let told = told.map_err(|_| away(format!("{page} takes too long")))?;
    let told = told.map_err(|error| away(format!("{page}: {error}")))?.to_bytes();
    let package: Package = serde_json::from_slice(&told)
        .map_err(|error| away(format!("{page} is no index of packages: {error}")))?;
    let file = package.files.into_iter().find(|file| file.filename == PACK_NAME);
    let file = file.ok_or_else(|| away(format!("{page} doesn't have it")))?;
    let url = url::Url::parse(&answer.0).and_then(|base| base.join(&file.url));
    let url = url.map_err(|error| away(format!("{page} names a wrong address: {error}")))?;
    download(url.as_str(), to).await
}

/// Writes what is at an address into a file, and shows on a terminal how far it is.
async fn download(url: &str, to: &Path) -> Result<(), DictionaryError> {
    let away = DictionaryError::Away;
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
        let _ = writeln!(io::stderr(), "\r{PACK_NAME}: {}", show_bytes(done));
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
    use super::*;

    #[test]
    fn only_korean_has_a_dictionary() {
        let wanted =
            DictionaryAdd { language: "ja".to_owned(), from: None, index: None, state: None };
        let told = add(&wanted).expect_err("there is none").to_string();
        assert!(told.contains("no dictionary for \"ja\""), "{told}");
    }
}

//! Opening what keeps a site's text: the index in the state folder, or an engine elsewhere.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::search::site::shape;
use ::search::{Engine, EngineAddress, Former, Index, IndexError, Limits, Opened};
use base::complaint::complain;

use super::moving::{self, Making};
use super::{END_PATIENCE, Kept, SiteSearch, unpoisoned};
use crate::dictionary::dictionaries;

/// How often it is tried to open an index that another process has.
const OPEN_PAUSE: Duration = Duration::from_millis(200);
/// How often it is tried to open an engine.
const ENGINE_PAUSE: Duration = Duration::from_secs(1);

/// Opens the engine that keeps the text, once it can be asked and has an index that fits.
pub(super) async fn open_engine(search: Arc<SiteSearch>, state: PathBuf, address: EngineAddress) {
    loop {
        let (folder, state, address) = (search.folder.clone(), state.clone(), address.clone());
        let opened = tokio::task::spawn_blocking(move || {
            // What is learned of pages lies there.
            std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
            Engine::open(&address, dictionaries(&state)).map_err(|error| error.to_string())
        });
        let Ok(opened) = opened.await else { return };
        let before = unpoisoned(&search.shut).take();
        match opened {
            Ok(engine) => {
                search.read_learned();
                search.set_index(Some(Kept::Engine(engine)));
                return;
            }
            Err(why) => {
                if before.as_ref() != Some(&why) {
                    complain(format_args!("{}: there is no search yet: {why}", search.name));
                }
                *unpoisoned(&search.shut) = Some(why);
            }
        }
        tokio::time::sleep(ENGINE_PAUSE).await;
    }
}

/// Opens the index, once no other process has it.
pub(super) async fn open(search: Arc<SiteSearch>, state: PathBuf) {
    let plan = search.plan();
    let limits = Limits {
        writer_bytes: plan.memory_bytes,
        stored_bytes: plan.feeds_bytes,
        keeps_former: true,
        ..Limits::default()
    };
    let mut is_told = false;
    loop {
        let (folder, limits, state) = (search.folder.clone(), limits.clone(), state.clone());
        let opened = tokio::task::spawn_blocking(move || {
            let dictionaries = dictionaries(&state);
            std::fs::create_dir_all(&folder).map_err(|error| error.to_string()).and_then(|()| {
                match Index::open(&folder, shape(), limits, dictionaries) {
                    Ok((index, how)) => Ok(Some((index, how, Former::of(&folder)))),
                    Err(IndexError::InUse(_)) => Ok(None),
                    Err(error) => Err(error.to_string()),
                }
            })
        });
        match opened.await {
            Ok(Ok(Some((index, how, former)))) => {
                if let Opened::BegunAnew(why) = how {
                    let from =
                        if former.is_some() { "of its former index" } else { "as pages are read" };
                    complain(format_args!(
                        "{}: its search is made anew {from}: {why}",
                        search.name
                    ));
                    search.made_anew.set(Making::Filling(Instant::now()));
                }
                // Whatever fills it has not begun yet.
                let _ = index.takes_wish_for_sources();
                search.read_learned();
                search.set_index(Some(Kept::Own(index)));
                if let Some(former) = former {
                    moving::move_all(search, former).await;
                }
                return;
            }
            // The one before ends.
            Ok(Ok(None)) => {}
            Ok(Err(why)) if !is_told => {
                is_told = true;
                complain(format_args!("{}: there is no search yet: {why}", search.name));
            }
            Ok(Err(_)) => {}
            Err(_) => return,
        }
        tokio::time::sleep(if is_told { END_PATIENCE } else { OPEN_PAUSE }).await;
    }
}

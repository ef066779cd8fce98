//! Obeys a command of the binary API.

use super::answer::{Answer, Status, failed, whole};
use super::{Command, Excerpt, Head, Query, Update, read};
use crate::Value;
use crate::sphinx::ask::Ask;
use crate::sphinx::bytes::Out;
use crate::sphinx::catalogue::{Catalogue, Held};
use crate::sphinx::change::in_order;
use crate::sphinx::counters::Figures;
use crate::sphinx::excerpt::{Marking, mark};
use crate::sphinx::run::run;
use crate::sphinx::session::{keywords, status};
use crate::sphinx::table::{Kind, Meta};
use std::sync::Arc;

/// The versions of commands that searchd 2.2.11 answers with.
const SEARCH: u16 = 0x11f;
const EXCERPT: u16 = 0x104;
const UPDATE: u16 = 0x103;
const KEYWORDS: u16 = 0x100;
const STATUS: u16 = 0x101;
const OTHERS: u16 = 0x100;
/// EXCERPT's flag for texts without a match.
const ALLOWS_EMPTY: u32 = 256;

/// What a command is answered, and whether further ones follow on its connection.
pub struct Obeyed {
    /// Nothing is sent to PERSIST.
    pub answer: Vec<u8>,
    /// None: as before.
    pub persists: Option<bool>,
}

/// Obeys the command of `head` and `body`. `now` is in seconds since 1970.
#[must_use]
pub fn obey(head: Head, body: &[u8], catalogue: &Catalogue, figures: &Figures, now: i64) -> Obeyed {
    let command = match read(head, body) {
        Ok(command) => command,
        Err(refusal) => {
            return Obeyed { answer: failed(Status::Error, &refusal.to_string()), persists: None };
        }
    };
    let answer = match command {
        Command::Search(queries) => Ok(search(&queries, catalogue, figures, now)),
        Command::Excerpt(excerpt) => {
            figures.command_excerpt.bump();
            excerpts(&excerpt, catalogue)
        }
        Command::Update(update) => {
            figures.command_update.bump();
            change(&update, catalogue)
        }
        Command::Keywords { query, index, has_hits } => {
            figures.command_keywords.bump();
            words(&query, &index, has_hits, catalogue)
        }
        Command::Persist(persists) => {
            figures.command_persist.bump();
            return Obeyed { answer: Vec::new(), persists: Some(persists) };
        }
        Command::Status => {
            figures.command_status.bump();
            let pairs = status(figures);
            let mut out = Out::default();
            out.count(pairs.len());
            out.number(2);
            for (name, value) in pairs {
                out.text(&name);
                out.text(&value);
            }
            Ok(whole(Status::Ok, STATUS, &out.0))
        }
        Command::FlushAttributes => {
            catalogue.all().iter().for_each(|held| held.index.commit());
            Ok(number(OTHERS, 0))
        }
        Command::Ping(cookie) => Ok(number(OTHERS, cookie)),
    };
    let answer = answer.unwrap_or_else(|why| failed(Status::Error, &why));
    Obeyed { answer, persists: None }
}

fn number(version: u16, number: u32) -> Vec<u8> {
    let mut out = Out::default();
    out.number(number);
    whole(Status::Ok, version, &out.0)
}

fn search(queries: &[Query], catalogue: &Catalogue, figures: &Figures, now: i64) -> Vec<u8> {
    let mut out = Out::default();
    for query in queries {
        figures.command_search.bump();
        let outcome = Ask::of_api(query).and_then(|ask| run(&ask, catalogue, now));
        let answer = match outcome {
            Ok(outcome) => {
                Answer { fields: outcome.fields, table: outcome.table, meta: outcome.meta }
            }
            Err(why) => {
                Answer { meta: Meta { error: Some(why), ..Meta::default() }, ..Answer::default() }
            }
        };
        answer.write(query.version, &mut out);
    }
    whole(Status::Ok, SEARCH, &out.0)
}

fn one(index: &str, catalogue: &Catalogue) -> Result<Arc<Held>, String> {
    let unknown = || format!("unknown local index '{index}' in search request");
    catalogue.find(index).ok_or_else(unknown)
}

fn excerpts(excerpt: &Excerpt, catalogue: &Catalogue) -> Result<Vec<u8>, String> {
    let held = one(&excerpt.index, catalogue)?;
    let marking = Marking {
        before: excerpt.before.clone(),
        after: excerpt.after.clone(),
        separator: excerpt.separator.clone(),
        limit: Some(excerpt.limit).filter(|limit| *limit > 0),
        around: excerpt.around,
        allows_empty: excerpt.flags & ALLOWS_EMPTY != 0,
    };
    let mut out = Out::default();
    for text in &excerpt.documents {
        out.text(&mark(text, &excerpt.words, &held, &marking));
    }
    Ok(whole(Status::Ok, EXCERPT, &out.0))
}

fn words(
    query: &str,
    index: &str,
    has_hits: bool,
    catalogue: &Catalogue,
) -> Result<Vec<u8>, String> {
    let held = one(index, catalogue)?;
    let found = keywords(&held, query, has_hits)?;
    let mut out = Out::default();
    out.count(found.len());
    for (word, documents, hits) in found {
        out.text(&word);
        out.text(&word);
        if has_hits {
            out.number(u32::try_from(documents).unwrap_or(u32::MAX));
            out.number(u32::try_from(hits).unwrap_or(u32::MAX));
        }
    }
    Ok(whole(Status::Ok, KEYWORDS, &out.0))
}

/// New values for documents in each of the indexes; how many documents got them.
fn change(update: &Update, catalogue: &Catalogue) -> Result<Vec<u8>, String> {
    let names = update.indexes.split([',', ';', ' ']).filter(|name| !name.is_empty());
    let mut updated = 0;
    for name in names {
        let held = catalogue
            .resolve(name)
            .ok_or_else(|| format!("unknown index '{name}' in update request"))?;
        for held in held {
            updated += change_one(update, &held)?;
        }
    }
    Ok(number(UPDATE, updated))
}

fn change_one(update: &Update, held: &Held) -> Result<u32, String> {
    let place = |name: &String| {
        let place = held.index.shape().attribute_at(name);
        place.ok_or_else(|| format!("index {}: attribute '{name}' not found", held.name))
    };
    let places = update.attributes.iter().map(place).collect::<Result<Vec<_>, _>>()?;
    let mut updated = 0;
    for (id, values) in &update.rows {
        let value = |(at, values): (&usize, &Vec<i64>)| {
            let value = match held.kinds[*at] {
                Kind::Multi | Kind::MultiBigint => Value::Multi(in_order(values.clone())),
                Kind::Text => return None,
                // The bits of one are sent as a number.
                Kind::Float => Value::Float(
                    f32::from_bits(u32::try_from(*values.first()?).unwrap_or_default()).into(),
                ),
                Kind::Bool => Value::Int(i64::from(*values.first()? != 0)),
                _ => Value::Int(*values.first()?),
            };
            Some((*at, value))
        };
        let values: Vec<_> = places.iter().zip(values).filter_map(value).collect();
        updated += u32::from(held.update(*id, &values));
    }
    Ok(updated)
}

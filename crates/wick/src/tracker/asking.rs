//! `wick tracker …` and `/api/tracker`: how it stands, a user, a torrent, why somebody has what
//! they have.
//!
//! Invariant: addresses of clients are told to who may read the control socket or shows the admin
//! token; passkeys to nobody.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tracker::{Entry, Rule, Session, SuspectTorrent, SuspectUser, TorrentId, UserId};

use super::importing::import;
use super::plan::hash;
use super::{Open, TrackerNow, Tracking};
use crate::arguments::{Tracker, TrackerCommand};
use crate::control::ControlError;
use crate::observing::told::{self, Told};
use crate::{observing, plan};

/// Sessions of one torrent that are told.
const SESSIONS_MAX: usize = 100;
/// Users, and torrents, that are told of as suspects.
const SUSPECTS_MAX: usize = 50;

/// What may be asked.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TrackerQuestion {
    Status {},
    User { id: u32 },
    Torrent { hash: String },
    Explain { user: u32, torrent: u32 },
    Suspects {},
}

/// Asks the running Wick and shows what it says.
pub(crate) fn ask(arguments: &Tracker) -> Result<(), ControlError> {
    let state = arguments.state.clone().unwrap_or_else(plan::default_state);
    let question = match &arguments.command {
        TrackerCommand::Import(wanted) => return import(wanted, state),
        TrackerCommand::Status => TrackerQuestion::Status {},
        TrackerCommand::Suspects => TrackerQuestion::Suspects {},
        TrackerCommand::User { id } => TrackerQuestion::User { id: *id },
        TrackerCommand::Torrent { hash } => TrackerQuestion::Torrent { hash: hash.clone() },
        TrackerCommand::Explain { user, torrent } => {
            TrackerQuestion::Explain { user: *user, torrent: *torrent }
        }
    };
    let question = observing::asking::Question::Tracker(question);
    told::show(&state, &question, false)
}

/// Answers a question.
pub(crate) fn tell(
    tracking: Option<&Tracking>,
    question: &TrackerQuestion,
) -> Result<Told, String> {
    let tracking = tracking.ok_or("there is no tracker here: add [tracker] to wick.toml")?;
    let open = tracking.open().ok_or("the tracker isn't open yet; ask again")?;
    match question {
        TrackerQuestion::Status {} => Ok(status(&open)),
        TrackerQuestion::Suspects {} => Ok(suspects(&open)),
        TrackerQuestion::User { id } => user(&open, UserId(*id)),
        TrackerQuestion::Torrent { hash } => torrent(&open, hash),
        TrackerQuestion::Explain { user, torrent } => {
            explain(&open, UserId(*user), TorrentId(*torrent))
        }
    }
}

fn line(topic: &str, text: impl ToString) -> (String, String) {
    (topic.to_owned(), text.to_string())
}

fn status(open: &Open) -> Told {
    let now = TrackerNow::of_open(open);
    let mut lines = vec![
        line("peers", format!("{} ({} seed, {} take)", now.peers, now.seeders, now.leechers)),
        line("torrents", now.torrents),
        line("users", now.users),
        line("announces", format!("{} ({} a second)", now.announces, now.announces_per_second)),
        line("interval", format!("{} s", now.interval_seconds)),
    ];
    lines.extend(now.refused.iter().map(|(why, count)| line("refused", format!("{count} {why}"))));
    lines.extend(now.websocket().map(|text| line("websocket", text)));
    if now.suspect_users + now.suspect_torrents > 0 {
        let (users, torrents) = (now.suspect_users, now.suspect_torrents);
        lines.push(line(
            "suspects",
            format!("{users} users, {torrents} torrents: wick tracker suspects"),
        ));
    }
    if let Some(books) = &open.books {
        let behind = (now.batches_behind, now.credits_pending);
        lines.push(line("behind", format!("{} batches, {} credits", behind.0, behind.1)));
        lines.push(line("database", books.sentence()));
    }
    let told = serde_json::to_value(&now).unwrap_or_default();
    Told { lines, told }
}

fn user(open: &Open, id: UserId) -> Result<Told, String> {
    let user = open.tracker.user(id).ok_or_else(|| format!("nobody has the number {}", id.0))?;
    let mut lines = vec![
        line("user", user.id.0),
        line("may take", if user.may_leech { "yes" } else { "no" }),
        line("takes now", format!("{} torrents", user.taking)),
    ];
    if let Some(step) = user.round_steps {
        lines.push(line("cheat?", format!("all that was sent is a multiple of {step} bytes")));
    }
    let sessions = user.sessions.iter().take(SESSIONS_MAX);
    lines.extend(
        sessions
            .clone()
            .map(|(torrent, _, it)| line(&format!("torrent {}", torrent.0), session_text(it))),
    );
    let told: Vec<Value> = sessions
        .map(|(torrent, _, it)| json!({ "torrent": torrent.0, "session": session_json(it) }))
        .collect();
    let told = json!({ "user": id.0, "may_leech": user.may_leech, "taking": user.taking,
        "round_steps": user.round_steps, "sessions": told });
    Ok(Told { lines, told })
}

/// Those whom a person should look at, each with what speaks against them.
fn suspects(open: &Open) -> Told {
    let found = open.tracker.suspects(SUSPECTS_MAX);
    let mut lines = Vec::new();
    for user in &found.users {
        let SuspectUser { id, step, steps } = user;
        lines.push(line(
            &format!("user {}", id.0),
            format!(
                "all that was sent in {steps} announces is a multiple of {step} bytes: clients send \
                 blocks of 16384 bytes and parts of them, so this looks invented"
            ),
        ));
    }
    for torrent in &found.torrents {
        let SuspectTorrent { sent, taken, .. } = torrent;
        let hash: String = torrent.info_hash.0.iter().map(|byte| format!("{byte:02x}")).collect();
        lines.push(line(
            &format!("torrent {}", torrent.id.0),
            format!(
                "{sent} bytes were sent and {taken} taken: {} that nobody took; who sent most of them \
                 is told by wick tracker torrent {hash}",
                sent.saturating_sub(*taken)
            ),
        ));
    }
    let (users, torrents) = (found.users_all, found.torrents_all);
    let shown = (found.users.len(), found.torrents.len());
    if shown != (users, torrents) {
        lines.push(line(
            "shown",
            format!("{} of {users} users, {} of {torrents} torrents", shown.0, shown.1),
        ));
    }
    if lines.is_empty() {
        lines.push(line("suspects", "none"));
    }
    let told_users: Vec<Value> = found
        .users
        .iter()
        .map(|it| json!({ "user": it.id.0, "step_bytes": it.step, "announces": it.steps }))
        .collect();
    let told_torrents: Vec<Value> = found
        .torrents
        .iter()
        .map(|it| json!({ "torrent": it.id.0, "told_sent": it.sent, "told_taken": it.taken }))
        .collect();
    let told = json!({ "users_all": users, "torrents_all": torrents, "users": told_users,
        "torrents": told_torrents });
    Told { lines, told }
}

fn torrent(open: &Open, text: &str) -> Result<Told, String> {
    let hash = hash(text).ok_or("an info hash has 40 hexadecimal digits")?;
    let torrent = open.tracker.torrent(&hash, SESSIONS_MAX);
    let torrent = torrent.ok_or("this torrent is not tracked here")?;
    let counts = torrent.counts;
    let mut lines = vec![
        line("torrent", torrent.id.0),
        line("seeders", counts.complete),
        line("leechers", counts.incomplete),
        line("completed", counts.downloaded),
        line("told", format!("{} sent, {} taken", torrent.told_sent, torrent.told_taken)),
    ];
    let of = |it: &Session| format!("user {}", it.user);
    lines.extend(torrent.sessions.iter().map(|it| line(&of(it), session_text(it))));
    let sessions: Vec<Value> = torrent.sessions.iter().map(session_json).collect();
    let told = json!({ "torrent": torrent.id.0, "complete": counts.complete,
        "incomplete": counts.incomplete, "downloaded": counts.downloaded,
        "told_sent": torrent.told_sent, "told_taken": torrent.told_taken, "sessions": sessions });
    Ok(Told { lines, told })
}

fn session_text(session: &Session) -> String {
    let places = [
        session.v4.map(|address| address.to_string()),
        session.v6.map(|address| address.to_string()),
    ];
    let mut places: Vec<String> = places.into_iter().flatten().collect();
    // By port 0 comes who can be met through the tracker alone.
    for place in &mut places {
        if let Some(address) = place.strip_suffix(":0") {
            *place = format!("{address} (WebTorrent)");
        }
    }
    let does = match (session.is_complete, session.is_partial) {
        (true, _) => "seeds",
        (false, true) => "seeds a part",
        (false, false) => "takes",
    };
    let reach = match session.is_connectable {
        None => "",
        Some(true) => ", can be reached",
        Some(false) => ", can't be reached",
    };
    let Session { uploaded, downloaded, .. } = session;
    let client = String::from_utf8_lossy(&session.peer_id.0[..8]).into_owned();
    let places = places.join(" and ");
    format!("{does}, {uploaded} sent, {downloaded} taken, {client} at {places}{reach}")
}

fn session_json(session: &Session) -> Value {
    json!({
        "user": session.user,
        "client": String::from_utf8_lossy(&session.peer_id.0[..8]),
        "v4": session.v4.map(|address| address.to_string()),
        "v6": session.v6.map(|address| address.to_string()),
        "uploaded": session.uploaded,
        "downloaded": session.downloaded,
        "announced": session.announced,
        "is_complete": session.is_complete,
        "is_partial": session.is_partial,
        "is_connectable": session.is_connectable,
    })
}

fn explain(open: &Open, user: UserId, torrent: TorrentId) -> Result<Told, String> {
    let entries = open.tracker.explain(user, torrent);
    let entries = entries.map_err(|error| format!("the ledger can't be read: {error}"))?;
    let mut lines: Vec<_> =
        entries.iter().map(|entry| line(&at(entry.session.announced), entry_text(entry))).collect();
    if lines.is_empty() {
        lines.push(line("ledger", "nothing of this user and torrent of late"));
    }
    let told: Vec<Value> = entries.iter().map(entry_json).collect();
    Ok(Told { lines, told: told.into() })
}

/// A time of the ledger as UTC.
pub(super) fn at(unix_seconds: u32) -> String {
    let day = unix_seconds % 86_400;
    let since = std::time::UNIX_EPOCH + std::time::Duration::from_secs(u64::from(unix_seconds));
    let date = httpdate::fmt_http_date(since);
    let date = date.get(5..16).unwrap_or_default();
    format!("{date} {:02}:{:02}:{:02}", day / 3600, day / 60 % 60, day % 60)
}

fn entry_text(entry: &Entry) -> String {
    let Entry { told_uploaded, told_downloaded, uploaded, downloaded, .. } = entry;
    let why = match entry.rule {
        Rule::Counted => "what the counters grew by",
        Rule::Began => "nothing: the client begins, and its counters are where it begins",
        Rule::Restarted => "nothing: a counter fell, so the client was started again",
        Rule::Returned => "nothing: the client was away for too long, and did not say it begins",
    };
    let mut text = format!(
        "+{uploaded} sent and +{downloaded} taken, of +{told_uploaded} and +{told_downloaded} \
         told: {why}"
    );
    if (entry.worth.uploaded, entry.worth.downloaded) != (100, 100) {
        let worth = entry.worth;
        text.push_str(&format!(
            "; a byte sent is worth {}/100, one taken {}/100",
            worth.uploaded, worth.downloaded
        ));
    }
    if entry.has_completed {
        text.push_str("; completed");
    }
    if entry.has_stopped {
        text.push_str("; stopped");
    }
    text
}

fn entry_json(entry: &Entry) -> Value {
    json!({
        "time": entry.session.announced,
        "torrent": entry.torrent.0,
        "told_uploaded": entry.told_uploaded,
        "told_downloaded": entry.told_downloaded,
        "uploaded": entry.uploaded,
        "downloaded": entry.downloaded,
        "seeded_seconds": entry.seeded_seconds,
        "has_completed": entry.has_completed,
        "has_stopped": entry.has_stopped,
        "rule": format!("{:?}", entry.rule).to_lowercase(),
        "worth": [entry.worth.uploaded, entry.worth.downloaded],
        "session": session_json(&entry.session),
    })
}

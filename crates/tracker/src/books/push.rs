//! Gazelle's pushes: `GET /<secret>/update?action=…`, by which the site tells what changed.
//!
//! In: a request's target. Out: a [`Push`], which is carried out on a [`Keeper`], or the wish to
//! look at the tables: what a push says in part, they say in full. [`Pushes`] is where a service
//! hands them in.
//! Law: Ocelot's words. Hashes are 40 digits, or 20 bytes percent-encoded.
//! Invariants: 1. whoever doesn't know the secret learns nothing, not even that it was wrong
//! by one letter. 2. nothing of a push is logged: passkeys stand in it.

use std::sync::Arc;

use tokio::sync::Notify;
use wire::tracker::{InfoHash, Passkey};

use super::keeper::Keeper;
use super::registry::{hexadecimal, info_hash};
use crate::rights::{Torrent, TorrentId, User, UserId, Worth};
use crate::users::is_same;

/// What the site tells.
#[derive(Clone, Debug)]
pub enum Push {
    /// A torrent, with all that matters.
    Torrent(Torrent),
    /// A user, with all that matters.
    User(User),
    /// A passkey, of whose user the tables tell more.
    Passkey(Passkey),
    /// A torrent's hash, of which the tables tell more.
    Hash(InfoHash),
    /// Something changed of which the tables tell more.
    Look,
    /// What needs nothing done: clients are allowed in the settings.
    Nothing,
}

/// Why a request is no push.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    /// It is none, or bears another secret. It is answered as any address that isn't there.
    #[error("not found")]
    NotFound,
    /// An action that nobody knows.
    #[error("unknown action")]
    Action,
    /// Something is missing in it, or can't be read.
    #[error("`{0}` is missing or can't be read")]
    Parameter(&'static str),
}

impl Push {
    /// Reads a request's target: path and query.
    ///
    /// # Errors
    /// If it is no push, or not with this secret.
    pub fn read(target: &str, secret: &str) -> Result<Self, PushError> {
        let (path, query) = target.split_once('?').ok_or(PushError::NotFound)?;
        let told = path.strip_prefix('/').and_then(|path| path.strip_suffix("/update"));
        let told = told.ok_or(PushError::NotFound)?;
        if secret.is_empty() || !is_same(told.as_bytes(), secret.as_bytes()) {
            return Err(PushError::NotFound);
        }
        let parameters = Parameters(query);
        let action = parameters.text("action").ok_or(PushError::Action)?;
        match action.as_str() {
            "add_torrent" => Ok(Self::Torrent(parameters.torrent()?)),
            "add_user" => Ok(Self::User(parameters.user()?)),
            "change_passkey" => Ok(Self::Passkey(parameters.passkey("newpasskey")?)),
            "update_user" => Ok(Self::Passkey(parameters.passkey("passkey")?)),
            "update_torrent" => Ok(Self::Hash(parameters.hash()?)),
            // Who is gone isn't found by asking; several are as quickly looked at with all.
            "update_torrents" | "delete_torrent" | "remove_user" | "remove_users" => Ok(Self::Look),
            "add_token"
            | "remove_token"
            | "add_whitelist"
            | "remove_whitelist"
            | "edit_whitelist"
            | "info_torrent"
            | "update_announce_interval" => Ok(Self::Nothing),
            _ => Err(PushError::Action),
        }
    }

    /// Carries it out; true if the tables are to be looked at.
    #[must_use]
    pub fn carry_out(&self, keeper: &dyn Keeper) -> bool {
        match self {
            Self::Torrent(torrent) => keeper.put_torrent(torrent),
            Self::User(user) => keeper.put_user(user),
            Self::Look => return true,
            Self::Passkey(passkey) => match keeper.missed() {
                Some(missed) => missed.passkey(passkey),
                None => return true,
            },
            Self::Hash(hash) => match keeper.missed() {
                Some(missed) => missed.torrent(hash),
                None => return true,
            },
            Self::Nothing => {}
        }
        false
    }
}

/// Takes pushes with one secret.
pub struct Pushes {
    secret: String,
    keeper: Arc<dyn Keeper>,
    /// Makes the loader look at the tables.
    wake: Arc<Notify>,
}

impl Pushes {
    /// Those that bear `secret`, for `keeper`; `wake` is the loader's.
    #[must_use]
    pub fn new(secret: String, keeper: Arc<dyn Keeper>, wake: Arc<Notify>) -> Self {
        Self { secret, keeper, wake }
    }

    /// Takes one. The words are Ocelot's: Gazelle sends what didn't succeed again.
    ///
    /// # Errors
    /// If it is no push, or none with this secret: whoever asks learns nothing of it.
    pub fn take(&self, target: &str) -> Result<&'static str, PushError> {
        match Push::read(target, &self.secret) {
            Ok(push) => {
                if push.carry_out(self.keeper.as_ref()) {
                    self.wake.notify_one();
                }
                Ok("success")
            }
            Err(PushError::NotFound) => Err(PushError::NotFound),
            Err(_) => Ok("failure"),
        }
    }
}

struct Parameters<'a>(&'a str);

impl Parameters<'_> {
    fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        let mut pairs = self.0.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(known, _)| *known == name).and_then(|(_, value)| decoded(value))
    }

    fn text(&self, name: &str) -> Option<String> {
        String::from_utf8(self.bytes(name)?).ok()
    }

    fn number(&self, name: &'static str) -> Result<u32, PushError> {
        let number = self.text(name).and_then(|text| text.parse().ok());
        number.ok_or(PushError::Parameter(name))
    }

    fn hash(&self) -> Result<InfoHash, PushError> {
        let hash = self.bytes("info_hash").and_then(|bytes| info_hash(&bytes));
        hash.ok_or(PushError::Parameter("info_hash"))
    }

    fn passkey(&self, name: &'static str) -> Result<Passkey, PushError> {
        let passkey = self.bytes(name).and_then(|bytes| Passkey::new(&bytes));
        passkey.ok_or(PushError::Parameter(name))
    }

    fn torrent(&self) -> Result<Torrent, PushError> {
        let usual = Worth::default();
        let worth = match self.text("freetorrent").as_deref() {
            None | Some("0") => usual,
            Some("1") => Worth { downloaded: 0, ..usual },
            Some(_) => Worth { uploaded: 0, downloaded: 0 },
        };
        Ok(Torrent {
            id: TorrentId(self.number("id")?),
            info_hash: self.hash()?,
            info_hash_v2: None,
            completed: 0,
            worth,
            bytes: None,
            made: 0,
        })
    }

    fn user(&self) -> Result<User, PushError> {
        Ok(User {
            id: UserId(self.number("id")?),
            passkey: Some(self.passkey("passkey")?),
            passkey_version: 0,
            may_leech: true,
            wait_seconds: 0,
            peers_max: 0,
            torrents_max: 0,
            worth: Worth::default(),
        })
    }
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        rest = more;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        bytes.extend(hexadecimal(more.get(..2)?)?);
        rest = &more[2..];
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(target: &str, expected: Result<&str, PushError>) {
        let read = Push::read(target, "s3cret").map(|push| match push {
            Push::Torrent(torrent) => {
                let hash = torrent.info_hash.0;
                let worth = torrent.worth;
                let (up, down) = (worth.uploaded, worth.downloaded);
                format!("torrent {} {:x}{:x} {up} {down}", torrent.id.0, hash[0], hash[19])
            }
            Push::User(user) => {
                let passkey = user.passkey.expect("one");
                format!("user {} {}", user.id.0, String::from_utf8_lossy(passkey.expose()))
            }
            Push::Passkey(passkey) => {
                format!("ask for {}", String::from_utf8_lossy(passkey.expose()))
            }
            Push::Hash(hash) => format!("ask for {:x}{:x}", hash.0[0], hash.0[19]),
            Push::Look => "look".to_owned(),
            Push::Nothing => "nothing".to_owned(),
        });
        assert_eq!(read, expected.map(str::to_owned), "{target}");
    }

    #[test]
    fn pushes_are_read() {
        let hash = "ab".repeat(20);
        let raw = "%aB".repeat(20);
        let add = "/s3cret/update?action=add_torrent&id=7";
        check(&format!("{add}&info_hash={hash}&freetorrent=0"), Ok("torrent 7 abab 100 100"));
        check(&format!("{add}&freetorrent=1&info_hash={raw}"), Ok("torrent 7 abab 100 0"));
        check(&format!("{add}&freetorrent=2&info_hash={hash}"), Ok("torrent 7 abab 0 0"));
        check(add, Err(PushError::Parameter("info_hash")));
        check(&format!("{add}&info_hash=%a"), Err(PushError::Parameter("info_hash")));
        check("/s3cret/update?action=add_user&passkey=abc1&id=9&visible=1", Ok("user 9 abc1"));
        check("/s3cret/update?action=add_user&passkey=abc1", Err(PushError::Parameter("id")));
        check("/s3cret/update?action=change_passkey&oldpasskey=a&newpasskey=b", Ok("ask for b"));
        check("/s3cret/update?action=update_user&passkey=a&can_leech=0", Ok("ask for a"));
        let update = "/s3cret/update?action=update_torrent&freetorrent=1";
        check(&format!("{update}&info_hash={raw}"), Ok("ask for abab"));
        check("/s3cret/update?action=delete_torrent&info_hash=x&reason=1", Ok("look"));
        check("/s3cret/update?action=add_whitelist&peer_id=-TR", Ok("nothing"));
        check("/s3cret/update?action=shut_down", Err(PushError::Action));
        check("/s3cret/update?", Err(PushError::Action));
        for wrong in ["/s3cre/update?action=add_user", "/update?action=add_user", "/s3cret/update"]
        {
            check(wrong, Err(PushError::NotFound));
        }
        assert_eq!(Push::read("//update?action=add_user", "").err(), Some(PushError::NotFound));
    }
}

//! Figures: what the tracker knows that may be written into a column.
//!
//! In: a [`Line`] of a batch. Out: a [`Value`]. Nothing here asks the database.

use std::net::IpAddr;

use serde::Deserialize;
use wire::tracker::{Event, InfoHash, Passkey};
use xxhash_rust::xxh3::xxh3_128;

use super::value::Value;
use crate::credit::{Credit, LastSession, Standing};
use crate::site_log::LogRow;

/// What may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// The user's number.
    User,
    /// The torrent's.
    Torrent,
    /// Bytes sent since the batch before, as they are worth.
    Uploaded,
    /// The same of bytes taken.
    Downloaded,
    /// Bytes sent since the batch before, as the clients told them.
    ToldUploaded,
    /// The same of bytes taken.
    ToldDownloaded,
    /// Bytes taken with a token since the batch before, as the clients told them.
    TokenDownloaded,
    /// 1 if a token was used up; else nothing, which leaves the column alone.
    TokenEnded,
    /// Times completed since the batch before.
    Completed,
    /// Times completed, in all.
    CompletedTotal,
    /// When it was completed, if it was.
    CompletedAt,
    /// Seconds seeded since the batch before.
    SeededSeconds,
    /// Announces since the batch before.
    Announces,
    /// Bytes that are lacking.
    Left,
    /// 1 as long as a session is there.
    IsActive,
    /// 1 if nothing is lacking.
    IsSeeder,
    /// 1 if the user uploaded the torrent.
    IsPoster,
    /// What the site calls the torrent's kind.
    Kind,
    /// Unix seconds of the last announce.
    Announced,
    /// The same, or 0 once the client has gone.
    AnnouncedOrStopped,
    /// The time of the last announce, as the contract writes times.
    AnnouncedAt,
    /// The same where seeders are there; else nothing, which leaves the column alone.
    SeenAt,
    /// What the client calls itself: 20 bytes.
    PeerId,
    /// The same with `.` for what can't be printed.
    PeerIdText,
    /// The part of it that names the program.
    Client,
    /// The address as people write it, IPv4 where there is one.
    IpText,
    /// The address as 4 or 16 bytes.
    IpBytes,
    /// The IPv4 address as a number.
    IpNumber,
    /// The IPv6 address as a number of up to 39 digits.
    Ipv6Number,
    /// The address as 16 bytes, an IPv4 address mapped into them.
    IpMapped,
    /// The port.
    Port,
    /// 1 if a port check reached it; 0 if it didn't, or none was made.
    IsConnectable,
    /// 0 if a port check didn't reach it; 1 if it did, or none was made.
    MayBeConnectable,
    /// Bytes that the client says it sent in all.
    ClientUploaded,
    /// The same of bytes taken.
    ClientDownloaded,
    /// Bytes a second.
    UploadRate,
    /// The same of bytes taken.
    DownloadRate,
    /// What TorrentPier knows a peer by.
    PeerHash,
    /// Peers that have all.
    Seeders,
    /// Peers that don't.
    Leechers,
    /// Of an announce in a log: the torrent's name, 20 bytes.
    InfoHash,
    /// Why it was made: 1 is completed, 2 started, 3 stopped, 0 anything else.
    Event,
    /// The same in these words, or none.
    EventName,
    /// Peers that were wanted; 0 if that wasn't said.
    PeersWanted,
    /// A hash of the client's `key` in 16 digits, or nothing of one who has none.
    Key,
}

/// What a row is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Line<'a> {
    Credit(&'a Credit, Option<&'a LookedUp>),
    /// One of the sessions of a credit.
    Session(&'a Credit, &'a LastSession, Option<&'a LookedUp>),
    User {
        user: u32,
        uploaded: u64,
        downloaded: u64,
    },
    Torrent(&'a Standing),
}

/// What the site's tables tell beside.
#[derive(Clone, Debug)]
pub(crate) struct LookedUp {
    pub(crate) passkey: Passkey,
    pub(crate) info_hash: InfoHash,
    pub(crate) poster: Option<u32>,
    pub(crate) kind: u32,
}

impl Line<'_> {
    /// Whether it adds anything to what stands there.
    pub(crate) fn adds(&self) -> bool {
        match self {
            Self::Credit(credit, _) => credit.adds(),
            Self::Session(_, session, _) => session.adds(),
            Self::User { .. } | Self::Torrent(_) => true,
        }
    }

    /// Whether nothing was told since the batch before: the session has timed out.
    pub(crate) fn is_silent(&self) -> bool {
        match self {
            Self::Credit(credit, _) => credit.left.is_none(),
            Self::Session(_, session, _) => session.left.is_none(),
            Self::User { .. } | Self::Torrent(_) => false,
        }
    }
}

impl Figure {
    /// Whether the site's own tables must be asked for it.
    pub(crate) fn is_looked_up(self) -> bool {
        matches!(self, Self::PeerHash | Self::IsPoster | Self::Kind)
    }

    /// Whether it is known of an announce or a scrape in a log.
    pub(crate) fn is_logged(self) -> bool {
        self.of_log(&LogRow::default()) != Value::Nothing
    }

    /// Its value for one of a log. What isn't known of one is nothing.
    pub(crate) fn of_log(self, row: &LogRow) -> Value {
        let number = |number: u32| Value::Number(number.into());
        match self {
            Self::User => number(row.user.0),
            Self::Torrent => number(row.torrent.0),
            Self::InfoHash => Value::Bytes(row.info_hash.0.to_vec()),
            Self::PeerId => Value::Bytes(row.peer_id.0.to_vec()),
            Self::PeerIdText => Value::Text(printable(&row.peer_id.0)),
            Self::Client => Value::Text(printable(program(&row.peer_id.0))),
            Self::IpText => Value::Text(row.from.to_string()),
            Self::IpBytes => bytes_of(row.from),
            Self::IpMapped => Value::Bytes(mapped(row.from).to_vec()),
            // A column of IPv4 has no better number for others.
            Self::IpNumber => number(match row.from {
                IpAddr::V4(ip) => ip.into(),
                IpAddr::V6(_) => 0,
            }),
            Self::Port => number(row.port.into()),
            Self::ClientUploaded => Value::Number(row.uploaded),
            Self::ClientDownloaded => Value::Number(row.downloaded),
            Self::Left => Value::Number(row.left),
            Self::Event => number(match row.event {
                Event::Update | Event::Paused => 0,
                Event::Completed => 1,
                Event::Started => 2,
                Event::Stopped => 3,
            }),
            Self::EventName => Value::Text(match row.event {
                Event::Update | Event::Paused => String::new(),
                Event::Completed => "completed".to_owned(),
                Event::Started => "started".to_owned(),
                Event::Stopped => "stopped".to_owned(),
            }),
            Self::PeersWanted => number(row.peers_wanted),
            Self::Key => Value::Text(row.key.map_or_else(String::new, |key| format!("{key:016x}"))),
            Self::Announced => number(row.at),
            Self::AnnouncedAt => Value::Time(row.at),
            _ => Value::Nothing,
        }
    }

    /// Its value for a line. What a line doesn't have is nothing.
    pub(crate) fn of(self, line: &Line<'_>) -> Value {
        match *line {
            Line::Credit(credit, looked_up) => self.of_credit(credit, looked_up),
            Line::Session(credit, session, looked_up) => {
                self.of_session(credit, session, looked_up)
            }
            Line::User { user, uploaded, downloaded } => match self {
                Self::User => Value::Number(user.into()),
                Self::Uploaded => Value::Number(uploaded),
                Self::Downloaded => Value::Number(downloaded),
                _ => Value::Nothing,
            },
            Line::Torrent(standing) => match self {
                Self::Torrent => Value::Number(standing.torrent.0.into()),
                Self::Seeders => Value::Number(standing.seeders.into()),
                Self::Leechers => Value::Number(standing.leechers.into()),
                Self::Completed => Value::Number(standing.completed.into()),
                Self::CompletedTotal => Value::Number(standing.completed_total.into()),
                Self::Announced => Value::Number(standing.announced.into()),
                Self::AnnouncedAt => Value::Time(standing.announced),
                Self::SeenAt if standing.seeders > 0 => Value::Time(standing.announced),
                _ => Value::Nothing,
            },
        }
    }

    fn of_credit(self, credit: &Credit, looked_up: Option<&LookedUp>) -> Value {
        let number = |number: u32| Value::Number(number.into());
        match self {
            Self::User => number(credit.user.0),
            Self::Torrent => number(credit.torrent.0),
            Self::Uploaded => Value::Number(credit.uploaded),
            Self::Downloaded => Value::Number(credit.downloaded),
            Self::ToldUploaded => Value::Number(credit.told_uploaded),
            Self::ToldDownloaded => Value::Number(credit.told_downloaded),
            Self::TokenDownloaded => Value::Number(credit.token_downloaded),
            Self::TokenEnded if credit.has_ended_token => number(1),
            Self::Completed => number(credit.completed),
            Self::CompletedAt if credit.completed > 0 => Value::Time(credit.announced),
            Self::SeededSeconds => number(credit.seeded_seconds),
            Self::Announces => number(credit.announces),
            Self::Left => credit.left.map_or(Value::Nothing, Value::Number),
            Self::IsActive => number(credit.is_active.into()),
            Self::IsSeeder => credit.left.map_or(Value::Nothing, |left| number((left == 0).into())),
            Self::IsPoster => {
                number(looked_up.is_some_and(|site| site.poster == Some(credit.user.0)).into())
            }
            Self::Kind => looked_up.map_or(Value::Nothing, |site| number(site.kind)),
            Self::Announced => number(credit.announced),
            Self::AnnouncedAt => Value::Time(credit.announced),
            _ => self.of_client(&credit.last, looked_up),
        }
    }

    /// Of one session. What is not kept by session, but by user and torrent, stands with the last.
    fn of_session(
        self,
        credit: &Credit,
        session: &LastSession,
        looked_up: Option<&LookedUp>,
    ) -> Value {
        let number = |number: u32| Value::Number(number.into());
        let is_last = session.peer_id == credit.last.peer_id;
        match self {
            Self::Uploaded => Value::Number(session.credited_uploaded),
            Self::Downloaded => Value::Number(session.credited_downloaded),
            Self::Announces => number(session.announces),
            Self::Left => session.left.map_or(Value::Nothing, Value::Number),
            Self::IsActive => number(session.is_active.into()),
            Self::IsSeeder => {
                session.left.map_or(Value::Nothing, |left| number((left == 0).into()))
            }
            Self::Announced => number(session.announced),
            Self::AnnouncedAt => Value::Time(session.announced),
            Self::ToldUploaded
            | Self::ToldDownloaded
            | Self::TokenDownloaded
            | Self::Completed
            | Self::SeededSeconds
                if !is_last =>
            {
                number(0)
            }
            Self::CompletedAt | Self::TokenEnded if !is_last => Value::Nothing,
            Self::User
            | Self::Torrent
            | Self::ToldUploaded
            | Self::ToldDownloaded
            | Self::TokenDownloaded
            | Self::TokenEnded
            | Self::Completed
            | Self::CompletedAt
            | Self::SeededSeconds
            | Self::IsPoster
            | Self::Kind => self.of_credit(credit, looked_up),
            _ => self.of_client(session, looked_up),
        }
    }

    /// What a client is, and says.
    fn of_client(self, last: &LastSession, looked_up: Option<&LookedUp>) -> Value {
        let number = |number: u32| Value::Number(number.into());
        match self {
            Self::AnnouncedOrStopped if last.has_stopped => number(0),
            Self::AnnouncedOrStopped => number(last.announced),
            Self::PeerId => Value::Bytes(last.peer_id.0.to_vec()),
            Self::PeerIdText => Value::Text(printable(&last.peer_id.0)),
            Self::Client => Value::Text(printable(program(&last.peer_id.0))),
            Self::IpText => address(last).map_or(Value::Nothing, |ip| Value::Text(ip.to_string())),
            Self::IpBytes => address(last).map_or(Value::Nothing, bytes_of),
            Self::IpMapped => {
                address(last).map_or(Value::Nothing, |ip| Value::Bytes(mapped(ip).to_vec()))
            }
            Self::IpNumber => match last.v4.map(|at| at.ip()) {
                Some(IpAddr::V4(ip)) => Value::Text(u32::from(ip).to_string()),
                _ => Value::Nothing,
            },
            Self::Ipv6Number => match last.v6.map(|at| at.ip()) {
                Some(IpAddr::V6(ip)) => Value::Text(u128::from(ip).to_string()),
                _ => Value::Nothing,
            },
            Self::Port => number(port(last).into()),
            Self::IsConnectable => number((last.is_connectable == Some(true)).into()),
            Self::MayBeConnectable => number((last.is_connectable != Some(false)).into()),
            Self::ClientUploaded => Value::Number(last.uploaded),
            Self::ClientDownloaded => Value::Number(last.downloaded),
            Self::UploadRate => number(last.upload_rate),
            Self::DownloadRate => number(last.download_rate),
            Self::PeerHash => looked_up.map_or(Value::Nothing, |site| {
                Value::Text(peer_hash(&site.passkey, &site.info_hash, port(last)))
            }),
            _ => Value::Nothing,
        }
    }
}

fn bytes_of(ip: IpAddr) -> Value {
    match ip {
        IpAddr::V4(ip) => Value::Bytes(ip.octets().to_vec()),
        IpAddr::V6(ip) => Value::Bytes(ip.octets().to_vec()),
    }
}

fn mapped(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

fn address(last: &LastSession) -> Option<IpAddr> {
    last.v4.or(last.v6).map(|at| at.ip())
}

fn port(last: &LastSession) -> u16 {
    last.v4.or(last.v6).map_or(0, |at| at.port())
}

/// `-TR4050-` of a peer id in Azureus's style; of others what comes before the first dash.
fn program(peer_id: &[u8; 20]) -> &[u8] {
    let is_azureus = peer_id[0] == b'-' && peer_id[7] == b'-';
    if is_azureus {
        return &peer_id[..8];
    }
    let end = peer_id.iter().position(|byte| !byte.is_ascii_alphanumeric());
    &peer_id[..end.unwrap_or(8).min(8)]
}

fn printable(bytes: &[u8]) -> String {
    let shown = |&byte: &u8| if byte.is_ascii_graphic() { char::from(byte) } else { '.' };
    bytes.iter().map(shown).collect()
}

/// The hash by which TorrentPier knows a peer: XXH3-128 of passkey, hash in small hexadecimal
/// letters and port, joined without anything between.
fn peer_hash(passkey: &Passkey, info_hash: &InfoHash, port: u16) -> String {
    let mut joined = passkey.expose().to_vec();
    for byte in info_hash.0 {
        joined.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
    joined.extend_from_slice(port.to_string().as_bytes());
    format!("{:032x}", xxh3_128(&joined))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_not_tried_is_neither_reached_nor_missed() {
        use crate::credit::LastSession;
        use crate::rights::{TorrentId, UserId};
        use wire::tracker::PeerId;
        for (checked, is, may_be) in [(None, 0, 1), (Some(false), 0, 0), (Some(true), 1, 1)] {
            let last = LastSession {
                peer_id: PeerId([0; 20]),
                v4: None,
                v6: None,
                uploaded: 0,
                downloaded: 0,
                upload_rate: 0,
                download_rate: 0,
                has_stopped: false,
                is_active: true,
                is_connectable: checked,
                left: Some(0),
                announced: 0,
                credited_uploaded: 0,
                credited_downloaded: 0,
                announces: 1,
            };
            let credit = Credit {
                announces: 1,
                left: Some(0),
                ..Credit::empty(UserId(1), TorrentId(1), last)
            };
            let line = Line::Credit(&credit, None);
            let told = [Figure::IsConnectable, Figure::MayBeConnectable].map(|it| it.of(&line));
            assert_eq!(told, [Value::Number(is), Value::Number(may_be)], "{checked:?}");
        }
    }

    #[test]
    fn a_peer_hash_is_what_php_computes() {
        // php -r 'echo hash("xxh128", "abcDEF123" . str_repeat("ab", 20) . 51413);'
        let passkey = Passkey::new(b"abcDEF123").expect("a passkey");
        let hash = peer_hash(&passkey, &InfoHash([0xab; 20]), 51413);
        assert_eq!(hash, "a17276c90e2f945213532281d033cfe1");
    }

    #[test]
    fn programs_are_named_by_their_peer_ids() {
        for (peer_id, expected) in [
            (b"-TR4050-abcdefghijkl", "-TR4050-"),
            (b"M7-10-2--abcdefghijk", "M7"),
            (b"exbc\x00\x41abcdefghijklmn", "exbc"),
        ] {
            assert_eq!(printable(program(peer_id)), expected);
        }
    }
}

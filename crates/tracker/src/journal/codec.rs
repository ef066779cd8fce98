//! How things are written into records, and read again. Nothing that is read can panic:
//! what is too short, or says what can't be, is none.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use wire::tracker::{InfoHash, PeerId};

use crate::credit::{Credit, LastSession, Point, Standing};
use crate::ledger::{Entry, Rule};
use crate::rights::{TorrentId, UserId, Worth};
use crate::session::Session;
use crate::signals::{Balance, Steps};
use crate::users::UserRow;

/// Bytes still to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl Bytes<'_> {
    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn hash(&mut self) -> Option<InfoHash> {
        self.array().map(InfoHash)
    }
}

const COMPLETE: u8 = 1;
const PARTIAL: u8 = 2;
const HAS_V4: u8 = 4;
const HAS_V6: u8 = 8;
const STOPPED: u8 = 16;
const CHECKED: u8 = 32;
const CONNECTABLE: u8 = 64;
/// Of what stands in a credit, in the places of the first two.
const LAST_ACTIVE: u8 = 1;
const LAST_LEFT: u8 = 2;

fn flag(is_set: bool, flag: u8) -> u8 {
    if is_set { flag } else { 0 }
}

fn reach_flags(is_connectable: Option<bool>) -> u8 {
    is_connectable.map_or(0, |is_connectable| CHECKED | flag(is_connectable, CONNECTABLE))
}

fn reach(flags: u8) -> Option<bool> {
    (flags & CHECKED != 0).then_some(flags & CONNECTABLE != 0)
}

fn put_addresses(out: &mut Vec<u8>, v4: Option<SocketAddrV4>, v6: Option<SocketAddrV6>) {
    if let Some(v4) = v4 {
        out.extend_from_slice(&v4.ip().octets());
        out.extend_from_slice(&v4.port().to_be_bytes());
    }
    if let Some(v6) = v6 {
        out.extend_from_slice(&v6.ip().octets());
        out.extend_from_slice(&v6.port().to_be_bytes());
    }
}

type Addresses = (Option<SocketAddrV4>, Option<SocketAddrV6>);

fn take_addresses(bytes: &mut Bytes<'_>, flags: u8) -> Option<Addresses> {
    let (mut v4, mut v6) = (None, None);
    if flags & HAS_V4 != 0 {
        let ip = Ipv4Addr::from(bytes.array::<4>()?);
        v4 = Some(SocketAddrV4::new(ip, u16::from_be_bytes(bytes.array()?)));
    }
    if flags & HAS_V6 != 0 {
        let ip = Ipv6Addr::from(bytes.array::<16>()?);
        v6 = Some(SocketAddrV6::new(ip, u16::from_be_bytes(bytes.array()?), 0, 0));
    }
    Some((v4, v6))
}

pub(crate) fn put_session(out: &mut Vec<u8>, session: &Session) {
    out.push(
        flag(session.is_complete, COMPLETE)
            | flag(session.is_partial, PARTIAL)
            | flag(session.v4.is_some(), HAS_V4)
            | flag(session.v6.is_some(), HAS_V6)
            | reach_flags(session.is_connectable),
    );
    out.extend_from_slice(&session.peer_id.0);
    out.extend_from_slice(&session.user.to_le_bytes());
    out.extend_from_slice(&session.uploaded.to_le_bytes()[..6]);
    out.extend_from_slice(&session.downloaded.to_le_bytes()[..6]);
    out.extend_from_slice(&session.announced.to_le_bytes());
    put_addresses(out, session.v4, session.v6);
}

pub(crate) fn take_session(bytes: &mut Bytes<'_>) -> Option<Session> {
    let flags = bytes.u8()?;
    let peer_id = PeerId(bytes.array()?);
    let user = bytes.u32()?;
    let uploaded = take_counter(bytes)?;
    let downloaded = take_counter(bytes)?;
    let announced = bytes.u32()?;
    let (v4, v6) = take_addresses(bytes, flags)?;
    Some(Session {
        peer_id,
        user,
        v4,
        v6,
        uploaded,
        downloaded,
        announced,
        is_complete: flags & COMPLETE != 0,
        is_partial: flags & PARTIAL != 0,
        is_connectable: reach(flags),
    })
}

fn take_counter(bytes: &mut Bytes<'_>) -> Option<u64> {
    let six = bytes.array::<6>()?;
    let mut eight = [0; 8];
    eight[..6].copy_from_slice(&six);
    Some(u64::from_le_bytes(eight))
}

const ENTRY_STOPPED: u8 = 1;
const ENTRY_ACTIVE: u8 = 2;
const ENTRY_COMPLETED: u8 = 4;
const ENTRY_STARTED: u8 = 8;
const ENTRY_TOKEN: u8 = 16;
const RULES: [Rule; 4] = [Rule::Counted, Rule::Began, Rule::Restarted, Rule::Returned];

pub(crate) fn put_entry(out: &mut Vec<u8>, entry: &Entry) {
    out.extend_from_slice(&entry.torrent.0.to_le_bytes());
    out.extend_from_slice(&entry.info_hash.0);
    put_session(out, &entry.session);
    out.push(
        flag(entry.has_stopped, ENTRY_STOPPED)
            | flag(entry.is_active, ENTRY_ACTIVE)
            | flag(entry.has_completed, ENTRY_COMPLETED)
            | flag(entry.has_started, ENTRY_STARTED)
            | flag(entry.has_token, ENTRY_TOKEN),
    );
    for amount in
        [entry.left, entry.told_uploaded, entry.told_downloaded, entry.uploaded, entry.downloaded]
    {
        out.extend_from_slice(&amount.to_le_bytes());
    }
    put_worth(out, entry.worth);
    out.extend_from_slice(&entry.elapsed_seconds.to_le_bytes());
    out.extend_from_slice(&entry.seeded_seconds.to_le_bytes());
    out.extend_from_slice(&entry.rests);
    out.push(RULES.iter().position(|rule| *rule == entry.rule).unwrap_or(0) as u8);
    out.extend_from_slice(&entry.own_left.to_le_bytes());
}

pub(crate) fn take_entry(bytes: &mut Bytes<'_>) -> Option<Entry> {
    let torrent = TorrentId(bytes.u32()?);
    let info_hash = bytes.hash()?;
    let session = take_session(bytes)?;
    let flags = bytes.u8()?;
    let left = bytes.u64()?;
    Some(Entry {
        torrent,
        info_hash,
        session,
        has_started: flags & ENTRY_STARTED != 0,
        has_stopped: flags & ENTRY_STOPPED != 0,
        is_active: flags & ENTRY_ACTIVE != 0,
        has_completed: flags & ENTRY_COMPLETED != 0,
        left,
        told_uploaded: bytes.u64()?,
        told_downloaded: bytes.u64()?,
        uploaded: bytes.u64()?,
        downloaded: bytes.u64()?,
        worth: take_worth(bytes)?,
        has_token: flags & ENTRY_TOKEN != 0,
        elapsed_seconds: bytes.u32()?,
        seeded_seconds: bytes.u32()?,
        rests: bytes.array()?,
        rule: *RULES.get(usize::from(bytes.u8()?))?,
        // An entry of before had no more than what the most complete session lacks.
        own_left: bytes.u64().unwrap_or(left),
    })
}

fn put_worth(out: &mut Vec<u8>, worth: Worth) {
    out.extend_from_slice(&worth.uploaded.to_le_bytes());
    out.extend_from_slice(&worth.downloaded.to_le_bytes());
}

fn take_worth(bytes: &mut Bytes<'_>) -> Option<Worth> {
    Some(Worth { uploaded: bytes.u16()?, downloaded: bytes.u16()? })
}

/// A credit is longer than this never, without the sessions beside its last.
pub(crate) const CREDIT_BYTES_MAX: usize = 192;
/// Nor is such a session.
pub(crate) const OTHER_BYTES_MAX: usize = 128;
const CREDIT_ACTIVE: u8 = 1;
const CREDIT_LEFT: u8 = 2;
const CREDIT_TOKEN: u8 = 4;
const CREDIT_TOKEN_ENDED: u8 = 8;

pub(crate) fn put_credit(out: &mut Vec<u8>, credit: &Credit) {
    out.extend_from_slice(&credit.user.0.to_le_bytes());
    out.extend_from_slice(&credit.torrent.0.to_le_bytes());
    let has_token = credit.token_downloaded > 0;
    out.push(
        flag(credit.is_active, CREDIT_ACTIVE)
            | flag(credit.left.is_some(), CREDIT_LEFT)
            | flag(has_token, CREDIT_TOKEN)
            | flag(credit.has_ended_token, CREDIT_TOKEN_ENDED),
    );
    for amount in [
        credit.uploaded,
        credit.downloaded,
        credit.told_uploaded,
        credit.told_downloaded,
        credit.left.unwrap_or(0),
    ] {
        out.extend_from_slice(&amount.to_le_bytes());
    }
    for amount in [credit.completed, credit.seeded_seconds, credit.announces, credit.announced] {
        out.extend_from_slice(&amount.to_le_bytes());
    }
    put_last(out, &credit.last);
    // Few have it, and none of before.
    if has_token {
        out.extend_from_slice(&credit.token_downloaded.to_le_bytes());
    }
}

/// A session beside the last of a credit, with whose it is.
pub(crate) fn put_other(out: &mut Vec<u8>, credit: &Credit, other: &LastSession) {
    out.extend_from_slice(&credit.user.0.to_le_bytes());
    out.extend_from_slice(&credit.torrent.0.to_le_bytes());
    put_last(out, other);
}

pub(crate) fn take_other(bytes: &mut Bytes<'_>) -> Option<(UserId, TorrentId, LastSession)> {
    Some((UserId(bytes.u32()?), TorrentId(bytes.u32()?), take_last(bytes)?))
}

fn put_last(out: &mut Vec<u8>, last: &LastSession) {
    let v4 = last.v4.and_then(|v4| if let SocketAddr::V4(v4) = v4 { Some(v4) } else { None });
    let v6 = last.v6.and_then(|v6| if let SocketAddr::V6(v6) = v6 { Some(v6) } else { None });
    out.extend_from_slice(&last.peer_id.0);
    out.push(
        flag(last.has_stopped, STOPPED)
            | flag(last.is_active, LAST_ACTIVE)
            | flag(last.left.is_some(), LAST_LEFT)
            | flag(v4.is_some(), HAS_V4)
            | flag(v6.is_some(), HAS_V6)
            | reach_flags(last.is_connectable),
    );
    put_addresses(out, v4, v6);
    for amount in [
        last.uploaded,
        last.downloaded,
        last.left.unwrap_or(0),
        last.credited_uploaded,
        last.credited_downloaded,
    ] {
        out.extend_from_slice(&amount.to_le_bytes());
    }
    for amount in [last.upload_rate, last.download_rate, last.announced, last.announces] {
        out.extend_from_slice(&amount.to_le_bytes());
    }
}

fn take_last(bytes: &mut Bytes<'_>) -> Option<LastSession> {
    let peer_id = PeerId(bytes.array()?);
    let flags = bytes.u8()?;
    let (v4, v6) = take_addresses(bytes, flags)?;
    let mut wide = [0; 5];
    for amount in &mut wide {
        *amount = bytes.u64()?;
    }
    let mut narrow = [0; 4];
    for amount in &mut narrow {
        *amount = bytes.u32()?;
    }
    Some(LastSession {
        peer_id,
        v4: v4.map(SocketAddr::V4),
        v6: v6.map(SocketAddr::V6),
        uploaded: wide[0],
        downloaded: wide[1],
        upload_rate: narrow[0],
        download_rate: narrow[1],
        has_stopped: flags & STOPPED != 0,
        is_active: flags & LAST_ACTIVE != 0,
        is_connectable: reach(flags),
        left: (flags & LAST_LEFT != 0).then_some(wide[2]),
        announced: narrow[2],
        credited_uploaded: wide[3],
        credited_downloaded: wide[4],
        announces: narrow[3],
    })
}

pub(crate) fn take_credit(bytes: &mut Bytes<'_>) -> Option<Credit> {
    let user = UserId(bytes.u32()?);
    let torrent = TorrentId(bytes.u32()?);
    let flags = bytes.u8()?;
    let mut wide = [0; 5];
    for amount in &mut wide {
        *amount = bytes.u64()?;
    }
    let mut narrow = [0; 4];
    for amount in &mut narrow {
        *amount = bytes.u32()?;
    }
    Some(Credit {
        user,
        torrent,
        uploaded: wide[0],
        downloaded: wide[1],
        told_uploaded: wide[2],
        told_downloaded: wide[3],
        left: (flags & CREDIT_LEFT != 0).then_some(wide[4]),
        completed: narrow[0],
        seeded_seconds: narrow[1],
        announces: narrow[2],
        announced: narrow[3],
        is_active: flags & CREDIT_ACTIVE != 0,
        last: take_last(bytes)?,
        others: Vec::new(),
        token_downloaded: if flags & CREDIT_TOKEN != 0 { bytes.u64()? } else { 0 },
        has_ended_token: flags & CREDIT_TOKEN_ENDED != 0,
    })
}

/// How long a point is.
pub(crate) const POINT_BYTES: usize = 53;
const POINT_COMPLETE: u8 = 1;
const POINT_STARTED: u8 = 2;
const POINT_STOPPED: u8 = 4;
const POINT_TOKEN: u8 = 8;

pub(crate) fn put_point(out: &mut Vec<u8>, point: &Point) {
    for amount in [point.user.0, point.torrent.0, point.at] {
        out.extend_from_slice(&amount.to_le_bytes());
    }
    out.extend_from_slice(&point.peer_id.0);
    out.extend_from_slice(&point.uploaded.to_le_bytes());
    out.extend_from_slice(&point.downloaded.to_le_bytes());
    out.push(
        flag(point.is_complete, POINT_COMPLETE)
            | flag(point.has_started, POINT_STARTED)
            | flag(point.has_stopped, POINT_STOPPED)
            | flag(point.has_token, POINT_TOKEN),
    );
    put_worth(out, point.worth);
}

pub(crate) fn take_point(bytes: &mut Bytes<'_>) -> Option<Point> {
    let (user, torrent, at) = (bytes.u32()?, bytes.u32()?, bytes.u32()?);
    let peer_id = PeerId(bytes.array()?);
    let (uploaded, downloaded, flags) = (bytes.u64()?, bytes.u64()?, bytes.u8()?);
    Some(Point {
        user: UserId(user),
        torrent: TorrentId(torrent),
        peer_id,
        at,
        uploaded,
        downloaded,
        is_complete: flags & POINT_COMPLETE != 0,
        has_started: flags & POINT_STARTED != 0,
        has_stopped: flags & POINT_STOPPED != 0,
        worth: take_worth(bytes)?,
        has_token: flags & POINT_TOKEN != 0,
    })
}

pub(crate) fn put_standing(out: &mut Vec<u8>, standing: &Standing) {
    for amount in [
        standing.torrent.0,
        standing.seeders,
        standing.leechers,
        standing.completed,
        standing.completed_total,
        standing.announced,
    ] {
        out.extend_from_slice(&amount.to_le_bytes());
    }
}

pub(crate) fn take_standing(bytes: &mut Bytes<'_>) -> Option<Standing> {
    Some(Standing {
        torrent: TorrentId(bytes.u32()?),
        seeders: bytes.u32()?,
        leechers: bytes.u32()?,
        completed: bytes.u32()?,
        completed_total: bytes.u32()?,
        announced: bytes.u32()?,
    })
}

/// What a checkpoint has of a torrent beside its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TorrentHead {
    pub(crate) info_hash: InfoHash,
    pub(crate) id: u32,
    pub(crate) completed: u32,
    pub(crate) completed_pending: u32,
    pub(crate) announced: u32,
    pub(crate) made: u32,
    pub(crate) worth: Worth,
    pub(crate) is_dirty: bool,
    pub(crate) balance: Balance,
    /// How many follow, about: room is made for them at once.
    pub(crate) sessions: u32,
}

/// How long a torrent is there.
pub(crate) const TORRENT_BYTES: usize = 61;

pub(crate) fn put_torrent(out: &mut Vec<u8>, head: &TorrentHead) {
    out.extend_from_slice(&head.info_hash.0);
    for amount in [head.id, head.completed, head.completed_pending, head.announced, head.made] {
        out.extend_from_slice(&amount.to_le_bytes());
    }
    put_worth(out, head.worth);
    out.push(u8::from(head.is_dirty));
    out.extend_from_slice(&head.balance.bytes());
    out.extend_from_slice(&head.sessions.to_le_bytes());
}

pub(crate) fn take_torrent(bytes: &mut Bytes<'_>) -> Option<TorrentHead> {
    Some(TorrentHead {
        info_hash: bytes.hash()?,
        id: bytes.u32()?,
        completed: bytes.u32()?,
        completed_pending: bytes.u32()?,
        announced: bytes.u32()?,
        made: bytes.u32()?,
        worth: take_worth(bytes)?,
        is_dirty: bytes.u8()? != 0,
        balance: Balance::from_bytes(bytes.array()?),
        sessions: bytes.u32()?,
    })
}

/// How long a user is in a checkpoint. Passkeys are there as keyed hashes only.
pub(crate) const USER_BYTES: usize = 47;

pub(crate) fn put_user(out: &mut Vec<u8>, user: &UserRow) {
    let start = out.len();
    out.extend_from_slice(&user.id.to_le_bytes());
    out.extend_from_slice(&user.digest);
    out.extend_from_slice(&user.passkey_version.to_le_bytes());
    out.extend_from_slice(&user.wait_seconds.to_le_bytes());
    for amount in [user.peers_max, user.torrents_max, user.worth_uploaded, user.worth_downloaded] {
        out.extend_from_slice(&amount.to_le_bytes());
    }
    out.extend_from_slice(&[user.rest_uploaded, user.rest_downloaded, u8::from(user.may_leech)]);
    out.extend_from_slice(&user.steps.bytes());
    debug_assert_eq!(out.len() - start, USER_BYTES, "a start makes room by it");
}

pub(crate) fn take_user(bytes: &mut Bytes<'_>) -> Option<UserRow> {
    Some(UserRow {
        id: bytes.u32()?,
        digest: bytes.array()?,
        passkey_version: bytes.u32()?,
        wait_seconds: bytes.u32()?,
        taking: 0,
        peers_max: bytes.u16()?,
        torrents_max: bytes.u16()?,
        worth_uploaded: bytes.u16()?,
        worth_downloaded: bytes.u16()?,
        rest_uploaded: bytes.u8()? % 100,
        rest_downloaded: bytes.u8()? % 100,
        may_leech: bytes.u8()? != 0,
        generation: 0,
        steps: Steps::from_bytes(bytes.array()?),
    })
}

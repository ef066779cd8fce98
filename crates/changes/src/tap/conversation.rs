//! Conversations: what a client and a server say to each other, read as it passes.
//!
//! In: the bytes of both directions, in the order in which they pass. Out: [`Heard`], for
//! each statement that may have changed something, as soon as the server has answered it.
//! Law: the client/server protocol 4.1 of MySQL and MariaDB.
//! Invariants: 1. It never fails and never panics: what can't be read makes the whole
//! conversation unread from there on, and it says so once. 2. A packet is read before who
//! passes the bytes has passed its last one. 3. What it keeps is bounded: see the constants.

use std::collections::VecDeque;
use std::sync::Arc;

use super::act::{self, Act, Doubt};
use super::answer::{self, Answer, Status, read_answer};
use super::greeting::{self, ability};
use super::packets::{Packet, Packets};
use super::passing::{Said, beginning};
use super::prepared::Prepared;

/// A statement is read if it is no longer than this; what an import inserts may be longer.
const STATEMENT_BYTES_MAX: usize = 1 << 20;
/// Of any other packet so much is kept.
const OTHER_BYTES_MAX: usize = 4 << 10;
/// Of what a server answers so much is kept: enough for its greeting.
const ANSWER_BYTES_MAX: usize = 512;
/// Commands that wait for their answers; clients hardly ever send a second one before.
const AWAITED_MAX: usize = 64;

/// What was heard of a conversation.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// A statement has ended.
    Ended(Ended),
    /// What was not committed was taken back, and the connection is as new.
    Reset,
    /// From here on nothing more is heard of it.
    Unreadable,
}

/// A statement that has ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    pub(super) act: Act,
    /// The database that was in use; empty where that isn't known.
    pub(super) database: Arc<str>,
    /// Whether letters of its text could not be read.
    pub(super) is_lossy: bool,
    pub(super) outcome: Outcome,
}

/// How a statement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// As the server says.
    Done {
        /// How many rows it changed, where that is told.
        rows: Option<u64>,
        /// Whether a transaction is open now.
        is_open: bool,
        has_warnings: bool,
    },
    /// With an error.
    Failed,
    /// The conversation ended before; with a transaction open or not.
    Unknown { was_open: bool },
}

/// One conversation.
#[derive(Debug, Default)]
pub struct Conversation {
    client: Packets,
    server: Packets,
    stage: Stage,
    phase: Phase,
    awaited: VecDeque<Awaited>,
    prepared: Prepared,
    abilities: u64,
    takes_several: bool,
    database: Arc<str>,
    /// What the connection itself makes doubtful.
    doubt: Doubt,
    status: Status,
    heard: Vec<Heard>,
    counts: Counts,
    /// What is said, if somebody wants to know.
    said: Option<Vec<Said>>,
}

/// How many statements there were of those that the server counts, and that can write or
/// make visible what was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Sent, or soon to be.
    pub(super) begun: u64,
    /// Of those, done.
    pub(super) ended: u64,
    /// Those of which nobody knows whether the server counted them: they are in neither.
    pub(super) unsure: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Greeting,
    Login,
    Open,
    Unreadable,
    /// The server said no; it closes the connection.
    Refused,
}

/// Where in an answer one is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    First,
    /// So many packets of no interest, then the first of what comes next.
    Columns(u64),
    ColumnsEnd,
    Rows,
    /// So many packets, the last of them the end.
    Definitions(u64),
    /// The client sends a file.
    File,
}

/// A command that waits for its answer.
#[derive(Debug)]
enum Awaited {
    /// OK or not.
    Plain,
    Database(Arc<str>),
    Several(bool),
    Reset,
    Login(Arc<str>, bool),
    Statements {
        acts: VecDeque<Act>,
        database: Arc<str>,
        is_lossy: bool,
    },
    /// A statement's text, if it can be read.
    Prepare(Option<String>),
    /// Packets up to one that says that it is the last.
    Listing,
    /// One packet that is just words.
    Words,
}

impl Conversation {
    /// Bytes that the client sends.
    pub fn client(&mut self, mut bytes: &[u8]) -> Vec<Heard> {
        let mut packets = std::mem::take(&mut self.client);
        // The first byte of a command says whether its text matters.
        let most = |first: u8| match first {
            command::QUERY | command::PREPARE | command::EXECUTE => STATEMENT_BYTES_MAX,
            _ => OTHER_BYTES_MAX,
        };
        while !self.is_unread() && packets.take(&mut bytes, most) {
            self.client_packet(packets.packet());
        }
        self.client = packets;
        std::mem::take(&mut self.heard)
    }

    /// Bytes that the server sends.
    pub fn server(&mut self, mut bytes: &[u8]) -> Vec<Heard> {
        let mut packets = std::mem::take(&mut self.server);
        while !self.is_unread() && packets.take(&mut bytes, |_| ANSWER_BYTES_MAX) {
            self.server_packet(packets.packet());
        }
        self.server = packets;
        std::mem::take(&mut self.heard)
    }

    /// The conversation is over: what became of the statements without an answer?
    pub fn end(&mut self) -> Vec<Heard> {
        let was_open = self.status.is_open;
        for awaited in std::mem::take(&mut self.awaited) {
            if let Awaited::Statements { acts, database, is_lossy } = awaited {
                let outcome = Outcome::Unknown { was_open };
                for act in acts {
                    self.hear(Ended { act, database: database.clone(), is_lossy, outcome });
                }
            }
        }
        std::mem::take(&mut self.heard)
    }

    /// From here on it is told what is said, or isn't.
    pub(super) fn tell_said(&mut self, is_wanted: bool) {
        if is_wanted != self.said.is_some() {
            self.said = is_wanted.then(Vec::new);
        }
    }

    /// What was said since this was last asked.
    pub(super) fn take_said(&mut self) -> Vec<Said> {
        self.said.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Whether an answer is awaited that matters although nobody may read it any more.
    #[must_use]
    pub fn awaits(&self) -> bool {
        self.awaited.iter().any(|awaited| match awaited {
            Awaited::Statements { acts, .. } => acts.iter().any(|act| *act != Act::Read),
            _ => false,
        })
    }

    fn is_unread(&self) -> bool {
        matches!(self.stage, Stage::Unreadable | Stage::Refused)
    }

    fn give_up(&mut self) {
        self.stage = Stage::Unreadable;
        self.heard = self.end();
        self.prepared.clear();
        self.heard.push(Heard::Unreadable);
    }

    fn client_packet(&mut self, packet: Packet<'_>) {
        match self.stage {
            Stage::Login if packet.number == 1 => self.login(packet),
            // What else proves who it is.
            Stage::Login => {}
            Stage::Greeting => self.give_up(),
            Stage::Open if self.phase == Phase::File => {
                if packet.length == 0 {
                    self.phase = Phase::First;
                }
            }
            Stage::Open if packet.number != 0 => {
                if !matches!(self.awaited.back(), Some(Awaited::Login(..))) {
                    self.give_up();
                }
            }
            Stage::Open => self.command(packet),
            Stage::Unreadable | Stage::Refused => {}
        }
    }

    fn login(&mut self, packet: Packet<'_>) {
        let Some(login) = greeting::read_client(packet.kept) else { return self.give_up() };
        self.abilities &= login.abilities;
        let has = |what| self.abilities & what != 0;
        if !has(ability::PROTOCOL_41)
            || has(ability::TLS)
            || has(ability::COMPRESSION)
            || has(ability::ZSTD)
        {
            return self.give_up();
        }
        self.takes_several = has(ability::SEVERAL_STATEMENTS);
        self.database = login.database;
        self.doubt.of_letters = login.has_odd_letters;
    }

    fn command(&mut self, packet: Packet<'_>) {
        let Some((&command, rest)) = packet.kept.split_first() else { return self.give_up() };
        let number = || {
            let bytes = rest.first_chunk()?;
            Some(u32::from_le_bytes(*bytes))
        };
        let awaited = match command {
            command::QUIT => return,
            command::LONG_DATA => {
                let value = rest.get(4..6).map(|value| u16::from_le_bytes([value[0], value[1]]));
                if let (Some(number), Some(value)) = (number(), value) {
                    self.prepared.piece(number, value);
                }
                return;
            }
            command::CLOSE => return self.prepared.close(number().unwrap_or_default()),
            command::QUERY => self.query(packet, rest),
            command::PREPARE => Awaited::Prepare(self.text(packet, rest).map(|(text, _)| text)),
            command::EXECUTE => {
                let rest = rest.get(4..).filter(|_| packet.is_all());
                // Attributes stand between the values.
                let rest = rest.filter(|_| self.abilities & ability::ATTRIBUTES == 0);
                let (number, doubt) = (number().unwrap_or(u32::MAX), self.doubt());
                if let Some(said) = &mut self.said {
                    let text = self.prepared.text(number).unwrap_or_default();
                    said.push(Said::Begun(beginning(text)));
                }
                let (act, is_lossy) = self.prepared.run(number, rest, doubt);
                self.statements(vec![act], is_lossy)
            }
            // A statement for many rows at once; PHP has no such thing.
            command::BULK => self.untold(vec![Act::Unread]),
            command::RESET_STATEMENT => {
                self.prepared.forget_pieces(number().unwrap_or_default());
                Awaited::Plain
            }
            command::DATABASE => Awaited::Database(greeting::name(rest).unwrap_or_default()),
            command::CREATE | command::DROP => self.untold(vec![Act::Schema]),
            command::PROCESSES => self.untold(vec![Act::Read]),
            command::FIELDS | command::FETCH => Awaited::Listing,
            command::STATISTICS => Awaited::Words,
            command::REFRESH | command::KILL | command::DEBUG | command::PING => Awaited::Plain,
            command::OPTION => Awaited::Several(rest.first() == Some(&0)),
            command::RESET => Awaited::Reset,
            command::CHANGE_USER => {
                let (database, is_odd) = greeting::read_change(self.abilities, rest);
                Awaited::Login(database, is_odd)
            }
            _ => return self.give_up(),
        };
        if self.awaited.len() >= AWAITED_MAX {
            return self.give_up();
        }
        self.awaited.push_back(awaited);
    }

    fn query(&mut self, packet: Packet<'_>, rest: &[u8]) -> Awaited {
        let read = self.text(packet, rest);
        if let Some(said) = &mut self.said {
            let text = read.as_ref().map_or("", |(text, _)| text);
            said.push(Said::Begun(beginning(text)));
        }
        let (acts, is_lossy) = match read {
            Some((text, is_lossy)) => {
                (act::read(&text, self.takes_several, self.doubt()), is_lossy)
            }
            None => (vec![Act::Unread], false),
        };
        self.statements(acts, is_lossy)
    }

    /// A command's text, and whether letters of it were lost; none where it isn't all there.
    fn text(&self, packet: Packet<'_>, rest: &[u8]) -> Option<(String, bool)> {
        /// No attributes, in one set.
        const NONE: &[u8] = &[0, 1];
        let has_attributes = self.abilities & ability::ATTRIBUTES != 0
            && packet.kept.first() == Some(&command::QUERY);
        let rest = if has_attributes { rest.strip_prefix(NONE)? } else { rest };
        // Where letters are single bytes a lost one changes no quote; where a backslash may
        // be half a letter, nothing but plain letters is read.
        let text = packet.is_all().then(|| String::from_utf8_lossy(rest))?;
        let is_lossy = text.contains(char::REPLACEMENT_CHARACTER);
        Some((text.into_owned(), is_lossy))
    }

    /// A command that has no text.
    fn untold(&mut self, acts: Vec<Act>) -> Awaited {
        if let Some(said) = &mut self.said {
            said.push(Said::Begun(Box::default()));
        }
        self.statements(acts, false)
    }

    fn statements(&mut self, acts: Vec<Act>, is_lossy: bool) -> Awaited {
        // Before the answer to the command before nobody knows which database is in use.
        let is_sure = self.awaited.is_empty();
        let database = if is_sure { self.database.clone() } else { Arc::default() };
        self.counts.begun += counted(&acts);
        Awaited::Statements { acts: acts.into(), database, is_lossy }
    }

    fn doubt(&self) -> Doubt {
        self.doubt.or(self.status.doubt)
    }

    fn server_packet(&mut self, packet: Packet<'_>) {
        match self.stage {
            Stage::Greeting => match greeting::read_server(packet.kept) {
                Some((abilities, _)) => {
                    self.abilities = abilities;
                    self.stage = Stage::Login;
                }
                None if packet.kept.first() == Some(&answer::ERROR) => self.stage = Stage::Refused,
                None => self.give_up(),
            },
            Stage::Login => match read_answer(packet, self.abilities) {
                Some(Answer::Ok(_, status)) => {
                    self.status = status;
                    self.stage = Stage::Open;
                }
                Some(Answer::Error) => self.stage = Stage::Refused,
                _ => {}
            },
            Stage::Open => self.answer(packet),
            Stage::Unreadable | Stage::Refused => {}
        }
    }

    fn answer(&mut self, packet: Packet<'_>) {
        let answer = read_answer(packet, self.abilities);
        let Some(awaited) = self.awaited.front() else {
            // A server that closes a connection may say why.
            if answer != Some(Answer::Error) {
                self.give_up();
            }
            return;
        };
        if answer == Some(Answer::Progress) {
            return;
        }
        match (self.phase, awaited) {
            (Phase::Columns(left), _) => self.column(left),
            (Phase::Definitions(left), _) => match left {
                0 | 1 => self.take_next(),
                left => self.phase = Phase::Definitions(left - 1),
            },
            (_, Awaited::Statements { .. }) => self.result(packet, answer),
            (_, Awaited::Words) => self.take_next(),
            (_, Awaited::Prepare(_)) => self.prepare(packet, answer),
            (_, Awaited::Listing) => match answer {
                Some(Answer::End(status)) => self.plain(Some(status)),
                Some(Answer::Error) => self.plain(None),
                _ => {}
            },
            (_, Awaited::Login(..)) => match answer {
                Some(Answer::Ok(_, status)) => self.plain(Some(status)),
                Some(Answer::Error) => self.stage = Stage::Refused,
                _ => {}
            },
            (_, Awaited::Plain | Awaited::Database(_) | Awaited::Several(_) | Awaited::Reset) => {
                match answer {
                    Some(Answer::Ok(_, status) | Answer::End(status)) => self.plain(Some(status)),
                    Some(Answer::Error) => self.plain(None),
                    _ => self.give_up(),
                }
            }
        }
    }

    fn take_next(&mut self) {
        self.awaited.pop_front();
        self.phase = Phase::First;
    }

    /// The end of an answer of one packet; none for an error.
    fn plain(&mut self, status: Option<Status>) {
        let awaited = self.awaited.pop_front();
        self.phase = Phase::First;
        let Some(status) = status else { return };
        self.status = status;
        match awaited {
            Some(Awaited::Database(name)) => self.database = name,
            Some(Awaited::Several(is_so)) => self.takes_several = is_so,
            Some(Awaited::Reset) => self.reset(),
            Some(Awaited::Login(database, is_odd)) => {
                self.database = database;
                self.doubt = Doubt { of_letters: is_odd, ..Doubt::default() };
                self.reset();
            }
            _ => {}
        }
    }

    fn reset(&mut self) {
        self.prepared.clear();
        self.heard.push(Heard::Reset);
    }

    fn prepare(&mut self, packet: Packet<'_>, answer: Option<Answer>) {
        if answer == Some(Answer::Error) {
            return self.take_next();
        }
        let &[0, n0, n1, n2, n3, c0, c1, v0, v1, ..] = packet.kept else { return self.give_up() };
        let number = u32::from_le_bytes([n0, n1, n2, n3]);
        let (columns, values) = (u16::from_le_bytes([c0, c1]), u16::from_le_bytes([v0, v1]));
        let doubt = self.doubt();
        if let Some(Awaited::Prepare(text)) = self.awaited.front() {
            self.prepared.keep(number, values, text.as_deref(), doubt);
        }
        let end = u64::from(self.abilities & ability::NO_EOF == 0);
        let packets = |count: u16| if count == 0 { 0 } else { u64::from(count) + end };
        match packets(columns) + packets(values) {
            0 => self.take_next(),
            packets => self.phase = Phase::Definitions(packets),
        }
    }

    fn column(&mut self, left: u64) {
        self.phase = match left {
            0 | 1 if self.abilities & ability::NO_EOF == 0 => Phase::ColumnsEnd,
            0 | 1 => Phase::Rows,
            left => Phase::Columns(left - 1),
        };
    }

    /// A packet of the answer to a statement.
    fn result(&mut self, packet: Packet<'_>, answer: Option<Answer>) {
        match (self.phase, answer) {
            (_, Some(Answer::Error)) => self.failed(),
            (Phase::First | Phase::File, Some(Answer::Ok(rows, status))) => {
                self.done(Some(rows), status);
            }
            (Phase::First, Some(Answer::File)) => self.phase = Phase::File,
            (Phase::First, _) => match answer::columns(packet, self.abilities) {
                Some(0) => self.column(0),
                Some(count) => self.phase = Phase::Columns(count),
                None => self.give_up(),
            },
            (Phase::ColumnsEnd, Some(Answer::End(status))) => match status.has_cursor {
                true => self.done(None, status),
                false => self.phase = Phase::Rows,
            },
            (Phase::Rows, Some(Answer::End(status))) => self.done(None, status),
            (Phase::Rows, _) => {}
            _ => self.give_up(),
        }
    }

    /// One statement of the command in front is done.
    fn done(&mut self, rows: Option<u64>, status: Status) {
        let was_open = std::mem::replace(&mut self.status, status).is_open;
        let Some(Awaited::Statements { acts, database, is_lossy }) = self.awaited.front_mut()
        else {
            return;
        };
        // One that can't be read may have any number of answers.
        let act = match acts.front() {
            Some(Act::Unread) if status.has_more => Act::Unread,
            _ => acts.pop_front().unwrap_or(Act::Unread),
        };
        let (database, is_lossy) = (database.clone(), *is_lossy);
        match &act {
            Act::Use(name) => self.database = name.as_ref().into(),
            Act::Reading(doubt) => self.doubt = self.doubt.or(*doubt),
            _ => {}
        }
        let Status { is_open, has_warnings, has_more, .. } = status;
        if act != Act::Read || was_open && !is_open {
            let outcome = Outcome::Done { rows, is_open, has_warnings };
            self.hear(Ended { act, database, is_lossy, outcome });
        }
        self.phase = Phase::First;
        if !has_more {
            self.leave(Outcome::Unknown { was_open: is_open });
        }
    }

    /// The command in front ended with an error, and with it what comes after.
    fn failed(&mut self) {
        if let Some(Awaited::Statements { acts, .. }) = self.awaited.front_mut() {
            let unasked = acts.split_off(acts.len().min(1));
            self.counts.begun -= counted(&unasked);
            if acts.is_empty() {
                acts.push_back(Act::Unread);
            }
        }
        self.leave(Outcome::Failed);
    }

    /// The command in front has no further answer; what it still holds ended like this.
    fn leave(&mut self, outcome: Outcome) {
        self.phase = Phase::First;
        let Some(Awaited::Statements { acts, database, is_lossy }) = self.awaited.pop_front()
        else {
            return;
        };
        if let Some(said) = &mut self.said {
            said.push(Said::Ended);
        }
        for act in acts.into_iter().filter(|act| *act != Act::Read) {
            self.hear(Ended { act, database: database.clone(), is_lossy, outcome });
        }
    }

    fn hear(&mut self, ended: Ended) {
        match (ended.outcome, ended.act.is_counted()) {
            (Outcome::Done { .. }, true) => self.counts.ended += 1,
            (_, true) => {
                self.counts.begun -= 1;
                self.counts.unsure += 1;
            }
            _ if ended.act == Act::Unread => self.counts.unsure += 1,
            _ => {}
        }
        self.heard.push(Heard::Ended(ended));
    }

    /// How many statements there were so far.
    pub(super) fn counts(&self) -> Counts {
        self.counts
    }
}

fn counted<'a>(acts: impl IntoIterator<Item = &'a Act>) -> u64 {
    acts.into_iter().filter(|act| act.is_counted()).count() as u64
}

/// Commands by their first byte.
mod command {
    pub(super) const QUIT: u8 = 0x01;
    pub(super) const DATABASE: u8 = 0x02;
    pub(super) const QUERY: u8 = 0x03;
    pub(super) const FIELDS: u8 = 0x04;
    pub(super) const CREATE: u8 = 0x05;
    pub(super) const DROP: u8 = 0x06;
    pub(super) const REFRESH: u8 = 0x07;
    pub(super) const STATISTICS: u8 = 0x09;
    pub(super) const PROCESSES: u8 = 0x0a;
    pub(super) const KILL: u8 = 0x0c;
    pub(super) const DEBUG: u8 = 0x0d;
    pub(super) const PING: u8 = 0x0e;
    pub(super) const CHANGE_USER: u8 = 0x11;
    pub(super) const PREPARE: u8 = 0x16;
    pub(super) const EXECUTE: u8 = 0x17;
    pub(super) const LONG_DATA: u8 = 0x18;
    pub(super) const CLOSE: u8 = 0x19;
    pub(super) const RESET_STATEMENT: u8 = 0x1a;
    pub(super) const OPTION: u8 = 0x1b;
    pub(super) const FETCH: u8 = 0x1c;
    pub(super) const RESET: u8 = 0x1f;
    pub(super) const BULK: u8 = 0xfa;
}

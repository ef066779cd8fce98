//! A page being put together: pieces in a row, of which some are on their way.
//!
//! Parts that aren't at hand are asked for at once, each in a task of its own, [`super::AT_ONCE`]
//! at a time; what stands before the first that hasn't come goes out meanwhile. Where the
//! visitor leaves, what wasn't asked for yet never is, and what was is stored as it comes.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use base::task;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use store::Reservation;
use tokio::sync::oneshot;
use transform::esi::{Compiler, Include, Part, Plan, Template};
use wire::{Body, BodyError};

use super::part::{self, AtOnce, Content, Got, Missing};
use super::{Context, PAGE_BYTES_MAX, weighed};
use crate::gather::{Gathered, gather};
use crate::page::Page;

/// What a try may hold: it can't go out before all of it has come.
const TRY_BYTES_MAX: usize = 256 << 10;

/// One piece of a page.
enum Piece {
    Here(Bytes),
    Body(Body),
    Coming {
        answer: oneshot::Receiver<Result<Got, Missing>>,
        goes_on: bool,
    },
    Missing {
        status: u16,
        goes_on: bool,
    },
    Try(Pieces, Plan),
    /// A page that is not here yet, with its holes.
    Page(Body),
}

type Pieces = VecDeque<Piece>;

/// A part of an attempt is missing.
struct GivenUp;

/// A page being put together.
pub(super) struct Assembly {
    context: Arc<Context>,
    page: Bytes,
    pieces: Pieces,
    /// How many parts were asked for.
    pub(super) parts: usize,
    has_personal: bool,
    /// What a page takes that isn't the store's.
    room: Option<Reservation<Page>>,
}

impl Assembly {
    /// Of a page that is here. Where only its head is wanted nothing is asked for.
    pub(super) fn of(
        context: Arc<Context>,
        page: &Bytes,
        template: &Template,
        is_head: bool,
    ) -> Self {
        let mut assembly = Self {
            context,
            page: page.clone(),
            pieces: Pieces::new(),
            parts: 0,
            has_personal: is_head,
            room: None,
        };
        if !is_head {
            assembly.begin_page(template);
        }
        assembly
    }

    /// Of a page that is on its way.
    pub(super) fn of_coming(context: Arc<Context>, body: Body) -> Self {
        let pieces = Pieces::from([Piece::Page(body)]);
        Self { context, page: Bytes::new(), pieces, parts: 0, has_personal: true, room: None }
    }

    fn begin_page(&mut self, template: &Template) {
        self.context.server.counters.esi_pages_cut.add(u64::from(template.is_cut()));
        let plan = template.plan(&self.page, &self.context.head);
        self.pieces = self.begin(plan);
    }

    /// Whether something of it may be for one visitor; unless all of it is known, it may.
    pub(super) fn may_be_personal(&self) -> bool {
        self.has_personal || self.pieces.iter().any(|piece| !matches!(piece, Piece::Here(_)))
    }

    /// The whole page, if all of it is at hand.
    pub(super) fn whole(&mut self) -> Option<Bytes> {
        let is_here = |piece: &Piece| matches!(piece, Piece::Here(_));
        if !self.pieces.iter().all(is_here) {
            return None;
        }
        let mut pieces = std::mem::take(&mut self.pieces);
        if let (1, Some(Piece::Here(_))) = (pieces.len(), pieces.front())
            && let Some(Piece::Here(only)) = pieces.pop_front()
        {
            return Some(only);
        }
        let here = |piece: &Piece| match piece {
            Piece::Here(bytes) => bytes.clone(),
            _ => Bytes::new(),
        };
        let total = pieces.iter().map(|piece| here(piece).len()).sum();
        let mut whole = BytesMut::with_capacity(total);
        pieces.iter().for_each(|piece| whole.extend_from_slice(&here(piece)));
        Some(whole.freeze())
    }

    /// The page as it comes.
    pub(super) fn into_body(self) -> Body {
        let frames = stream::unfold(self, |mut assembly| async move {
            let frame = assembly.next().await?;
            Some((frame.map(Frame::data), assembly))
        });
        StreamBody::new(frames).boxed_unsync()
    }

    /// Asks for all parts of a plan; each piece of it is in its place.
    fn begin(&mut self, plan: Plan) -> Pieces {
        plan.into_iter()
            .map(|part| match part {
                Part::Text(range) => Piece::Here(self.page.slice(range)),
                Part::Made(bytes) => Piece::Here(bytes.into()),
                Part::Include(include) => self.ask(include),
                Part::Try(attempt, except) => Piece::Try(self.begin(attempt), except),
            })
            .collect()
    }

    fn ask(&mut self, include: Include) -> Piece {
        self.parts += 1;
        let mut first = part::at_once(&self.context, &include.source, include.keeping);
        if let AtOnce::Missing(_) = first
            && let Some(other) = part::alternative(&self.context, &include)
        {
            first = other;
        }
        let goes_on = include.goes_on;
        match first {
            AtOnce::Here(got) => self.piece_of(got),
            AtOnce::Missing(Missing(status)) => Piece::Missing { status, goes_on },
            AtOnce::Onward(onward) => {
                let (sender, answer) = oneshot::channel();
                let context = self.context.clone();
                let panics = context.server.counters.panics.clone();
                task::spawn_counted(&panics, async move {
                    // It is never closed; who has left wants nothing more.
                    let Ok(_place) = context.within.places.acquire().await else { return };
                    if !sender.is_closed() {
                        let got = part::get(&context, &include, onward).await;
                        // Who has left meanwhile misses nothing.
                        let _ = sender.send(got);
                    }
                });
                Piece::Coming { answer, goes_on }
            }
        }
    }

    fn piece_of(&mut self, got: Got) -> Piece {
        self.has_personal |= !got.is_shared;
        match got.content {
            Content::Here(bytes) => Piece::Here(bytes),
            Content::Coming(body) => Piece::Body(body),
        }
    }

    /// What goes out next.
    async fn next(&mut self) -> Option<Result<Bytes, BodyError>> {
        loop {
            match self.pieces.pop_front()? {
                Piece::Here(bytes) if bytes.is_empty() => {}
                Piece::Here(bytes) => return Some(Ok(bytes)),
                Piece::Body(mut body) => match body.frame().await {
                    None => {}
                    Some(Err(error)) => {
                        self.pieces.clear();
                        return Some(Err(error));
                    }
                    Some(Ok(frame)) => {
                        self.pieces.push_front(Piece::Body(body));
                        if let Ok(data) = frame.into_data() {
                            return Some(Ok(data));
                        }
                    }
                },
                Piece::Coming { answer, goes_on } => {
                    let piece = self.arrived(answer, goes_on).await;
                    self.pieces.push_front(piece);
                }
                Piece::Missing { status, goes_on } => {
                    self.context.server.counters.esi_parts_failed.bump();
                    if !goes_on && self.context.is_markup {
                        return Some(Ok(explanation(status)));
                    }
                }
                Piece::Try(attempt, except) => match self.attempt(attempt).await {
                    Ok(bytes) => self.pieces.push_front(Piece::Here(bytes)),
                    Err(GivenUp) => {
                        let instead = self.begin(except);
                        instead.into_iter().rev().for_each(|it| self.pieces.push_front(it));
                    }
                },
                Piece::Page(body) => match self.take(body).await {
                    Ok(Gathered::Whole(bytes)) => {
                        self.page = bytes;
                        let template = Compiler::compile(&self.page);
                        self.begin_page(&template);
                    }
                    Ok(Gathered::Larger(body)) => {
                        self.context.server.counters.esi_pages_too_large.bump();
                        self.pieces.push_front(Piece::Body(body));
                    }
                    Err(error) => return Some(Err(error)),
                },
            }
        }
    }

    /// Takes the page whole. What it takes is set aside for as long as it is here.
    async fn take(&mut self, body: Body) -> Result<Gathered, BodyError> {
        let server = self.context.server.clone();
        let taken = gather(weighed(&server, body), PAGE_BYTES_MAX).await?;
        if let Gathered::Whole(bytes) = &taken {
            self.room = server.store.reserve(bytes.len()).ok();
        }
        Ok(taken)
    }

    async fn arrived(
        &mut self,
        answer: oneshot::Receiver<Result<Got, Missing>>,
        goes_on: bool,
    ) -> Piece {
        match answer.await {
            Ok(Ok(got)) => self.piece_of(got),
            Ok(Err(Missing(status))) => Piece::Missing { status, goes_on },
            // Its task has panicked, and that is counted.
            Err(_) => Piece::Missing { status: 500, goes_on },
        }
    }

    /// All of an attempt, if no part of it is missing.
    fn attempt(
        &mut self,
        mut pieces: Pieces,
    ) -> Pin<Box<dyn Future<Output = Result<Bytes, GivenUp>> + Send + '_>> {
        // Boxed, for an attempt may have tries in it; how deep, the template bounds.
        Box::pin(async move {
            let mut whole = BytesMut::new();
            while let Some(piece) = pieces.pop_front() {
                match piece {
                    Piece::Here(bytes) => whole.extend_from_slice(&bytes),
                    Piece::Body(body) | Piece::Page(body) => {
                        let body = weighed(&self.context.server, body);
                        match gather(body, TRY_BYTES_MAX).await {
                            Ok(Gathered::Whole(bytes)) => whole.extend_from_slice(&bytes),
                            Ok(Gathered::Larger(_)) | Err(_) => return Err(GivenUp),
                        }
                    }
                    Piece::Coming { answer, goes_on } => {
                        let piece = self.arrived(answer, goes_on).await;
                        pieces.push_front(piece);
                    }
                    Piece::Missing { goes_on, .. } => {
                        self.context.server.counters.esi_parts_failed.bump();
                        if !goes_on {
                            return Err(GivenUp);
                        }
                    }
                    Piece::Try(attempt, except) => match self.attempt(attempt).await {
                        Ok(bytes) => whole.extend_from_slice(&bytes),
                        Err(GivenUp) => {
                            let instead = self.begin(except);
                            instead.into_iter().rev().for_each(|it| pieces.push_front(it));
                        }
                    },
                }
                if whole.len() > TRY_BYTES_MAX {
                    return Err(GivenUp);
                }
            }
            Ok(whole.freeze())
        })
    }
}

/// What stands where a part should be.
fn explanation(status: u16) -> Bytes {
    format!("<!-- a part of this page could not be had ({status}) -->").into()
}

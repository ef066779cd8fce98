//! Certificates where several nodes serve the same names: in turn one of them orders, and all
//! take what it got.
//!
//! Who has its turn looks first at what the others keep, so that nobody orders what is there, and
//! notes that it tries before it does: whoever takes over from a node that died in the midst waits
//! as after any setback, and setbacks count for all nodes together. A turn is for one name.
//! Invariant: nothing is ordered by a node that can't tell the others of it.

use std::cmp::Ordering;
use std::sync::Arc;

use base::complaint::complain;
use cluster::KeepError;
use server::Facts;

use super::fellows::{Fellows, Tries};
use super::issue::IssueError;
use super::keeping::{Got, Keeper, Kept, SLEEP_SECONDS_MAX};
use super::schedule::Setback;
use super::shelf::Lying;
use super::told;

/// When it is tried again where the other nodes can't be asked or told.
const AGAIN_SECONDS: i64 = 5;
/// No node is kept from trying for longer, whatever another one's clock says.
const PAUSE_SECONDS_MAX: i64 = 43_200;

/// Whose certificate all nodes are to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Own,
    Theirs,
}

impl Keeper {
    /// Takes what other nodes have got, and has them take what this one has: where there is news,
    /// and of all names when `look_at` has come, which is moved on.
    pub(super) async fn look_around(&self, fellows: &Fellows, all: &mut [Kept], look_at: &mut i64) {
        let mut changed = fellows.take_changed();
        changed.all |= *look_at <= told::now();
        if !changed.has_any() {
            return;
        }
        for one in all.iter_mut().filter(|one| changed.has(&one.name)) {
            let looked = self.look(fellows, one).await;
            fellows.note(looked.as_ref().err());
            if looked.is_err() {
                *look_at = told::now() + AGAIN_SECONDS;
                return;
            }
        }
        if changed.all {
            *look_at = told::now() + SLEEP_SECONDS_MAX;
        }
    }

    /// Orders a certificate when it is this node's turn, unless another one has by then.
    pub(super) async fn renew_in_turn(&self, fellows: &Arc<Fellows>, one: &mut Kept) {
        let turn = tokio::select! {
            turn = fellows.turn() => turn,
            // It may be of this name.
            () = fellows.changed() => return,
        };
        let name = one.name.clone();
        tokio::select! {
            renewed = self.renew_by_turn(fellows, one) => {
                fellows.note(renewed.as_ref().err());
                if renewed.is_err() {
                    one.due = one.due.max(told::now() + AGAIN_SECONDS);
                }
            }
            () = turn.keep() => complain(format_args!(
                "another node goes on with the certificate for {name}"
            )),
        }
    }

    async fn renew_by_turn(&self, fellows: &Arc<Fellows>, one: &mut Kept) -> Result<(), KeepError> {
        self.look(fellows, one).await?;
        if one.due > told::now() {
            return Ok(());
        }
        // Whoever comes next, if this node dies of it, doesn't come at once.
        fellows.keep_tries(&one.name, one.after(Setback::Unheard)).await?;
        match self.order(one).await {
            Ok(got) => {
                let text = got.text.clone();
                self.take(one, got);
                fellows.keep_certificate(&one.name, &text).await?;
                fellows.keep_tries(&one.name, Tries::default()).await
            }
            Err(setback) => {
                self.put_off(one, setback);
                fellows.keep_tries(&one.name, one.tries()).await
            }
        }
    }

    /// Takes what other nodes have got of a name, or has them take what is here.
    async fn look(&self, fellows: &Fellows, one: &mut Kept) -> Result<(), KeepError> {
        let there = fellows.certificate(&one.name).await?;
        let there = there.and_then(|text| Some(Got { lying: Lying::read(&text)?, text }));
        let there = there.filter(|got| self.fits(one, &got.lying));
        let facts = |lying: &Lying| lying.identity.facts().clone();
        let own = one.lying.as_ref().map(facts);
        let theirs = there.as_ref().map(|got| facts(&got.lying));
        match (better(own.as_ref(), theirs.as_ref(), told::now()), there) {
            (Some(Side::Theirs), Some(got)) => self.take_from_others(one, got),
            (Some(Side::Own), _) => {
                if let Some(text) = self.shelf.certificate_text(&one.name) {
                    fellows.keep_certificate(&one.name, &text).await?;
                }
            }
            _ => {}
        }
        let mut tries = fellows.tries(&one.name).await?;
        tries.not_before = tries.not_before.min(told::now() + PAUSE_SECONDS_MAX);
        if tries.not_before > one.due {
            one.adopt(tries);
        }
        Ok(())
    }

    /// Whether a certificate is one that this node would have ordered.
    fn fits(&self, one: &Kept, lying: &Lying) -> bool {
        let facts = lying.identity.facts();
        facts.names.contains(&one.name)
            && facts.not_after > told::now()
            && self.directories.contains(&lying.directory)
    }

    /// The account that all nodes have, for this one.
    pub(super) async fn fetch_account(&self, directory: &str) -> Result<(), IssueError> {
        let Some(fellows) = &self.fellows else { return Ok(()) };
        let Some(text) = fellows.account(directory).await? else { return Ok(()) };
        if self.shelf.account(directory).as_deref() != Some(text.as_bytes()) {
            let kept = self.shelf.keep_account(directory, &text);
            kept.map_err(|error| IssueError::Ours(format!("the account can't be kept: {error}")))?;
        }
        Ok(())
    }

    /// This node's account, for all that have none.
    pub(super) async fn share_account(&self, directory: &str) -> Result<(), IssueError> {
        let Some(fellows) = &self.fellows else { return Ok(()) };
        let own = self.shelf.account(directory).and_then(|text| String::from_utf8(text).ok());
        match (fellows.account(directory).await?, own) {
            (None, Some(own)) => Ok(fellows.keep_account(directory, &own).await?),
            _ => Ok(()),
        }
    }

    /// The CA doesn't know it any more.
    pub(super) async fn forget_account(&self, directory: &str) {
        self.shelf.forget_account(directory);
        if let Some(fellows) = &self.fellows {
            fellows.note(fellows.keep_account(directory, "").await.err().as_ref());
        }
    }
}

/// Which one is to take the place of the other, if they aren't the same: the one that was issued
/// later, though it may end earlier, as a CA issues shorter ones than before.
fn better(own: Option<&Facts>, theirs: Option<&Facts>, now: i64) -> Option<Side> {
    let issued = |facts: &Facts| facts.not_before;
    let (own, theirs) = (own.filter(|own| own.not_after > now).map(issued), theirs.map(issued));
    match own.cmp(&theirs) {
        Ordering::Less => Some(Side::Theirs),
        Ordering::Equal => None,
        Ordering::Greater => Some(Side::Own),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_issued_later_is_everybodys() {
        let facts = |(not_before, not_after)| Facts { not_before, not_after, ..Facts::default() };
        for (own, theirs, expected) in [
            (None, None, None),
            (None, Some((10, 90)), Some(Side::Theirs)),
            (Some((10, 90)), None, Some(Side::Own)),
            (Some((10, 90)), Some((10, 90)), None),
            (Some((10, 90)), Some((20, 100)), Some(Side::Theirs)),
            (Some((20, 100)), Some((10, 90)), Some(Side::Own)),
            // Shorter ones than before, in the place of one that was revoked.
            (Some((10, 90)), Some((20, 60)), Some(Side::Theirs)),
            (Some((20, 60)), Some((10, 90)), Some(Side::Own)),
            // One that has ended is nobody's.
            (Some((10, 40)), None, None),
            (Some((30, 40)), Some((10, 90)), Some(Side::Theirs)),
        ] {
            let (own, theirs) = (own.map(facts), theirs.map(facts));
            assert_eq!(better(own.as_ref(), theirs.as_ref(), 50), expected, "{own:?} {theirs:?}");
        }
    }
}

//! What stands beside a site whose pages are judged: its search, if it has one, and the audit.

use std::sync::Arc;

use bytes::Bytes;
use server::{Companion, CompanionAnswer, CompanionAsked, CompanionFuture, Notice};
use wire::Fields;

use super::SiteAudit;

/// Both of them.
pub(super) struct Beside {
    pub(super) search: Option<Arc<dyn Companion>>,
    pub(super) audit: Arc<SiteAudit>,
}

impl Companion for Beside {
    fn answers(&self, path: &str) -> bool {
        self.search.as_ref().is_some_and(|search| search.answers(path))
    }

    fn answer(self: Arc<Self>, asked: CompanionAsked) -> CompanionFuture {
        match &self.search {
            Some(search) => Arc::clone(search).answer(asked),
            // Nobody is sent here, as it answers nothing.
            None => Box::pin(async {
                CompanionAnswer { status: 404, fields: Fields::new(), body: Bytes::new() }
            }),
        }
    }

    fn notice(&self, notice: Notice<'_>) {
        let (scheme, host, target) = (notice.scheme, notice.host, notice.target);
        if let Some(search) = &self.search {
            let what = notice.what.clone();
            search.notice(Notice { scheme, host, target, what });
        }
        self.audit.notice(notice);
    }

    fn settled(&self) {
        if let Some(search) = &self.search {
            search.settled();
        }
    }
}

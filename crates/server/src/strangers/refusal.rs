//! Why a page is not shared with strangers.

use policy::NoStore;
use policy::strangers::Wish;

/// Why not; the words are for the owner who asks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// Too many pages wait to be compared.
    #[error("too many pages wait to be compared")]
    Busy,
    /// The address says that fetching it changes something.
    #[error("its address asks to {0}; only a person may do that")]
    Verb(&'static str),
    /// The address names a session.
    #[error("its address names a session")]
    Session,
    /// The address bears a secret.
    #[error("its address bears what looks like one person's secret, which fetching it may spend")]
    Secret,
    /// What the law forbids for other reasons than privacy.
    #[error("nobody may keep its last answer: {}", .0.reason())]
    Law(NoStore),
    /// The owner said so.
    #[error("the settings keep it from being shared")]
    Forbidden,
    /// The origin could not be asked.
    #[error("the origin failed when a persona asked: {0}")]
    Origin(String),
    /// Two personas were answered with two statuses.
    #[error("two strangers were answered differently: {0} and {1}")]
    Statuses(u16, u16),
    /// Such an answer is not shared.
    #[error("the status {0} is not shared")]
    Status(u16),
    /// Neither HTML, XML nor JSON, or not the same for both.
    #[error("only HTML, XML and JSON are shared, and this is none of them, or not for everybody")]
    Type,
    /// The body bears a coding that nobody asked for.
    #[error("the origin coded the body though nobody asked for that")]
    Coded,
    /// The page is too large to be compared.
    #[error("the page is too large to be compared")]
    TooLarge,
    /// Two personas are sent to two places.
    #[error("two strangers were sent to different places")]
    Location,
    /// A header that is not the same over the site asks not to share.
    #[error("its headers say {0}, which most of the site's pages don't")]
    Wish(&'static str),
    /// What differs between two personas, or from fetch to fetch, speaks against it.
    #[error("{0}")]
    Differs(#[from] align::Refusal),
    /// The visitor who asked saw something else than the personas after it.
    #[error("whoever asked first saw something else than those who asked next")]
    Asker,
    /// After this page the front page, or the list that it chose from, looks different: it sets a
    /// preference.
    #[error("{changed} of {chunks} parts of another page look different after it")]
    Preference {
        /// Parts that changed.
        changed: usize,
        /// Parts there are.
        chunks: usize,
    },
    /// The page that it leads to has something for who was sent there.
    #[error("it leads to a page that is another for who was sent there by it")]
    Onward,
    /// It leads to where one logs in, and only the session knows where from.
    #[error(
        "it leads to where one logs in, and only the session knows where its visitor wanted to go"
    )]
    Guard,
    /// A script of the page seems to send a cookie back by itself.
    #[error("a script needs the cookie {0}, which only its own visitor can have")]
    ScriptCookie(String),
    /// The same page is answered for addresses that can't exist.
    #[error("it is the page that the site answers with for addresses that don't exist")]
    Error,
    /// Another node of the cluster refused it.
    #[error("another node found: {0}")]
    Fellow(String),
    /// The class was refused before.
    #[error("{0} (pages of this kind: {1})")]
    Class(Box<Refusal>, String),
}

impl Refusal {
    /// Whether it says something about all addresses of this shape.
    pub(crate) fn is_of_class(&self) -> bool {
        matches!(self, Self::Preference { .. } | Self::ScriptCookie(_))
    }

    /// Whether it is said of two copies that differ, as they do if a page was edited in between,
    /// and as they do if it is somebody's own.
    pub(crate) fn may_be_of_an_edit(&self) -> bool {
        matches!(self, Self::Differs(_) | Self::Location)
    }

    /// Whether it holds whatever was written meanwhile: it is said of one copy, and of more than
    /// its text.
    pub(crate) fn is_of_no_edit(&self) -> bool {
        matches!(
            self,
            Self::Wish(_) | Self::Type | Self::TooLarge | Self::Coded | Self::ScriptCookie(_)
        )
    }

    /// Whether it says little: the next attempt may go well.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Busy | Self::Law(_) | Self::Origin(_) | Self::Statuses(..) | Self::Status(500..)
        )
    }

    /// Whether it says something that other nodes don't know by themselves, and for longer than a
    /// moment: not what settings and addresses say.
    pub(crate) fn is_for_all(&self) -> bool {
        match self {
            Self::Class(of_its_pages, _) => of_its_pages.is_for_all(),
            Self::Forbidden | Self::Verb(_) | Self::Session | Self::Secret => false,
            _ => !self.is_passing(),
        }
    }

    /// What was found, without where and of what.
    pub(crate) fn in_words(&self) -> String {
        match self {
            Self::Class(of_its_pages, _) => of_its_pages.in_words(),
            Self::Fellow(words) => words.clone(),
            _ => self.to_string(),
        }
    }

    pub(crate) fn of_wish(wish: Wish) -> Self {
        Self::Wish(match wish {
            Wish::NoStore => "no-store",
            Wish::Private => "private",
            Wish::Revalidate | Wish::Nothing => "no-cache",
        })
    }
}

//! Reasons: the second half of every verdict, each with a token that never changes.
//!
//! The tokens stand in `Cache-Status`, the log, the counters and the scenes, so
//! renaming one breaks what people have written down.

/// Declares one family of reasons with its tokens; written once, so that the list of
/// all of them can't forget one.
macro_rules! reasons {
    ($(#[$doc:meta])* $family:ident { $($(#[$what:meta])* $reason:ident = $token:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $family { $($(#[$what])* $reason,)+ }

        impl $family {
            /// Every reason of this family, in order.
            pub const ALL: &'static [Self] = &[$(Self::$reason,)+];

            /// The stable token.
            #[must_use]
            pub const fn reason(self) -> &'static str {
                match self { $(Self::$reason => $token,)+ }
            }
        }
    };
}

reasons! {
    /// What Wick answered by itself.
    OwnReason {
        /// What became of a purge.
        Purge = "purge",
        /// The same address by HTTPS.
        Https = "https",
        /// The proof that a CA asked for.
        AcmeChallenge = "acme-challenge",
        /// What the tracker says.
        Tracker = "tracker",
        /// What a site's own search found.
        Search = "search",
    }
}

reasons! {
    /// Why a stored response that is no longer fresh was served.
    StaleReason {
        /// Somebody fetches a newer one meanwhile (RFC 5861 §3).
        WhileRevalidate = "while-revalidate",
        /// The origin failed (RFC 5861 §4).
        Error = "error",
        /// The client said how stale it would take it (`max-stale`).
        Request = "max-stale",
        /// It was purged softly, and is served while the one refresh for that is under way.
        Purged = "purged",
        /// Something changed since it was made, and the origin takes long to make it anew.
        Slow = "slow",
    }
}

reasons! {
    /// Why the origin was asked for an answer that may be shared.
    MissReason {
        /// Nothing is stored for this URI.
        UriMiss = "uri-miss",
        /// What is stored was selected by other request fields.
        VaryMiss = "vary-miss",
        /// What is stored is no longer fresh.
        Expired = "expired",
        /// Something changed since what is stored was made.
        Swept = "swept",
        /// What is stored must be validated each time.
        NoCache = "no-cache",
        /// The client wants it validated.
        RequestNoCache = "request-no-cache",
        /// It is older than the client would take it.
        RequestMaxAge = "request-max-age",
        /// It would not stay fresh for as long as the client wants.
        RequestMinFresh = "request-min-fresh",
        /// Not all of the bytes that are wanted are stored.
        Partial = "partial",
    }
}

reasons! {
    /// Why a request went to the origin for its sender alone.
    PassReason {
        /// The site's owner has switched caching off.
        Off = "caching-off",
        /// The method is neither GET nor HEAD.
        Method = "method",
        /// The key's answers are known not to be shareable.
        Remembered = "uncacheable-remembered",
        /// Somebody else's answer was waited for, and it can't be shared.
        Uncacheable = "uncacheable",
        /// A part of a page that is not stored.
        Range = "range",
        /// HEAD for a page that is not stored.
        Head = "head",
        /// The request bears a precondition that only the origin can judge.
        Precondition = "precondition",
        /// `Connection` names fields of the sender's own: the origin won't see what the
        /// key would be made of.
        ConnectionOption = "connection-option",
        /// The request bears credentials, and what is stored doesn't say that those don't matter.
        Authorization = "authorization",
        /// The request bears a cookie, and what is stored doesn't say that it is for everybody.
        Cookie = "cookie",
        /// The client asks to go on in another protocol, such as WebSocket.
        Upgrade = "upgrade",
        /// A stranger's session began with it, or its values were translated.
        Bound = "bound",
    }
}

reasons! {
    /// Why a request was not served, by its own fault.
    RefuseReason {
        /// The head or the body's framing is malformed or ambiguous.
        BadFraming = "bad-framing",
        /// GET or HEAD with a body: the origin could use what the key doesn't hold.
        BodyOnGet = "body-on-get",
        /// No site has this host name.
        HostUnknown = "host-unknown",
        /// The path must not be served.
        PathForbidden = "path-forbidden",
        /// CONNECT is for proxies.
        Connect = "connect",
        /// The client asks for another protocol where there is none, or not by a plain GET.
        Upgrade = "upgrade",
        /// The visitor's address asks too often.
        Rate = "rate",
        /// The visitor's address has too many requests with the origin at once.
        Concurrency = "concurrency",
        /// A purge by somebody who may not.
        PurgeForbidden = "purge-forbidden",
        /// A purge that can't be understood.
        PurgeUnreadable = "purge-unreadable",
    }
}

reasons! {
    /// Why there was no answer to pass on.
    FailReason {
        /// No connection to the origin.
        OriginUnreachable = "origin-unreachable",
        /// The origin's certificate doesn't show that it is the origin.
        OriginUntrusted = "origin-untrusted",
        /// The origin took too long.
        OriginTimeout = "origin-timeout",
        /// The origin broke off.
        OriginReset = "origin-reset",
        /// What the origin sent is not HTTP or FastCGI.
        OriginMalformed = "origin-malformed",
        /// The origin switched protocols.
        OriginUpgrade = "origin-upgrade",
        /// Too many requests wait for the origin already.
        QueueFull = "queue-full",
        /// The client wanted only what is stored, and nothing fit is.
        OnlyIfCached = "only-if-cached",
        /// The client's body could not be read or is too large.
        ClientBody = "client-body",
        /// A fault of ours.
        Internal = "internal",
    }
}

reasons! {
    /// Why a fetched response was not stored.
    NoStore {
        /// The request's method is not GET.
        Method = "method",
        /// The status can't be stored, or not by this cache.
        Status = "status",
        /// A part of a page (206).
        Partial = "partial",
        /// `must-understand` with a status that we don't know.
        MustUnderstand = "must-understand",
        /// The client forbids storing.
        RequestNoStore = "request-no-store",
        /// The response forbids storing.
        NoStore = "no-store",
        /// The response is for one person.
        Private = "private",
        /// The response sets a cookie.
        SetCookie = "set-cookie",
        /// The request bore credentials, and the response doesn't say that it may be shared.
        Authorization = "authorization",
        /// The request bore a cookie, and the response doesn't say for how long it is for everybody.
        Cookie = "cookie",
        /// `Vary` names what no request shows.
        VaryStar = "vary-star",
        /// `Cache-Control` can't be read.
        Malformed = "malformed",
        /// HTML under the name of a picture, a script or a style sheet.
        TypeMismatch = "type-mismatch",
        /// Nothing says how long it is fresh, and nothing could validate it.
        NoFreshness = "no-freshness",
        /// It was stale on arrival, and nothing could validate it.
        Expired = "expired",
        /// A file that is sent from where it lies: large, just written, or there compressed too.
        File = "file",
        /// The body is larger than the cache takes.
        TooLarge = "too-large",
        /// The body ended early.
        Incomplete = "incomplete",
        /// Something was written while it was fetched.
        Swept = "swept",
        /// It is for one stranger until two others were found to be given the same.
        Unverified = "unverified",
    }
}

impl RefuseReason {
    /// The status that tells the client.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::BadFraming | Self::BodyOnGet | Self::PurgeUnreadable => 400,
            Self::PathForbidden | Self::PurgeForbidden => 403,
            Self::HostUnknown => 421,
            Self::Connect => 405,
            Self::Rate | Self::Concurrency => 429,
            Self::Upgrade => 502,
        }
    }

    /// One sentence for the visitor.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::BadFraming => "The request can't be understood.",
            Self::BodyOnGet => "A request for a page must not carry a body.",
            Self::PathForbidden => "This path is not served.",
            Self::HostUnknown => "There is no site of this name here.",
            Self::Connect => "This server is not a proxy.",
            Self::Upgrade => "Changing to another protocol is not supported here.",
            Self::Rate => "Too many requests came from your address; please wait a moment.",
            Self::Concurrency => {
                "Too many requests of your address are under way; please wait for their answers."
            }
            Self::PurgeForbidden => {
                "Only a program on this machine, or who shows the site's purge token, may purge."
            }
            Self::PurgeUnreadable => "What shall be purged can't be understood.",
        }
    }
}

impl FailReason {
    /// The status that tells the client.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::OriginUnreachable
            | Self::OriginUntrusted
            | Self::OriginReset
            | Self::OriginMalformed
            | Self::OriginUpgrade => 502,
            Self::QueueFull => 503,
            Self::OriginTimeout | Self::OnlyIfCached => 504,
            Self::ClientBody => 400,
            Self::Internal => 500,
        }
    }
}

impl NoStore {
    /// Whether the next request for the same URI will probably meet the same reason, so
    /// that it is worth remembering; the other reasons lie with this request or this moment.
    #[must_use]
    pub const fn is_of_the_response(self) -> bool {
        matches!(
            self,
            Self::Status
                | Self::MustUnderstand
                | Self::NoStore
                | Self::Private
                | Self::SetCookie
                | Self::VaryStar
                | Self::Malformed
                | Self::TypeMismatch
                | Self::NoFreshness
                | Self::Expired
                | Self::TooLarge
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_kebab_case_and_differ_within_a_family() {
        let families: [Vec<&str>; 7] = [
            OwnReason::ALL.iter().map(|r| r.reason()).collect(),
            StaleReason::ALL.iter().map(|r| r.reason()).collect(),
            MissReason::ALL.iter().map(|r| r.reason()).collect(),
            PassReason::ALL.iter().map(|r| r.reason()).collect(),
            RefuseReason::ALL.iter().map(|r| r.reason()).collect(),
            FailReason::ALL.iter().map(|r| r.reason()).collect(),
            NoStore::ALL.iter().map(|r| r.reason()).collect(),
        ];
        for family in families {
            for (at, token) in family.iter().enumerate() {
                assert!(token.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{token}");
                assert!(!family[..at].contains(token), "{token} twice");
            }
        }
    }

    #[test]
    fn what_is_remembered_does_not_depend_on_who_asked() {
        assert!(NoStore::SetCookie.is_of_the_response() && NoStore::Private.is_of_the_response());
        for of_request in
            [NoStore::Method, NoStore::RequestNoStore, NoStore::Cookie, NoStore::Swept]
        {
            assert!(!of_request.is_of_the_response(), "{of_request:?}");
        }
    }

    #[test]
    fn a_request_that_is_refused_gets_an_error_status_and_a_sentence() {
        for reason in RefuseReason::ALL {
            assert!((400..600).contains(&reason.status()) && reason.sentence().ends_with('.'));
        }
        for reason in FailReason::ALL {
            assert!((400..600).contains(&reason.status()));
        }
    }
}

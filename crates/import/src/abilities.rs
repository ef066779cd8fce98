//! What Wick is able to do, where an imported line depends on it.
//!
//! The one place to change when a setting arrives: what is `false` here is told as left.

/// Each is a group of settings, or something that Wick does by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// `listen_tls` at the top; `certificate` and `certificate_key` of a site.
    pub tls: bool,
    /// Answers are compressed.
    pub compression: bool,
    /// `origin` may be a list, and `https://`.
    pub origins: bool,
    /// WebSockets reach an HTTP origin.
    pub upgrades: bool,
}

impl Abilities {
    /// Those of this version.
    pub const NOW: Self = Self { tls: false, compression: false, origins: false, upgrades: false };

    /// All of them.
    pub const ALL: Self = Self { tls: true, compression: true, origins: true, upgrades: true };

    /// What to say of compression that another server was told to do.
    pub(crate) fn compression(self) -> (crate::Why, &'static str) {
        match self.compression {
            true => (crate::Why::NotNeeded, "Wick compresses by itself what gains by it"),
            false => (crate::Why::Cannot, "Wick doesn't compress yet: let the origin do it"),
        }
    }

    /// What to say of connections that change their protocol.
    pub(crate) fn upgrades(self) -> (crate::Why, &'static str) {
        match self.upgrades {
            true => (crate::Why::NotNeeded, "WebSockets reach the origin by themselves"),
            false => (
                crate::Why::Cannot,
                "WebSockets don't pass Wick yet: give them a host name or port of their own",
            ),
        }
    }
}

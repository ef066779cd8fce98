//! What an origin has been through, in numbers.

use base::Counter;

base::counters! {
    /// Counters of one origin; those named for a limit say how often it bit.
    #[derive(Debug, Default)]
    pub struct Counters {
        /// Requests sent, retries not counted.
        pub requests: Counter,
        /// How long places at the origin were held; each counts when it is free again.
        pub busy_us: Counter,
        /// Connections opened.
        pub connects: Counter,
        /// Requests that found an open connection.
        pub reuses: Counter,
        /// Requests sent again because a kept connection had gone stale.
        pub stale_retries: Counter,
        /// Requests that had to wait for a connection.
        pub queue_waits: Counter,
        /// Requests refused because the queue was full.
        pub queue_refusals: Counter,
        /// Requests that waited in the queue for too long.
        pub queue_timeouts: Counter,
        /// Request bodies written to the spool folder.
        pub spooled_bodies: Counter,
        /// Request bodies refused for their size.
        pub bodies_too_large: Counter,
        /// Lines that the log left out because there were too many.
        pub log_lines_dropped: Counter,
        /// Requests for a path that is never served.
        pub refused_paths: Counter,
        /// Requests sent to another server of the origin after one had failed.
        pub retries: Counter,
        /// Requests that could have been, had there not been too many of them.
        pub retries_refused: Counter,
        /// Requests by which a server that had failed was tried again.
        pub trials: Counter,
        /// Times that a server was taken out of use.
        pub ejections: Counter,
        /// Times that one came back.
        pub returns: Counter,
        /// Requests to go on in another protocol that were refused because there were too many.
        pub tunnels_refused: Counter,
        /// Connections on which HTTP/2 is spoken.
        pub http2_connects: Counter,
        /// Requests sent again because their server refused them, or ended its connection,
        /// without having done anything about them.
        pub http2_refused: Counter,
        /// Connections of HTTP/2 that were given up because nothing came by them any more.
        pub http2_dead: Counter,
        /// Checks of a server's health that failed.
        pub checks_failed: Counter,
    }
}

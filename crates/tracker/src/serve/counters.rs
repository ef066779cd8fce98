//! What the service counts.

use base::{Counter, counters};

counters! {
    /// Counters of a tracker's service. Those of its limits say when one is reached.
    #[derive(Debug, Default)]
    pub struct ServeCounters {
        /// Announces over HTTP that were answered with peers.
        pub http_announces: Counter,
        /// Announces over UDP that were answered with peers.
        pub udp_announces: Counter,
        /// Scrapes that were answered.
        pub scrapes: Counter,
        /// Announces and scrapes that the rules refuse.
        pub refused: Counter,
        /// Announces and scrapes that can't be read.
        pub malformed: Counter,
        /// What a site pushed: torrents, users, changes.
        pub pushes: Counter,
        /// Requests over HTTP that are none of these.
        pub others: Counter,
        /// Connection ids that were given out over UDP.
        pub udp_connects: Counter,
        /// Datagrams that ask nothing.
        pub udp_noise: Counter,
        /// Datagrams with a connection id that is not good, or not any more.
        pub udp_unproved: Counter,
        /// Answers over UDP that the system did not take.
        pub udp_unsent: Counter,
        /// Connections that were accepted.
        pub connections: Counter,
        /// Connections that were closed at once, as there were too many.
        pub connections_refused: Counter,
        /// Connections that were closed as nothing came in time.
        pub connections_late: Counter,
        /// Times that connections could not be accepted, for want of descriptors or memory.
        pub accept_failures: Counter,
        /// Connections that went on in WebSocket.
        pub web_connections: Counter,
        /// Announces over WebSocket that were counted in.
        pub web_announces: Counter,
        /// Offers over WebSocket that were handed to another client.
        pub web_offers: Counter,
        /// Answers to offers that were handed to who offered.
        pub web_answers: Counter,
        /// Offers and answers that reached nobody: whom they were for was gone, or had no room.
        pub web_dropped: Counter,
        /// Announces over WebSocket whose offers were not handed on: there were too many clients,
        /// or another had the same name.
        pub web_unplaced: Counter,
        /// Connections that were refused WebSocket, as there were too many.
        pub web_refused: Counter,
        /// Connections that were closed for frames that no client may send.
        pub web_wrong: Counter,
        /// Connections that were closed as they did not read what was handed to them.
        pub web_slow: Counter,
        /// Connections that were closed as they said too much at once.
        pub web_too_fast: Counter,
        /// Clients without a connection that are kept until they are silent for long, as there
        /// were too many to keep track of.
        pub web_forgotten: Counter,
        /// Times that the local log could not be written before answers left.
        pub journal_failures: Counter,
    }
}

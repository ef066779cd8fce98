//! What was asked, as STATUS tells it.

use base::Counter;

base::counters! {
    /// What clients of Sphinx's protocols did.
    #[derive(Debug, Default)]
    pub struct Figures {
        /// Connections of clients.
        pub connections: Counter,
        /// Connections that were refused because there were too many.
        pub maxed_out: Counter,
        /// Queries, of either protocol.
        pub command_search: Counter,
        /// Texts that were marked.
        pub command_excerpt: Counter,
        /// Changes of attributes.
        pub command_update: Counter,
        /// Removals of documents.
        pub command_delete: Counter,
        /// Texts that were taken apart.
        pub command_keywords: Counter,
        /// Connections that stay.
        pub command_persist: Counter,
        /// Questions for these figures.
        pub command_status: Counter,
    }
}

//! Tests over recorded pairs of pages; `pairs/README.md` says where they come from.

mod differences;
mod mutations;
mod oracle;
mod pairs;

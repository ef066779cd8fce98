//! The targets, by what they read.

pub(crate) mod admission;
pub(crate) mod align;
pub(crate) mod cache_control;
pub(crate) mod coding;
pub(crate) mod date;
pub(crate) mod disk;
pub(crate) mod fastcgi;
pub(crate) mod history;
pub(crate) mod http2_head;
pub(crate) mod http3;
pub(crate) mod import;
pub(crate) mod machine;
pub(crate) mod proxies;
pub(crate) mod purge;
pub(crate) mod range;
pub(crate) mod request;
pub(crate) mod scene;
pub(crate) mod settings;
pub(crate) mod statement;
pub(crate) mod strangers;
pub(crate) mod tap;
pub(crate) mod targeted;
pub(crate) mod vary;

//! x
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum FpmError {}
#[allow(missing_docs)]
pub struct FpmOptions;
#[allow(missing_docs)]
pub struct Fpm;

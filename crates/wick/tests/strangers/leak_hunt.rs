//! y
use crate::specimen::Specimen;
use libtest_mimic::Trial;
pub(crate) fn trials(_: &[Specimen]) -> Vec<Trial> {
    Vec::new()
}

//! Whom may be loaded: this machine, and whom its owner names on the command line.
//!
//! Invariant: nothing is sent to another machine, not even a first connection, before this said
//! so; and no run on another machine is faster than [`RATE_ELSEWHERE_MAX`] unless asked to be.

use crate::target::Target;

/// Requests a second on another machine, unless a cap is given.
pub const RATE_ELSEWHERE_MAX: f64 = 1_000.0;

/// Why a target isn't loaded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PermissionError {
    /// Nobody said that it may be.
    #[error(
        "{host} at {address} is not this machine, and a load may harm what is somebody else's; \
         if it is yours to load, say so: --i-may-load {host}"
    )]
    Unnamed {
        /// The host.
        host: String,
        /// Its address.
        address: String,
    },
    /// Faster than the cap.
    #[error("{wanted} requests a second are more than {most}; --rate-cap {wanted} allows them")]
    TooFast {
        /// The highest rate of the schedule.
        wanted: f64,
        /// The cap.
        most: f64,
    },
}

/// The cap on the rate of a target, in requests a second; none for this machine unless asked for.
///
/// # Errors
/// It may not be loaded, or not at this rate.
pub fn permit(
    target: &Target,
    named: &[String],
    cap: Option<f64>,
    peak: Option<f64>,
) -> Result<Option<f64>, PermissionError> {
    let is_named = named.iter().any(|host| host.eq_ignore_ascii_case(&target.host));
    if !target.is_here() && !is_named {
        let (host, address) = (target.host.clone(), target.shown());
        return Err(PermissionError::Unnamed { host, address });
    }
    let cap = cap.or((!target.is_here()).then_some(RATE_ELSEWHERE_MAX));
    match (peak, cap) {
        (Some(wanted), Some(most)) if wanted > most => {
            Err(PermissionError::TooFast { wanted, most })
        }
        _ => Ok(cap),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_have_to_be_named_and_are_spared() {
        let of = |url: &str| Target::parse(url).expect("an address").0;
        let (here, there) = (of("http://127.0.0.1:1/"), of("http://192.0.2.1/"));
        let named = ["192.0.2.1".to_owned()];
        assert_eq!(permit(&here, &[], None, Some(1e6)), Ok(None));
        assert_eq!(permit(&here, &[], Some(5.0), None), Ok(Some(5.0)));
        let unnamed = permit(&there, &["192.0.2.2".to_owned()], None, None).expect_err("unnamed");
        assert!(unnamed.to_string().ends_with("say so: --i-may-load 192.0.2.1"), "{unnamed}");
        assert_eq!(permit(&there, &named, None, Some(10.0)), Ok(Some(1_000.0)));
        let fast = permit(&there, &named, None, Some(2_000.0)).expect_err("too fast");
        assert!(fast.to_string().ends_with("--rate-cap 2000 allows them"), "{fast}");
        assert_eq!(permit(&there, &named, Some(2e3), Some(2e3)), Ok(Some(2e3)));
    }
}

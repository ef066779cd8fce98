//! What proxies tell: the header of a connection, and the fields of a request.

use std::net::{IpAddr, Ipv4Addr};

use policy::claims::{TrustedField, told};
use wire::proxy::{HEADER_BYTES_MAX, Read, read};

use crate::sections::fields;

/// However a header is cut, it reads the same, and no byte of what follows is asked for.
pub(crate) fn run_header(input: &[u8]) {
    let whole = read(input);
    let end = match whole {
        Ok(Read::Whole(_, end)) => {
            assert!(end <= input.len().min(HEADER_BYTES_MAX));
            end
        }
        _ => input.len(),
    };
    let mut have = 0;
    while have < end {
        match read(&input[..have]) {
            Ok(Read::Missing(more)) => {
                assert!(more > 0 && have + more <= HEADER_BYTES_MAX);
                assert!(!matches!(whole, Ok(Read::Whole(..))) || have + more <= end);
                have += more;
            }
            other => {
                assert!(other.is_err() && whole.is_err(), "{have}: {other:?} and {whole:?}");
                return;
            }
        }
    }
}

/// Who can add something only on the left changes nothing that a proxy wrote on the right.
pub(crate) fn run_claims(input: &[u8]) {
    let proxy = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    let visitor = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    for (field, name, told_by_proxy) in [
        (TrustedField::XForwarded, "x-forwarded-for", "192.0.2.1, 10.0.0.1"),
        (TrustedField::Forwarded, "forwarded", "for=192.0.2.1;proto=https, for=10.0.0.1"),
    ] {
        let mut claimed = fields(input);
        let _ = told(&claimed, field, |address| address == proxy);
        if claimed.try_push(name.as_bytes(), told_by_proxy.as_bytes()).is_ok() {
            let found = told(&claimed, field, |address| address == proxy);
            assert_eq!(found.visitor.map(|found| found.ip()), Some(visitor));
        }
    }
}

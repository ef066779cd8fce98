//! Where a running php-fpm listens, as an owner writes it.

use std::path::PathBuf;

use crate::Dial;

/// A text that names no php-fpm; its message holds the cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PhpAddressError {
    /// Neither form.
    #[error(
        "\"{0}\" names no php-fpm: write unix:PATH or tcp:HOST:PORT, \
         as in unix:/run/php/php-fpm.sock or tcp:127.0.0.1:9000"
    )]
    Form(String),
}

/// Reads `unix:PATH` or `tcp:HOST:PORT`.
pub(crate) fn parse(text: &str) -> Result<Dial, PhpAddressError> {
    let wrong = || PhpAddressError::Form(text.to_owned());
    match text.split_once(':') {
        Some(("unix", path)) if path.starts_with('/') => Ok(Dial::Unix(PathBuf::from(path))),
        Some(("tcp", address)) => match address.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok_and(|p| p > 0) => {
                Ok(Dial::Tcp(address.to_owned()))
            }
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_or_refused_with_the_cure() {
        for (text, seen) in [
            ("unix:/run/php/php-fpm.sock", "unix:/run/php/php-fpm.sock"),
            ("tcp:127.0.0.1:9000", "tcp:127.0.0.1:9000"),
            ("tcp:[::1]:9000", "tcp:[::1]:9000"),
            ("unix:relative", "names no php-fpm"),
            ("tcp:9000", "names no php-fpm"),
            ("tcp:host:0", "names no php-fpm"),
            ("/run/php.sock", "names no php-fpm"),
            ("", "names no php-fpm"),
        ] {
            let shown = parse(text).map_or_else(|error| error.to_string(), |d| d.to_string());
            assert!(shown.contains(seen), "{text}: {shown}");
        }
    }
}

//! Directives of Caddy that become no setting, and what is said of them.

use super::parse::Directive;
use crate::found::Why::{Cannot, NotNeeded, Protection, Unknown};
use crate::found::{COMPRESSED, FIELDS, RATES, Why};

const TABLE: &[(&[&str], Why, &str)] = &[
    (
        &["basic_auth", "basicauth", "authenticate", "authorize", "jwtauth"],
        Protection,
        "Wick asks for no password: let the app ask, or something before Wick",
    ),
    (
        &["forward_auth", "client_auth"],
        Protection,
        "Wick asks nobody else who may come in: let the app ask, or something before Wick",
    ),
    (
        &["coraza_waf", "waf", "crowdsec", "remote_ip"],
        Protection,
        "there is no such filter in Wick",
    ),
    (&["header", "header_down", "copy_response_headers"], Cannot, FIELDS),
    (
        &["rewrite", "uri", "method", "path_regexp"],
        Cannot,
        "Wick rewrites no addresses: requests for what is no file go to the nearest index.php, and \
      the rest is the app's to do",
    ),
    (
        &["handle_errors", "handle_response", "intercept"],
        Cannot,
        "let the app make its error pages",
    ),
    (
        &[
            "templates",
            "push",
            "map",
            "vars",
            "invoke",
            "fs",
            "metrics",
            "acme_server",
            "tracing",
            "replace",
            "copy_response",
            "request_header",
            "mercure",
            "vulcain",
        ],
        Cannot,
        "Wick has nothing like it",
    ),
    (&["header_up"], Cannot, "Wick sends no fields of its own to the origin"),
    (
        &["trusted_proxies*", "client_ip_headers", "proxy_protocol", "listener_wrappers"],
        Cannot,
        "trusted_proxies names those whose X-Forwarded-For is believed, proxy_protocol those whose \
         connections begin with its header",
    ),
    (&["rate_limit"], Cannot, RATES),
    (
        &["lb_*", "health_*", "fail_duration", "max_fails", "unhealthy_*", "dynamic"],
        Cannot,
        "requests find out whether the origin fails; what is stored stands in meanwhile",
    ),
    (&["env"], Cannot, "write env[NAME] = VALUE into the pool of php-fpm"),
    (
        &[
            "auto_https",
            "email",
            "acme_*",
            "cert_*",
            "local_certs",
            "skip_install_trust",
            "key_type",
            "ocsp_*",
            "on_demand_tls",
            "on_demand",
            "default_sni",
            "fallback_sni",
            "protocols",
            "ciphers",
            "curves",
            "alpn",
            "ca",
            "ca_root",
            "dns",
            "issuer",
            "get_certificate",
            "renew_*",
            "preferred_chains",
            "eab",
            "load",
            "pki",
            "skip_trust",
        ],
        NotNeeded,
        "how certificates are got is said at the top of wick.toml, and needs no more than that",
    ),
    (
        &["cache", "souin"],
        NotNeeded,
        "Wick caches by itself, and finds out what may be shared with whom",
    ),
    (
        &[
            "flush_interval",
            "buffer_*",
            "request_buffers",
            "response_buffers",
            "stream_*",
            "keepalive*",
            "max_conns_per_host",
            "versions",
            "write_timeout",
            "split",
            "index",
            "resolve_root_symlink",
            "capture_stderr",
            "precompressed",
            "status",
            "disable_canonical_uris",
            "pass_thru",
            "etag_file_extensions",
            "read_buffer",
            "write_buffer",
            "max_idle*",
            "compression",
            "local_address",
            "network_proxy",
            "roll_*",
            "mode",
            "dir_mode",
            "log_credentials",
            "log_skip",
            "skip_log",
            "log_append",
            "log_name",
            "include",
            "exclude",
            "sampling",
            "hostnames",
            "no_hostname",
            "storage*",
            "persist_config",
            "admin",
            "debug",
            "order",
            "name",
            "strict_sni_host",
            "enable_full_duplex",
            "0rtt",
            "frankenphp",
            "worker",
            "shutdown_delay",
            "root",
            "to",
            "try_policy",
            "filesystem",
            "keep_alive*",
        ],
        NotNeeded,
        "Wick does by itself what this is for, or it means nothing here",
    ),
];

/// What is said of a directive; nothing if it goes without saying.
pub(super) fn say(directive: &Directive) -> (Why, Option<&'static str>) {
    let name = directive.name();
    let told = |(why, advice): (Why, &'static str)| (why, Some(advice));
    match name {
        "encode" => told(COMPRESSED),
        "header_up" if is_known_field(directive.word(1)) => {
            (NotNeeded, Some("Wick tells the origin the host, the visitor and the scheme"))
        }
        "try_files" => {
            let files = &directive.words[1..];
            let is_own = |word: &String| {
                ["{path}", "{path}/", "{path}/index.php", "/index.php", "index.php"]
                    .contains(&word.split('?').next().unwrap_or_default())
            };
            match files.iter().all(is_own) {
                true => (NotNeeded, Some("files first, then the nearest index.php: so does Wick")),
                false => (
                    Cannot,
                    Some(
                        "for what is no file Wick asks the nearest index.php: let that be the \
                          app's front controller",
                    ),
                ),
            }
        }
        _ => match TABLE.iter().find(|(names, ..)| names.iter().any(|each| fits(each, name))) {
            Some((_, why, advice)) => (*why, Some(advice)),
            None => (Unknown, Some("look it up in docs/settings.md")),
        },
    }
}

/// Whether its words may be passwords.
pub(super) fn is_secret(name: &str) -> bool {
    [
        "env",
        "header_up",
        "request_header",
        "eab",
        "dns",
        "storage",
        "acme_dns",
        "basic_auth",
        "basicauth",
    ]
    .contains(&name)
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

fn is_known_field(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "host" || name == "x-real-ip" || name.starts_with("x-forwarded-")
}

//! Directives of nginx that become no setting, and what is said of them.
//!
//! A name that ends in `*` stands for all that begin so; the first that fits counts.

use super::Directive;
use crate::found::Why::{Cannot, NotNeeded, Protection, Unknown};
use crate::found::{COMPRESSED, FIELDS, RATES, TUNNELLED, Why};

const CACHE: &str = "Wick caches by itself, and finds out what may be shared with whom";
const BUFFERS: &str = "Wick sizes its buffers itself";
const PROCESS: &str = "about nginx's own process";
const TLS: &str = "Wick's choice of protocols and ciphers needs no setting";
const ADDRESSES: &str = "who may come is not decided by address: let the firewall or the app do it";
const LOG_OF_ERRORS: &str = "Wick writes what goes wrong to standard error";

const TABLE: &[(&[&str], Why, &str)] = &[
    (
        &[
            "fastcgi_cache*",
            "proxy_cache*",
            "uwsgi_cache*",
            "scgi_cache*",
            "fastcgi_no_cache",
            "proxy_no_cache",
            "fastcgi_ignore_headers",
            "proxy_ignore_headers",
            "open_file_cache*",
            "slice",
            "srcache*",
            "redis*",
        ],
        NotNeeded,
        CACHE,
    ),
    (
        &[
            "fastcgi_buffer*",
            "fastcgi_busy_buffers_size",
            "proxy_buffer*",
            "proxy_busy_buffers_size",
            "client_body_buffer_size",
            "client_body_temp_path",
            "client_header_buffer_size",
            "output_buffers",
            "fastcgi_max_temp_file_size",
            "fastcgi_temp*",
            "proxy_max_temp_file_size",
            "proxy_temp*",
            "proxy_request_buffering",
            "fastcgi_request_buffering",
            "types_hash*",
            "server_names_hash*",
            "variables_hash*",
            "map_hash*",
            "fastcgi_limit_rate",
            "client_body_in_file_only",
            "subrequest_output*",
            "connection_pool_size",
            "request_pool_size",
            "postpone_output",
        ],
        NotNeeded,
        BUFFERS,
    ),
    (
        &[
            "sendfile*",
            "tcp_nopush",
            "tcp_nodelay",
            "aio*",
            "directio*",
            "multi_accept",
            "use",
            "accept_mutex*",
            "user",
            "pid",
            "daemon",
            "master_process",
            "worker_rlimit*",
            "worker_priority",
            "worker_cpu_affinity",
            "worker_processes",
            "worker_connections",
            "worker_shutdown_timeout",
            "load_module",
            "lock_file",
            "thread_pool",
            "pcre_jit",
            "keepalive_requests",
            "reset_timedout_connection",
            "timer_resolution",
            "working_directory",
            "lingering_*",
            "debug_connection",
        ],
        NotNeeded,
        PROCESS,
    ),
    (
        &["error_log", "log_not_found", "log_subrequest", "rewrite_log", "debug_points"],
        NotNeeded,
        LOG_OF_ERRORS,
    ),
    (
        &[
            "fastcgi_index",
            "fastcgi_split_path_info",
            "fastcgi_pass_request*",
            "fastcgi_intercept_errors",
            "fastcgi_keep_conn",
            "fastcgi_hide_header",
            "fastcgi_ignore_client_abort",
            "default_type",
            "types",
            "charset*",
            "server_tokens",
            "etag",
            "if_modified_since",
            "disable_symlinks",
            "keepalive",
            "merge_slashes",
            "port_in_redirect",
            "absolute_redirect",
            "server_name_in_redirect",
            "proxy_http_version",
            "proxy_redirect",
            "recursive_error_pages",
            "real_ip_recursive",
            "chunked_transfer*",
            "underscores_in_headers",
            "ignore_invalid_headers",
            "msie_padding",
            "http2",
            "http2_*",
            "http3*",
            "quic*",
            "max_ranges",
            "break",
            "zone",
            "least_conn",
            "ip_hash",
            "resolver*",
            "proxy_next_upstream*",
            "fastcgi_next_upstream*",
            "fastcgi_socket*",
            "proxy_socket*",
            "keepalive_disable",
            "msie_refresh",
            "set",
        ],
        NotNeeded,
        "Wick does by itself what this is for, or it means nothing here",
    ),
    (
        &[
            "ssl_trusted_certificate",
            "ssl_client_certificate",
            "ssl_verify_client",
            "ssl_verify_depth",
            "ssl_crl",
        ],
        Protection,
        "Wick asks visitors for no certificates: let something before it do so",
    ),
    (&["ssl_*", "ssl"], NotNeeded, TLS),
    (&["auth_basic_user_file"], NotNeeded, "it belongs to auth_basic"),
    (
        &["auth_basic", "auth_request*", "auth_jwt*", "secure_link*", "auth_delay"],
        Protection,
        "Wick asks for no password: let the app ask, or something before Wick",
    ),
    (&["allow", "deny", "satisfy", "geo", "valid_referers"], Protection, ADDRESSES),
    (
        &["internal"],
        Protection,
        "what lies in the folder can be asked for: keep it outside of the folder, or write \"Require \
      all denied\" into a .htaccess beside it, which Wick obeys",
    ),
    (
        &["modsecurity*", "SecRulesEnabled", "MainRules", "BasicRule", "naxsi*"],
        Protection,
        "there is no such filter in Wick",
    ),
    (&["limit_req*", "limit_conn*", "limit_rate*"], Cannot, RATES),
    (&["limit_except"], Protection, "let the app refuse methods that it doesn't want"),
    (
        &[
            "add_header",
            "more_set_headers",
            "more_clear_headers",
            "add_trailer",
            "expires",
            "proxy_hide_header",
            "proxy_pass_header",
            "fastcgi_pass_header",
            "proxy_cookie*",
        ],
        Cannot,
        FIELDS,
    ),
    (
        &["error_page"],
        Cannot,
        "let the app make its error pages; busy_page is shown while the origin is out",
    ),
    (&["autoindex*", "fancyindex*"], Cannot, "Wick shows no listings of folders"),
    (
        &["rewrite"],
        Cannot,
        "Wick rewrites no addresses: requests for what is no file go to the nearest index.php, and \
      the rest is the app's to do",
    ),
    (&["return"], Cannot, "let the app send this answer"),
    (&["alias"], Cannot, "put a symbolic link into the site's folder: Wick follows it"),
    (
        &[
            "sub_filter*",
            "ssi*",
            "addition*",
            "add_before_body",
            "add_after_body",
            "image_filter*",
            "xslt*",
        ],
        Cannot,
        "Wick changes no pages",
    ),
    (
        &["uwsgi_*", "scgi_*", "grpc_*", "memcached_*"],
        Cannot,
        "Wick speaks FastCGI with PHP, and HTTP: let the app listen for HTTP, and name that as origin",
    ),
    (&["perl*", "js_*", "lua_*", "*_by_lua*"], Cannot, "Wick runs no scripts: let the app do it"),
    (&["stream", "mail"], Cannot, "Wick speaks HTTP only"),
    (
        &["real_ip_header", "set_real_ip_from"],
        Cannot,
        "trusted_proxies names those whose X-Forwarded-For is believed, trusted_field another field",
    ),
    (
        &[
            "mirror*",
            "dav_*",
            "create_full_put_path",
            "flv",
            "mp4*",
            "random_index",
            "stub_status",
            "empty_gif",
            "mp4",
            "split_clients",
            "userid*",
        ],
        Cannot,
        "Wick has nothing like it",
    ),
    (&["map"], Cannot, "Wick computes no variables: see to it where the variable is used"),
    (&["proxy_ssl*"], Cannot, "name the origin's plain http port"),
];

/// What is said of a directive; nothing if it goes without saying.
pub(super) fn say(directive: &Directive) -> (Why, Option<&'static str>) {
    let name = directive.name.as_str();
    let first = directive.word(0);
    let told = |(why, advice): (Why, &'static str)| (why, Some(advice));
    match name {
        "gzip" | "brotli" | "zstd" if first == "off" => (NotNeeded, None),
        _ if ["gzip", "brotli", "zstd", "gunzip"].iter().any(|word| name.starts_with(word)) => {
            told(COMPRESSED)
        }
        "map" if first == "$http_upgrade" => told(TUNNELLED),
        "proxy_set_header" if first.eq_ignore_ascii_case("upgrade") => told(TUNNELLED),
        "proxy_set_header" => match is_known_field(first) {
            true => (NotNeeded, Some("Wick tells the origin the host, the visitor and the scheme")),
            false => (Cannot, Some("Wick sends no fields of its own to the origin")),
        },
        "fastcgi_param" => match is_known_parameter(first) {
            true => (NotNeeded, Some("Wick tells PHP all that CGI asks for")),
            false => (Cannot, Some("write env[NAME] = VALUE into the pool of php-fpm")),
        },
        "allow" if first == "all" => (NotNeeded, None),
        "real_ip_header" if first.eq_ignore_ascii_case("x-forwarded-for") => (NotNeeded, None),
        "real_ip_header" if first == "proxy_protocol" => (NotNeeded, None),
        "auth_basic" if first == "off" => (NotNeeded, None),
        "autoindex" | "ssi" if first == "off" => (NotNeeded, None),
        "index" => {
            let is_usual = |word: &str| ["index.php", "index.html", "index.htm"].contains(&word);
            match directive.words().all(is_usual) {
                true => (NotNeeded, Some("index.php, index.html and index.htm are looked for")),
                false => (Cannot, Some("only index.php, index.html and index.htm are looked for")),
            }
        }
        _ => match TABLE.iter().find(|(names, ..)| names.iter().any(|each| fits(each, name))) {
            Some((_, why, advice)) => (*why, Some(advice)),
            None => (Unknown, Some("look it up in docs/settings.md")),
        },
    }
}

/// Whether its values may be passwords.
pub(super) fn is_secret(name: &str) -> bool {
    ["fastcgi_param", "proxy_set_header", "set", "env", "proxy_cookie_path", "secure_link_md5"]
        .contains(&name)
}

fn fits(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(inner), _) => name.contains(inner.trim_end_matches('*')),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == pattern,
    }
}

fn is_known_field(name: &str) -> bool {
    ["host", "connection", "accept-encoding"].iter().any(|known| name.eq_ignore_ascii_case(known))
        || name.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("x-"))
            && [
                "real-ip",
                "forwarded-for",
                "forwarded-proto",
                "forwarded-host",
                "forwarded-port",
                "forwarded-ssl",
                "forwarded-server",
                "url-scheme",
            ]
            .iter()
            .any(|known| name[2..].eq_ignore_ascii_case(known))
}

fn is_known_parameter(name: &str) -> bool {
    [
        "SCRIPT_FILENAME",
        "SCRIPT_NAME",
        "PATH_INFO",
        "PATH_TRANSLATED",
        "QUERY_STRING",
        "REQUEST_METHOD",
        "REQUEST_URI",
        "REQUEST_SCHEME",
        "CONTENT_TYPE",
        "CONTENT_LENGTH",
        "DOCUMENT_URI",
        "DOCUMENT_ROOT",
        "SERVER_PROTOCOL",
        "GATEWAY_INTERFACE",
        "SERVER_SOFTWARE",
        "REMOTE_ADDR",
        "REMOTE_PORT",
        "SERVER_ADDR",
        "SERVER_PORT",
        "SERVER_NAME",
        "REDIRECT_STATUS",
        "HTTPS",
        "HTTP_HOST",
        "HTTP_PROXY",
        "HTTP_AUTHORIZATION",
    ]
    .contains(&name)
}

//! Fuzz targets: each takes any bytes and asserts what must hold for all of them.
//!
//! A target is a plain function, so that the same body runs under the fuzzer
//! (`cargo xtask fuzz`) and over its corpus in the tests. A corpus lies in
//! `fuzz/corpus/NAME/`, one input a file; what once broke a target stays there.

mod cuts;
// The same judge as in the crate's own tests.
#[path = "../../crates/markup/tests/attacks/judge.rs"]
mod judge;
mod sections;
mod targets;

/// One target.
pub struct Target {
    /// Its name, which is also its corpus's.
    pub name: &'static str,
    /// Panics if what it promises does not hold for this input.
    pub body: fn(&[u8]),
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "admission", body: targets::admission::run },
    Target { name: "align", body: targets::align::run },
    Target { name: "announce_query", body: targets::announce::run_query },
    Target { name: "bbcode", body: targets::bbcode::run },
    Target { name: "bencode", body: targets::announce::run_bencode },
    Target { name: "blocks", body: targets::blocks::run },
    Target { name: "cache_control", body: targets::cache_control::run },
    Target { name: "cluster_parcel", body: targets::cluster::run_parcel },
    Target { name: "cluster_said", body: targets::cluster::run },
    Target { name: "coding", body: targets::coding::run },
    Target { name: "code_script", body: targets::code::run_script },
    Target { name: "code_style", body: targets::code::run_style },
    Target { name: "conformance", body: targets::conformance::run },
    Target { name: "date", body: targets::date::run },
    Target { name: "disk_segment", body: targets::disk::run },
    Target { name: "doctor_settings", body: targets::doctor::run },
    Target { name: "dotenv", body: targets::settings::run_dotenv },
    Target { name: "esi", body: targets::esi::run },
    Target { name: "fastcgi_head", body: targets::fastcgi::run_head },
    Target { name: "fastcgi_params", body: targets::fastcgi::run_params },
    Target { name: "fastcgi_record", body: targets::fastcgi::run_records },
    Target { name: "hints", body: targets::hints::run },
    Target { name: "history", body: targets::history::run },
    Target { name: "http2_fields", body: targets::http2::run_fields },
    Target { name: "http2_frames", body: targets::http2::run_frames },
    Target { name: "http2_head", body: targets::http2_head::run },
    Target { name: "http3_frames", body: targets::http3::run_frames },
    Target { name: "http3_head", body: targets::http3::run_head },
    Target { name: "import_caddy", body: targets::import::run_caddy },
    Target { name: "import_htaccess", body: targets::import::run_htaccess },
    Target { name: "import_nginx", body: targets::import::run_nginx },
    Target { name: "import_vcl", body: targets::import::run_vcl },
    Target { name: "load_answer", body: targets::load_answer::run },
    Target { name: "machine", body: targets::machine::run },
    Target { name: "page_head", body: targets::page_head::run },
    Target { name: "ocsp", body: targets::ocsp::run },
    Target { name: "php_settings", body: targets::settings::run_php },
    Target { name: "proxy_claims", body: targets::proxies::run_claims },
    Target { name: "proxy_header", body: targets::proxies::run_header },
    Target { name: "purge", body: targets::purge::run },
    Target { name: "queries_fingerprint", body: targets::queries::run_fingerprint },
    Target { name: "queries_log", body: targets::queries::run_log },
    Target { name: "range", body: targets::range::run },
    Target { name: "request", body: targets::request::run },
    Target { name: "scene", body: targets::scene::run },
    Target { name: "search_chinese", body: targets::dictionaries::run_chinese },
    Target { name: "search_japanese", body: targets::dictionaries::run_japanese },
    Target { name: "search_maps", body: targets::search_page::run_maps },
    Target { name: "search_page", body: targets::search_page::run_page },
    Target { name: "search_query", body: targets::search_query::run_site },
    Target { name: "search_sphinx", body: targets::search_query::run_sphinx },
    Target { name: "search_text", body: targets::search_query::run_text },
    Target { name: "sphinx_api", body: targets::sphinx::run_api },
    Target { name: "sphinx_conf", body: targets::sphinx::run_conf },
    Target { name: "sphinx_ql", body: targets::sphinx::run_ql },
    Target { name: "sqlite_rows", body: targets::sqlite::run },
    Target { name: "statement", body: targets::statement::run },
    Target { name: "strangers", body: targets::strangers::run },
    Target { name: "tap", body: targets::tap::run },
    Target { name: "targeted", body: targets::targeted::run },
    Target { name: "tracker_journal", body: targets::tracker_journal::run },
    Target { name: "tracker_told", body: targets::tracker_journal::run_told },
    Target { name: "tracker_udp", body: targets::announce::run_udp },
    Target { name: "vary", body: targets::vary::run },
    Target { name: "web_frames", body: targets::webtorrent::run_frames },
    Target { name: "web_messages", body: targets::webtorrent::run_messages },
];

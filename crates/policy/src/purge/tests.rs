//! Every dialect as a table: a request or an answer, and what it purges.

use wire::{Fields, ResponseHead};

use super::*;

fn head(line: &str, fields: &str) -> RequestHead {
    let (method, target) = line.split_once(' ').expect("a method and a target");
    RequestHead {
        method: Method::from_bytes(method.as_bytes()).expect("a token"),
        target: target.to_owned(),
        host: "a.test".to_owned(),
        fields: Fields::parse(fields.as_bytes()).expect("valid fields"),
        ..RequestHead::default()
    }
}

fn told(purges: &[Purge]) -> String {
    purges.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn check_body(line: &str, fields: &str, body: &str, expected: &str) {
    let head = head(line, fields);
    assert_ne!(asks(&head), Asks::Nothing, "{line}");
    let read = match read(&head, body.as_bytes()) {
        Ok(purges) => told(&purges),
        Err(error) => format!("error: {error}"),
    };
    assert_eq!(read, expected, "{line} {fields:?} {body}");
}

fn check(line: &str, fields: &str, expected: &str) {
    check_body(line, fields, "", expected);
}

#[test]
fn wordpress_plugins_name_addresses_and_beginnings() {
    check("PURGE /a?b=1", "X-Purge-Method: default", "url /a?b=1");
    check("PURGE /a", "X-Purge-Method: exact", "url /a");
    check("PURGE /.*", "X-Purge-Method: regex", "host");
    check("PURGE /.*", "", "host");
    check("PURGE /blog/.*", "X-Purge-Method: regex", "prefix /blog/");
    check("PURGE /index.php?p=1.*", "X-Purge-Method: regex", "prefix /index.php?p=1");
    check("PURGE /(a|b)/.*", "X-Purge-Method: regex", "prefix /a/; prefix /b/");
    check("PURGE /[0-9]+/", "x-purge-method: REGEX", "regex ^(?:/[0-9]+/)");
    check("PURGE /x", "X-Ban-Regex: ^/2024/", "prefix /2024/");
}

#[test]
fn nginx_helper_names_addresses_in_paths() {
    check("GET /purge/a?b=1", "", "url /a?b=1");
    check("GET /purge/", "", "url /");
    check("GET /purge/*", "", "host");
    check("GET /purge/blog/*", "", "prefix /blog/");
    check("PURGE /purgeall", "", "all");
    check("PURGE /a*", "", "url /a*");
}

#[test]
fn mediawiki_names_addresses() {
    check("PURGE /wiki/Main_Page", "", "url /wiki/Main_Page");
    check(
        "PURGE /w/index.php?title=A&action=history",
        "",
        "url /w/index.php?title=A&action=history",
    );
}

#[test]
fn typo3_names_pages_and_sites() {
    check("BAN /", "Varnish-Ban-TYPO3-Pid: 12", "tags typo3-pid:12");
    check("BAN /", "Varnish-Ban-TYPO3-Pid: 12\nVarnish-Ban-TYPO3-Sitename: s", "tags typo3-pid:12");
    check("BAN /", "Varnish-Ban-All: 1\nVarnish-Ban-TYPO3-Sitename: s", "tags typo3-sitename:s");
    check("BAN /", "Varnish-Ban-All: 1", "all");
}

#[test]
fn drupal_names_tags_as_alternatives() {
    check("BAN /", "Cache-Tags: node:1|node_list", "tags node:1 node_list");
    check("BAN /", "Purge-Cache-Tags: node:1 node:2", "tags node:1 node:2");
    check("BAN /", "Cache-Tags: node:.*", "all");
    check("URIBAN /node/1", "", "url /node/1");
}

#[test]
fn fos_http_cache_bans_by_host_url_and_tags() {
    check("BAN /", "X-Host: .*\nX-Url: .*\nX-Content-Type: .*", "all");
    check(
        "BAN /",
        "X-Host: .*\nX-Url: .*\nX-Content-Type: .*\nX-Cache-Tags: (^|,)(a|b\\-1)(,|$)",
        "tags a b-1",
    );
    check("BAN /", "X-Host: ^(a.test|b.test)$\nX-Url: ^/x$", "url /x of a.test; url /x of b.test");
    check("BAN /", "X-Host: .*\nX-Url: ^/x", "prefix /x of all hosts");
    check("BAN /", "X-Url: \\.png$", "regex \\.png$");
    check(
        "BAN /",
        "X-Url: [",
        "error: the pattern \"[\" can't be used: unclosed character class; send a shorter or simpler one",
    );
    check("PURGEKEYS /", "xkey-softpurge: a b", "soft tags a b");
    check("PURGEKEYS /", "xkey-purge: a b", "tags a b");
    check(
        "PURGEKEYS /",
        "",
        "error: nothing is named that could be purged: send an address, or tags in xkey-purge",
    );
    check("PURGETAGS /", "X-Cache-Tags: a,b", "tags a b");
    check("PURGE /", "Clear-Cache: true", "host");
    check("PURGE /x", "", "url /x");
}

#[test]
fn a_ban_that_says_nothing_means_what_begins_with_its_target() {
    check("BAN /", "", "host");
    check("BAN /x", "", "prefix /x");
    check("BAN /x/.*", "", "prefix /x/");
}

#[test]
fn magento_names_tags_in_a_pattern() {
    check("PURGE /", "X-Magento-Tags-Pattern: .*", "all");
    check("PURGE /", "X-Magento-Tags-Pattern: *", "all");
    check(
        "PURGE /",
        "X-Magento-Tags-Pattern: ((^|,)cat_p_1(,|$))|((^|,)cat_p(,|$))",
        "tags cat_p cat_p_1",
    );
    check("PURGE /", "X-Magento-Tags-Pattern: cat_[0-9]+", "all");
    check(
        "PURGE /",
        "X-Magento-Tags-Pattern:",
        "error: nothing is named that could be purged: send an address, or tags in x-magento-tags-pattern",
    );
}

#[test]
fn souin_names_keys_on_its_own_path() {
    check("PURGE /souin-api/souin/", "Surrogate-Key: a, b", "tags a b");
    check("PURGE /souin-api/souin/flush", "", "all");
    check("PURGE /souin-api/souin/.+", "", "all");
    check("PURGE /souin-api/souinx", "", "url /souin-api/souinx");
    check("BAN /souin-api/souin/x", "X-Url: ^/y", "prefix /y");
    check("PURGE /", "Cache-Groups: \"a\", \"b\"", "tags a b");
    check("PURGE /", "Edge-Cache-Tag: a,b", "tags a b");
}

#[test]
fn fastly_and_cloudflare_clients_post() {
    check("PURGE /x", "Fastly-Soft-Purge: 1", "soft url /x");
    check("POST /service/s/purge", "Surrogate-Key: a b", "tags a b");
    check("POST /service/s/purge/a", "Fastly-Soft-Purge: 1", "soft tags a");
    check("POST /service/s/purge_all", "", "all");
    check_body("POST /service/s/purge", "", "{\"surrogate_keys\":[\"a\",\"b\"]}", "tags a b");
    let cloudflare = |body: &str, expected: &str| {
        check_body("POST /client/v4/zones/z/purge_cache", "", body, expected);
        check_body("POST /zones/z/purge_cache", "", body, expected);
    };
    cloudflare("{\"purge_everything\":true}", "all");
    cloudflare("{\"tags\":[\"a\",\"b\"]}", "tags a b");
    cloudflare(
        "{\"files\":[\"https://A.test/x\",{\"url\":\"http://a.test\",\"headers\":{}}]}",
        "url /x of a.test; url / of a.test",
    );
    cloudflare(
        "{\"hosts\":[\"b.test\"],\"prefixes\":[\"a.test/x\"]}",
        "prefix /x of a.test; host of b.test",
    );
    cloudflare(
        "{}",
        "error: the body can't be read: it names nothing to purge; send JSON as in {\"tags\": [\"a\"]}",
    );
    cloudflare(
        "{\"tags\":1}",
        "error: the body can't be read: \"tags\" is no list of texts; send JSON as in {\"tags\": [\"a\"]}",
    );
    cloudflare(
        "{\"files\":[\"/x\"]}",
        "error: \"/x\" is no address: send a whole one, as in http://example.org/page",
    );
}

#[test]
fn what_an_app_may_mean_by_itself_is_not_taken_from_it() {
    for (line, fields) in [
        ("GET /purge", ""),
        ("GET /purge/x", "Cookie: a=b"),
        ("GET /purge/x", "Sec-Fetch-Mode: no-cors"),
        ("GET /purge/x", "Referer: http://evil.test/"),
        ("HEAD /purge/x", ""),
        ("POST /purge/x", ""),
        ("POST /service/s", ""),
        ("POST /service/s/purge/", ""),
        ("POST /service/s/purge/a/b", ""),
        ("POST /zones/z/purge_cache/x", ""),
        ("DELETE /x", ""),
        ("FROB /x", ""),
        ("purge /x", ""),
        ("OPTIONS *", ""),
    ] {
        assert_eq!(asks(&head(line, fields)), Asks::Nothing, "{line}");
    }
    assert_eq!(asks(&head("GET /purge/x", "")), Asks::PurgeIfAllowed);
    assert_eq!(asks(&head("POST /service/s/purge", "")), Asks::PurgeIfAllowed);
    assert_eq!(asks(&head("PURGE /x", "Cookie: a=b")), Asks::Purge);
}

fn answered(method: &str, status: u16, fields: &str, expected: &str) {
    let request = head(&format!("{method} /"), "");
    let fields = Fields::parse(fields.as_bytes()).expect("valid fields");
    let purges = heed(&request, &ResponseHead { status, fields: fields.clone() });
    assert_eq!(told(&purges), expected, "{fields:?}");
}

#[test]
fn an_answer_may_purge() {
    answered("GET", 200, "X-LiteSpeed-Purge: a", "tags a");
    answered("GET", 200, "X-LiteSpeed-Purge: public,a,tag=b", "tags a b");
    answered("GET", 200, "X-LiteSpeed-Purge: stale, tag=a, tag=b", "soft tags a b");
    answered(
        "GET",
        200,
        "X-LiteSpeed-Purge: public,stale,t1,tag=t2,/uri;private,*",
        "soft url /uri; soft tags t1 t2",
    );
    answered("GET", 200, "X-LiteSpeed-Purge: private,a", "");
    answered("GET", 200, "X-LiteSpeed-Purge: *", "host");
    answered("GET", 200, "X-LiteSpeed-Purge: public,/a,*", "host");
    answered("GET", 200, "X-LiteSpeed-Purge: /blog*", "prefix /blog");
    answered("GET", 200, "X-LiteSpeed-Purge: a\nX-LiteSpeed-Purge2: b", "tags a; tags b");
    answered("GET", 500, "X-LiteSpeed-Purge: a", "tags a");
    answered("POST", 200, "Cache-Group-Invalidation: \"a\", \"b\"", "tags a b");
    answered("GET", 200, "Cache-Group-Invalidation: \"a\"", "");
    answered("POST", 500, "Cache-Group-Invalidation: \"a\"", "");
    answered("GET", 200, "Content-Type: text/html\nX-Other: a", "");
    let many = format!("X-LiteSpeed-Purge: {}", "/a,".repeat(2000));
    answered("GET", 200, &many, "host");
}

fn bears(fields: &str, expected: &str) {
    let mut tags = Vec::new();
    let fields = Fields::parse(fields.as_bytes()).expect("valid fields");
    tags_of(&fields, |tag| tags.push(String::from_utf8_lossy(tag).into_owned()));
    assert_eq!(tags.join(" "), expected, "{fields:?}");
    let shown = fields.iter().filter(|(name, _)| !is_for_caches(name)).count();
    assert_eq!(shown, 0, "{fields:?}");
}

#[test]
fn tags_are_found_in_the_fields_of_all_dialects() {
    bears("X-LiteSpeed-Tag: a,public:b", "a b");
    bears("TYPO3-Pid: 12\nTYPO3-Sitename: s", "typo3-pid:12 typo3-sitename:s");
    bears("Cache-Tags: node:1 node_list", "node:1 node_list");
    bears("Purge-Cache-Tags: a b", "a b");
    bears("X-Cache-Tags: a,b", "a b");
    bears("xkey: a b\nXkey: c", "a b c");
    bears("X-Magento-Tags: cat_p_1,cat_p", "cat_p_1 cat_p");
    bears("Surrogate-Key: a b", "a b");
    bears("Cache-Tag: a,b", "a b");
    bears("Cache-Groups: \"a\", \"b\"", "a b");
    bears("Edge-Cache-Tag: a,b", "a b");
    bears(
        "X-LiteSpeed-Purge: a\nX-LiteSpeed-Vary: cookie=x\nX-LiteSpeed-Cache-Control: public",
        "",
    );
    for name in ["Content-Type", "X-Cache", "Cache-Control", "Cache-Status", "Surrogate-Control"] {
        assert!(!is_for_caches(name.as_bytes()), "{name}");
    }
}

#[test]
fn a_whole_address_is_host_and_target() {
    for (address, expected) in [
        ("http://A.test/x?y#z", Some(("a.test", "/x?y"))),
        ("https://a.test:8443", Some(("a.test:8443", "/"))),
        ("http://a.test?x", Some(("a.test", "/?x"))),
        ("http://[::1]:80/x", Some(("[::1]:80", "/x"))),
        ("/x", None),
        ("ftp://a/", None),
        ("http:///x", None),
        ("http://a@b/", None),
        ("http://a/x y", None),
        ("http://a/x\r\ny", None),
    ] {
        let split = split_address(address).ok();
        let split = split.as_ref().map(|(host, target)| (host.as_str(), target.as_str()));
        assert_eq!(split, expected, "{address}");
    }
}

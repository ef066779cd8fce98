//! VCL as people have it, and what is made of it.

use super::*;
use crate::Language;
use crate::library::Nothing;

fn import(text: &str) -> (String, String) {
    crate::tests::import(Language::Vcl, "v", text)
}

const BACKEND: &str = "vcl 4.1; backend default { .host = \"127.0.0.1\"; .port = \"8080\"; }";

#[test]
fn what_is_said_becomes_settings() {
    let site = "[[site]]\norigin = \"http://127.0.0.1:8080\"";
    for (inside, expected) in [
        ("", site.to_owned()),
        ("sub vcl_backend_response { set beresp.ttl = 2m; }",
         "[[site]]\nstrangers_fresh = \"2m\"\norigin = \"http://127.0.0.1:8080\"".into()),
        ("sub vcl_backend_response { if (bereq.url ~ \"x\") { set beresp.ttl = 2m; } }", site.into()),
        ("sub vcl_backend_response { set beresp.grace = 1h; }",
         "[[site]]\nstrangers_stale = \"1h\"\nstale_while_revalidate = \"1h\"\nstale_if_error = \"1h\"\n\
          origin = \"http://127.0.0.1:8080\"".into()),
        ("sub vcl_recv { if (req.url ~ \"^/(admin|user)/\" || req.url == \"/x\") { return (pass); } }",
         "[[site]]\nnever_share = [\"/admin/*\", \"/user/*\", \"/x\"]\norigin = \"http://127.0.0.1:8080\"".into()),
        ("sub vcl_recv { set req.url = regsuball(req.url, \"(utm_source|gclid)=[^&]+&?\", \"\"); }",
         "[[site]]\nignore_query = [\"utm_source\", \"gclid\"]\norigin = \"http://127.0.0.1:8080\"".into()),
        ("probe p { .url = \"/up\"; .interval = 10s; }
          backend c { .host = \"c\"; .probe = p; } sub vcl_recv { set req.backend_hint = c; }",
         "[[site]]\norigin_health = \"/up\"\norigin_health_every = \"10s\"\norigin = \"http://c:80\"".into()),
        ("sub vcl_recv { return (pass); }",
         "[[site]]\ncache = false\norigin = \"http://127.0.0.1:8080\"".into()),
        ("backend b { .host = \"b.test\"; .first_byte_timeout = 300s; }
          sub vcl_recv { if (req.http.host ~ \"^(www\\.)?b\\.test$\") { set req.backend_hint = b; } }",
         format!("[[site]]\nfirst_byte_timeout = \"5m\"\nhosts = [\"b.test\", \"www.b.test\"]\n\
                  origin = \"http://b.test:80\"\n{site}")),
    ] {
        assert_eq!(import(&format!("{BACKEND}\n{inside}")).0, expected, "{inside}");
    }
}

#[test]
fn what_is_left_says_why() {
    for (inside, expected) in [
        ("unset req.http.Cookie;", "cookies are the app's"),
        (
            "if (req.method == \"PURGE\") { if (!client.ip ~ purge) { return (synth(405)); } return (purge); }",
            "purges and bans",
        ),
        ("if (req.http.Authorization || req.http.Cookie) { return (pass); }", "caches by itself"),
        ("if (req.http.Upgrade ~ \"(?i)websocket\") { return (pipe); }", "WebSockets reach"),
        ("if (req.url ~ \"wp-admin|wp-login\") { return (pass); }", "stands in never_share"),
        (
            "if (req.method == \"POST\" && client.ip !~ office) { return (synth(403)); }",
            "would be let in",
        ),
        (
            "if (req.http.X-Proto != \"https\" && req.url ~ \"^/a\") { return (synth(403)); }",
            "would be let in",
        ),
        ("if (client.ip ~ bad) { return (synth(403, \"no\")); }", "would be let in"),
        (
            "if (req.http.X-Forwarded-Proto !~ \"(?i)https\") { return (synth(750, \"\")); }",
            "to HTTPS by itself",
        ),
        ("set req.url = std.querysort(req.url);", "two orders"),
        ("set req.url = \"/x\";", "rewrites no addresses"),
        ("hash_data(req.http.X-Device);", "Vary"),
        ("set beresp.do_esi = true;", "ESI"),
        ("set resp.http.X-Cache = \"HIT\";", "Cache-Status"),
        ("unset resp.http.Server;", "let the app send these fields"),
        ("C{ int a; }C;", "no code"),
        ("frob(x);", "Not understood"),
    ] {
        let (_, report) = import(&format!("{BACKEND} sub vcl_recv {{ {inside} }}"));
        assert!(report.contains(expected), "{inside}: {report}");
    }
    let (_, report) = import(&format!("{BACKEND} acl a {{ \"localhost\"; \"10.0.0.0\"/8; }}"));
    assert!(report.contains("set purge_token"), "{report}");
}

#[test]
fn what_is_broken_is_told_with_its_place() {
    for (text, expected) in [
        ("vcl 4.1;\nsub a { b", "v:2:9: this statement doesn't end"),
        ("sub a {\n b;", "v:1:7: this block is never closed"),
        ("}", "v:1:1: this } closes nothing"),
        ("a \"b\n", "v:1:3: this \" is never closed"),
        ("a \"b\n\";", "v:1:3: this \" is not closed on its line"),
        ("/* a", "v:1:1: this comment is never closed"),
        ("a ä;", "v:1:3: \"\\u{e4}\" has no meaning here"),
        ("a {\"x", "v:1:3: this string is never closed"),
    ] {
        let source = Source { name: "v".into(), text: text.into() };
        let told = read(&source, &Nothing).expect_err("it is broken").to_string();
        assert!(told.starts_with(expected), "{text}: {told}");
    }
    let deep = Source { name: "v".into(), text: "a {".repeat(100_000) };
    assert!(read(&deep, &Nothing).is_err());
}

//! Caddyfiles as people have them, and what is made of them.

use crate::Language;

fn import(text: &str) -> (String, String) {
    crate::tests::import(Language::Caddy, "C", text)
}

const LISTEN: &str = "listen = [\"0.0.0.0:80\", \"[::]:80\"]";

#[test]
fn sites_become_sites() {
    for (text, expected) in [
        (
            "http://a.test {\n root * /srv/a/public\n php_fastcgi unix//run/php.sock\n file_server\n}",
            format!(
                "{LISTEN}\n[[site]]\nhosts = [\"a.test\"]\norigin = \"/srv/a/public\"\n\
                  php = \"unix:/run/php.sock\""
            ),
        ),
        (
            "http://a.test, http://b.test:8080 {\n reverse_proxy localhost:3000\n}",
            "listen = [\"0.0.0.0:80\", \"[::]:80\", \"0.0.0.0:8080\", \"[::]:8080\"]\n[[site]]\n\
          hosts = [\"a.test\", \"b.test\"]\norigin = \"http://localhost:3000\""
                .into(),
        ),
        (
            ":8080\nroot /srv\nfile_server",
            "listen = [\"0.0.0.0:8080\", \"[::]:8080\"]\n[[site]]\norigin = \"/srv\"".into(),
        ),
        (
            ":80 {\n bind 127.0.0.1 ::1\n root * /srv\n}",
            "listen = [\"127.0.0.1:80\", \"[::1]:80\"]\n[[site]]\norigin = \"/srv\"".into(),
        ),
        (
            "{\n http_port 8080\n servers {\n timeouts {\n read_header 10s\n idle 2m\n }\n }\n}\n\
          http://a {\n root * /srv\n request_body {\n max_size 10MiB\n }\n}",
            "listen = [\"0.0.0.0:8080\", \"[::]:8080\"]\n[limits]\nhead_timeout = \"10s\"\n\
          idle_timeout = \"2m\"\nbody = \"10M\"\n[[site]]\nhosts = [\"a\"]\norigin = \"/srv\""
                .into(),
        ),
        (
            ":80 {\n handle {\n reverse_proxy a:1 {\n transport http {\n dial_timeout 2s\n \
          response_header_timeout 1m30s\n }\n }\n }\n}",
            format!(
                "{LISTEN}\n[[site]]\nconnect_timeout = \"2s\"\nfirst_byte_timeout = \"90s\"\n\
                  origin = \"http://a:1\""
            ),
        ),
        (
            ":80 {\n root * /s\n log {\n output file /var/log/a.log\n }\n}",
            format!(
                "{LISTEN}\naccess_log = \"/var/log/a.log\"\naccess_log_format = \"json\"\n\
                  [[site]]\norigin = \"/s\""
            ),
        ),
        (
            "http://a.test {\n root * /s\n}\nhttp://www.a.test {\n redir https://a.test{uri}\n}",
            format!("{LISTEN}\n[[site]]\nhosts = [\"a.test\"]\norigin = \"/s\""),
        ),
    ] {
        assert_eq!(import(text).0, expected, "{text}");
    }
}

#[test]
fn certificates_become_settings_where_wick_has_them() {
    let text = "a.test {\n root * /a\n}\nb.test {\n root * /b\n tls /c.pem /k.pem\n}\n\
                localhost {\n root * /l\n}\nhttp://p.test {\n root * /p\n}";
    let (written, report) = import(text);
    let expected = format!(
        "{LISTEN}\nlisten_tls = [\"0.0.0.0:443\", \"[::]:443\"]\n\
         [[site]]\nhosts = [\"a.test\"]\ncertificate = \"auto\"\norigin = \"/a\"\n\
         [[site]]\nhosts = [\"b.test\"]\ncertificate = \"/c.pem\"\ncertificate_key = \"/k.pem\"\n\
         origin = \"/b\"\n[[site]]\nhosts = [\"localhost\"]\norigin = \"/l\"\n\
         certificate = \"off\"\n[[site]]\nhosts = [\"p.test\"]\norigin = \"/p\"\n\
         certificate = \"off\""
    );
    assert_eq!((written, report.as_str()), (expected, ""));
}

#[test]
fn a_line_that_is_left_says_why() {
    for (inside, expected) in [
        ("encode zstd gzip", "compresses by itself"),
        ("basic_auth {\n bob hush\n}", "would be let in"),
        ("header -Server", "let the app send these fields"),
        ("redir /a /b 301", "nobody elsewhere"),
        ("redir https://{host}{uri}", "to HTTPS by itself"),
        ("rewrite * /x", "rewrites no addresses"),
        ("reverse_proxy /api/* a:1", "one origin for all"),
        ("handle /api/* {\n reverse_proxy a:1\n}", "one origin for all"),
        ("reverse_proxy unix//run/a.sock", "origin = \"http://HOST:PORT\""),
        ("reverse_proxy {args[0]}", "origin = \"http://HOST:PORT\""),
        ("file_server browse", "no listings"),
        ("@no path /.git/*\nrespond @no 403", "begins with a dot"),
        ("@no path /data/*\nrespond @no 403", "would be let in"),
        ("handle /secret/* {\n respond 403\n}", "would be let in"),
        ("respond /up 200", "let the app send"),
        ("try_files {path} /index.html", "front controller"),
        ("try_files {path} {path}/ /index.php?{query}", "so does Wick"),
        ("tls internal", "how certificates are got"),
        ("frob on", "Not understood"),
    ] {
        let text = format!(":80 {{\n root * /s\n {inside}\n}}");
        let (_, report) = import(&text);
        assert!(report.contains(expected), "{inside}: {report}");
        assert!(!report.contains("hush"), "{report}");
    }
    let (_, report) = import("*.a.test {\n root * /s\n}");
    assert!(report.contains("no wildcards"), "{report}");
}

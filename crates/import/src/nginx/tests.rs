//! Configurations as people have them, and what is made of them.

use crate::Language;

fn import(text: &str) -> (String, String) {
    crate::tests::import(Language::Nginx, "n", text)
}

fn check(text: &str, expected: &str) {
    assert_eq!(import(text).0, expected, "{text}");
}

#[test]
fn one_directive_becomes_one_setting() {
    let site = "[[site]]\norigin = \"/s\"";
    for (inside, expected) in [
        ("", site.to_owned()),
        ("listen 8080;", format!("listen = [\"0.0.0.0:8080\"]\n{site}")),
        ("listen 80; listen [::]:80 ipv6only=on;",
         format!("listen = [\"0.0.0.0:80\", \"[::]:80\"]\n{site}")),
        (
            "listen [::]:80 ipv6only=off; listen 127.0.0.1:80;",
            format!("listen = [\"0.0.0.0:80\", \"[::]:80\"]\n{site}"),
        ),
        ("server_name A.test www.a.test;",
         "[[site]]\nhosts = [\"a.test\", \"www.a.test\"]\norigin = \"/s\"".into()),
        ("server_name _ a.test;", site.to_owned()),
        ("server_name .a.test;", "[[site]]\nhosts = [\"a.test\"]\norigin = \"/s\"".into()),
        ("client_max_body_size 64m;", format!("[limits]\nbody = \"64M\"\n{site}")),
        ("client_max_body_size 0;", format!("[limits]\nbody = \"1T\"\n{site}")),
        ("keepalive_timeout 1m30s 20s;", format!("[limits]\nidle_timeout = \"90s\"\n{site}")),
        ("client_header_timeout 10; send_timeout 2m;",
         format!("[limits]\nhead_timeout = \"10s\"\nwrite_timeout = \"2m\"\n{site}")),
        ("location /up { client_max_body_size 1g; } client_max_body_size 1m;",
         format!("[limits]\nbody = \"1G\"\n{site}")),
        ("access_log /var/log/a.log;",
         format!("access_log = \"/var/log/a.log\"\naccess_log_format = \"combined\"\n{site}")),
        ("location ~ \\.php$ { fastcgi_pass unix:/run/p.sock; fastcgi_read_timeout 300; }",
         "[[site]]\nfirst_byte_timeout = \"5m\"\norigin_idle_timeout = \"5m\"\norigin = \"/s\"\n\
          php = \"unix:/run/p.sock\"".into()),
        ("location / { proxy_pass http://127.0.0.1:3000/; }",
         "[[site]]\norigin = \"http://127.0.0.1:3000\"".into()),
        ("location / { try_files $uri @app; } location @app { proxy_pass http://a:1; }",
         "[[site]]\norigin = \"http://a:1\"".into()),
        ("if ($request_uri ~ \"^/(cart|checkout)/\") { set $skip_cache 1; }",
         "[[site]]\nnever_share = [\"/cart/*\", \"/checkout/*\"]\norigin = \"/s\"".into()),
        ("if ($uri = /a) { set $no_cache 1; }",
         "[[site]]\nnever_share = [\"/a\"]\norigin = \"/s\"".into()),
    ] {
        check(&format!("server {{ root /s; {inside} }}"), &expected);
    }
}

#[test]
fn a_line_that_is_left_says_why() {
    for (inside, expected) in [
        ("auth_basic \"Members\";", "would be let in"),
        ("allow 10.0.0.0/8; deny all;", "would be let in"),
        ("location /private { deny all; }", "Require all denied"),
        ("location ~ /\\.ht { deny all; }", "begins with a dot"),
        ("location ~* /uploads/.*\\.php$ { deny all; }", "no script is run below"),
        ("location ~* /(uploads|files)/.*\\.php$ { deny all; }", "would be let in"),
        ("location /files { alias /srv/files; }", "symbolic link"),
        ("location /api { proxy_pass http://a:1; }", "one origin for all"),
        ("gzip on;", "compresses by itself"),
        ("ssl_certificate a.pem;", "write the whole path"),
        ("listen 443 ssl;", "no site has a certificate"),
        ("listen unix:/run/a.sock;", "on addresses only"),
        ("fastcgi_cache_valid 200 1h;", "caches by itself"),
        ("limit_req zone=a;", "rate, rate_burst and concurrency"),
        ("expires max;", "let the app send these fields"),
        ("rewrite ^/a$ /b permanent;", "rewrites no addresses"),
        ("rewrite ^ /index.php last;", "rewrites no addresses"),
        ("try_files $uri $uri/ /index.php?$args;", "so does Wick"),
        ("try_files $uri /app.html;", "nearest index.php: let that be"),
        ("if ($scheme = http) { return 301 https://$host$request_uri; }", "to HTTPS by itself"),
        ("if ($http_user_agent ~ bot) { return 403; }", "would be let in"),
        ("server_name *.a.test;", "no wildcards"),
        ("server_name ~^x$;", "no wildcards"),
        ("fastcgi_param DB_PASSWORD hush;", "fastcgi_param DB_PASSWORD …"),
        ("whatever on;", "Not understood"),
        ("location / { proxy_pass http://$backend; }", "without a path or a variable"),
    ] {
        let (_, report) = import(&format!("server {{ root /s; {inside} }}"));
        assert!(report.contains(expected), "{inside}: {report}");
        assert!(!report.contains("hush"), "{report}");
    }
}

#[test]
fn servers_that_only_lead_elsewhere_are_no_sites() {
    let text = "server { listen 80; server_name a.test www.a.test; return 301 https://a.test$request_uri; }
        server { listen 80 default_server; return 444; }
        server { listen 80; server_name old.test; return 301 https://a.test$request_uri; }
        server { listen 443 ssl; server_name a.test; root /s; }";
    let (written, report) = import(text);
    assert_eq!(
        written,
        "listen = [\"0.0.0.0:80\"]\n[[site]]\nhosts = [\"a.test\"]\norigin = \"/s\""
    );
    assert!(report.contains("n:3: return 301 https://a.test$request_uri\n      Wick sends nobody"));
    assert!(report.contains("n:2: return\n      Wick refuses hosts"), "{report}");
}

#[test]
fn proxies_are_trusted_by_field_or_by_protocol() {
    let proxies =
        "set_real_ip_from 10.1.2.3/8; set_real_ip_from ::1; real_ip_header X-Forwarded-For;";
    let site = "[[site]]\norigin = \"/s\"";
    for (listen, expected) in [
        (
            "80",
            format!(
                "trusted_proxies = [\"10.0.0.0/8\", \"::1/128\"]\nlisten = [\"0.0.0.0:80\"]\n{site}"
            ),
        ),
        (
            "80 proxy_protocol",
            format!(
                "proxy_protocol = [\"10.0.0.0/8\", \"::1/128\"]\nlisten = [\"0.0.0.0:80\"]\n{site}"
            ),
        ),
    ] {
        check(&format!("{proxies} server {{ listen {listen}; root /s; }}"), &expected);
    }
    let (_, report) = import("server { listen 80 proxy_protocol; root /s; }");
    assert!(report.contains("name the proxies"), "{report}");
}

#[test]
fn upstreams_are_looked_up() {
    let text =
        "upstream app { server 10.0.0.1:3000 weight=2; server 10.0.0.2:3000; server c down; }
        upstream php { server unix:/run/php.sock; }
        server { server_name a; location / { proxy_pass http://app; } }
        server { server_name b; root /b; location ~ \\.php$ { fastcgi_pass php; } }";
    check(
        text,
        "[[site]]\nhosts = [\"a\"]\n\
         origin = [\"http://10.0.0.1:3000\", \"http://10.0.0.2:3000\"]\n\
         [[site]]\nhosts = [\"b\"]\norigin = \"/b\"\nphp = \"unix:/run/php.sock\"",
    );
}

#[test]
fn certificates_become_settings_where_wick_has_them() {
    let text = "server { listen 443 ssl; listen 80; server_name a.test; root /s;
        ssl_certificate /c.pem; ssl_certificate_key /k.pem; }
        server { listen 80; server_name b.test; root /b; }";
    let (written, report) = import(text);
    assert_eq!(
        written,
        "listen_tls = [\"0.0.0.0:443\"]\nlisten = [\"0.0.0.0:80\"]\n\
         [[site]]\nhosts = [\"a.test\"]\ncertificate = \"/c.pem\"\ncertificate_key = \"/k.pem\"\n\
         origin = \"/s\"\n[[site]]\nhosts = [\"b.test\"]\norigin = \"/b\"\ncertificate = \"off\""
    );
    assert_eq!(report, "");
    let text =
        "http { ssl_certificate /all.pem; server { listen 443 ssl; server_name a.test; root /s;
        add_header Strict-Transport-Security \"max-age=86400; includeSubDomains\" always; } }";
    let (written, report) = import(text);
    assert!(written.contains("certificate = \"/all.pem\"") && written.contains("hsts = \"1d\""));
    assert_eq!(report, "");
    let (written, report) = import("server { listen 443 ssl; root /s; }");
    assert_eq!(written, "[[site]]\norigin = \"/s\"");
    assert!(report.contains("no site has a certificate"), "{report}");
}

#[test]
fn what_holds_for_all_servers_is_theirs() {
    let text = "worker_processes 4; events { worker_connections 1000; }
        http { root /shared; fastcgi_read_timeout 90s; access_log /l main;
        log_format main '$remote_addr - $remote_user [$time_local] x';
        server { server_name a; } server { server_name b; root /b; } }";
    check(
        text,
        "threads = 4\naccess_log = \"/l\"\naccess_log_format = \"combined\"\n[limits]\nconnections = 4000\n\
         [[site]]\nfirst_byte_timeout = \"90s\"\norigin_idle_timeout = \"90s\"\nhosts = [\"a\"]\n\
         origin = \"/shared\"\n[[site]]\nfirst_byte_timeout = \"90s\"\n\
         origin_idle_timeout = \"90s\"\nhosts = [\"b\"]\norigin = \"/b\"",
    );
}

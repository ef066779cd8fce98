vcl 4.1;

import std;

backend default {
    .host = "127.0.0.1";
    .port = "8080";
    .connect_timeout = 2s;
    .first_byte_timeout = 120s;
    .between_bytes_timeout = 15s;
    .probe = {
        .url = "/";
        .interval = 5s;
    }
}

acl purgers {
    "localhost";
    "192.0.2.0"/24;
}

sub vcl_recv {
    /* What the modules of the site send. */
    if (req.method == "PURGE" || req.method == "BAN") {
        if (!client.ip ~ purgers) {
            return (synth(405, "Not allowed"));
        }
        if (req.http.Cache-Tags) {
            ban("obj.http.Cache-Tags ~ " + req.http.Cache-Tags);
            return (synth(200, "Banned"));
        }
        return (purge);
    }
    if (req.method != "GET" && req.method != "HEAD") {
        return (pass);
    }
    if (req.url ~ "^/(admin|user|batch|flag)(/|$)" || req.url ~ "^/status\.php$") {
        return (pass);
    }
    if (req.url ~ "/ajax/") {
        return (pass);
    }
    set req.url = regsuball(req.url, "([?&])(utm_source|utm_medium|utm_campaign|gclid|fbclid)=[^&]*", "\1");
    set req.url = std.querysort(req.url);

    if (req.url ~ "(?i)\.(css|js|png|gif|jpe?g|svg|woff2)(\?.*)?$") {
        unset req.http.Cookie;
        return (hash);
    }
    if (req.http.Cookie) {
        set req.http.Cookie = ";" + req.http.Cookie;
        set req.http.Cookie = regsuball(req.http.Cookie, ";(S?SESS[a-z0-9]+|NO_CACHE)=", "; \1=");
        if (req.http.Cookie == "") {
            unset req.http.Cookie;
        } else {
            return (pass);
        }
    }
    if (req.http.Upgrade ~ "(?i)websocket") {
        return (pipe);
    }
    return (hash);
}

sub vcl_hash {
    hash_data(req.url);
    if (req.http.X-Forwarded-Proto) {
        hash_data(req.http.X-Forwarded-Proto);
    }
}

sub vcl_backend_response {
    set beresp.http.X-Url = bereq.url;
    set beresp.grace = 6h;
    if (bereq.url ~ "\.(css|js)$") {
        unset beresp.http.Set-Cookie;
        set beresp.ttl = 7d;
    }
    if (beresp.status >= 500) {
        set beresp.uncacheable = true;
        return (deliver);
    }
}

sub vcl_deliver {
    if (obj.hits > 0) {
        set resp.http.X-Cache = "HIT";
    } else {
        set resp.http.X-Cache = "MISS";
    }
    unset resp.http.Cache-Tags;
    unset resp.http.X-Url;
}

sub vcl_synth {
    synthetic({"<html><body><h1>"} + resp.status + {"</h1></body></html>"});
    return (deliver);
}

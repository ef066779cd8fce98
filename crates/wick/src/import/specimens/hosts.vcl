# Two sites behind one Varnish, one of them balanced.
vcl 4.0;
import directors;

backend forum { .host = "10.0.0.21"; .port = "80"; }
backend shop1 { .host = "10.0.0.31"; .port = "3000"; .max_connections = 100; }
backend shop2 { .host = "10.0.0.32"; .port = "3000"; }

sub vcl_init {
    new shop = directors.round_robin();
    shop.add_backend(shop1);
    shop.add_backend(shop2);
}

sub vcl_recv {
    if (req.http.host ~ "^(www\.)?shop\.example$") {
        set req.backend_hint = shop.backend();
    } elsif (req.http.host == "forum.example") {
        set req.backend_hint = forum;
    } else {
        return (synth(404));
    }
    if (req.url ~ "^/(checkout|account)/" && req.http.Cookie) {
        return (pass);
    }
    call block_robots;
}

sub block_robots {
    if (req.http.User-Agent ~ "badbot") {
        return (synth(403, "No"));
    }
}

sub vcl_backend_response {
    set beresp.ttl = 120s;
    set beresp.do_esi = true;
}

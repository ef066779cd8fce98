"""CPU time of a page that is put together from five parts, all of them in memory.

The same page and the same parts lie in Wick and in Varnish, which is told to look for
tags where the page asks for it. Beside it the same bytes as one page, asked of the same
servers: the difference is what the parts cost. Nobody is sent compressed bytes.
"""

from rig import contest, report, scope, servers, visit

CONNECTIONS = 200
BODY_BYTES = 9435
RULES = """
sub vcl_backend_response {
    if (beresp.http.Surrogate-Control ~ "ESI/1.0") {
        unset beresp.http.Surrogate-Control;
        set beresp.do_esi = true;
    }
}
"""


def measure(options):
    """Wick and Varnish, for a page with five parts and for a page in one piece."""
    found = report.Report()
    with scope.Scope() as here:
        site = servers.php(here, options.server_cores)
        behind = servers.nginx_php(here, options.server_cores, site, cached=False, name="behind")
        varnish = servers.varnish(here, options.server_cores, behind, more_rules=RULES)
        wick = servers.wick(
            here,
            options.server_cores,
            options.wick,
            site.site,
            "256M",
            php_socket=site.socket("wick"),
        )
        caches = [server for server in (wick, varnish) if server]
        for what, page, target in (("five parts", "esi.php", 1.5), ("one piece", "page.php", 2.0)):
            held = _contest(options, site, caches, f"/{page}?size={BODY_BYTES}")
            title = f"A page of {what}, {BODY_BYTES:,} bytes, {CONNECTIONS} connections"
            found.tables.append(held.table(title))
            ratio = held.ratio("Wick", "Varnish", "cpu_microseconds") if wick else None
            found.judge(f"pages of {what} a CPU-second, Wick : Varnish", ratio, target)
    return found


def _contest(options, site, caches, path):
    # A page that is put together need not tell its length.
    if len(visit.warm(caches, path, None, site.count)) != BODY_BYTES:
        raise scope.Void(f"{path} is not of {BODY_BYTES} bytes")
    return contest.hold_from_memory(
        caches,
        lambda server: visit.wrk(
            server, path, BODY_BYTES, CONNECTIONS, options.seconds, options.visitor_cores
        ),
        options.rounds,
        site.count,
    )

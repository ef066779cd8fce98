"""CPU time of a page from memory when every request brings its own connection."""

from rig import contest, report, scope, servers, visit

CONCURRENCY = 50
BODY_BYTES = 9435


def measure(options):
    """Wick, nginx's fastcgi_cache, Varnish and the bare loop under ab without -k."""
    requests = 2_000 if options.quick else 50_000
    path = f"/page.php?size={BODY_BYTES}"
    found = report.Report()
    with scope.Scope() as here:
        cores = options.server_cores
        site = servers.php(here, cores)
        nginx = servers.nginx_php(here, cores, site, cached=True)
        deferred = servers.nginx_php(
            here, cores, site, cached=True, name="nginx-deferred", deferred=True
        )
        behind = servers.nginx_php(here, cores, site, cached=False, name="behind")
        varnish = servers.varnish(here, cores, behind)
        socket = site.socket("wick")
        wick = servers.wick(here, cores, options.wick, site.site, "256M", php_socket=socket)
        caches = [server for server in (wick, nginx, deferred, varnish) if server]
        visit.warm(caches, path, BODY_BYTES, site.count)
        held = contest.hold_from_memory(
            [*caches, servers.bare(here, cores, BODY_BYTES)],
            lambda server: visit.ab(
                server, path, BODY_BYTES, requests, CONCURRENCY, options.visitor_cores
            ),
            options.rounds,
            site.count,
        )
        found.tables.append(held.table(f"A connection a request, {BODY_BYTES:,} bytes"))
        ratio = held.ratio("Wick", "nginx", "cpu_microseconds") if wick else None
        found.judge("hits with a connection each, a CPU-second, Wick : nginx", ratio, 1.2)
        ratio = held.ratio("Wick", "nginx-deferred", "cpu_microseconds") if wick else None
        figure = "hits with a connection each, a CPU-second, Wick : nginx with deferred"
        found.rows.append(report.Row(figure, f"{ratio:.2f}" if wick else "–", "its own option", "–"))
        ceiling = held.ratio("bare loop", "nginx", "cpu_microseconds")
        figure = "hits with a connection each, a CPU-second, bare loop : nginx"
        found.rows.append(report.Row(figure, f"{ceiling:.2f}", "what accept() allows", "–"))
    return found

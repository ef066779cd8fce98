"""CPU time of a page from memory over HTTP/2: many requests at once on few connections."""

import dataclasses

from rig import contest, report, scope, servers, visit

CONNECTIONS = 10
STREAMS = 100


def measure(options):
    """Wick, nginx's fastcgi_cache and h2o's files, for two page sizes."""
    found = report.Report()
    with scope.Scope() as here:
        cores = options.server_cores
        site = servers.php(here, cores)
        http2_port = scope.free_port()
        nginx = servers.nginx_php(here, cores, site, cached=True, http2_port=http2_port)
        wick = servers.wick(
            here, cores, options.wick, site.site, "256M", php_socket=site.socket("wick")
        )
        files = here.folder / "files"
        files.mkdir()
        h2o = servers.h2o(here, cores, files)
        for body_bytes in (9435, 34600):
            path = f"/page.php?size={body_bytes}"
            caches = [server for server in (wick, nginx) if server]
            visit.warm(caches, path, body_bytes, site.count)
            (files / f"{body_bytes}.html").write_bytes(visit.fetch(nginx, path, body_bytes))
            # nginx knows its two protocols apart by their ports alone.
            contestants = [server for server in (wick, h2o) if server]
            contestants.append(dataclasses.replace(nginx, port=http2_port))
            held = _contest(options, site, contestants, path, body_bytes)
            title = f"HTTP/2 hits, {body_bytes:,} bytes, {STREAMS} streams on each of {CONNECTIONS}"
            found.tables.append(held.table(title))
            for rival, target in (("nginx", 1.5), ("h2o", 1.0)):
                ratio = held.ratio("Wick", rival, "cpu_microseconds") if wick else None
                figure = f"HTTP/2 hits of {body_bytes:,} B a CPU-second, Wick : {rival}"
                found.judge(figure, ratio, target)
    return found


def _contest(options, site, contestants, path, body_bytes):
    return contest.hold_from_memory(
        contestants,
        lambda server: visit.h2load(
            server,
            f"/{body_bytes}.html" if server.name == "h2o" else path,
            body_bytes,
            CONNECTIONS,
            STREAMS,
            options.seconds,
            options.visitor_cores,
        ),
        options.rounds,
        site.count,
    )

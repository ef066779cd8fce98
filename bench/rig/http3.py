"""CPU time of a page from memory over HTTP/3: many requests at once on few connections."""

import dataclasses

from rig import contest, report, scope, servers, visit

CONNECTIONS = 10
STREAMS = 20


def measure(options):
    """Wick and Caddy's files, for two page sizes."""
    found = report.Report()
    with scope.Scope() as here:
        cores = options.server_cores
        site = servers.php(here, cores)
        wick = _wick(here, options, site)
        files = here.folder / "files"
        files.mkdir()
        caddy = servers.caddy(here, cores, files, servers.tls(here))
        nginx = servers.nginx_php(here, cores, site, cached=True)
        for body_bytes in (9435, 34600):
            path = f"/page.php?size={body_bytes}"
            (files / f"{body_bytes}.html").write_bytes(visit.fetch(nginx, path, body_bytes))
            visit.warm([wick] if wick else [], path, body_bytes, site.count)
            contestants = [server for server in (wick, caddy) if server]
            held = _contest(options, site, contestants, path, body_bytes)
            title = f"HTTP/3 hits, {body_bytes:,} bytes, {STREAMS} streams on each of {CONNECTIONS}"
            found.tables.append(held.table(title))
            ratio = held.ratio("Wick", "Caddy", "cpu_microseconds") if wick else None
            found.judge(f"HTTP/3 hits of {body_bytes:,} B a CPU-second, Wick : Caddy", ratio, 1.5)
    return found


def _wick(here, options, site):
    over = servers.tls(here)
    wick = servers.wick(
        here, options.server_cores, options.wick, site.site, "256M", 1, site.socket("wick"), over
    )
    # One port for TCP, by which it is warmed, and for UDP.
    return wick and dataclasses.replace(wick, port=over.port, scheme="https")


def _contest(options, site, contestants, path, body_bytes):
    return contest.hold_from_memory(
        contestants,
        lambda server: visit.quic(
            server,
            f"/{body_bytes}.html" if server.name == "Caddy" else path,
            body_bytes,
            CONNECTIONS,
            STREAMS,
            options.seconds,
            options.visitor_cores,
        ),
        options.rounds,
        site.count,
    )

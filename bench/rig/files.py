"""CPU time of a file of the site's folder over keep-alive connections."""

from rig import contest, report, scope, servers, visit

CONNECTIONS = 200
SIZES = (9435, 34600, 300_000)


def measure(options):
    """Wick, nginx with its files held open and h2o, for three sizes."""
    found = report.Report()
    with scope.Scope() as here:
        cores = options.server_cores
        folder = here.folder / "files"
        folder.mkdir()
        for body_bytes in SIZES:
            line = f"A line of a file of {body_bytes} bytes.\n".encode()
            body = (line * (body_bytes // len(line) + 1))[:body_bytes]
            (folder / f"{body_bytes}.html").write_bytes(body)
        nginx = servers.nginx_files(here, cores, folder)
        h2o = servers.h2o(here, cores, folder)
        wick = servers.wick(here, cores, options.wick, folder, "256M")
        contestants = [server for server in (wick, nginx, h2o) if server]
        for body_bytes in SIZES:
            path = f"/{body_bytes}.html"
            # From its second reading on Wick has a file in memory, unless it was just written.
            visit.warm(contestants, path, body_bytes, lambda: 0)
            held = contest.hold(
                contestants,
                lambda server, path=path, body_bytes=body_bytes: visit.wrk(
                    server, path, body_bytes, CONNECTIONS, options.seconds, options.visitor_cores
                ),
                options.rounds,
            )
            found.tables.append(held.table(f"Files, {body_bytes:,} bytes, {CONNECTIONS} connections"))
            for rival in ("nginx", "h2o"):
                ratio = held.ratio("Wick", rival, "cpu_microseconds") if wick else None
                found.judge(f"files of {body_bytes:,} B a CPU-second, Wick : {rival}", ratio, 1.0)
    return found

"""CPU time of a page from memory over keep-alive connections: what a hit costs."""

import re
import shutil
import subprocess

from rig import contest, process, report, scope, servers, visit

CONNECTIONS = 200


def measure(options):
    """Wick, nginx's fastcgi_cache, Varnish and the bare loop, for two page sizes."""
    found = report.Report()
    with scope.Scope() as here:
        site = servers.php(here, options.server_cores)
        nginx = servers.nginx_php(here, options.server_cores, site, cached=True)
        behind = servers.nginx_php(here, options.server_cores, site, cached=False, name="behind")
        varnish = servers.varnish(here, options.server_cores, behind)
        wick = servers.wick(
            here,
            options.server_cores,
            options.wick,
            site.site,
            "256M",
            php_socket=site.socket("wick"),
        )
        for body_bytes, targets in (
            (9435, {"nginx": 2.0, "Varnish": 2.2, "bare loop": 0.85}),
            (34600, {"nginx": 1.5, "Varnish": 1.5}),
        ):
            bare = servers.bare(here, options.server_cores, body_bytes)
            caches = [server for server in (wick, nginx, varnish) if server]
            held = _contest(options, site, caches, bare, body_bytes)
            here.stop(bare.process)
            found.tables.append(held.table(f"Hits, {body_bytes:,} bytes, {CONNECTIONS} connections"))
            for rival, target in targets.items():
                ratio = held.ratio("Wick", rival, "cpu_microseconds") if wick else None
                found.judge(f"hits of {body_bytes:,} B a CPU-second, Wick : {rival}", ratio, target)
            # How far any server can get that writes from its own memory: the kernel
            # copies those bytes, and spares sendfile, which nginx uses, that copy.
            ceiling = held.ratio("bare loop", "nginx", "cpu_microseconds")
            figure = f"hits of {body_bytes:,} B a CPU-second, bare loop : nginx"
            found.rows.append(report.Row(figure, f"{ceiling:.2f}", "what write() allows", "–"))
        if options.perf and wick:
            _perf(here, options, wick)
    return found


def _contest(options, site, caches, bare, body_bytes):
    path = f"/page.php?size={body_bytes}"
    visit.warm(caches, path, body_bytes, site.count)
    return contest.hold_from_memory(
        [*caches, bare],
        lambda server: visit.wrk(
            server, path, body_bytes, CONNECTIONS, options.seconds, options.visitor_cores
        ),
        options.rounds,
        site.count,
    )


def _perf(here, options, wick):
    """Where the CPU time of hits goes, by symbol; only where perf may look."""
    perf = shutil.which("perf")
    data = here.folder / "perf.data"
    trial = [perf, "record", "-o", data, "--", "true"]
    if perf is None or subprocess.run(trial, capture_output=True, check=False).returncode != 0:
        report.progress("perf is missing or may not record here; skipped")
        return
    members = ",".join(str(member) for member in process.tree(wick.process.pid))
    command = [perf, "record", "-q", "-F", "999", "-o", data, "-p", members]
    with scope.visitor(command) as recorder:
        visit.wrk(
            wick, "/page.php?size=9435", 9435, CONNECTIONS, options.seconds, options.visitor_cores
        )
        recorder.terminate()
        recorder.wait()
    shown = scope.run([perf, "report", "--stdio", "--no-children", "-s", "dso,symbol", "-i", data])
    lines = [line for line in shown.splitlines() if re.match(r"\s+\d+\.\d+%", line)]
    report.progress("CPU time of hits by symbol:")
    for line in lines[:40]:
        report.progress(line.rstrip())

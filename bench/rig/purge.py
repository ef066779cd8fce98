"""Purges by tag and by address where many tagged pages are stored, and what the pages'
next visits pay for them.

Each page bears ten tags: its own, and one of each of nine groupings. Varnish is told by
a ban over the field that holds the tags, as plugins tell it, and by `return (purge)`.
CPU time is the server's own, by /proc; a purge's latency is that of one kept connection.
"""

import http.client
import statistics
import time

from rig import process, report, scope, servers, visit

PAGE_BYTES = 100
WALKERS = 16
RULES = """
sub vcl_recv {
    if (req.method == "PURGE") { return (purge); }
    if (req.method == "BAN") {
        ban("obj.http.xkey ~ " + req.http.X-Pattern);
        return (synth(200, "banned"));
    }
}
"""


def measure(options):
    """A thousand purges of each kind, before and after which every page is visited."""
    pages, purges = (5_000, 50) if options.quick else (1_000_000, 1_000)
    found = report.Report()
    lines, by_name = [], {}
    for name in ("Wick", "Varnish"):
        if name == "Wick" and options.wick is None:
            continue
        by_name[name] = one = _trial(name, options, pages, purges)
        report.progress(f"{name}: {one}")
        lines.append([name, *(f"{one[figure]:,.1f}" for figure in FIGURES)])
    found.tables.append(
        report.Table(f"{purges:,} purges among {pages:,} pages", ["server", *FIGURES], lines)
    )
    wick, varnish = by_name.get("Wick"), by_name["Varnish"]
    for figure, least in (("µs a purge by tag", 0.8), ("CPU µs a page visited after", 1.0)):
        ratio = varnish[figure] / wick[figure] if wick else None
        found.judge(f"{figure}, Varnish : Wick", ratio, least)
    return found


FIGURES = (
    "µs a purge by tag",
    "µs a purge by address",
    "CPU µs a page visited before",
    "CPU µs a page visited after",
)


def _trial(name, options, pages, purges):
    with scope.Scope() as here:
        origin = servers.origin(here, options.visitor_cores, is_tagged=True)
        server = _server(name, here, options, origin)
        visit.walk(server, 1, pages, PAGE_BYTES, WALKERS, options.visitor_cores)
        before = _walk(server, options, pages)
        if visit.origin_count(origin) != pages:
            raise scope.Void(f"{name} does not hold {pages:,} pages")
        # Of pages that are not there: each is looked for, and none is found.
        by_tag = _purges(server, purges, lambda n: _by_tag(name, f"page-{pages + n}"))
        after = _walk(server, options, pages)
        if visit.origin_count(origin) != pages:
            raise scope.Void(f"{name} purged what it was not told to")
        by_address = _purges(server, purges, lambda n: ("PURGE", f"/page/{n}/{PAGE_BYTES}", {}))
        _proves(name, server, origin, pages)
        return dict(zip(FIGURES, (by_tag, by_address, before, after), strict=True))


def _server(name, here, options, origin):
    if name == "Varnish":
        return servers.varnish(here, options.server_cores, origin, "4g", RULES)
    site = f"http://{origin.address}"
    return servers.wick(here, options.server_cores, options.wick, site, "4G")


def _by_tag(name, tag):
    if name == "Varnish":
        # A ban is cut at spaces, so there can be none in its pattern.
        return "BAN", "/", {"X-Pattern": rf"(^|\s){tag}(\s|$)"}
    return "PURGEKEYS", "/", {"xkey-purge": tag}


def _walk(server, options, pages):
    """CPU microseconds that a visit of every page takes, one by one."""
    used = process.cpu_seconds(server.process.pid)
    visit.walk(server, 1, pages, PAGE_BYTES, WALKERS, options.visitor_cores)
    return (process.cpu_seconds(server.process.pid) - used) * 1e6 / pages


def _purges(server, count, request):
    """The median of the microseconds that each purge takes until it is answered."""
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    taken = []
    for number in range(1, count + 1):
        method, path, fields = request(number)
        start = time.perf_counter()
        link.request(method, path, headers=fields)
        answer = link.getresponse()
        answer.read()
        taken.append((time.perf_counter() - start) * 1e6)
        if answer.status != 200:
            raise scope.Void(f"{server.name}: {answer.status} for {method} {path}")
    link.close()
    return statistics.median(taken)


def _proves(name, server, origin, pages):
    """Void unless a purge by a tag that many pages bear takes just those."""
    path = f"/page/{pages}/{PAGE_BYTES}"
    visit.fetch(server, path, PAGE_BYTES)
    asked = visit.origin_count(origin)
    _purges(server, 1, lambda _: _by_tag(name, f"g3-{pages % 1003}"))
    visit.fetch(server, path, PAGE_BYTES)
    visit.fetch(server, f"/page/{pages - 1}/{PAGE_BYTES}", PAGE_BYTES)
    if visit.origin_count(origin) != asked + 1:
        raise scope.Void(f"{name} does not purge by tag as it should")

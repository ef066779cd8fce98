"""A page that PHP has to make: what the server in front takes and adds.

Server and php-fpm share one core, as on a small machine: whatever the server takes
is missing for PHP, so throughput tells. Latency is measured one request at a time,
against php-fpm asked directly over FastCGI by the same program.
"""

import os
import socket
import statistics
import time
from itertools import count

from rig import contest, fastcgi, report, scope, servers, visit
from rig.scope import Void

BODY_BYTES = 9435
# No more than php-fpm has children, or kept connections would starve one another.
CONNECTIONS = servers.PHP_CHILDREN


def measure(options):
    """Throughput of misses and the latency they gain, nginx → php-fpm beside Wick."""
    found = report.Report()
    with scope.Scope() as here:
        cores = options.server_cores
        site = servers.php(here, cores)
        nginx = servers.nginx_php(here, cores, site, cached=False)
        pool = site.socket("wick")
        wick = servers.wick(here, cores, options.wick, site.site, "64M", php_socket=pool)
        contestants = [server for server in (wick, nginx) if server]
        held = _throughput(options, site, contestants)
        found.tables.append(held.table(f"Misses, {BODY_BYTES:,} bytes of PHP (CPU without PHP's)"))
        ratio = 1 / held.ratio("Wick", "nginx", "rate") if wick else None
        found.judge("PHP misses a second, Wick : nginx", ratio, 0.97)
        medians = _latency(options, site, contestants)
        direct = medians["php-fpm alone"]
        lines = [
            [name, f"{one:.3f}", f"{one - direct:.3f}" if one != direct else "–"]
            for name, one in medians.items()
        ]
        heads = ["way", "median ms", "added ms"]
        found.tables.append(report.Table("Latency of a miss, one at a time", heads, lines))
        added = medians["Wick"] - direct if wick else None
        figure = "ms that Wick adds to php-fpm's answer"
        found.judge(figure, added, 0.2, "{:.3f}", at_least=False)
    return found


def _throughput(options, site, contestants):
    numbers = count(1, 10_000_000)

    def load(server):
        before = site.count()
        visited = visit.wrk_distinct(
            server,
            f"/page.php?size={BODY_BYTES}&n=",
            BODY_BYTES,
            CONNECTIONS,
            options.seconds,
            options.visitor_cores,
            next(numbers),
        )
        runs = site.count() - before
        # When its time is over, wrk leaves requests under way that PHP has run.
        if not visited.requests <= runs <= visited.requests + 4 * CONNECTIONS:
            raise Void(f"{server.name}: PHP ran {runs} times for {visited.requests} misses")
        return visited

    return contest.hold(contestants, load, options.rounds)


def _latency(options, site, contestants):
    """Median milliseconds by way, the ways taking turns request by request."""
    turns = 200 if options.quick else 3_000
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, options.visitor_cores)
    numbers = count(1)
    try:
        direct = fastcgi.Connection(site.socket("direct"))
        script = site.site / "page.php"
        ways = {"php-fpm alone": lambda uri: direct.request(script, uri).partition(b"\r\n\r\n")[2]}
        for server in contestants:
            ways[server.name] = _Link(server.port).get
        taken = {name: [] for name in ways}
        runs = site.count()
        for _ in range(turns):
            for name, ask in ways.items():
                uri = f"/page.php?size={BODY_BYTES}&n=latency{next(numbers)}"
                start = time.perf_counter()
                body = ask(uri)
                taken[name].append((time.perf_counter() - start) * 1e3)
                if len(body) != BODY_BYTES:
                    raise Void(f"{name}: {len(body)} bytes, not {BODY_BYTES}")
    except OSError as error:
        raise Void(f"latency: {error!r}") from error
    finally:
        os.sched_setaffinity(0, before)
    if site.count() - runs != turns * len(ways):
        raise Void("not every request of the latency run was made by PHP")
    return {name: statistics.median(times) for name, times in taken.items()}


class _Link:
    """One kept connection, read with no more parsing than the direct way needs."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def get(self, uri):
        self.socket.sendall(f"GET {uri} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self._more()
        head, _, body = answer.partition(b"\r\n\r\n")
        lower = head.lower()
        if not lower.startswith(b"http/1.1 200") or b"content-length:" not in lower:
            raise Void(f"unexpected answer: {head[:200]!r}")
        length = int(lower.partition(b"content-length:")[2].split(b"\r\n")[0])
        while len(body) < length:
            body += self._more()
        return body

    def _more(self):
        more = self.socket.recv(65536)
        if not more:
            raise ConnectionError("the server closed the connection")
        return more

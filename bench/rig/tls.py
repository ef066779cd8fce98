"""What TLS 1.3 costs: hits on kept connections, full handshakes, memory of idle connections."""

import contextlib
import dataclasses
import socket
import time

from rig import contest, process, report, scope, servers, visit

CONNECTIONS = 200
CONCURRENCY = 50
BODY_BYTES = 9435
# What is given back a moment after a request is not what an idle connection takes.
IDLE_SECONDS = 3


def measure(options):
    """Wick beside nginx's fastcgi_cache, with one certificate and one cipher."""
    found = report.Report()
    path = f"/page.php?size={BODY_BYTES}"
    with scope.Scope() as here:
        cores = options.server_cores
        site = servers.php(here, cores)
        over = servers.tls(here)
        nginx = servers.nginx_php(here, cores, site, cached=True, over=over)
        contestants = [dataclasses.replace(nginx, port=over.port, scheme="https")]
        if options.wick:
            contestants.insert(0, _wick(here, options, site, "https"))
        visit.warm(contestants, path, BODY_BYTES, site.count)
        _same_cipher(contestants)
        before = site.count()
        _hits(options, found, contestants, path)
        _handshakes(options, found, contestants, path)
        if site.count() != before:
            raise scope.Void("PHP ran while only caches were asked")
    for scheme, most in (("http", 4), ("https", 20)):
        _idle(options, found, scheme, most, path)
    return found


def _wick(here, options, site, scheme):
    over = servers.tls(here)
    wick = servers.wick(
        here, options.server_cores, options.wick, site.site, "256M", 1, site.socket("wick"), over
    )
    port = over.port if scheme == "https" else wick.port
    return dataclasses.replace(wick, port=port, scheme=scheme)


def _same_cipher(contestants):
    ciphers = set()
    for server in contestants:
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as link:
            with visit.anybody().wrap_socket(link) as secured:
                ciphers.add(secured.cipher())
    if len(ciphers) > 1:
        raise scope.Void(f"the servers choose different ciphers: {ciphers}")
    report.progress(f"cipher: {ciphers.pop()[0]}")


def _hits(options, found, contestants, path):
    held = contest.hold(
        contestants,
        lambda server: visit.wrk(
            server, path, BODY_BYTES, CONNECTIONS, options.seconds, options.visitor_cores
        ),
        options.rounds,
    )
    found.tables.append(held.table(f"Hits over TLS 1.3, {BODY_BYTES:,} bytes, {CONNECTIONS} connections"))
    ratio = held.ratio("Wick", "nginx", "cpu_microseconds") if options.wick else None
    found.judge("hits over TLS 1.3 a CPU-second, Wick : nginx", ratio, 1.3)


def _handshakes(options, found, contestants, path):
    requests = 500 if options.quick else 10_000
    held = contest.hold(
        contestants,
        lambda server: visit.ab(
            server, path, BODY_BYTES, requests, CONCURRENCY, options.visitor_cores
        ),
        options.rounds,
    )
    found.tables.append(held.table("A full handshake (P-256) and a page a connection"))
    ratio = held.ratio("Wick", "nginx", "cpu_microseconds") if options.wick else None
    found.judge("full handshakes a CPU-second, Wick : nginx", ratio, 1.0)


def _idle(options, found, scheme, most, path):
    """Resident bytes that each connection adds that has had an answer and rests, of a server
    that has done nothing else."""
    connections = 200 if options.quick else 4_000
    figure = f"kB of an idle connection, {scheme.upper()}/1.1, of {connections:,}"
    if options.wick is None:
        found.judge(figure, None, most, "{:.1f}", at_least=False)
        return
    with scope.Scope() as here:
        site = servers.php(here, options.server_cores)
        server = _wick(here, options, site, scheme)
        visit.warm([server], path, BODY_BYTES, site.count)
        before = process.resident_bytes(server.process.pid)
        with contextlib.ExitStack() as stack:
            for _ in range(connections):
                _rest(stack, server, path)
            time.sleep(IDLE_SECONDS)
            added = process.resident_bytes(server.process.pid) - before
        found.judge(figure, added / connections / 1000, most, "{:.1f}", at_least=False)


def _rest(stack, server, path):
    link = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
    if server.scheme == "https":
        link = stack.enter_context(visit.anybody().wrap_socket(link))
    link.sendall(f"GET {path} HTTP/1.1\r\nHost: {server.address}\r\n\r\n".encode())
    answer = b""
    while len(answer.partition(b"\r\n\r\n")[2]) < BODY_BYTES:
        piece = link.recv(65536)
        if not piece:
            raise scope.Void(f"{server.name} closed a connection that was to rest")
        answer += piece

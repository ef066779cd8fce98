"""The visitors: wrk, ab, h2load, crowds and walks, and what their output says.

A visit that saw anything but the expected answers is Void.
"""

import contextlib
import http.client
import re
import ssl
import time
from dataclasses import dataclass
from pathlib import Path

from rig import machine, scope, servers
from rig.scope import Void


@dataclass
class Visit:
    """What a load generator got done."""

    requests: int
    seconds: float


def _link(server):
    if server.scheme == "https":
        return http.client.HTTPSConnection(
            "127.0.0.1", server.port, timeout=30, context=anybody()
        )
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)


def anybody():
    """TLS 1.3 with whoever is there: the certificate is the bench's own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


def fetch(server, path, body_bytes=None):
    """One answer over a connection of its own: its body, checked for its length."""
    with contextlib.closing(_link(server)) as link:
        try:
            link.request("GET", path)
            answer = link.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise Void(f"{server.name} {path}: {error!r}\n{scope.log_end(server.process)}") from error
    if answer.status != 200:
        raise Void(f"{server.name} {path}: {answer.status}\n{scope.log_end(server.process)}")
    if body_bytes is not None and len(body) != body_bytes:
        raise Void(f"{server.name} {path}: {len(body)} bytes, not {body_bytes}")
    if body_bytes is not None and answer.headers.get("Content-Length") != str(body_bytes):
        raise Void(f"{server.name} {path}: no right Content-Length")
    return body


def status(server, path):
    """What `Cache-Status` says of one answer."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as link:
        link.request("GET", path)
        answer = link.getresponse()
        answer.read()
        return answer.headers.get("Cache-Status", "")


def warm(contestants, path, body_bytes, count):
    """Has every server hold the page: from the third answer on, `count()` stands still. The
    page's body; `body_bytes` is the length that it has to tell, if any."""
    bodies = set()
    for server in contestants:
        for _ in range(2):
            fetch(server, path, body_bytes)
        before = count()
        for _ in range(3):
            bodies.add(fetch(server, path, body_bytes))
        if count() != before:
            raise Void(f"{server.name} does not answer {path} from its cache")
    if len(bodies) > 1:
        raise Void(f"the servers' copies of {path} differ")
    return next(iter(bodies), None)


def wrk(server, path, body_bytes, connections, seconds, cores, threads=1):
    """Keep-alive connections that ask for one page again and again."""
    script = servers.BENCH / "wrk" / "report.lua"
    return _wrk(server, path, body_bytes, connections, seconds, cores, threads, script)


def wrk_distinct(server, path, body_bytes, connections, seconds, cores, first):
    """The same, but each request appends a new number to `path`, from `first` on."""
    script = servers.BENCH / "wrk" / "distinct.lua"
    return _wrk(server, path, body_bytes, connections, seconds, cores, 1, script, first)


def _wrk(server, path, body_bytes, connections, seconds, cores, threads, script, *arguments):
    command = [machine.program("wrk"), f"-t{threads}", f"-c{connections}", f"-d{seconds}s"]
    command += ["--timeout", "10s", "-s", script, f"{server.url}{path}", "--"]
    output = scope.run([*command, *arguments], cores)
    line = re.search(r"^wick-bench (.+)$", output, re.MULTILINE)
    if line is None:
        raise Void(f"wrk said nothing that can be read:\n{output}")
    said = {key: int(value) for key, value in (word.split("=") for word in line[1].split())}
    if said["errors"] or not said["requests"]:
        raise Void(f"{server.name}: {said['errors']} of wrk's requests failed:\n{output}")
    if said["bytes"] < said["requests"] * body_bytes:
        raise Void(f"{server.name}: answers under wrk are shorter than {body_bytes} bytes")
    return Visit(said["requests"], said["microseconds"] / 1e6)


def h2load(server, path, body_bytes, connections, streams, seconds, cores):
    """HTTP/2 in clear text: on each connection so many requests for one page at a time."""
    command = [machine.program("h2load"), "-t", 1, "-c", connections, "-m", streams]
    command += ["-D", seconds, f"http://{server.address}{path}"]
    output = scope.run(command, cores)
    counted = re.search(r"^requests: (\d+) total, .* (\d+) succeeded, (.+)$", output, re.MULTILINE)
    traffic = re.search(r"\((\d+)\) data$", output, re.MULTILINE)
    if counted is None or traffic is None:
        raise Void(f"h2load said nothing that can be read:\n{output}")
    succeeded, others = int(counted[2]), counted[3]
    if not succeeded or not re.fullmatch(r"0 failed, 0 errored, 0 timeout", others):
        raise Void(f"{server.name}: some of h2load's requests failed:\n{output}")
    if "Application protocol: h2c" not in output:
        raise Void(f"{server.name}: that was not HTTP/2 in clear text:\n{output}")
    if int(traffic[1]) < succeeded * body_bytes:
        raise Void(f"{server.name}: answers under h2load are shorter than {body_bytes} bytes")
    return Visit(succeeded, seconds)


def quic(server, path, body_bytes, connections, streams, seconds, cores):
    """HTTP/3: on each connection so many requests for one page at a time."""
    command = [servers.quic_program(), server.address, path, body_bytes, connections, streams]
    try:
        output = scope.run([*command, seconds], cores)
    except Void as failed:
        raise Void(f"{server.name}: {failed}\n{scope.log_end(server.process)}") from failed
    counted = re.search(r"^(\d+) requests in ([\d.]+) s$", output, re.MULTILINE)
    if counted is None or not int(counted[1]):
        raise Void(f"{server.name}: no answers over HTTP/3:\n{output}")
    return Visit(int(counted[1]), float(counted[2]))


def ab(server, path, body_bytes, requests, concurrency, cores):
    """A connection for each request."""
    command = [machine.program("ab"), "-q", "-r", "-n", requests, "-c", concurrency]
    output = scope.run([*command, f"{server.url}{path}"], cores)

    def figure(label):
        found = re.search(rf"^{label}:\s+([\d.]+)", output, re.MULTILINE)
        return float(found[1]) if found else 0.0

    good = (
        figure("Complete requests") == requests
        and figure("Failed requests") == 0
        and figure("Non-2xx responses") == 0
        and figure("Document Length") == body_bytes
    )
    if not good:
        raise Void(f"{server.name}: ab saw wrong answers:\n{output}")
    return Visit(requests, figure("Time taken for tests"))


def walk(server, first, last, sizes, connections, cores):
    """Reads each page of a range once and checks it; gives (pages, their bytes)."""
    command = [servers.epoll_program(), "walk", server.address, first, last, sizes, connections]
    try:
        output = scope.run(command, cores, seconds_max=1800)
    except Void as failed:
        raise Void(f"{server.name}: {failed}\n{scope.log_end(server.process)}") from failed
    pages, body_bytes = re.search(r"pages (\d+) bytes (\d+)", output).groups()
    if int(pages) != last - first + 1:
        raise Void(f"{server.name}: walked {pages} pages of {last - first + 1}")
    return int(pages), int(body_bytes)


def origin_count(origin):
    """How many pages the origin was asked for."""
    return int(fetch(origin, "/-/count"))


def crowd(server, origin, path, body_bytes, visitors, cores):
    """All at once for one page that its origin holds back until all requests are
    read (or half a minute is over). Gives how many were read by then, and the
    seconds from the origin's answer to the last visitor's."""
    command = [servers.epoll_program(), "crowd", server.address, path, body_bytes, visitors]
    with scope.visitor(command, cores) as child:
        if child.stdout.readline().strip() != "asked":
            raise Void(f"{server.name}: the crowd could not gather: {child.stdout.read()}")
        read = 0
        deadline = time.monotonic() + 30
        while read < visitors and time.monotonic() < deadline:
            time.sleep(0.1)
            read = _requests_read(server.port)
        opened = time.monotonic()
        fetch(origin, "/-/open")
        try:
            output, _ = child.communicate(timeout=120)
        except Exception as slow:
            raise Void(f"{server.name}: some of the crowd had no answer in 120 s") from slow
        if child.returncode != 0:
            raise Void(f"{server.name}: {output.strip()}")
    return read, time.monotonic() - opened


def _requests_read(port):
    """Connections at `port` that stand and have nothing unread."""
    read = 0
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        local_port = int(fields[1].partition(":")[2], 16)
        established, unread = fields[3] == "01", fields[4].partition(":")[2]
        read += local_port == port and established and int(unread, 16) == 0
    return read

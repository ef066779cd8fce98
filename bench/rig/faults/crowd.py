"""Strangers who ask at a steady rate and count what fails: a program of its own.

    crowd.py '{"port": 8080, "rate": 5000, …}'    words on standard input, figures on standard output

`mark NAME` begins a phase, `end` ends it all; the figures of each phase are printed as JSON.
A request is asked when it is due, or as soon as a connection is free: its time counts
from when it was due, so that a pause of the server is seen by all who would have come.

Failed is what a browser would show: another status than 200, the wrong page, an answer that
breaks off, or none. A request that the server says it has not looked at (HTTP/2, RFC 9113
§8.7) is asked again, and so is none over HTTP/1.1.
"""

import collections
import json
import os
import selectors
import socket
import ssl
import struct
import sys
import time

PAGES = 20
REPLY_SECONDS_MAX = 20
RETRY_SECONDS = 0.02
FRAME = struct.Struct(">IBI")
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, AWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
REFUSED_STREAM = 7


class Phase:
    """What came of the requests that were due in one phase."""

    def __init__(self):
        self.began = self.last_good = time.monotonic()
        self.gap = 0.0
        self.asked = 0
        self.failed = collections.Counter()
        self.times = {"hit": [], "miss": []}

    def good(self, kind, due, now):
        self.times[kind].append(now - due)
        self.gap = max(self.gap, now - self.last_good)
        self.last_good = now

    def figures(self):
        seconds = time.monotonic() - self.began
        found = {"asked": self.asked, "failed": dict(self.failed), "seconds": seconds}
        found["gap"] = self.gap
        for kind, times in self.times.items():
            times.sort()
            at = lambda share: times[min(int(len(times) * share), len(times) - 1)] if times else None
            found[kind] = {"answered": len(times), "p50": at(0.5), "p99": at(0.99), "most": at(1)}
        return found


class Request:
    """One page that is wanted."""

    def __init__(self, number, due, phase, asked):
        every = asked["misses_every"]
        is_miss = every and number % every == 0
        self.kind = "miss" if is_miss else "hit"
        place = f"new/{os.getpid()}/{number}" if is_miss else f"{asked.get('hits', 'page')}/{number % PAGES}"
        self.path = f"{asked.get('prefix', '')}/{place}"
        self.due, self.phase = due, phase


class Http1:
    """One kept connection of HTTP/1.1."""

    room = 1

    def __init__(self, crowd):
        self.crowd, self.request, self.input = crowd, None, b""
        self.socket = crowd.connect()
        self.is_leaving = False

    def ask(self, request):
        self.request, self.asked, self.room = request, time.monotonic(), 0
        text = f"GET {request.path} HTTP/1.1\r\nHost: a.test\r\n{self.crowd.fields}\r\n"
        self.socket.send(text.encode())

    def read(self):
        """Takes what is there; false when the connection is over."""
        more = self.socket.recv(65536)
        if not more:
            self.lose("closed")
            return False
        self.input += more
        head, found, body = self.input.partition(b"\r\n\r\n")
        if not found or self.request is None:
            return self.request is not None
        lower = head.lower()
        at = lower.find(b"content-length:")
        if at < 0:
            self.lose("no length")
            return False
        length = int(lower[at + 15 :].split(b"\r\n", 1)[0])
        if len(body) < length:
            return True
        self.crowd.answered(self.request, lower[9:12].decode(), body[:length])
        self.request, self.input, self.room = None, b"", 1
        return b"connection: close" not in lower

    def lose(self, why):
        if self.request is not None:
            self.crowd.fail(self.request, why)
            self.request = None

    def late(self, now):
        return self.request is not None and now - self.asked > REPLY_SECONDS_MAX


class Http2:
    """One connection of HTTP/2 over TLS; heads by RFC 7541 without a table."""

    STREAMS = 20

    def __init__(self, crowd):
        self.crowd, self.input, self.next, self.streams = crowd, b"", 1, {}
        self.socket = crowd.connect()
        window = FRAME.pack(4 << 8 | WINDOW, 0, 0) + struct.pack(">I", 1 << 30)
        self.socket.sendall(PREFACE + FRAME.pack(SETTINGS, 0, 0) + window)
        self.is_leaving, self.asked = False, time.monotonic()

    @property
    def room(self):
        return 0 if self.is_leaving else self.STREAMS - len(self.streams)

    def ask(self, request):
        path = request.path.encode()
        head = b"\x82\x87\x01\x06a.test\x04" + bytes([len(path)]) + path
        frame = FRAME.pack(len(head) << 8 | HEADERS, END_STREAM | END_HEADERS, self.next)
        self.streams[self.next] = [request, None, b""]
        self.next, self.asked = self.next + 2, time.monotonic()
        self.socket.send(frame + head)

    def read(self):
        end = None
        while True:
            try:
                more = self.socket.recv(65536)
            except ssl.SSLWantReadError:
                break
            except OSError as error:
                end = type(error).__name__
                break
            if not more:
                end = "closed"
                break
            self.input += more
        while len(self.input) >= 9:
            first, flags, stream = FRAME.unpack_from(self.input)
            length, kind = first >> 8, first & 0xFF
            if len(self.input) < 9 + length:
                break
            body, self.input = self.input[9 : 9 + length], self.input[9 + length :]
            self.take(kind, flags, stream, body)
        # What came before the end is good.
        if end:
            self.lose(end)
            return False
        return bool(self.streams) or not self.is_leaving

    def take(self, kind, flags, stream, body):
        entry = self.streams.get(stream)
        if kind == PING and not flags & ACK:
            self.socket.send(FRAME.pack(8 << 8 | PING, ACK, 0) + body)
        elif kind == SETTINGS and not flags & ACK:
            self.socket.send(FRAME.pack(SETTINGS, ACK, 0))
        elif kind == AWAY:
            self.is_leaving = True
            last = struct.unpack_from(">I", body)[0] & 0x7FFFFFFF
            for number in [number for number in self.streams if number > last]:
                self.crowd.again(self.streams.pop(number)[0])
        elif kind == RESET and entry:
            request = self.streams.pop(stream)[0]
            code = struct.unpack(">I", body)[0]
            if code == REFUSED_STREAM:
                self.crowd.again(request)
            else:
                self.crowd.fail(request, f"reset {code}")
        elif kind == HEADERS and entry:
            entry[1] = entry[1] or status(body)
        elif kind == DATA and entry:
            entry[2] += body
        if kind in (HEADERS, DATA) and flags & END_STREAM and entry:
            request, told, page = self.streams.pop(stream)
            self.crowd.answered(request, told, page)

    def lose(self, why):
        for request, *_ in self.streams.values():
            self.crowd.fail(request, why)
        self.streams = {}

    def late(self, now):
        return bool(self.streams) and now - self.asked > REPLY_SECONDS_MAX


def status(block):
    """The status that stands first in a head: 200 has a byte of its own."""
    while block and 0x20 <= block[0] < 0x40:
        block = block[1:]
    return "200" if block[:1] == b"\x88" else "not 200"


class Crowd:
    """All connections, and the requests that are due."""

    def __init__(self, options):
        self.port, self.rate = options["port"], options["rate"]
        self.most, self.asked = options["connections"], options
        self.kind = Http2 if options["is_http2"] else Http1
        self.fields = "".join(f"{line}\r\n" for line in options.get("fields", []))
        self.tls = None
        if options["is_http2"]:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            self.tls.check_hostname, self.tls.verify_mode = False, ssl.CERT_NONE
            self.tls.set_alpn_protocols(["h2"])
        self.phases = {}
        self.phase = None
        self.waiting = collections.deque()
        self.links = set()
        self.resting_until = 0.0
        self.selector = selectors.EpollSelector()

    def connect(self):
        link = socket.create_connection(("127.0.0.1", self.port), timeout=5)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls:
            link = self.tls.wrap_socket(link, server_hostname="a.test")
            if link.selected_alpn_protocol() != "h2":
                raise OSError("no HTTP/2")
        link.setblocking(False)
        return link

    def again(self, request):
        self.waiting.appendleft(request)

    def fail(self, request, why):
        request.phase.failed[why] += 1

    def answered(self, request, told, page):
        if told != "200":
            self.fail(request, told)
        elif page.split(b"\n", 1)[0] != request.path.encode():
            self.fail(request, "wrong page")
        else:
            request.phase.good(request.kind, request.due, time.monotonic())

    def drop(self, link):
        self.links.discard(link)
        self.selector.unregister(link.socket)
        link.socket.close()

    def hear(self, words):
        for word in words.split("\n"):
            if word.startswith("mark "):
                self.phase = self.phases.setdefault(word[5:], Phase())
        return "end" not in words.split("\n")

    def run(self):
        os.set_blocking(0, False)
        self.selector.register(0, selectors.EVENT_READ, None)
        asked, began = 0, time.monotonic()
        while True:
            for key, _ in self.selector.select(0.001):
                if key.data is None:
                    words = os.read(0, 4096).decode()
                    if not words or not self.hear(words):
                        return
                    continue
                self.serve(key.data)
            now = time.monotonic()
            if self.phase is None:
                began, asked = now, 0
                continue
            due = int((now - began) * self.rate)
            for number in range(asked, due):
                when = began + number / self.rate
                self.waiting.append(Request(number, when, self.phase, self.asked))
            asked = due
            self.send(now)
            for link in [link for link in self.links if link.late(now)]:
                link.lose("no answer")
                self.drop(link)

    def serve(self, link):
        try:
            is_open = link.read()
        except (ssl.SSLWantReadError, BlockingIOError):
            return
        except OSError as error:
            link.lose(type(error).__name__)
            is_open = False
        if not is_open:
            self.drop(link)

    def send(self, now):
        free = [link for link in self.links if link.room > 0]
        while self.waiting:
            if not free:
                if len(self.links) >= self.most or now < self.resting_until:
                    # Nobody can be reached at all: what is due meets that.
                    while not self.links and self.waiting:
                        self.refused(self.waiting.popleft(), "refused")
                    return
                try:
                    link = self.kind(self)
                except OSError as error:
                    self.resting_until = now + RETRY_SECONDS
                    self.refused(self.waiting.popleft(), type(error).__name__)
                    continue
                self.links.add(link)
                self.selector.register(link.socket, selectors.EVENT_READ, link)
                free.append(link)
            link = free[-1]
            request = self.waiting.popleft()
            request.phase.asked += 1
            try:
                link.ask(request)
            except OSError as error:
                if not isinstance(link, Http2):
                    link.request = request
                link.lose(type(error).__name__)
                self.drop(link)
                free.pop()
                continue
            if link.room <= 0:
                free.pop()

    def refused(self, request, why):
        request.phase.asked += 1
        self.fail(request, why)


if __name__ == "__main__":
    crowd = Crowd(json.loads(sys.argv[1]))
    try:
        crowd.run()
    except KeyboardInterrupt:
        sys.exit(130)
    print(json.dumps({name: phase.figures() for name, phase in crowd.phases.items()}))

"""Clients who hold connections and hardly go on: a program of its own.

    holders.py '{"port": 8080, "kind": "head", "count": 10000}'

`head` sends a request's head byte by byte, `body` a request's body, `reader` takes a large
answer that way. Who is let go comes again. It says `held` once all were there, and on `end`
what became of them.
"""

import collections
import json
import os
import random
import selectors
import socket
import sys
import time

DRIP_SECONDS = 10
OPENINGS_AT_ONCE = 50
#: Who was let go comes again at this rate: they hold on, and don't storm.
COMING_AGAIN_A_SECOND = 50
STARTS = {
    "head": b"GET / HTTP/1.1\r\nHost: a.test\r\nX-Slow: ",
    "body": b"POST /write HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 203.0.113.7\r\n"
    b"Content-Length: 100000\r\n\r\n",
    "reader": b"GET /large-4000000 HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 203.0.113.7\r\n\r\n",
}


class Holders:
    """All of them."""

    def __init__(self, port, kind, count):
        self.port, self.kind, self.count = port, kind, count
        self.selector = selectors.EpollSelector()
        self.due = {}
        self.came = collections.Counter()
        self.most = 0

    def open(self):
        link = socket.socket()
        if self.kind == "reader":
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        link.settimeout(5)
        try:
            link.connect(("127.0.0.1", self.port))
            link.send(STARTS[self.kind])
        except OSError as error:
            self.came[type(error).__name__] += 1
            link.close()
            return False
        link.setblocking(False)
        # Readers don't look at what comes before their time.
        if self.kind != "reader":
            self.selector.register(link, selectors.EVENT_READ, link)
        self.due[link] = time.monotonic() + random.uniform(0, DRIP_SECONDS)
        self.most = max(self.most, len(self.due))
        return True

    def close(self, link, why):
        self.came[why] += 1
        if self.kind != "reader":
            self.selector.unregister(link)
        self.due.pop(link)
        link.close()

    def read(self, link, bytes_most):
        try:
            text = link.recv(bytes_most)
        except BlockingIOError:
            return
        except OSError:
            text = b""
        if not text:
            self.close(link, "let go")
        elif self.kind != "reader":
            self.close(link, f"answered {text[9:12].decode(errors='replace')}")

    def drip(self, link, now):
        self.due[link] = now + DRIP_SECONDS
        if self.kind == "reader":
            self.read(link, 512)
            return
        try:
            link.send(b"x")
        except OSError:
            self.close(link, "let go")

    def run(self):
        self.selector.register(0, selectors.EVENT_READ, None)
        is_told, looked, began, again, opened = False, 0.0, 0.0, 0, 0
        while True:
            for key, _ in self.selector.select(0.02):
                if key.data is None:
                    os.read(0, 100)
                    return
                self.read(key.data, 65536)
            now = time.monotonic()
            room = int((now - began) * COMING_AGAIN_A_SECOND) - again if is_told else OPENINGS_AT_ONCE
            for _ in range(min(room, self.count - len(self.due))):
                again, opened = again + is_told, opened + 1
                if not self.open():
                    break
            # Those who are answered at once never hold on all together.
            if not is_told and (len(self.due) >= self.count or opened >= 2 * self.count):
                print("held", flush=True)
                is_told, began, again = True, now, 0
            if now - looked > 0.1:
                looked = now
                for link in [link for link, due in self.due.items() if due <= now]:
                    self.drip(link, now)


if __name__ == "__main__":
    options = json.loads(sys.argv[1])
    holders = Holders(options["port"], options["kind"], options["count"])
    try:
        holders.run()
    except KeyboardInterrupt:
        sys.exit(130)
    print(json.dumps({"most": holders.most, **holders.came}))

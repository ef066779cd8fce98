"""How long a page takes from its first visitor to whoever searches for it.

A site of which Wick knows nothing: each page is visited once, at uneven moments, and a search asks
for the one word that is on no other page, again and again until it is found.
"""

import http.client
import json
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rig import scope, servers
from rig.visit import fetch

PATIENCE_SECONDS = 30


def measure(found, options, some):
    """The time of 99 in a hundred pages, which bear the texts of `some`."""
    count = 20 if options.quick else 500
    origin = _origin(some)
    try:
        with scope.Scope() as here:
            more = ["search = true", "search_crawl = false"]
            site = f"http://127.0.0.1:{origin.server_port}"
            server = servers.wick(here, options.server_cores, options.wick, site, "64M", more=more)
            taken = sorted(_taken(server, count))
    finally:
        origin.shutdown()
    nearly_all = taken[(len(taken) - 1) * 99 // 100]
    title = f"s from a visit to a search, 99 % of {count} pages"
    found.judge(title, nearly_all, 1.0, "{:.2f}", at_least=False)


def _origin(some):
    class Pages(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            number = self.path.rpartition("/")[2]
            is_page = number.isdigit()
            text = some[int(number) % len(some)].text if is_page else ""
            body = f"<!doctype html><title>Page {number}</title><h1>{_word(number)}</h1><p>{text}</p>"
            body = body.encode()
            self.send_response(200 if is_page else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Cache-Control", "max-age=3600")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def _word(number):
    return f"quillwort{number}"


def _taken(server, count):
    """Seconds of each page."""
    dice = random.Random(5)
    visited = {}
    taken = []

    def visit():
        for number in range(count):
            fetch(server, f"/page/{number}")
            visited[number] = time.monotonic()
            time.sleep(dice.expovariate(25))

    visitor = threading.Thread(target=visit, daemon=True)
    visitor.start()
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    while visitor.is_alive() or visited:
        for number in list(visited):
            link.request("GET", f"/search.json?q={_word(number)}")
            answer = link.getresponse()
            told = answer.read()
            if answer.status != 200:
                raise scope.Void(f"the search answers {answer.status}")
            passed = time.monotonic() - visited[number]
            # What isn't found at once may be told beside other hits.
            if any(hit["url"].endswith(f"/page/{number}") for hit in json.loads(told)["hits"]):
                taken.append(passed)
                del visited[number]
            elif passed > PATIENCE_SECONDS:
                raise scope.Void(f"page {number} is not found in {PATIENCE_SECONDS} s")
        time.sleep(0.005)
    if len(taken) != count:
        raise scope.Void(f"{len(taken)} of {count} pages were visited")
    return taken

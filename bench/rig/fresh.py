"""How long a page takes from its first visitor to whoever searches for it.

A site of which Wick knows nothing: each page is visited once, at uneven moments, and a search asks
for the one word that is on no other page, again and again until it is found.
"""

import http.client
import json
import random
import threading
import time

from rig import numbered_pages, scope, servers
from rig.visit import fetch

PATIENCE_SECONDS = 30


def measure(found, options, some):
    """The time of 99 in a hundred pages, which bear the texts of `some`."""
    count = 20 if options.quick else 500
    with scope.Scope() as here, numbered_pages.origin(some) as site:
        more = ["search = true", "search_crawl = false"]
        server = servers.wick(here, options.server_cores, options.wick, site, "64M", more=more)
        taken = sorted(_taken(server, count))
    nearly_all = taken[(len(taken) - 1) * 99 // 100]
    title = f"s from a visit to a search, 99 % of {count} pages"
    found.judge(title, nearly_all, 1.0, "{:.2f}", at_least=False)


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
            link.request("GET", f"/search.json?q={numbered_pages.word(number)}")
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

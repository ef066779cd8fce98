"""What a site's search takes of memory: RssAnon of a Wick with `search = true` and 100,000 pages.

Once with rows of a file (JSON lines), of which nothing is stored; once with pages that are visited,
less what a Wick without a search takes for the same visits. M is 10^6 bytes.
"""

import http.client
import json
import time

from rig import numbered_pages, pages, process, report, scope, servers

PATIENCE_SECONDS = 1800
STORE = "16M"
# So many wait in Wick's queue before it sheds.
AT_ONCE = 500
M = 1e6


def measure(found, options, some):
    """Two rows, each of the most that was seen and of what is left."""
    count = 2000 if options.quick else 100_000
    for what, seen in (("rows", _rows(options, some, count)), ("pages", _pages(options, some, count))):
        for when, size in zip(("at most", "in the end"), seen, strict=True):
            title = f"M of anonymous memory for a site's search with {count:,} {what}, {when}"
            found.judge(title, size / M, 32.0, "{:.1f}", at_least=False)


def _rows(options, some, count):
    with scope.Scope() as here:
        file = here.folder / "rows.jsonl"
        with file.open("w") as out:
            for page in pages.more(some, count):
                row = {"address": f"/row/{page.id}", "title": page.title, "text": page.text}
                out.write(json.dumps({**row, "language": page.language, "public": True}) + "\n")
        more = ["search = true", "search_crawl = false"]
        more += ["[[site.search_source]]", f'file = "{file}"', 'every = "1h"']
        with numbered_pages.origin(some) as origin:
            server = servers.wick(here, options.server_cores, options.wick, origin, STORE, more=more)
            return _until(here, options, server, "rows_put", count)


def _pages(options, some, count):
    """With a search, less without one."""
    seen = []
    for more in (["search = true", "search_crawl = false"], []):
        with scope.Scope() as here, numbered_pages.origin(some) as origin:
            server = servers.wick(here, options.server_cores, options.wick, origin, STORE, more=more)
            most = 0
            for first in range(0, count, AT_ONCE):
                _visit(server, range(first, min(first + AT_ONCE, count)))
                if more:
                    most = max(most, _until(here, options, server, "pages_read", first + AT_ONCE, count)[0])
            report.progress(f"{count:,} pages visited, {'with' if more else 'without'} a search")
            left = _calm(server)
            seen.append((max(most, left), left))
    (most, left), (_, without) = seen
    return most - without, left - without


def _visit(server, numbers):
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for number in numbers:
        link.request("GET", f"/page/{number}")
        answer = link.getresponse()
        answer.read()
        if answer.status != 200:
            raise scope.Void(f"/page/{number}: {answer.status}")
    link.close()


def _counter(here, options, server, name):
    state = here.folder / f"wick-state-{server.port}"
    told = scope.run([options.wick, "search", "--state", state, "--json", "status"])
    return json.loads(told)[0]["counters"][name]


def _until(here, options, server, name, wanted, most=None):
    """The most memory that was seen until a counter had come so far, and what is left then."""
    wanted = min(wanted, most or wanted)
    peak, deadline = 0, time.monotonic() + PATIENCE_SECONDS
    look = 0.0
    while time.monotonic() < deadline:
        peak = max(peak, process.anonymous_bytes(server.process.pid))
        if time.monotonic() >= look:
            if _counter(here, options, server, name) >= wanted:
                left = _calm(server) if most is None else peak
                return max(peak, left), left
            look = time.monotonic() + 0.5
        time.sleep(0.02)
    raise scope.Void(f"{name} doesn't come to {wanted:,}\n{scope.log_end(server.process)}")


def _calm(server):
    """What it has once nothing is done any more."""
    spent, since = None, time.monotonic()
    while time.monotonic() - since < 3.0:
        now = process.cpu_seconds(server.process.pid)
        # It looks at its clocks now and then.
        if spent is None or now - spent > 0.05:
            spent, since = now, time.monotonic()
        time.sleep(0.1)
    return process.anonymous_bytes(server.process.pid)

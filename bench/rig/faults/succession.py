"""One Wick after another, at full speed: reloads, upgrades, and an end without a word."""

import os
import signal
import time

from rig import scope, servers
from rig.faults import stage
from rig.faults.stage import Stage

RULES = ('stale_if_error = "1h"', 'stale_if_error = "2h"\nheuristic = false')


def reloads(options):
    """Other settings come into force again and again."""
    count = 5 if options.quick else 100

    def act(on):
        for number in range(count):
            on.write(site=RULES[number % 2])
            on.order("reload")

    return _trial(options, f"`wick reload` × {count}", "other rules each time", act)


def upgrades(options):
    """Another process takes the place of this one, again and again."""
    return _trial(options, f"`wick upgrade` × {_upgrades(options)}", "HTTP/1.1, kept connections", _upgrade)


def upgrades_http2(options):
    """The same over TLS, many requests at once on each connection."""
    done = "TLS 1.3 and HTTP/2, 20 requests at once on a connection"
    title = f"`wick upgrade` × {_upgrades(options)}"
    return _trial(options, title, done, _upgrade, is_http2=True)


def _upgrades(options):
    return 2 if options.quick else 20


def _upgrade(on):
    for _ in range(_upgrades(on.options)):
        on.order("upgrade")


def _trial(options, fault, done, act, is_http2=False):
    with scope.Scope() as here:
        on = Stage(here, options, site=RULES[0], over=servers.tls(here) if is_http2 else None)
        on.begin()
        on.gather(connections=10 if is_http2 else 50)
        on.mark("during")
        began = time.monotonic()
        act(on)
        seconds = time.monotonic() - began
        time.sleep(1)
        figures = on.part()
        during = figures["during"]
        meanwhile = on.must_answer(during)
        rate = during["asked"] / during["seconds"]
        return on.found(
            fault,
            f"{done}; {seconds:.1f} s",
            f"{meanwhile} ({rate:,.0f}/s)",
            (figures["before"], during),
            "0 failed",
        )


def killed(options):
    """kill -9, and the start after it."""
    with scope.Scope() as here:
        on = Stage(here, options)
        on.begin()
        on.gather()
        on.mark("during")
        began = time.monotonic()
        os.kill(on.pid, signal.SIGKILL)
        on.wick.wait()
        on.start()
        on.until("an answer", lambda: on.fetch()[0] == 200)
        down = time.monotonic() - began
        # Who came while it was down has heard so by then.
        time.sleep(0.2)
        on.mark("after", options.seconds)
        figures = on.part()
        failed, ways = stage.failures(figures["during"])
        after = on.must_answer(figures["after"], "failed when it served again")
        return on.found(
            "`kill -9`, and a start",
            f"down for {down * 1e3:,.0f} ms",
            f"{failed:,} failed while it was down ({ways}), {after} after",
            (figures["before"], figures["after"]),
            "0 failed once it serves",
        )


TRIALS = (reloads, upgrades, upgrades_http2, killed)

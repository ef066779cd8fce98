"""One Wick after another, at full speed: reloads, upgrades, and an end without a word."""

import os
import signal
import time

from rig import scope, servers
from rig.faults import stage
from rig.faults.stage import Found, Stage

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
        said = on.end()
        before, during = figures["before"], figures["during"]
        failed, ways = stage.failures(during)
        if failed:
            on.broken.append(f"{failed:,} requests failed: {ways}")
        rate = during["asked"] / during["seconds"]
        return Found(
            fault,
            f"{done}; {seconds:.1f} s",
            f"{failed:,} of {during['asked']:,} failed ({rate:,.0f}/s)",
            stage.milliseconds(before),
            stage.milliseconds(during),
            said,
            "0 failed",
            on.broken,
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
        said = on.end()
        during, after = figures["during"], figures["after"]
        failed, ways = stage.failures(during)
        failed_after, ways_after = stage.failures(after)
        if failed_after:
            on.broken.append(f"{failed_after:,} failed when it served again: {ways_after}")
        return Found(
            "`kill -9`, and a start",
            f"down for {down * 1e3:,.0f} ms",
            f"{failed:,} failed while it was down ({ways}), {failed_after:,} of {after['asked']:,} after",
            stage.milliseconds(figures["before"]),
            stage.milliseconds(after),
            said,
            "0 failed once it serves",
            on.broken,
        )


TRIALS = (reloads, upgrades, upgrades_http2, killed)

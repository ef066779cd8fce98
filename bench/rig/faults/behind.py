"""What stands behind Wick fails: in every way that an HTTP origin can, and php-fpm's end."""

import contextlib
import os
import signal
import time
from pathlib import Path

from rig import process, scope
from rig.faults import stage
from rig.faults.stage import Stage

#: What a visitor may be told when a page can't be had.
CLEAR = {"502", "503", "504"}
IMPATIENT = 'connect_timeout = "1s"\nfirst_byte_timeout = "1s"\norigin_idle_timeout = "1s"\n'
PAGE = (
    "<?php header('Cache-Control: max-age=' . (str_contains($_SERVER['REQUEST_URI'], '/new/')"
    " ? 600 : 1)); echo $_SERVER['REQUEST_URI'], \"\\n\", str_repeat('x', 2000);"
)


def flapping_stored(options):
    """Stale pages are at hand, and may stand in."""
    return _flap(options, "with stored pages", misses_every=0)


def flapping_missing(options):
    """Nobody has the pages that are asked for."""
    return _flap(options, "without", misses_every=1)


def _flap(options, what, misses_every):
    ways = ("refuse", "reset", "hang", "break", "garbage", "drip")
    with scope.Scope() as here:
        site = IMPATIENT + 'stale_if_error = "1h"\nstrangers = false'
        on = Stage(here, options, site=site)
        on.begin()
        on.gather(rate=500, connections=200, misses_every=misses_every, hits="short")
        became = []
        for way in ways:
            stage.tell(on.origin, f"mode {way}")
            on.mark(way, max(options.seconds, 2))
            # What was asked for by then has its answer, and none of it is of the next way.
            stage.tell(on.origin, "mode serve")
            on.mark(f"after {way}", 2)
        on.until("an answer", lambda: on.fetch("/new/last")[0] == 200)
        on.mark("after", options.seconds)
        figures = on.part()
        asked = failed = 0
        for way in ways:
            during = figures[way]
            count, told = stage.failures(during)
            asked, failed = asked + during["asked"], failed + count
            became.append(f"{way}: {told or 'all served'}")
            # An answer that began can only be broken off, and is told by that.
            clear = CLEAR | ({"closed", "ConnectionResetError"} if way in ("break", "drip") else set())
            unclear = {one: count for one, count in during["failed"].items() if one not in clear}
            may_stand_in = misses_every == 0 and way not in ("break", "drip")
            if may_stand_in and count:
                on.broken.append(f"{way}: {told} though the pages were there")
            elif unclear:
                on.broken.append(f"{way}: {unclear}")
        on.must_answer(figures["after"], "failed when the origin was well again")
        return on.found(
            f"an origin that fails by turns, {what}",
            "; ".join(became),
            f"{failed:,} of {asked:,} failed",
            (figures["before"], figures["after"]),
            "none but what breaks off" if misses_every == 0 else "a clear error for each; none after",
            "hit" if misses_every == 0 else "miss",
        )


def php_killed(options):
    """php-fpm's master is killed, then its children, then both."""
    with scope.Scope() as here:
        folder = here.folder / "php"
        folder.mkdir()
        (folder / "index.php").write_text(PAGE)
        on = Stage(here, options, site=f'origin = "{folder}"\nstale_if_error = "1h"\nstrangers = false')
        on.begin(behind=False)
        on.gather(rate=500, misses_every=10, hits="short", prefix="/index.php")
        on.mark("during")
        kills = 0
        for _ in range(1 if options.quick else 3):
            for choose in (_masters, _children, lambda pid: _masters(pid) + _children(pid)):
                chosen = choose(on.pid)
                for pid in chosen:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                kills += len(chosen)
                on.until("PHP", lambda: on.fetch(f"/index.php/new/{time.monotonic()}")[0] == 200)
                time.sleep(0.5)
        on.mark("after", options.seconds)
        figures = on.part()
        during = figures["during"]
        failed, told = stage.failures(during)
        unclear = {one: count for one, count in during["failed"].items() if one not in CLEAR}
        if unclear:
            on.broken.append(f"unclear: {unclear}")
        on.must_answer(figures["after"], "failed when PHP was there again")
        return on.found(
            f"{kills} processes of php-fpm killed",
            told or "all served",
            f"{failed:,} of {during['asked']:,} failed",
            (figures["before"], during),
            "a clear error for what only PHP has, and none after",
        )


def _masters(pid):
    return [one for one in process.tree(pid) if "php-fpm: master" in _command(one)]


def _children(pid):
    return [one for one in process.tree(pid) if "php-fpm: pool" in _command(one)]


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


TRIALS = (flapping_stored, flapping_missing, php_killed)

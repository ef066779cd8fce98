"""How much memory a cache takes: idle, full of equal pages, and held to a limit.

Sizes are those of --memory: M is 2^20 bytes. Judged is the peak (VmHWM) of all
processes together, for the owner's machine has to bear that, not the average. What
the start took is a peak of its own: it is over before the first page comes, and each
process has its own peak then. No peer goes along: the targets are the figure that the
owner set, and what the pages themselves weigh.
"""

import time

from rig import process, report, scope, servers, visit

MEGABYTE = 1 << 20
PAGE_BYTES = 10_000
WALKERS = 64
# What start-up still does in the background belongs to being idle, and what it gives back
# when it is done.
IDLE_SECONDS = 5


def measure(options):
    """Idle, `pages` equal pages, `mixed` pages of mixed sizes under a limit of 64M."""
    pages, mixed = (2_000, 20_000) if options.quick else (100_000, 1_000_000)
    bodies = pages * PAGE_BYTES / MEGABYTE
    trials = (
        ("idle memory, M", 16, _idle),
        (
            f"memory with {pages:,} pages of {PAGE_BYTES:,} B ({bodies:,.1f} M), M",
            1.15 * bodies + 24,
            lambda options: _full(options, pages),
        ),
        (
            f"memory with --memory 64M and {mixed:,} pages of mixed sizes, M",
            64 + 24,
            lambda options: _held(options, mixed),
        ),
    )
    found = report.Report()
    for figure, most, trial in trials:
        if options.wick is None:
            found.judge(figure, None, most, "{:,.1f}", at_least=False)
            continue
        try:
            used = trial(options) / MEGABYTE
            found.judge(figure, used, most, "{:,.1f}", at_least=False)
            report.progress(f"{figure}: {used:,.1f}")
        except scope.Void as why:
            found.void(figure, why)
            report.progress(f"{figure}: void: {why}")
    return found


def _idle(options):
    """Bytes shortly after the start, before any request."""
    with scope.Scope() as here:
        server, _ = _before_origin(here, options, "64M")
        time.sleep(IDLE_SECONDS)
        return process.resident_bytes(server.process.pid)


def _full(options, pages):
    """The peak in bytes with all pages held; void unless the second walk over them
    leaves the origin alone."""
    with scope.Scope() as here:
        server, origin, peak = _started(here, options, "2G")
        for _ in range(2):
            visit.walk(server, 1, pages, PAGE_BYTES, WALKERS, options.visitor_cores)
        asked = visit.origin_count(origin)
        if asked != pages:
            raise scope.Void(f"the origin was asked {asked:,} times for {pages:,} pages")
        return max(peak, process.resident_bytes_peak(server.process.pid))


def _held(options, mixed):
    """The peak in bytes of Wick with 64M before a walk over `mixed` pages, once each.
    Void if it keeps nothing: that is easy to do in little memory."""
    with scope.Scope() as here:
        server, origin, peak = _started(here, options, "64M")
        visit.walk(server, 1, mixed, "mixed", WALKERS, options.visitor_cores)
        peak = max(peak, process.resident_bytes_peak(server.process.pid))
        # The newest pages, some twice in a row: a cache answers the repeats itself.
        before = visit.origin_count(origin)
        for _ in range(2):
            visit.walk(server, mixed + 1, mixed + 500, "mixed", 1, options.visitor_cores)
        if visit.origin_count(origin) - before > 750:
            raise scope.Void("Wick kept next to nothing within 64M")
        return max(peak, process.resident_bytes_peak(server.process.pid))


def _started(here, options, memory):
    """Wick before an origin, and the peak of its start, which is over."""
    server, origin = _before_origin(here, options, memory)
    time.sleep(IDLE_SECONDS)
    peak = process.resident_bytes_peak(server.process.pid)
    process.forget_peaks(server.process.pid)
    return server, origin, peak


def _before_origin(here, options, memory):
    origin = servers.origin(here, options.visitor_cores)
    site = f"http://{origin.address}"
    return servers.wick(here, options.server_cores, options.wick, site, memory), origin

"""Clients who hold thousands of connections and hardly go on."""

from rig import process, scope
from rig.faults import stage
from rig.faults.stage import Stage

MEGABYTE = 2**20


def half_heads(options):
    """Heads that come byte by byte."""
    count = 500 if options.quick else 10_000
    return _trial(options, "head", count, f"{count:,} half heads")


def slow_bodies(options):
    """Bodies that come byte by byte, of one visitor behind a proxy."""
    count = 100 if options.quick else 1_000
    return _trial(options, "body", count, f"{count:,} slow bodies of one address")


def slow_readers(options):
    """Large answers that are taken in drops."""
    count = 100 if options.quick else 1_000
    return _trial(options, "reader", count, f"{count:,} slow readers of 4 MB")


def _trial(options, kind, count, fault):
    if scope.open_files_max() < count + 1_000:
        raise scope.Void(f"{count:,} connections need ulimit -n {count + 1_000}")
    with scope.Scope() as here:
        on = Stage(here, options, top='trusted_proxies = "127.0.0.1"')
        on.begin()
        if kind == "reader":
            on.fetch("/large-4000000")
        on.gather(rate=3000)
        memory = process.resident_bytes(on.pid)
        on.mark("coming")
        holders = on.hold(kind, count)
        on.mark("during", 3 * options.seconds)
        grown = process.resident_bytes(on.pid) - memory
        figures = on.part()
        came = stage.told(holders, "end")
        failed = sum(stage.failures(figures[name])[0] for name in ("coming", "during"))
        asked = sum(figures[name]["asked"] for name in ("coming", "during"))
        if failed:
            on.broken.append(f"{failed:,} requests of others failed")
        most = came.pop("most")
        became = ", ".join(f"{number:,} {way}" for way, number in came.items()) or "all held on"
        return on.found(
            fault,
            f"{most:,} at once, {max(grown, 0) / MEGABYTE:,.0f} M more memory; {became}",
            f"{failed:,} of {asked:,} failed",
            (figures["before"], figures["during"]),
            "0 of the others failed",
        )


TRIALS = (half_heads, slow_bodies, slow_readers)

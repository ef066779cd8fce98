"""Whether two serving threads cost more CPU a hit than one: what sharing costs.

Both arms load a core alike. With four cores the visitors have cores of their own;
with two, each serving thread shares its core with one visiting thread, in the arm
of one thread as well. The bare loop, whose threads share nothing, goes through the
same and shows how much of the ratio is the machine's.
"""

import os
from dataclasses import replace

from rig import contest, report, scope, servers, visit

BODY_BYTES = 9435
CONNECTIONS_PER_THREAD = 100
COUNTS = {1: "one thread", 2: "two threads"}


def measure(options):
    """One thread and two, of Wick and of the bare loop."""
    one, two = options.server_cores, options.shared_cores
    mine = sorted(os.sched_getaffinity(0))
    apart = len(mine) >= 4
    visitors = {1: {mine[2]}, 2: set(mine[2:4])} if apart else {1: one, 2: two}
    found = report.Report()
    with scope.Scope() as here:
        origin = servers.origin(here, None)
        path = f"/page/1/{BODY_BYTES}"
        threads_of = {}
        wicks, bares = [], []
        for threads, cores in ((1, one), (2, two)):
            wick = servers.wick(
                here, cores, options.wick, f"http://{origin.address}", "64M", threads=threads
            )
            bare = servers.bare(here, cores, BODY_BYTES, threads)
            for server, kind in ((wick, wicks), (bare, bares)):
                if server:
                    named = replace(server, name=f"{server.name}, {COUNTS[threads]}")
                    kind.append(named)
                    threads_of[named.name] = threads
        visit.warm(wicks, path, BODY_BYTES, lambda: visit.origin_count(origin))
        before = visit.origin_count(origin)

        def load(server):
            threads = threads_of[server.name]
            connections = CONNECTIONS_PER_THREAD * threads
            cores = visitors[threads]
            return visit.wrk(
                server, path, BODY_BYTES, connections, options.seconds, cores, threads
            )

        held = contest.hold([*wicks, *bares], load, options.rounds)
        if visit.origin_count(origin) != before:
            raise scope.Void("the origin was asked while only caches were")
        place = "visitors on other cores" if apart else "each core shared with its visitors"
        found.tables.append(held.table(f"Serving threads, {place}"))
        for name, kind in (("Wick", wicks), ("bare loop", bares)):
            figure = f"CPU a hit, {name}, two threads : one"
            ratio = None
            if kind:
                ratio = held.ratio(f"{name}, {COUNTS[1]}", f"{name}, {COUNTS[2]}", "cpu_microseconds")
            if name == "Wick":
                found.judge(figure, ratio, 1.1, at_least=False)
            else:
                found.rows.append(report.Row(figure, f"{ratio:.2f}", "the machine's own", "–"))
    return found

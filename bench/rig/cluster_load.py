"""Three nodes of a cluster under load: what they bear against one, and what of a herd reaches the origin.

All of it is on one machine: nodes, NATS and visitors share its cores, so three nodes have no more
of them than one has. What three machines bear is another matter.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from rig import cluster, report, scope, servers, visit

PAGE_BYTES = 9435
CONNECTIONS = 60
HERD_ROUNDS = 3


def throughput(options):
    """Hits a second of one node alone, and of three of a cluster together."""
    found = report.Report()
    if options.wick is None:
        return found
    with scope.Scope() as here:
        origin = servers.origin(here, options.visitor_cores)
        alone = servers.wick(here, options.server_cores, options.wick, _site(origin), "64M")
        rates = {"one node alone": [_together(options, [alone]) for _ in range(options.rounds)]}
        here.stop(alone.process)
        nodes = cluster.begin(here, options, origin)
        rates["one of three nodes"] = [_together(options, nodes[:1]) for _ in range(options.rounds)]
        rates["three nodes"] = [_together(options, nodes) for _ in range(options.rounds)]
    lines = [
        [name, f"{len(each)}", f"{min(each):,.0f}", f"{sorted(each)[len(each) // 2]:,.0f}", f"{max(each):,.0f}"]
        for name, each in rates.items()
    ]
    heads = ["hits a second, together", "rounds", "least", "median", "most"]
    title = f"Pages of {PAGE_BYTES:,} bytes from memory, {CONNECTIONS} connections a node, cores shared"
    found.tables.append(report.Table(title, heads, lines))
    medians = {line[0]: line[3] for line in lines}
    for name, median in medians.items():
        report.progress(f"{name}: {median} hits a second")
    shown = f"{medians['three nodes']} : {medians['one node alone']}"
    found.rows.append(report.Row("hits a second, three nodes : one, cores shared", shown, "told", "–"))
    return found


def herd(options):
    """Visitors of all three nodes at once, for a page that no node has."""
    visitors = 20 if options.quick else 200
    figure = f"origin requests for {3 * visitors:,} at once over three nodes"
    found = report.Report()
    if options.wick is None:
        found.judge(figure, None, 1, "{}", False)
        return found
    worst, lines = 0, []
    for number in range(1 if options.quick else HERD_ROUNDS):
        # An origin's gate opens once.
        with scope.Scope() as here:
            origin = servers.origin(here, options.visitor_cores)
            nodes = cluster.begin(here, options, origin, has_shield=True)
            before = visit.origin_count(origin)
            answered = _gather(origin, nodes, visitors, f"/gate/herd/{PAGE_BYTES}")
            asked = visit.origin_count(origin) - before
        worst = max(worst, asked)
        lines.append([f"{number + 1}", f"{answered:,}", f"{asked}"])
        report.progress(f"a herd of {answered}: {asked} reached the origin")
    heads = ["herd", "visitors answered", "requests to the origin"]
    found.tables.append(report.Table("One missing page, all nodes asked at once", heads, lines))
    found.judge(figure, worst, 1, "{}", at_least=False)
    return found


def _site(origin):
    return f"http://{origin.address}"


def _together(options, nodes):
    """Hits a second of all of them, each with a wrk of its own."""
    path = f"/page/1/{PAGE_BYTES}"
    for node in nodes:
        for _ in range(2):
            visit.fetch(node, path, PAGE_BYTES)

    def load(node):
        cores = options.visitor_cores
        return visit.wrk(node, path, PAGE_BYTES, CONNECTIONS, options.seconds, cores)

    with ThreadPoolExecutor(len(nodes)) as all_at_once:
        return sum(one.requests / one.seconds for one in all_at_once.map(load, nodes))


def _gather(origin, nodes, visitors, path):
    """How many were answered. The origin holds the page back until all have asked."""
    gate, answered = threading.Barrier(len(nodes) * visitors + 1), []

    def come(node):
        gate.wait(60)
        answered.append(cluster.ask_once(node, path))

    crowd = [
        threading.Thread(target=come, args=[node], daemon=True)
        for node in nodes
        for _ in range(visitors)
    ]
    for one in crowd:
        one.start()
    gate.wait(60)
    # All requests are with the nodes by then, on any machine that this runs on.
    time.sleep(2)
    visit.fetch(origin, "/-/open")
    for one in crowd:
        one.join(60)
    if answered.count(200) != len(crowd):
        raise scope.Void(f"{len(crowd)} came and {answered.count(200)} were given the page")
    return len(crowd)

"""Purges told to one of three Wicks, until the other two have nothing to show any more.

Three NATS servers keep what is told in three copies; all is on this machine, so the network
costs nothing and the six processes share its cores. Whether a node still has a page is asked
by `only-if-cached`, which never reaches the origin, again and again on kept connections.
"""

import http.client
import json
import statistics
import subprocess
import time

from rig import machine, report, scope, servers

PAGE_BYTES = 1000
NODES = 3
P99_MS_MAX = 50
SECRET = "a-secret-of-the-three-nodes"


def measure(options):
    """Purges by tag, and by address, from each node in turn."""
    purges = 30 if options.quick else 1_000
    found = report.Report()
    if options.wick is None:
        found.judge("ms until a purge is everywhere, p99", None, P99_MS_MAX, "{:.1f}", False)
        return found
    lines, worst = [], 0
    with scope.Scope() as here:
        origin = servers.origin(here, options.visitor_cores, is_tagged=True)
        nodes = begin(here, options, origin)
        for what in ("tag", "address"):
            answered, everywhere = _purges(nodes, what, purges)
            worst = max(worst, _percentile(everywhere, 99))
            for name, times in (("answered", answered), ("old on all nodes", everywhere)):
                shown = [statistics.median(times), _percentile(times, 99), max(times)]
                lines.append([f"by {what}, until {name}", *(f"{one:.2f}" for one in shown)])
            report.progress(f"by {what}: everywhere within {lines[-1][2]} ms (99 %)")
    heads = [f"{purges:,} purges", "median ms", "p99 ms", "most ms"]
    found.tables.append(report.Table("Three nodes, three NATS servers, one machine", heads, lines))
    found.judge("ms until a purge is everywhere, p99", worst, P99_MS_MAX, "{:.1f}", False)
    return found


def begin(here, options, origin, has_shield=False):
    """Three nodes that are in touch; with `has_shield` they ask each other for pages."""
    addresses = _nats(here, options)
    nodes = [_node(here, options, origin, addresses, at, has_shield) for at in range(NODES)]
    _until_in_touch(here, options, nodes)
    return nodes


def _nats(here, options):
    """Three servers that keep copies for each other."""
    ports = [(scope.free_port(), scope.free_port()) for _ in range(NODES)]
    routes = ", ".join(f"nats://127.0.0.1:{route}" for _, route in ports)
    for at, (port, route) in enumerate(ports):
        settings = here.folder / f"nats-{at}.conf"
        settings.write_text(
            f"server_name: n{at}\nlisten: 127.0.0.1:{port}\n"
            f'jetstream {{ store_dir: "{here.folder}/nats-{at}" }}\n'
            f"cluster {{ name: c, listen: 127.0.0.1:{route}, routes: [{routes}] }}\n"
        )
        command = [machine.program("nats-server"), "-c", settings]
        here.start(f"nats-{at}", command, options.visitor_cores)
    return ", ".join(f'"nats://127.0.0.1:{port}"' for port, _ in ports)


def _node(here, options, origin, addresses, at, has_shield):
    cluster = ["[cluster]", f"nats = [{addresses}]", f'node = "n{at}"']
    if has_shield:
        cluster += [f'listen = "127.0.0.1:{scope.free_port()}"', f'secret = "{SECRET}"']
    site = f"http://{origin.address}"
    cores = options.server_cores
    # The last one may be of another version.
    wick = options.other if options.other and at == NODES - 1 else options.wick
    return servers.wick(here, cores, wick, site, "64M", more=cluster)


def _until_in_touch(here, options, nodes):
    """NATS servers that have just begun take a moment to agree who leads."""
    begun = time.perf_counter()
    for node in nodes:
        state = here.folder / f"wick-state-{node.port}"
        command = [options.wick, "cluster", "status", "--json", "--state", state]
        while not _is_among_all(json.loads(subprocess.check_output(command))):
            if time.perf_counter() - begun > 60:
                raise scope.Void(f"{node.name} is never in touch")
            time.sleep(0.1)


def _is_among_all(told):
    """Whether a node is in touch, and knows that the others are there."""
    others = [one for one in told["members"] if not one["is_missing"]]
    return told["is_in_touch"] and len(others) == NODES - 1


def _purges(nodes, what, count):
    """Milliseconds until each purge is answered, and until it is everywhere."""
    answered, everywhere = [], []
    links = [http.client.HTTPConnection("127.0.0.1", node.port, timeout=30) for node in nodes]
    for number in range(1, count + 1):
        page = f"/page/{number}/{PAGE_BYTES}"
        for node, link in zip(nodes, links, strict=True):
            _ask(link, "GET", page, {})
            if not _is_there(link, page):
                raise scope.Void(f"{node.name} doesn't keep {page}")
        teller = number % len(nodes)
        begun = time.perf_counter()
        if what == "tag":
            status = _ask(links[teller], "PURGEKEYS", "/", {"xkey-purge": f"page-{number}"})
        else:
            status = _ask(links[teller], "PURGE", page, {})
        if status != 200:
            raise scope.Void(f"{status} for a purge by {what}")
        answered.append((time.perf_counter() - begun) * 1e3)
        while any(_is_there(link, page) for link in links):
            if time.perf_counter() - begun > 30:
                raise scope.Void(f"a purge by {what} never reached all nodes")
        everywhere.append((time.perf_counter() - begun) * 1e3)
    return answered, everywhere


def _is_there(link, page):
    return _ask(link, "GET", page, {"Cache-Control": "only-if-cached"}) == 200


def ask_once(node, path):
    """The status of an answer, by a connection of its own."""
    link = http.client.HTTPConnection("127.0.0.1", node.port, timeout=60)
    try:
        return _ask(link, "GET", path, {})
    finally:
        link.close()


def _ask(link, method, path, fields):
    # All nodes are the same site, so they are asked by the same name.
    link.request(method, path, headers={"Host": "site.test", **fields})
    answer = link.getresponse()
    answer.read()
    return answer.status


def _percentile(times, percent):
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]

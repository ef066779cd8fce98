"""A hit on a page that the app made for one visitor, beside one that it let be stored."""

import dataclasses
import statistics
import time

from rig import contest, report, scope, servers, visit

BODY_BYTES = 9435
CONNECTIONS = 200


def measure(options):
    """One Wick, two pages of the same size, turn by turn."""
    found = report.Report()
    with scope.Scope() as here:
        site = servers.php(here, options.server_cores)
        wick = servers.wick(
            here,
            options.server_cores,
            options.wick,
            site.site,
            "256M",
            php_socket=site.socket("wick"),
        )
        figure = "µs more that a stranger's hit costs than a plain one"
        if wick is None:
            found.judge(figure, None, 0.3, at_least=False)
            return found
        plain = dataclasses.replace(wick, name="plain hit")
        stranger = dataclasses.replace(wick, name="stranger's hit")
        paths = {
            "plain hit": f"/page.php?size={BODY_BYTES}",
            "stranger's hit": f"/session.php?size={BODY_BYTES}",
        }
        visit.warm([plain], paths["plain hit"], BODY_BYTES, site.count)
        _share(stranger, paths["stranger's hit"])
        held = contest.hold(
            [plain, stranger],
            lambda server: visit.wrk(
                server,
                paths[server.name],
                BODY_BYTES,
                CONNECTIONS,
                options.seconds,
                options.visitor_cores,
            ),
            options.rounds,
        )
        found.tables.append(held.table("A stranger's hit and a plain one"))
        pairs = zip(held.samples["stranger's hit"], held.samples["plain hit"], strict=True)
        more = statistics.median(a.cpu_microseconds - b.cpu_microseconds for a, b in pairs)
        found.judge(figure, more, 0.3, at_least=False)
    return found


def _share(server, path):
    """Visits until the page is shared among strangers."""
    for _ in range(100):
        visit.fetch(server, path, BODY_BYTES)
        if "; hit" in visit.status(server, path):
            return
        time.sleep(0.1)
    raise scope.Void(f"{path} is not shared: {visit.status(server, path)}")

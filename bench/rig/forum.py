"""CPU time of a topic of fifty posts, by who makes HTML of its BBCode, and how often.

The page is the same, from the same rows of the same database by the same PHP. Its posts
become HTML by the forum's own expressions at each view, behind nginx and behind Wick; once,
kept in the forum's own database; by Wick, asked in one call or by marks in the page, which
keeps what it made; and, last, the whole page is kept. CPU time is that of the server and of
php-fpm together. A page whose posts are only escaped shows what is left without BBCode.
"""

import re
import shutil
import subprocess
import subprocess
from dataclasses import dataclass

from rig import contest, machine, process, report, scope, servers, visit

CONNECTIONS = 4
TOPIC = "topic=7"
WAYS = [
    ("the forum's own, at each view", "own"),
    ("the forum's own, all smilies at once", "at-once"),
    ("the forum's own, kept in its database", "table"),
    ("Wick's, asked in one call", "batch"),
    ("Wick's, by marks in the page", "blocks"),
    ("the whole page kept by Wick", "own&kept=1"),
    ("none, posts escaped and no more", "none"),
]
BATCH, BLOCKS, KEPT = (WAYS[at][0] for at in (3, 4, 5))
BEFORE = "the forum's own, behind nginx"


@dataclass
class Way:
    """One way to the page's HTML: what serves it, and what it is asked for."""

    name: str
    server: servers.Server
    path: str

    @property
    def process(self):
        return self.server.process


def measure(options):
    """All ways, in turns."""
    found = report.Report()
    with scope.Scope() as here:
        site = _site(here, options)
        before = servers.nginx_php(here, options.server_cores, site, cached=False)
        ways = [Way(BEFORE, before, f"/topic.php?{TOPIC}&way=own")]
        wick = servers.wick(
            here,
            options.server_cores,
            options.wick,
            site.site,
            "256M",
            php_socket=site.socket("wick"),
            # Each view is made as if somebody who is logged in had asked.
            more=['never_share = ["/topic.php*"]'],
        )
        if wick:
            ways += [Way(name, wick, f"/topic.php?{TOPIC}&way={way}") for name, way in WAYS]
        lengths = _check(ways, site)
        held = contest.hold(
            ways,
            lambda way: visit.wrk(
                way.server,
                way.path,
                lengths[way.name],
                CONNECTIONS,
                options.seconds,
                options.visitor_cores,
            ),
            options.rounds,
            lambda way: process.cpu_seconds(way.process.pid) + process.cpu_seconds(site.process.pid),
        )
    found.tables.append(held.table("A topic of 50 posts; CPU of the server and of PHP"))
    for name, target in ((BATCH, 2.0), (BLOCKS, 2.0), (KEPT, 100.0)):
        ratio = held.ratio(name, BEFORE, "cpu_microseconds") if wick else None
        found.judge(f"CPU of a topic of 50 posts, {BEFORE} : {name}", ratio, target, "{:.1f}")
    return found


def _site(here, options):
    """php-fpm for the forum, its database filled."""
    site = servers.php(here, options.server_cores)
    shutil.copy(servers.REPOSITORY / "clients" / "php" / "wick.php", site.site)
    command = [machine.program("cargo"), "run", "--release", "--locked", "--quiet"]
    command += ["-p", "markup", "--example", "posts"]
    posts = here.folder / "posts"
    with posts.open("wb") as output:
        if subprocess.run(command, cwd=servers.REPOSITORY, stdout=output, check=False).returncode:
            raise scope.Void("the posts can't be made: crates/markup does not build")
    scope.run([machine.program("php"), site.site / "topic.php", "fill", posts])
    return site


def _check(ways, site):
    """The length of each way's page: void unless all say the same and only what is to be kept
    is kept."""
    lengths, said = {}, {}
    for way in ways:
        for _ in range(3):
            before = site.count()
            body = visit.fetch(way.server, way.path)
            ran = site.count() - before
        if ran != (0 if way.name == KEPT else 1):
            raise scope.Void(f"{way.name}: PHP ran {ran} times for the third view")
        lengths[way.name] = len(body)
        said[way.name] = _meant(body.decode())
    for way in ways:
        if not way.path.endswith("none") and said[way.name] != said[BEFORE]:
            raise scope.Void(f"{way.name}: another page than {BEFORE}")
    return lengths


def _meant(page):
    """The page without the entities that stand for what could be written as it is."""
    page = page.replace("&quot;", '"')
    return re.sub(r"&#(\d+);", lambda found: chr(int(found[1])), page)

"""What a private tracker takes for 120,000 peers that announce once a minute: memory and CPU.

Over UDP, 12,000 torrents of ten clients each, 20,000 users, every byte accounted for in a file of
SQLite that the same process writes. What was counted comes from the kernel: pages of the program's
file, which it shares with the page cache, apart from memory that is nobody else's. Judged is the
most that is resident in a minute in which everybody announces, once everybody is there. The process
that stays root, if it runs as root, is told apart: who runs a tracker alone needs none.
"""

import time
from pathlib import Path

from rig import process, report, scope, servers, tracker

CLIENTS, TORRENTS, USERS = 10, 12_000, 20_000
SECONDS = 60
RESIDENT_MAX, CORE_MAX = 16.0, 3.0
SETTLE_SECONDS = 5
# A datagram may be lost where both share a machine; of more the load wouldn't be what is said.
ANSWERED_MIN = 0.98
MEGABYTE = 1 << 20
KINDS = ("VmRSS", "RssAnon", "RssFile")


def measure(options):
    """At rest, and in a minute of everybody's announces."""
    torrents, users = (100, 1000) if options.quick else (TORRENTS, USERS)
    found = report.Report()
    program = servers.announce_program()
    with scope.Scope() as here:
        server = tracker.wick(here, options, tracker.PRIVATE, ['mode = "private"', 'interval = "60s"'])
        if server is None:
            found.judge("M resident", None, RESIDENT_MAX, "{:.1f}", at_least=False)
            return found
        pid = server.process.pid
        time.sleep(SETTLE_SECONDS)
        tell(found, "at rest", resident(pid))
        tracker.enrol(here, server, program, torrents, users)
        time.sleep(SETTLE_SECONDS)
        tell(found, f"with {torrents:,} torrents and {users:,} users", resident(pid))
        first, seconds = (1, 2) if options.quick else (SECONDS, SECONDS)
        command = [program, "minute", server.address, first + seconds + 2, torrents, users, CLIENTS]
        with scope.visitor(command, options.visitor_cores) as visitor:
            time.sleep(first + 1)
            most, spent = watched(pid, seconds)
            tell(found, f"with {CLIENTS * torrents:,} peers, at most", most)
            output, _ = visitor.communicate(timeout=SECONDS)
        if visitor.returncode != 0:
            raise scope.Void(f"announcing failed: {output.strip()[-500:]}")
        sent, answered = (int(word) for word in output.split())
        if answered < ANSWERED_MIN * sent:
            raise scope.Void(f"{sent - answered:,} of {sent:,} announces were not answered")
        peers = f"{CLIENTS * torrents:,} peers"
        found.judge(f"M resident with {peers}", most["VmRSS"], RESIDENT_MAX, "{:.1f}", at_least=False)
        percent = 100 * spent / seconds
        found.judge(f"% of a core for {peers}", percent, CORE_MAX, "{:.2f}", at_least=False)
        for keeper in process.tree(pid)[1:]:
            tell(found, "of the process that stays root", resident(keeper))
    return found


def watched(pid, seconds):
    """The most of each kind in this time, and the CPU seconds that were spent."""
    most, began = dict.fromkeys(KINDS, 0.0), process.cpu_seconds(pid)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        now = resident(pid)
        most = {kind: max(most[kind], now[kind]) for kind in KINDS}
        time.sleep(0.1)
    return most, process.cpu_seconds(pid) - began


def resident(pid):
    """M in RAM of one process: all, anonymous, of files."""
    found = {}
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        kind, _, rest = line.partition(":")
        if kind in KINDS:
            found[kind] = int(rest.split()[0]) * 1024 / MEGABYTE
    return found


def tell(found, when, sizes):
    """A row that is not judged."""
    shown = f"{sizes['VmRSS']:.1f}: {sizes['RssAnon']:.1f} its own, {sizes['RssFile']:.1f} of files"
    found.rows.append(report.Row(f"M resident {when}", shown, "", "–"))
    report.progress(f"M resident {when}: {shown}")

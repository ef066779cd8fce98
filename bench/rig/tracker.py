"""What an announce costs a tracker: CPU time of the process, with real peers in the answers.

Wick beside Debian's opentracker, and beside aquatic_udp where somebody has built it, in
alternating rounds, one thread each. Wick takes part twice: open, as its rivals are, and private,
where each announce shows a passkey and is accounted for; the file of SQLite to which that is
credited is written by the same process, and the same core. Debian's opentracker takes torrents of
a list only, leaves root by itself, and keeps a connection only for who asks for that: it takes
part over connections that stay where it is found to keep one.
"""

import http.client
import shutil
import sqlite3
import time
from pathlib import Path

from rig import contest, process, report, scope, servers
from rig.visit import Visit

TORRENTS = 1000
# As many as the visitor's clients of one torrent.
USERS = 3000
# An answer has fifty peers of six bytes once swarms are filled.
PEER_BYTES_MIN = 250
OPEN, PRIVATE = "Wick, open", "Wick, private"
OPENTRACKER, AQUATIC = "opentracker", "aquatic_udp"
KINDS = {
    "udp": "Announces over UDP",
    "http": "Announces over HTTP, connections that stay",
    "once": "Announces over HTTP, one connection each",
}
# At which announce a server's next turn goes on, or clients would come again too soon.
NEXT = {}
SPOKEN = {OPENTRACKER: ("udp", "once"), AQUATIC: ("udp",)}
# Either of these is enough over connections that stay: announces a CPU-second, times opentracker's.
RATE_MIN, TIMES_MIN = 150_000, 3.0


def measure(options):
    """One table a kind of announce."""
    program = servers.announce_program()
    found = report.Report()
    with scope.Scope() as here:
        started = [wick_open(here, options), wick_private(here, options, program)]
        started += [opentracker(here, options, program), aquatic(here, options)]
        for kind, title in KINDS.items():
            contestants = [one for one in started if one and speaks(one, kind)]
            threads = {}

            def load(server, kind=kind, threads=threads):
                before = announcing_seconds(server)
                visit, peer_bytes = announce(program, kind, server, options)
                spent = announcing_seconds(server) - before
                if server.name == PRIVATE:
                    threads.setdefault("it", []).append(spent * 1e6 / visit.requests)
                threads[server.name] = peer_bytes
                return visit

            held = contest.hold(contestants, load, options.rounds)
            for server in contestants:
                if not options.quick and threads[server.name] < PEER_BYTES_MIN:
                    raise scope.Void(f"{server.name} gives {threads[server.name]} bytes of peers")
            found.tables.append(held.table(title))
            judge(found, held, kind)
            alone(found, kind, threads)
    return found


def speaks(server, kind):
    """Whether a server takes announces of this kind."""
    spoken = SPOKEN.get(server.name, KINDS)
    return kind in spoken or kind == "http" and "once" in spoken and keeps_connections(server)


def keeps_connections(server):
    """Whether it answers a second request on one connection, when it is asked to."""
    connection = http.client.HTTPConnection(server.address, timeout=5)
    # It would open another where the first has ended.
    connection.auto_open = 0
    try:
        connection.connect()
        for _ in range(2):
            connection.request("GET", "/scrape", headers={"Connection": "keep-alive"})
            connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def judge(found, held, kind):
    """What was aimed at, of the one that accounts."""
    names = held.samples

    def ratio(rival, title, target):
        value = None
        if PRIVATE in names and rival in names:
            value = held.ratio(PRIVATE, rival, "cpu_microseconds")
        if rival in names:
            found.judge(f"{title}, {PRIVATE} : {rival}", value, target)

    if kind == "udp":
        ratio(OPENTRACKER, "UDP announces a CPU-second", 1.3)
        ratio(AQUATIC, "UDP announces a CPU-second", 1.1)
    elif kind == "http":
        if PRIVATE in names:
            rate = 1e6 / held.median(PRIVATE, "cpu_microseconds")
            title = "HTTP announces a CPU-second, Wick, private"
            if OPENTRACKER not in names:
                found.judge(title, rate, RATE_MIN, "{:,.0f}")
                return
            times = held.ratio(PRIVATE, OPENTRACKER, "cpu_microseconds")
            nearer = max(rate / RATE_MIN, times / TIMES_MIN)
            title += f" ({rate:,.0f}, {times:.1f} times opentracker's)"
            goal = f"{RATE_MIN:,} or {TIMES_MIN:.0f} times opentracker's"
            found.judge(f"{title} by {goal}, the nearer", nearer, 1.0)
    else:
        ratio(OPENTRACKER, "announces with a connection each, a CPU-second", 1.2)


def alone(found, kind, threads):
    """What of it the announces themselves cost, beside the writing of credits."""
    if "it" in threads:
        costs = sorted(threads["it"][1:])
        median = costs[len(costs) // 2]
        title = f"µs an announce ({kind}) without the writing of credits, {PRIVATE}"
        found.rows.append(report.Row(title, f"{median:.2f}", "", "–"))


def announce(program, kind, server, options, seconds=None):
    """One visit, and bytes of peers an answer."""
    mode = "private" if server.name == PRIVATE else "open"
    words = [program, kind, server.address, seconds or options.seconds, TORRENTS, mode]
    output = scope.run([*words, NEXT.get(server.name, 0)], options.visitor_cores).split()
    NEXT[server.name] = int(output[3])
    return Visit(int(output[0]), float(output[1])), int(output[2])


def announcing_seconds(server):
    """CPU time of the threads that read announces."""
    ticks = 0
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        name, _, fields = (task / "stat").read_text().rpartition(")")
        if "(tracker-0" in name:
            ticks += sum(int(field) for field in fields.split()[11:13])
    return ticks / process.TICKS_PER_SECOND


def wick_open(here, options):
    """An open tracker and nothing else."""
    return wick(here, options, OPEN, [])


def wick_private(here, options, program):
    """A private one that has been told of its torrents and users."""
    server = wick(here, options, PRIVATE, ['mode = "private"'])
    if server is None:
        return None
    enrol(here, server, program, TORRENTS, USERS)
    deadline = time.monotonic() + scope.START_SECONDS_MAX
    while True:
        try:
            announce(program, "udp", server, options, seconds=0.01)
            return server
        except scope.Void:
            # What was put into the tables is seen within seconds.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def enrol(here, server, program, torrents, users):
    """Puts torrents and users into the tables of a private one."""
    file = here.folder / "private/state/tracker/tracker.sqlite"
    scope.wait_until(lambda: has_tables(file), server.process, "its tables")
    hashes = scope.run([program, "hashes", torrents]).split()
    with sqlite3.connect(file) as tables:
        rows = [(bytes.fromhex(one),) for one in hashes]
        tables.executemany("INSERT INTO wick_torrents (info_hash) VALUES (?)", rows)
        rows = [(number, f"{number:032}") for number in range(1, users + 1)]
        tables.executemany("INSERT INTO wick_users (id, passkey) VALUES (?, ?)", rows)
    tables.close()


def has_tables(file):
    """Whether Wick has made those of its own."""
    if not file.exists():
        return False
    tables = sqlite3.connect(file)
    names = {row[0] for row in tables.execute("SELECT name FROM sqlite_master")}
    tables.close()
    return {"wick_torrents", "wick_users", "wick_accounts"} <= names


def wick(here, options, name, lines):
    """A tracker alone."""
    if options.wick is None:
        return None
    port = scope.free_port()
    folder = here.folder / name.rpartition(" ")[2]
    folder.mkdir()
    settings = folder / "tracker.toml"
    top = [f'state = "{folder}/state"', 'admin = "off"', "threads = 1", "[tracker]"]
    settings.write_text("\n".join([*top, f'listen = "127.0.0.1:{port}"', *lines]) + "\n")
    command = [options.wick, "serve", "--config", settings]
    return settled(servers.Server(name, port, here.start(name, command, options.server_cores)))


def opentracker(here, options, program):
    """opentracker, if it is there."""
    path = shutil.which("opentracker", path="/usr/bin:/usr/sbin:/usr/local/bin")
    if path is None:
        report.progress("opentracker is not there: scripts/setup bench installs it")
        return None
    port = scope.free_port()
    folder = here.folder / "opentracker"
    folder.mkdir(mode=0o755)
    (folder / "allowed").write_text(scope.run([program, "hashes", TORRENTS]))
    # It goes into its folder, and names the list from there.
    command = [path, "-i", "127.0.0.1", "-p", port, "-P", port, "-d", folder, "-u", "nobody"]
    child = here.start("opentracker", [*command, "-w", "allowed"], options.server_cores)
    return settled(servers.Server(OPENTRACKER, port, child))


def aquatic(here, options):
    """aquatic_udp, if somebody has built it: on the path, or in target/tools."""
    tools = servers.REPOSITORY / "target" / "tools" / "bin"
    path = shutil.which("aquatic_udp") or shutil.which("aquatic_udp", path=str(tools))
    if path is None:
        report.progress("not there: cargo install aquatic_udp --root target/tools")
        return None
    port = scope.free_port()
    settings = here.folder / "aquatic.toml"
    lines = ["socket_workers = 1", "[network]", f'address = "127.0.0.1:{port}"']
    # What answers have room for otherwise isn't what the others send.
    lines += ["[protocol]", "max_response_peers = 50"]
    settings.write_text("\n".join(lines) + "\n")
    child = here.start(AQUATIC, [path, "-c", settings], options.server_cores)
    return settled(servers.Server(AQUATIC, port, child))


def settled(server):
    """A server that has had a moment and is still there."""
    time.sleep(0.7)
    if server.process.poll() is not None:
        raise scope.Void(f"{server.name} ended:\n{scope.log_end(server.process)}")
    return server

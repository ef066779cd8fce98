"""Three machines with a Wick and a NATS server each, and a fourth with the site they all serve.

The site is a specimen that begins a session for every visitor, as most apps do: php-fpm and a
MariaDB, both asked over the network. Either its database is followed by its log, or pages are
fresh for an hour and nobody but the other nodes tells a node that one is old.
"""

import contextlib
import json
import shutil
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from rig import machine, scope, servers
from rig.cluster_faults.loopback import Loopback
from rig.cluster_faults.network import Network
from rig.database import Database

SPECIMEN = "session-everywhere"
NODES = ("n0", "n1", "n2")
ORIGIN = "origin"
HOST = "site.test"
HTTP, FASTCGI, MYSQL, NATS, ROUTE, FELLOWS = 8080, 9000, 3306, 4222, 6222, 7070
SECRET = "a-secret-of-the-three-machines"
LAG_SECONDS = 1
FRESH_SECONDS = 2
SILENCE_SECONDS = 10
PATIENCE_SECONDS = 60
LOG = [
    "--skip-networking=0", "--skip-name-resolve", f"--port={MYSQL}", "--log-bin=log",
    "--server-id=1", "--binlog-format=ROW", "--binlog-row-image=FULL",
    "--binlog-row-metadata=FULL",
]
FAKETIME = "/usr/lib/*/faketime/libfaketimeMT.so.1"


@dataclass(frozen=True)
class Kind:
    """How the site's edits come to be known."""

    title: str
    is_followed: bool
    hears_others: bool = True


TOLD = Kind("edits told by nodes alone", False)
FOLLOWED = Kind("the database followed too", True)
UNHEARD = Kind("nodes that don't hear each other", False, False)


class Stage:
    """All that runs, and from when until when what was away."""

    def __init__(self, here, wick, seed, kind, is_loopback=False):
        self.here, self.wick, self.kind = here, wick, kind
        between = Loopback if is_loopback else Network
        self.network = between(here, seed, [*NODES, ORIGIN])
        self.places = self.network.places
        self.lock = threading.Lock()
        self.down, self.originless = [], []
        self.faketime = next((str(file) for file in Path("/").glob(FAKETIME[1:])), None)
        self.children = {}
        for node in NODES:
            self._configure_nats(node)
            self.start(f"nats-{node}")
        self._begin_origin()
        for node in NODES:
            self._configure_wick(node)
            self.start(f"wick-{node}")

    def command(self, name):
        """What is started under that name, where, and with which environment."""
        kind, _, node = name.partition("-")
        if kind == "nats":
            return node, [machine.program("nats-server"), "-c", self.here.folder / f"{name}.conf"], {}
        command = [self.wick, "serve", "--config", self.here.folder / f"{name}.toml"]
        command += ["--listen", f"{self.places[node].address}:{HTTP}", "--memory", "64M"]
        return node, [*command, "--state", self.state(node)], self._clock(node)

    def start(self, name):
        """Starts a NATS server or a Wick, and returns when it listens."""
        node, command, environment = self.command(name)
        child = self.places[node].start(name, command, environment=environment)
        self.children[name] = child
        port = NATS if name.startswith("nats") else HTTP
        scope.wait_until(lambda: self.listens(node, port), child, "open port")

    def kill(self, name, number=signal.SIGKILL):
        """Ends it by a signal, and returns when it has ended."""
        child = self.children[name]
        child.send_signal(number)
        child.wait(PATIENCE_SECONDS)

    def signal(self, name, number):
        """Sends it a signal; to one that has ended meanwhile it says nothing."""
        with contextlib.suppress(ProcessLookupError):
            self.children[name].send_signal(number)

    def listens(self, node, port):
        """Whether somebody does, as seen from there."""
        found = []

        def look():
            self.network.enter(node)
            with socket.socket() as probe:
                probe.settimeout(1)
                found.append(probe.connect_ex((self.places[node].address, port)) == 0)

        # A thread of its own: this one stays where it is.
        looking = threading.Thread(target=look)
        looking.start()
        looking.join()
        return found == [True]

    def state(self, node):
        return self.here.folder / f"state-{node}"

    def is_in_touch(self, node):
        command = [self.wick, "cluster", "status", "--json", "--state", self.state(node)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode == 0 and json.loads(done.stdout)["is_in_touch"]

    def until_in_touch(self):
        """Seconds until all nodes are."""
        began = time.monotonic()
        while not all(self.is_in_touch(node) for node in NODES):
            if time.monotonic() - began > PATIENCE_SECONDS:
                raise scope.Void(f"not all nodes are in touch after {PATIENCE_SECONDS} s")
            time.sleep(0.05)
        return time.monotonic() - began

    @contextlib.contextmanager
    def away(self, kind, nodes):
        """A stretch of time in which a node (`down`), or the origin for it (`originless`), can't
        answer; it is known while it lasts."""
        entry = {"nodes": set(nodes), "from": time.monotonic(), "until": float("inf")}
        with self.lock:
            getattr(self, kind).append(entry)
        try:
            yield
        finally:
            entry["until"] = time.monotonic()

    def was_away(self, kind, node, began, ended, grace=0.0):
        """Whether it was, in some part of this time or `grace` seconds before."""
        with self.lock:
            entries = list(getattr(self, kind))
        return any(
            node in entry["nodes"] and began <= entry["until"] + grace and ended >= entry["from"]
            for entry in entries
        )

    def set_clock(self, node, offset):
        """The wall clock of a node's Wick, in seconds against ours; `+0` is ours."""
        (self.here.folder / f"clock-{node}").write_text(offset)

    def _clock(self, node):
        if self.faketime is None:
            return {}
        told = self.here.folder / f"clock-{node}"
        told.write_text("+0")
        return {
            "LD_PRELOAD": self.faketime,
            "FAKETIME_TIMESTAMP_FILE": str(told),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }

    def _configure_nats(self, node):
        address = self.places[node].address
        routes = ", ".join(f"nats://{self.places[one].address}:{ROUTE}" for one in NODES)
        (self.here.folder / f"nats-{node}.conf").write_text(
            f"server_name: {node}\nlisten: {address}:{NATS}\n"
            f'jetstream {{ store_dir: "{self.here.folder}/nats-{node}" }}\n'
            f"cluster {{ name: c, listen: {address}:{ROUTE}, routes: [{routes}] }}\n"
        )

    def _configure_wick(self, node):
        origin = self.places[ORIGIN].address
        nats = ", ".join(f'"nats://{self.places[one].address}:{NATS}"' for one in NODES)
        heard, fresh = f"mysql://wick:wick@{origin}:{MYSQL}/bench", FRESH_SECONDS
        if not self.kind.is_followed:
            heard, fresh = "off", 3600
        name = "site" if self.kind.hears_others else node
        user = 'user = "root"\n' if machine.is_root() else ""
        (self.here.folder / f"wick-{node}.toml").write_text(
            f'{user}[[site]]\nhosts = ["{HOST}"]\norigin = "{self.here.folder}/site/{SPECIMEN}"\n'
            f'php = "tcp:{origin}:{FASTCGI}"\nstrangers_fresh = "{fresh}s"\n'
            f'changes = "{heard}"\n[cluster]\nname = "{name}"\nnats = [{nats}]\n'
            f'node = "{node}"\nlag = "{LAG_SECONDS}s"\n'
            f'listen = "{self.places[node].address}:{FELLOWS}"\nsecret = "{SECRET}"\n'
        )

    def _begin_origin(self):
        place, folder = self.places[ORIGIN], self.here.folder
        self.database = Database(place, "mariadb", [*LOG, f"--bind-address={place.address}"])
        self.database.ask(
            "CREATE USER app@localhost IDENTIFIED BY 'app'; GRANT ALL ON bench.* TO app@localhost; "
            "CREATE USER wick@'%' IDENTIFIED BY 'wick'; GRANT ALL ON *.* TO wick@'%'"
        )
        for name in ("lib", SPECIMEN):
            shutil.copytree(servers.REPOSITORY / "specimens" / name, folder / "site" / name)
        data = folder / "data"
        data.mkdir()
        if machine.is_root():
            shutil.chown(data, "www-data", "www-data")
        (folder / "php-fpm.conf").write_text(
            f"[global]\nerror_log = {folder}/php-fpm.log\ndaemonize = no\n"
            "[site]\nuser = www-data\ngroup = www-data\npm = static\npm.max_children = 24\n"
            f"listen = {place.address}:{FASTCGI}\nrequest_terminate_timeout = 20s\n"
            f"env[SPECIMEN_DATA] = {data}\nenv[SPECIMEN_DB_SOCKET] = {self.database.socket}\n"
            "env[SPECIMEN_DB_NAME] = bench\nenv[SPECIMEN_DB_USER] = app\n"
            "env[SPECIMEN_DB_PASSWORD] = app\nphp_admin_flag[display_errors] = off\n"
        )
        command = [machine.program("php-fpm"), "--nodaemonize", "--fpm-config", folder / "php-fpm.conf"]
        php = place.start("php-fpm", command)
        scope.wait_until(lambda: self.listens(ORIGIN, FASTCGI), php, "open port")

    def kill_database(self):
        self.database.process.kill()
        self.database.process.wait()

    def start_database(self):
        """Starts it again as it was; what was acknowledged is there."""
        was = self.database.process
        self.database.process = self.here.start("mariadb", was.args)
        scope.wait_until(self.database.answers, self.database.process, "an answer")

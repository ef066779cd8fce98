"""What every fault is tried on: a Wick, what is behind it, strangers who ask all the while.

A stage lives in a scope, which ends whatever it started. The Wick that serves may be
another one than the first, since it is upgraded and restarted here.
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from rig import scope

HERE = Path(__file__).resolve().parent
WAIT_SECONDS_MAX = 60


@dataclass
class Found:
    """What one fault came to."""

    fault: str
    done: str
    meanwhile: str
    without: str
    with_it: str
    said: str
    promise: str
    broken: list


class Stage:
    """One Wick with all around it."""

    def __init__(self, here, options, top="", limits="", site="", more_sites="", over=None):
        self.here, self.options, self.over = here, options, over
        self.port, self.origin_port = scope.free_port(), scope.free_port()
        self.state = here.folder / "state"
        self.settings = here.folder / "wick.toml"
        self.parts = {"top": top, "limits": limits, "site": site, "more_sites": more_sites}
        self.crowd = self.origin = self.wick = None
        self.pid = 0
        self.broken = []

    def write(self, **parts):
        """Writes `wick.toml`, with some parts other than they were."""
        self.parts.update(parts)
        site = self.parts["site"]
        if "origin =" not in site:
            site = f'origin = "http://127.0.0.1:{self.origin_port}"\n{site}'
        secured = ""
        if self.over:
            self.parts["top"] = f'listen_tls = "127.0.0.1:{self.over.port}"'
            secured = f'hosts = ["a.test"]\nhttps_redirect = false\ncertificate = "{self.over.certificate}"\n'
            secured += f'certificate_key = "{self.over.key}"\n'
        limits = f"[limits]\n{self.parts['limits']}" if self.parts["limits"] else ""
        # The program does to it what only its own user may.
        own = 'user = "root"' if os.geteuid() == 0 else ""
        lines = [own, self.parts["top"], limits, "[[site]]", secured + site, self.parts["more_sites"]]
        self.settings.write_text("\n".join(lines) + "\n")

    def begin(self, memory="64M", prefix=(), environment=None, behind=True):
        """Starts what is behind, then Wick."""
        if behind:
            command = [sys.executable, HERE / "origin.py", self.origin_port]
            self.origin = self.here.start("origin", command, self.options.visitor_cores, is_told=True)
            self._until_open(self.origin_port, self.origin)
        self.write()
        self.command = [*prefix, self.options.wick, "serve", "--config", self.settings]
        self.command += ["--listen", f"127.0.0.1:{self.port}", "--memory", memory]
        self.command += ["--state", self.state]
        self.environment = environment
        self.start()

    def start(self):
        """Starts Wick, at first or again."""
        cores = self.options.server_cores
        self.wick = self.here.start("wick", self.command, cores, self.environment)
        self.pid = self.wick.pid
        self._until_open(self.port, self.wick)

    def order(self, *words):
        """`wick WORDS`; gives what it says, and notes it if it fails."""
        command = [self.options.wick, *words, "--state", self.state]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            why = f"wick {words[0]} failed: {done.stderr.strip()}"
            self.broken += [why] if why not in self.broken else []
        if words[0] == "upgrade" and done.returncode == 0:
            self.pid = int(re.search(r"process (\d+) serves", done.stdout)[1])
        return done.stdout.strip()

    def gather(self, rate=5000, connections=50, misses_every=20, **more):
        """Strangers come; their figures before the first fault are `before`."""
        asked = {"port": self.over.port if self.over else self.port, "rate": rate}
        asked |= {"connections": connections, "misses_every": misses_every}
        asked |= {"is_http2": self.over is not None, **more}
        command = [sys.executable, HERE / "crowd.py", json.dumps(asked)]
        self.crowd = self.here.start("crowd", command, self.options.visitor_cores, is_told=True)
        # What everybody reads is in memory before anything counts.
        self.mark("warm", 2)
        self.mark("before", self.options.seconds)

    def mark(self, name, seconds=0.0):
        """From now on what is due belongs to this phase."""
        tell(self.crowd, f"mark {name}")
        time.sleep(seconds)

    def part(self):
        """The strangers go; their figures by phase."""
        figures = told(self.crowd, "end")
        self.crowd = None
        return figures

    def hold(self, kind, count):
        """Clients that hold connections; returns once all do."""
        command = [sys.executable, HERE / "holders.py"]
        command.append(json.dumps({"port": self.port, "kind": kind, "count": count}))
        holders = self.here.start("holders", command, self.options.visitor_cores, is_told=True)
        with contextlib.suppress(scope.Void):
            scope.wait_until(lambda: "held" in holders.log.read_text(), holders, "all that hold")
        return holders

    def fetch(self, path="/page/0", body=None, host="a.test", seconds_max=30):
        """(status, body) of one answer; status 0 if there is none."""
        head = f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
        if body:
            head += f"Content-Length: {len(body)}\r\n"
        answer = b""
        with contextlib.suppress(OSError), socket.socket() as link:
            link.settimeout(seconds_max)
            link.connect(("127.0.0.1", self.port))
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                link.sendall(head.encode() + b"\r\n" + (body or b""))
            while more := link.recv(1 << 16):
                answer += more
        status = re.match(rb"HTTP/1\.1 (\d+)", answer)
        return (int(status[1]) if status else 0), answer.partition(b"\r\n\r\n")[2]

    def must_serve(self, when, path="/page/0"):
        """Notes it if a stranger who comes now is not served."""
        status, _ = self.fetch(path)
        if status != 200:
            self.broken.append(f"{status or 'no'} answer {when}")

    def until(self, what, condition):
        """Waits for what must come, and notes it if it doesn't."""
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        while not condition():
            if time.monotonic() > deadline:
                self.broken.append(f"waited for {what} in vain")
                return
            time.sleep(0.05)

    def end(self):
        """Stops the Wick that serves, and gives what it said; a crash is noted."""
        if not is_alive(self.pid):
            self.broken.append("Wick had crashed")
        else:
            os.kill(self.pid, signal.SIGTERM)
            self.until("its end", lambda: not is_alive(self.pid))
        log = self.wick.log.read_text(errors="replace")
        if "panicked" in log or "tasks panicked" in log:
            self.broken.append("something panicked")
        return said(log)

    def must_answer(self, figures, what="requests failed"):
        """How many of a phase's requests failed, in words; noted if any did."""
        failed, ways = failures(figures)
        if failed:
            self.broken.append(f"{failed:,} {what}: {ways}")
        return f"{failed:,} of {figures['asked']:,} failed"

    def found(self, fault, done, meanwhile, phases, promise, kind="hit"):
        """What the fault came to, once Wick has ended; `phases` are the figures without it
        and with it."""
        said = self.end()
        without, with_it = (milliseconds(figures, kind) for figures in phases)
        return Found(fault, done, meanwhile, without, with_it, said, promise, self.broken)

    def _until_open(self, port, child):
        def opens():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        scope.wait_until(opens, child, "open port")


def tell(child, word):
    """A line for a program of ours."""
    child.stdin.write(f"{word}\n".encode())
    child.stdin.flush()


def told(child, word):
    """The figures that it ends with."""
    tell(child, word)
    try:
        child.wait(WAIT_SECONDS_MAX)
        return json.loads(child.log.read_text().splitlines()[-1])
    except (subprocess.TimeoutExpired, json.JSONDecodeError, IndexError) as error:
        raise scope.Void(f"{child.label} gave no figures:\n{scope.log_end(child)}") from error


def is_alive(pid):
    """Whether it runs; one that has ended and that nobody waited for doesn't."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def said(log):
    """What its owner reads of a fault: complaints, and troubles that were counted."""
    complaints = [line.strip() for line in log.splitlines() if line.startswith("wick: ")]
    last = log.rpartition("Stopped after")[2]
    troubles = [line.strip() for line in last.splitlines()[1:] if " % " not in line]
    troubles = [line for line in troubles if line and "of content were sent" not in line]
    shown = list(dict.fromkeys([*complaints[:2], *troubles]))
    return "; ".join(shown).replace("|", "/")


def milliseconds(figures, kind="hit"):
    """The 99th percentile of those who asked for what is in memory."""
    p99 = figures[kind]["p99"]
    return "–" if p99 is None else f"{p99 * 1e3:,.1f}"


def failures(figures):
    """How many failed, and in which ways."""
    failed = figures["failed"]
    ways = ", ".join(f"{count:,} × {way}" for way, count in sorted(failed.items()))
    return sum(failed.values()), ways

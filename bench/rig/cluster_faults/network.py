"""Machines that are namespaces, and the network between them.

All of it is inside namespaces that bench/cluster-faults has begun for itself, so the kernel takes
it away with the last process.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from rig import machine, scope
from rig.cluster_faults import switch

HERE = Path(__file__).resolve().parent


class Network:
    """A switch and the places at it, by name; `network.places["n0"].address`."""

    can_part = True

    def __init__(self, here, seed, names):
        Path("/run/netns").mkdir(exist_ok=True)
        # The names of namespaces are files: these are in nobody else's folder.
        _run("mount", "-t", "tmpfs", "none", "/run/netns")
        for name in names:
            _run("ip", "netns", "add", name)
        command = [sys.executable, HERE / "switch.py", seed, *names]
        self.switch = here.start("switch", command, is_told=True)
        scope.wait_until(lambda: "ready" in self.switch.log.read_text(), self.switch, "switch")
        self.places = {name: Place(here, name, at) for at, name in enumerate(names, 1)}

    def enter(self, name):
        """What this thread asks is asked from that place from now on."""
        switch.enter(name)

    def set(self, starts, ends, **way):
        """How frames go from each of these to each of those."""
        for start in starts:
            for end in ends:
                if start != end:
                    self._tell({"from": start, "to": end, **way})

    def set_both(self, some, others, **way):
        """The same in both directions; without a way, as at first."""
        self.set(some, others, **way)
        self.set(others, some, **way)

    def _tell(self, word):
        self.switch.stdin.write(json.dumps(word).encode() + b"\n")
        self.switch.stdin.flush()


class Place:
    """One machine: what starts here has its network and no other."""

    def __init__(self, here, name, number):
        self.here, self.name, self.folder = here, name, here.folder
        self.address = f"10.99.0.{number}"
        for words in (
            ["link", "set", "lo", "up"],
            ["link", "set", "wire", "address", f"02:00:00:00:00:{number:02x}"],
            ["addr", "add", f"{self.address}/24", "dev", "wire"],
            ["link", "set", "wire", "up"],
        ):
            _run(*self.inside(), "ip", *words)

    def inside(self):
        """Words before a command that make it run here."""
        return [machine.program("nsenter"), f"--net=/run/netns/{self.name}"]

    def start(self, name, command, cores=None, environment=None):
        """As a scope starts it, but here."""
        return self.here.start(name, [*self.inside(), *command], cores, environment)


def _run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    if done.returncode != 0:
        raise scope.Void(f"{' '.join(command)}: {done.stderr.strip()}; run it as root, with CAP_NET_ADMIN")

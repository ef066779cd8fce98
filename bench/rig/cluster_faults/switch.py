"""The network between namespaces: a switch whose ports lose, delay and cut, as it is told.

    switch.py SEED NAME…        words on standard input, one JSON object a line

Each namespace NAME gets an interface `wire` of its own, whose frames come here. A word says how
frames go from one port to another from now on: `{"from": "a", "to": "b", "loss": 0.1, "delay":
0.08, "jitter": 0.02}`; `"loss": 1` is a cut, which is silent as cuts are. Without a word they go
at once. It needs nothing of the kernel but /dev/net/tun: queueing disciplines such as netem are
modules that many kernels don't have.
"""

import ctypes
import fcntl
import heapq
import json
import os
import random
import selectors
import struct
import sys
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
FRAME_BYTES_MAX = 65536
WAITING_MAX = 20_000
IPV4, ARP = b"\x08\x00", b"\x08\x06"


def enter(name):
    """This thread's sockets and interfaces are those of the namespace from now on."""
    with open(f"/run/netns/{name}") as namespace:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"the namespace {name} can't be entered")


def interface(name):
    """The end of a new interface `wire` of the namespace."""
    enter(name)
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", b"wire", IFF_TAP | IFF_NO_PI))
    return end


class Switch:
    """Ports by name, how frames go between them, and those that wait."""

    def __init__(self, seed, names):
        self.dice = random.Random(seed)
        self.ends = {name: interface(name) for name in names}
        self.ways = {}
        self.waiting, self.number, self.last_due = [], 0, {}
        self.places = {}

    def take(self, name):
        """All frames that a port has now."""
        while True:
            try:
                frame = os.read(self.ends[name], FRAME_BYTES_MAX)
            except BlockingIOError:
                return
            if frame[12:14] not in (IPV4, ARP):
                continue
            self.places[frame[6:12]] = name
            known = self.places.get(frame[:6])
            for other in [known] if known else self.ends:
                if other != name:
                    self.carry(name, other, frame)

    def carry(self, start, end, frame):
        way = self.ways.get((start, end), {})
        if self.dice.random() < way.get("loss", 0):
            return
        late = way.get("delay", 0) + way.get("jitter", 0) * self.dice.random()
        due = time.monotonic() + late
        # As on a wire, nothing overtakes what went before it.
        due = max(due, self.last_due.get((start, end), 0))
        if late == 0 and due <= time.monotonic():
            self.give(end, frame)
        elif len(self.waiting) < WAITING_MAX:
            self.last_due[start, end] = due
            self.number += 1
            heapq.heappush(self.waiting, (due, self.number, end, frame))

    def give(self, end, frame):
        try:
            os.write(self.ends[end], frame)
        except BlockingIOError:
            pass  # A full queue loses frames on any switch.

    def give_due(self):
        """Gives what is due; seconds until something is again, or none."""
        while self.waiting and self.waiting[0][0] <= time.monotonic():
            _, _, end, frame = heapq.heappop(self.waiting)
            self.give(end, frame)
        return max(0, self.waiting[0][0] - time.monotonic()) if self.waiting else None


def main():
    switch = Switch(int(sys.argv[1]), sys.argv[2:])
    ready = selectors.DefaultSelector()
    ready.register(0, selectors.EVENT_READ)
    for name, end in switch.ends.items():
        ready.register(end, selectors.EVENT_READ, name)
    print("ready", flush=True)
    words = b""
    while True:
        for key, _ in ready.select(switch.give_due()):
            if key.data is not None:
                switch.take(key.data)
                continue
            more = os.read(0, FRAME_BYTES_MAX)
            if not more:
                return
            *lines, words = (words + more).split(b"\n")
            for line in lines:
                way = json.loads(line)
                switch.ways[way.pop("from"), way.pop("to")] = way


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)

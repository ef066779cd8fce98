"""What goes wrong: each a context that begins a fault and mends it, on a node by the dice.

A fault notes what can't be served because of it (`Stage.away`), and nothing else.
"""

import contextlib
import signal
import time

from rig.cluster_faults.stage import NODES, ORIGIN


def _others(node):
    return [other for other in NODES if other != node]


@contextlib.contextmanager
def _way(stage, some, others, both=True, **way):
    """Frames go so between these for a while."""
    give = stage.network.set_both if both else stage.network.set
    give(some, others, **way)
    try:
        yield
    finally:
        give(some, others)


@contextlib.contextmanager
def cut_off(stage, dice):
    """a node is cut off from all"""
    node = dice.choice(NODES)
    with stage.away("originless", [node]), _way(stage, [node], [*_others(node), ORIGIN], loss=1):
        yield


@contextlib.contextmanager
def parted(stage, dice):
    """a node is cut off from the others, not from the origin"""
    node = dice.choice(NODES)
    with _way(stage, [node], _others(node), loss=1):
        yield


@contextlib.contextmanager
def all_parted(stage, _dice):
    """each node is cut off from the others"""
    with _way(stage, NODES, NODES, loss=1):
        yield


@contextlib.contextmanager
def deaf(stage, dice):
    """a node is heard but hears nobody"""
    node = dice.choice(NODES)
    with _way(stage, _others(node), [node], both=False, loss=1):
        yield


@contextlib.contextmanager
def mute(stage, dice):
    """a node hears but is heard by nobody"""
    node = dice.choice(NODES)
    with _way(stage, [node], _others(node), both=False, loss=1):
        yield


@contextlib.contextmanager
def slow(stage, dice):
    """a node's link is 60 to 100 ms late each way"""
    node = dice.choice(NODES)
    with _way(stage, [node], [*_others(node), ORIGIN], delay=0.06, jitter=0.04):
        yield


@contextlib.contextmanager
def lossy(stage, dice):
    """a node's link loses a tenth"""
    node = dice.choice(NODES)
    with _way(stage, [node], [*_others(node), ORIGIN], loss=0.1):
        yield


@contextlib.contextmanager
def origin_cut(stage, _dice):
    """the origin is cut off from all"""
    with stage.away("originless", NODES), _way(stage, NODES, [ORIGIN], loss=1):
        yield


@contextlib.contextmanager
def wick_paused(stage, dice):
    """a Wick is paused"""
    name = f"wick-{dice.choice(NODES)}"
    stage.signal(name, signal.SIGSTOP)
    try:
        yield
    finally:
        stage.signal(name, signal.SIGCONT)


@contextlib.contextmanager
def wick_killed(stage, dice):
    """a Wick is killed, and starts again"""
    with _ended(stage, dice.choice(NODES), signal.SIGKILL):
        yield


@contextlib.contextmanager
def wick_stopped(stage, dice):
    """a Wick is stopped in good order, and starts again"""
    with _ended(stage, dice.choice(NODES), signal.SIGTERM):
        yield


@contextlib.contextmanager
def _ended(stage, node, number):
    name = f"wick-{node}"
    with stage.away("down", [node]):
        # One that is paused as well would not hear it.
        stage.signal(name, signal.SIGCONT)
        stage.kill(name, number)
        try:
            yield
        finally:
            stage.start(name)


@contextlib.contextmanager
def nats_killed(stage, dice):
    """a NATS server is killed, and starts again"""
    name = f"nats-{dice.choice(NODES)}"
    stage.kill(name)
    try:
        yield
    finally:
        stage.start(name)


@contextlib.contextmanager
def nats_paused(stage, dice):
    """a NATS server is paused"""
    name = f"nats-{dice.choice(NODES)}"
    stage.signal(name, signal.SIGSTOP)
    try:
        yield
    finally:
        stage.signal(name, signal.SIGCONT)


@contextlib.contextmanager
def database_killed(stage, _dice):
    """MariaDB is killed, and starts again"""
    with stage.away("originless", NODES):
        stage.kill_database()
        try:
            yield
        finally:
            stage.start_database()


@contextlib.contextmanager
def clock_jumps(stage, dice):
    """a Wick's wall clock jumps an hour forward, then two back"""
    node = dice.choice(NODES)
    stage.set_clock(node, "+3600")
    # libfaketime looks once a second.
    time.sleep(1.2)
    stage.set_clock(node, "-3600")
    try:
        yield
    finally:
        stage.set_clock(node, "+0")


FAULTS = (
    cut_off, parted, all_parted, deaf, mute, slow, lossy, origin_cut, wick_paused, wick_killed,
    wick_stopped, nats_killed, nats_paused, database_killed, clock_jumps,
)
# Two that do the same to one and the same are one.
APART = (
    {wick_killed, wick_stopped, wick_paused, clock_jumps},
    {nats_killed, nats_paused},
    {cut_off, parted, all_parted, deaf, mute, slow, lossy, origin_cut},
)


# What can be done where there is no network to part.
OF_PROCESSES = tuple(one for one in FAULTS if one not in APART[2])


def pair(dice, known=FAULTS):
    """Two faults that don't undo each other."""
    while True:
        two = dice.sample(known, 2)
        if not any(set(two) <= alike for alike in APART):
            return two

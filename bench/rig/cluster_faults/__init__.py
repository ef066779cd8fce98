"""What goes wrong between machines, done to three Wicks under load, by a seed.

[`stage`] is the machines, [`network`] and `switch.py` what is between them, [`visitors`] who comes
and judges, [`faults`] what is done. Start at [`main`].
"""

import argparse
import contextlib
import os
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from rig import command, machine, report, scope, servers
from rig.cluster_faults import faults
from rig.cluster_faults.stage import FRESH_SECONDS, LAG_SECONDS, NODES, SILENCE_SECONDS
from rig.cluster_faults.stage import FOLLOWED, TOLD, UNHEARD, Stage
from rig.cluster_faults.visitors import Visitors

PAGE = servers.BENCH / "CLUSTER-FAULTS.md"
FAULT_SECONDS = (1.5, 4.0)
CALM_SECONDS = 1.5
WARM_SECONDS_MAX = 60
# How long after the origin is back an answer of 5xx is still its: TCP asks again ever less often.
GRACE_SECONDS = 4
# Without a word of the database for so long a node takes it that it doesn't hear it; what it
# makes then is fresh for so long.
SQL_SECONDS_MAX = SILENCE_SECONDS + FRESH_SECONDS
HITS_MIN = 0.2
HEADS = [
    "fault", "times", "requests", "from memory", "marked stale", "down", "origin away", "failed",
    "oldest past an edit, ms", "past an SQL edit, ms", "in touch again after s", "verdict",
]


def main(title, is_inside):
    """The command line; ends with 0 if all that is promised was kept."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--seconds", type=int, default=300, help="how long, about (default 300)")
    parser.add_argument("--seed", type=int, default=1, help="what the dice show (default 1)")
    parser.add_argument("--only", nargs="+", choices=[one.__name__ for one in faults.FAULTS])
    parser.add_argument(
        "--unheard", action="store_true", help="nodes don't hear each other: this has to be found out"
    )
    parser.add_argument(
        "--loopback", action="store_true",
        help="on loopback addresses, without root or namespaces: what goes wrong with processes alone",
    )
    parser.add_argument("--wick", type=Path, help="the binary (default: built from this checkout)")
    parser.add_argument("--write", action="store_true", help=f"writes the table into {PAGE.name}")
    options = parser.parse_args()
    try:
        found = _measure(options, is_inside)
    except KeyboardInterrupt:
        print("interrupted; everything is stopped", file=sys.stderr)
        return 130
    except scope.Void as why:
        print(f"void: {why}", file=sys.stderr)
        return 1
    text = found.markdown(_facts(options))
    print(text)
    if options.write:
        report.write_between_markers(PAGE, text)
        report.progress(f"written into bench/{PAGE.name}")
    return 0 if found.good else 1


def _facts(options):
    kept = f"seed {options.seed}, about {options.seconds} s, lag limit {LAG_SECONDS} s"
    return [kept, *machine.facts(), *command.wick_version(options)]


@dataclass
class Round:
    """A fault, or two at once, and the calm after it."""

    what: str
    began: float
    ended: float = 0.0
    recovered: float = 0.0
    asked: list = field(default_factory=list)


def _measure(options, is_inside):
    if options.loopback:
        if options.write:
            raise scope.Void("the page is of all faults: leave out --loopback or --write")
        if not set(options.only or ()) <= {one.__name__ for one in faults.OF_PROCESSES}:
            raise scope.Void("links can't be cut on loopback: leave out --loopback")
    elif not is_inside or not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        raise scope.Void(
            "namespaces of networks and /dev/net/tun are needed: run it as root on Linux, in a "
            "container with CAP_SYS_ADMIN, CAP_NET_ADMIN and that device. Without these "
            "--loopback tries what goes wrong with processes, and `cargo test -p wick --test cluster` "
            "plays the rest there"
        )
    options.built_here = options.wick is None
    options.wick = (options.wick or command.built_wick()).absolute()
    found = report.Report()
    for kind in [UNHEARD] if options.unheard else [TOLD, FOLLOWED]:
        report.progress(f"{kind.title}: three machines, and the origin …")
        with scope.Scope() as here:
            found.add(_stretch(here, kind, options))
    return found


def _stretch(here, kind, options):
    """Half of the time: the same faults for one way in which edits come to be known."""
    stage = Stage(here, options.wick, options.seed, kind, options.loopback)
    if stage.faketime is None:
        raise scope.Void("libfaketime is missing (package libfaketime)")
    stage.until_in_touch()
    visitors = Visitors(stage, options.seed)
    try:
        rounds = _play(stage, visitors, options)
    finally:
        visitors.end()
    for one in rounds:
        one.asked = [asked for asked in visitors.asked if one.began <= asked.began < one.ended]
    return _found(stage, rounds, visitors.errors + _said(stage))


def _play(stage, visitors, options):
    """Each fault alone, then two at once, until the time is over."""
    dice = random.Random(options.seed)
    rounds = [_calm(visitors)]
    known = faults.FAULTS if stage.network.can_part else faults.OF_PROCESSES
    named = [one for one in known if not options.only or one.__name__ in options.only]
    alone = dice.sample(named, len(named))
    end = time.monotonic() + options.seconds / 2
    while time.monotonic() < end:
        chosen = [alone.pop()] if alone else dice.sample(named, 1) if options.only else faults.pair(dice, known)
        rounds.append(_round(stage, chosen, dice))
        report.progress(f"{rounds[-1].what}: in touch again after {rounds[-1].recovered:.1f} s")
        if visitors.errors:
            raise scope.Void(visitors.errors[0])
    if alone:
        raise scope.Void(f"{options.seconds} s were over before {len(alone)} faults were tried")
    return rounds


def _calm(visitors):
    """Until pages are shared and in memory, and then a while without a fault."""
    begun = time.monotonic()
    seen = 0
    while True:
        time.sleep(1)
        now = visitors.asked[:]
        latest, seen = now[seen:], len(now)
        if visitors.errors:
            raise scope.Void(visitors.errors[0])
        if all(_hits([one for one in latest if one.node == node]) > HITS_MIN for node in NODES):
            break
        if time.monotonic() - begun > WARM_SECONDS_MAX:
            raise scope.Void("pages never came from memory on all nodes: this would show nothing")
    began = time.monotonic()
    time.sleep(5)
    return Round("none", began, time.monotonic())


def _hits(asked):
    """The share of strangers' requests that memory answered."""
    strangers = [one for one in asked if one.who == "stranger"]
    return sum(one.is_hit for one in strangers) / max(len(strangers), 1)


def _round(stage, chosen, dice):
    what = ", and ".join(one.__doc__ for one in chosen)
    done = Round(what, time.monotonic())
    with contextlib.ExitStack() as stack:
        for one in chosen:
            stack.enter_context(one(stage, dice))
        time.sleep(dice.uniform(*FAULT_SECONDS))
    done.recovered = stage.until_in_touch()
    time.sleep(CALM_SECONDS)
    done.ended = time.monotonic()
    return done


def _said(stage):
    """What must not stand in a log."""
    logs = [stage.here.folder / f"wick-{node}.log" for node in NODES]
    return [f"{log.name}: something panicked" for log in logs if "panicked" in log.read_text()]


def _found(stage, rounds, broken):
    found = report.Report()
    names = list(dict.fromkeys(one.what for one in rounds))
    lines, everything = [], []
    for name in names:
        some = [one for one in rounds if one.what == name]
        asked = [asked for one in some for asked in one.asked]
        everything += asked
        lines.append(_line(stage, name, some, asked))
    fresh = [one for one in everything if one.way == "served" and not one.is_marked_stale]
    kind = stage.kind
    _promise(found, f"{kind.title}: ms past an edit", fresh, "older", LAG_SECONDS)
    if kind.is_followed:
        _promise(found, f"{kind.title}: ms past an edit by SQL", fresh, "older_sql", SQL_SECONDS_MAX)
    crossed = sorted({one.crossed for one in everything if one.crossed})
    total = f"{len(everything):,} requests"
    found.promise(f"{kind.title}: private notes shown to others", f"{len(crossed)} of {total}", "0", crossed)
    failed = [_failure(stage, one) for one in everything]
    ways = sorted({way for way in failed if way})
    count = sum(way is not None for way in failed)
    target = "0 but on a node that is down, or for want of the origin"
    found.promise(f"{kind.title}: requests failed", f"{count:,} of {total}", target, ways)
    found.promise(f"{kind.title}: faults played", f"{len(rounds) - 1}", "no crash", broken)
    found.tables.append(report.Table(f"Each fault with the calm after it: {kind.title}", HEADS, lines))
    return found


def _promise(found, figure, fresh, name, bound):
    worst = max((getattr(one, name) for one in fresh), default=0.0)
    broken = [f"{worst:.2f} s"] if worst > bound else []
    found.promise(f"{figure}, the oldest page", f"{worst * 1e3:,.0f}", f"≤ {bound * 1e3:,.0f}", broken)


def _failure(stage, asked):
    """The way in which a request failed that nothing excuses, or none."""
    if asked.way == "served" or _is_down(stage, asked) or _is_originless(stage, asked):
        return None
    return f"{asked.way} for a {asked.who}"


def _is_down(stage, asked):
    """No answer, or half of one, of a node whose Wick ended or wasn't there."""
    is_cut = not asked.way.isdigit() and "page" not in asked.way and " for " not in asked.way
    return asked.way != "served" and is_cut and stage.was_away("down", asked.node, asked.began, asked.ended)


def _is_originless(stage, asked):
    """An answer that says that the origin failed, while it was away."""
    is_told = asked.way.startswith("50")
    away = stage.was_away("originless", asked.node, asked.began, asked.ended, GRACE_SECONDS)
    return is_told and away


def _line(stage, name, rounds, asked):
    served = [one for one in asked if one.way == "served"]
    fresh = [one for one in served if not one.is_marked_stale]
    older = max((one.older for one in fresh), default=0.0)
    older_sql = max((one.older_sql for one in fresh), default=0.0)
    failed = sum(_failure(stage, one) is not None for one in asked)
    is_kept = not failed and older <= LAG_SECONDS and older_sql <= SQL_SECONDS_MAX
    is_kept = is_kept and not any(one.crossed for one in asked)
    return [
        name,
        str(len(rounds)),
        f"{len(asked):,}",
        f"{_hits(asked):.0%}",
        f"{sum(one.is_marked_stale for one in served):,}",
        f"{sum(_is_down(stage, one) for one in asked):,}",
        f"{sum(_is_originless(stage, one) for one in asked):,}",
        f"{failed:,}",
        f"{older * 1e3:,.0f}",
        f"{older_sql * 1e3:,.0f}" if stage.kind.is_followed else "–",
        f"{max(one.recovered for one in rounds):.1f}",
        "kept" if is_kept else "**broken**",
    ]

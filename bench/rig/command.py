"""The command line that all measurements share."""

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from rig import machine, report, scope, servers


@dataclass
class Options:
    """What a measurement has to know."""

    wick: Path | None
    built_here: bool
    quick: bool
    rounds: int
    seconds: int
    perf: bool
    server_cores: set
    visitor_cores: set
    shared_cores: set
    only: tuple = ()
    comparisons: int = 0
    other: Path | None = None
    memory: bool = False


def main(title, measurements, has_other=False, memory=()):
    """Runs `measurements` (name, function) one after the other, prints their report,
    and ends with 0 if every target was met, 1 if not, 130 if interrupted. With `has_other`
    one of several Wicks may be another binary; with `--memory` those of `memory` are run instead."""
    sys.exit(_main(title, measurements, page=None, has_other=has_other, memory=memory))


def main_all(title, measurements):
    """The same; unless quick, the table in README.md becomes this run's."""
    sys.exit(_main(title, measurements, page=servers.BENCH / "README.md"))


def main_page(title, measurements, page, parts):
    """The same for a page of its own, and measurements whose parts can be asked for."""
    sys.exit(_main(title, measurements, page, [part.__name__ for part in parts]))


def main_section(title, measurements, page, section):
    """The same for a section of a page that several measurements share."""
    sys.exit(_main(title, measurements, page, section=section))


def main_alarms(title, measurements, alarms, page, section):
    """The same, with other measurements where `--aa` says how many comparisons they hold; their
    section is called after this one's."""
    sys.exit(_main(title, measurements, page, alarms=alarms, section=section))


def _main(title, measurements, page, parts=(), alarms=(), section=None, has_other=False, memory=()):
    try:
        options = _options(title, parts, bool(alarms), has_other, bool(memory))
        if options.memory:
            measurements = memory
        if options.comparisons:
            measurements, section = alarms, f"{section} alarms"
        found = _measure(measurements, options)
        facts = [_conditions(options), *machine.facts(), *wick_version(options)]
        text = found.markdown(facts)
        print(text)
        if page and (options.quick or options.only or not options.built_here):
            report.progress(f"not a whole run of this checkout: {page.name} is left as it is")
        elif page:
            report.write_between_markers(page, text, section)
            report.progress(f"written into bench/{page.name}")
        return 0 if found.good else 1
    except KeyboardInterrupt:
        print("interrupted; everything is stopped", file=sys.stderr)
        return 130
    except scope.Void as why:
        print(f"void: {why}", file=sys.stderr)
        return 1


def _measure(measurements, options):
    """A measurement that is void does not keep the others from being made."""
    found = report.Report()
    for name, measure in measurements:
        report.progress(f"{name} …")
        try:
            found.add(measure(options))
        except scope.Void as why:
            report.progress(f"void: {why}")
            found.void(name, why)
    return found


def _options(title, parts, has_alarms, has_other, has_memory):
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--quick", action="store_true", help="shows that it works; measures nothing")
    parser.add_argument("--rounds", type=int, help="rounds of each server (default 5, quick 1)")
    parser.add_argument("--seconds", type=int, help="seconds a turn (default 5, quick 1)")
    parser.add_argument("--wick", type=Path, help="the binary (default: built from this checkout)")
    parser.add_argument("--no-wick", action="store_true", help="the peers alone")
    parser.add_argument("--perf", action="store_true", help="hits: where Wick's CPU time goes")
    if parts:
        parser.add_argument("--only", nargs="+", choices=parts, default=(), help="these alone")
    if has_alarms:
        parser.add_argument("--aa", type=int, default=0, metavar="N", help="N comparisons of --vs")
    if has_other:
        parser.add_argument("--other", type=Path, help="the binary of one node of several")
    if has_memory:
        parser.add_argument("--memory", action="store_true", help="memory and the load of a day")
    given = parser.parse_args()
    server, visitors, shared = machine.cores()
    return Options(
        wick=None if given.no_wick else (given.wick or built_wick()),
        built_here=not (given.no_wick or given.wick),
        quick=given.quick,
        rounds=given.rounds or (1 if given.quick else 5),
        seconds=given.seconds or (1 if given.quick else 5),
        perf=given.perf,
        server_cores=server,
        visitor_cores=visitors,
        shared_cores=shared,
        only=tuple(getattr(given, "only", ())),
        comparisons=getattr(given, "aa", 0),
        other=getattr(given, "other", None),
        memory=getattr(given, "memory", False),
    )


def built_wick():
    """Wick as this checkout has it now: an old binary would measure the past."""
    report.progress("building wick …")
    command = [machine.program("cargo"), "build", "--release", "--locked", "-p", "wick"]
    if subprocess.run(command, cwd=servers.REPOSITORY, check=False).returncode != 0:
        raise scope.Void("wick does not build; --no-wick measures the peers alone")
    return servers.REPOSITORY / "target" / "release" / "wick"


def _conditions(options):
    kind = "**quick run, not a measurement**; " if options.quick else ""
    return (
        f"{kind}{options.rounds} rounds of {options.seconds} s; "
        "server on one core, visitors on another, unless said otherwise"
    )


def wick_version(options):
    """Which Wick it was, as one fact or none."""
    if not options.built_here:
        return [f"wick: {options.wick}"] if options.wick else []
    command = ["git", "-C", servers.REPOSITORY, "describe", "--always", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [f"wick at {done.stdout.strip()}"] if done.returncode == 0 else []

"""CPU time of load generators for each request over keep-alive connections.

The server is the bare loop, which costs less than any of them; what is measured is the
generator's own process, by what the kernel says when it has ended.
"""

import json
import re
import resource
import shutil
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from rig import contest, machine, report, scope, servers, visit

CONNECTIONS = 100
BODY_BYTES = 1024
MEMORY_CONNECTIONS = 1000
MEMORY_MIB_MAX = 32
# Of what an answer takes in the comparisons of `--aa`, and how much more the slower one's does.
WORK_US = 1000
SLOWER = 0.05
# Turns in the closed model: what else the machine does widens intervals, and makes none void.
AA_TURN = "250ms"
AA_ROUNDS = 10


@dataclass
class Generator:
    """Who loads, and the CPU time that all its turns took."""

    name: str
    cpu_seconds: float = 0.0


def measure(options):
    """wick bench (closed, one thread), wrk (one thread), ab (-k), and oha where it is there."""
    found = report.Report()
    with scope.Scope() as here:
        server = servers.bare(here, options.server_cores, BODY_BYTES)
        path = "/"
        visit.fetch(server, path)
        turns = {"wrk": _wrk, "ab": _ab}
        oha = _program("oha")
        if oha:
            turns["oha"] = lambda options, server, path: _oha(oha, options, server, path)
        if options.wick:
            turns = {"wick bench": _wick, **turns}
        generators = [Generator(name) for name in turns]

        def turn(generator):
            before = _children()
            done = turns[generator.name](options, server, path)
            generator.cpu_seconds += _children() - before
            return done

        held = contest.hold(generators, turn, options.rounds, lambda one: one.cpu_seconds)
        title = f"Load of {BODY_BYTES:,} bytes an answer over {CONNECTIONS} kept connections"
        found.tables.append(held.table(title))
        wick = "wick bench" if options.wick else None
        rate = 1e6 / held.median(wick, "cpu_microseconds") if wick else None
        found.judge("requests made in a CPU-second, wick bench", rate, 150_000, "{:,.0f}")
        for rival, target in (("wrk", 0.9), ("ab", 1.0)):
            ratio = held.ratio(wick, rival, "cpu_microseconds") if wick else None
            found.judge(f"requests made in a CPU-second, wick bench : {rival}", ratio, target)
        if options.wick:
            found.judge(
                f"MiB of memory of wick bench, {MEMORY_CONNECTIONS:,} connections",
                _memory(options, server, path),
                MEMORY_MIB_MAX,
                "{:.1f}",
                at_least=False,
            )
    return found


def alarms(options):
    """`wick bench --vs` of two servers that are the same, and of one that is slower by 5 %."""
    found = report.Report()
    if options.wick is None:
        raise scope.Void("there is nothing to measure without wick")
    with scope.Scope() as here:
        same = [servers.bare(here, options.server_cores, BODY_BYTES, 1, WORK_US) for _ in "ab"]
        slower_us = round(WORK_US * (1 + SLOWER))
        slower = servers.bare(here, options.server_cores, BODY_BYTES, 1, slower_us)
        for title, second, count in (
            ("the same twice", same[1], options.comparisons),
            (f"{SLOWER:.0%} slower", slower, max(1, options.comparisons // 5)),
        ):
            told = [_versus(options, same[0], second) for _ in range(count)]
            differ = sum(1 for one in told if one and (one["low"] > 0 or one["high"] < 0))
            whole = sum(1 for one in told if one)
            if not whole:
                raise scope.Void(f"{title}: each comparison was void")
            shares = [one["share"] for one in told if one]
            lines = [[f"{whole} of {count}", str(differ), f"{statistics.median(shares):+.2%}"]]
            heads = ["comparisons that say something", "told to differ", "median difference"]
            found.tables.append(report.Table(f"--vs, {title}", heads, lines))
            if second is slower:
                found.judge("a slow-down by 5 % found, of all", differ / whole, 0.8)
            else:
                found.judge(
                    "false alarms, of all", differ / whole, 0.05, "{:.2f}", at_least=False
                )
    return found


def _versus(options, first, second):
    """What a comparison says of the median; None if it says nothing."""
    line = ["bench", "--vs", f"{second.url}/", "-c", 1, "--duration", AA_TURN]
    line += ["--rounds", AA_ROUNDS, "--threads", 1, "--format", "json", f"{first.url}/"]
    command = [str(word) for word in [options.wick, *line]]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: scope.settle(options.visitor_cores),
    )
    # 4: they differ; 3: nothing can be said.
    if done.returncode not in (0, 3, 4):
        raise scope.Void(f"wick bench --vs: {done.stderr[-500:]}")
    figures = json.loads(done.stdout)["figures"]
    return next(one["difference"] for one in figures if one["figure"] == "p50")


def _memory(options, server, path):
    """The most that wick bench had in memory, in MiB, while all connections were busy."""
    line = ["bench", "-c", MEMORY_CONNECTIONS, "--duration", f"{options.seconds}s"]
    line += ["--threads", 1, "--format", "json", f"{server.url}{path}"]
    most = 0
    with scope.visitor([options.wick, *line], options.visitor_cores) as child:
        status = Path(f"/proc/{child.pid}/status")
        while child.poll() is None:
            said = re.search(r"^VmHWM:\s+(\d+)", status.read_text(), re.MULTILINE)
            most = max(most, int(said[1]) if said else 0)
            time.sleep(0.05)
    return most / 1024


def _program(name):
    """A program that somebody has built: on the path, or in target/tools."""
    tools = servers.REPOSITORY / "target" / "tools" / "bin"
    path = shutil.which(name) or shutil.which(name, path=str(tools))
    if path is None:
        report.progress(f"not there: cargo install {name} --root target/tools")
    return path


def _children():
    """CPU time of all that was started here and has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _wick(options, server, path):
    line = ["bench", "-c", CONNECTIONS, "--duration", f"{options.seconds}s", "--threads", 1]
    line += ["--format", "json", f"{server.url}{path}"]
    output = scope.run([options.wick, *line], options.visitor_cores)
    # What it says on standard error stands before it.
    told = json.loads(output[output.index("{") :])
    if told["failed"] or set(told["statuses"]) != {"200"}:
        raise scope.Void(f"wick bench: {told['failures']} {told['statuses']}")
    return visit.Visit(told["answered"], told["seconds"])


def _wrk(options, server, path):
    return visit.wrk(
        server, path, BODY_BYTES, CONNECTIONS, options.seconds, options.visitor_cores
    )


def _ab(options, server, path):
    command = [machine.program("ab"), "-q", "-k", "-c", CONNECTIONS, "-t", options.seconds]
    command += ["-n", 100_000_000, f"{server.url}{path}"]
    output = scope.run(command, options.visitor_cores)
    said = dict(re.findall(r"^(Complete requests|Failed requests|Time taken for tests): +([\d.]+)", output, re.MULTILINE))
    if len(said) < 3 or float(said["Failed requests"]) or "Non-2xx" in output:
        raise scope.Void(f"ab failed:\n{output}")
    return visit.Visit(int(said["Complete requests"]), float(said["Time taken for tests"]))


def _oha(program, options, server, path):
    command = [program, "--no-tui", "-c", CONNECTIONS, "-z", f"{options.seconds}s"]
    command += ["--output-format", "json", f"{server.url}{path}"]
    output = scope.run(command, options.visitor_cores)
    told = json.loads(output[output.index("{") :])
    statuses = told["statusCodeDistribution"]
    # What was under way at the end is counted as an error of this kind.
    errors = {kind for kind in told["errorDistribution"] if "deadline" not in kind}
    if errors or set(statuses) != {"200"}:
        raise scope.Void(f"oha: {errors} {statuses}")
    return visit.Visit(statuses["200"], told["summary"]["total"])

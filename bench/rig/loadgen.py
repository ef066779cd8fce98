"""CPU time of load generators for each request over keep-alive connections.

The server is the bare loop, which costs less than any of them; what is measured is the
generator's own process, by what the kernel says when it has ended.
"""

import json
import re
import resource
from dataclasses import dataclass

from rig import contest, machine, report, scope, servers, visit

CONNECTIONS = 100
BODY_BYTES = 1024


@dataclass
class Generator:
    """Who loads, and the CPU time that all its turns took."""

    name: str
    cpu_seconds: float = 0.0


def measure(options):
    """wick bench (closed, one thread), wrk (one thread) and ab (-k)."""
    found = report.Report()
    with scope.Scope() as here:
        server = servers.bare(here, options.server_cores, BODY_BYTES)
        path = "/"
        visit.fetch(server, path)
        turns = {"wrk": _wrk, "ab": _ab}
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
    return found


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

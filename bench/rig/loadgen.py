"""CPU time of load generators for each request over keep-alive connections, how late wick bench
is on a schedule, and its memory.

The server is the bare loop, which costs less than any of them, and a Wick where TLS, HTTP/2 or
HTTP/3 is spoken; what is measured is the generator's own process, by what the kernel says when
it has ended.
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
# What a schedule is kept by: arrivals a second, and how late one in a hundred may be.
RATE = 20_000
LATENESS_US_MAX = 100
# A long run, in seconds; a long one in requests; a long log, in lines of that many addresses,
# played so much faster that it takes some twenty seconds.
LONG_SECONDS = 120
LONG_REQUESTS = 10_000_000
LOG_LINES = 1_000_000
LOG_ADDRESSES = 150_000
LOG_RATE = 1_000
LOG_SPEED = 40
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
    return found


def schedule(options):
    """How late wick bench is by itself at a high rate: nobody else tells."""
    found = report.Report()
    if options.wick is None:
        return found
    seconds = options.seconds if options.quick else max(10, options.seconds)
    with scope.Scope() as here:
        server = servers.bare(here, options.server_cores, BODY_BYTES)
        line = ["--rate", RATE, "--duration", f"{seconds}s", f"{server.url}/"]
        rounds = [_told(options, line)["generator"] for _ in range(options.rounds)]
    lines = [
        [
            f"{one['lateness']['p50_us']}",
            f"{one['lateness']['p99_us']}",
            f"{one['lateness']['p999_us']}",
            f"{one['lateness']['max_us']}",
            f"{one['busiest_thread']:.2f}",
        ]
        for one in rounds
    ]
    heads = ["median, µs", "99 %", "99.9 %", "most", "cores busy"]
    title = f"How late wick bench began requests, {RATE:,} a second for {seconds} s, a round a line"
    found.tables.append(report.Table(title, heads, lines))
    found.judge(
        f"µs that 99 of 100 requests are late at most, {RATE:,} a second",
        statistics.median(one["lateness"]["p99_us"] for one in rounds),
        LATENESS_US_MAX,
        "{:.0f}",
        at_least=False,
    )
    return found


def memory(options):
    """The most memory that runs of wick bench have taken, of all lengths and protocols."""
    found = report.Report()
    if options.wick is None:
        return found
    turn = options.seconds
    seconds = turn if options.quick else LONG_SECONDS
    requests = 50_000 if options.quick else LONG_REQUESTS
    lines = LOG_LINES // 20 if options.quick else LOG_LINES
    many, few = ["-c", MEMORY_CONNECTIONS], ["-c", CONNECTIONS]
    with scope.Scope() as here:
        bare = servers.bare(here, options.server_cores, BODY_BYTES)
        log = here.folder / "access.log"
        _write_log(log, lines)
        folder = here.folder / "pages"
        folder.mkdir()
        folder.chmod(0o755)
        (folder / "page.html").write_text("x" * BODY_BYTES)
        over = servers.tls(here)
        wick = servers.wick(here, options.server_cores, options.wick, folder, "64M", over=over)
        plain, secure = f"{wick.url}/page.html", f"https://127.0.0.1:{over.port}/page.html"
        bare = f"{bare.url}/"
        runs = {
            f"{MEMORY_CONNECTIONS:,} connections, {turn} s": [*many, "--duration", f"{turn}s", bare],
            f"{CONNECTIONS} connections, {seconds} s": [*few, "--duration", f"{seconds}s", bare],
            f"{requests:,} requests": ["-n", requests, *few, "-k", bare],
            f"2,000 requests a second, {seconds} s": [
                "--rate", 2_000, "--duration", f"{seconds}s", bare
            ],
            f"a log of {lines:,} lines": ["--replay", log, "--speed", f"{LOG_SPEED}x", bare],
            f"TLS, {MEMORY_CONNECTIONS:,} connections": [
                *many, "--insecure", "--duration", f"{turn}s", secure
            ],
            f"HTTP/2, {MEMORY_CONNECTIONS:,} at one time": [
                *many, "--http", 2, "--duration", f"{turn}s", plain
            ],
            f"HTTP/2 over TLS, {MEMORY_CONNECTIONS:,} at one time": [
                *many, "--http", 2, "--insecure", "--duration", f"{turn}s", secure
            ],
            f"HTTP/3, {MEMORY_CONNECTIONS:,} at one time": [
                *many, "--http", 3, "--insecure", "--duration", f"{turn}s", secure
            ],
        }
        for name, line in runs.items():
            report.progress(f"memory: {name} …")
            found.judge(
                f"MiB of memory of wick bench: {name}",
                _memory(options, line),
                MEMORY_MIB_MAX,
                "{:.1f}",
                at_least=False,
            )
    return found


def _write_log(path, lines):
    """An access log, the requests of a second in each second's order."""
    begin = 1_700_000_000
    with path.open("w") as log:
        for number in range(lines):
            moment = time.gmtime(begin + number // LOG_RATE)
            when = time.strftime("%d/%b/%Y:%H:%M:%S +0000", moment)
            # Addresses in an order that no cache likes.
            address = number * 7919 % LOG_ADDRESSES
            log.write(
                f'192.0.2.7 - - [{when}] "GET /topic/{address}/a-title HTTP/1.1" 200 {BODY_BYTES} '
                '"-" "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"\n'
            )


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


def _told(options, line):
    """What a run of wick bench says of itself."""
    command = [options.wick, "bench", "--threads", 1, "--format", "json", *line]
    with scope.visitor(command, options.visitor_cores) as child:
        output, _ = child.communicate()
    # 3: void, which it says itself.
    if child.returncode not in (0, 3) or "{" not in output:
        raise scope.Void(f"wick bench: {output.strip()[-500:]}")
    # What it says on standard error stands before it.
    told = json.loads(output[output.index("{") :])
    if told["failed"] or set(told["statuses"]) != {"200"} or told["void"]:
        raise scope.Void(f"wick bench: {told['void']} {told['failures']} {told['statuses']}")
    return told


def _memory(options, line):
    """The most that a run of wick bench had in memory, in MiB."""
    command = [options.wick, "bench", "--threads", 1, "--format", "json", *line]
    most, output = 0, ""
    with scope.visitor(command, options.visitor_cores) as child:
        status = Path(f"/proc/{child.pid}/status")
        while child.poll() is None:
            said = re.search(r"^VmHWM:\s+(\d+)", status.read_text(), re.MULTILINE)
            most = max(most, int(said[1]) if said else 0)
            time.sleep(0.05)
        output = child.stdout.read()
    # A run that is late is no less large.
    if child.returncode not in (0, 3) or '"200"' not in output:
        raise scope.Void(f"wick bench {line}: {output.strip()[-500:]}")
    told = json.loads(output[output.index("{") :])
    if told["failed"] or set(told["statuses"]) != {"200"}:
        raise scope.Void(f"wick bench {line}: {told['failures']} {told['statuses']}")
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
    line = ["-c", CONNECTIONS, "--duration", f"{options.seconds}s", f"{server.url}{path}"]
    told = _told(options, line)
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

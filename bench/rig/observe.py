"""What it costs a request to be observed: the ledger told of hits, in a program of its own.

Times are the least of the rounds, since whatever else runs only makes them longer;
instructions are the difference of a long run and a short one, so that what beginning
takes is in neither.
"""

import re
import subprocess

from rig import machine, report, scope, servers

EXAMPLE = "run --quiet --release --locked -p observe --example cost".split()
NANOSECONDS_MAX = 50
MEMORY_MAX = 16
FEW, MANY = 1_000_000, 11_000_000


def measure(options):
    """Nanoseconds and instructions a hit, and the memory of all routes in use."""
    rounds = [_figures() for _ in range(options.rounds)]
    found = report.Report()
    found.tables.append(
        report.Table(
            "Observing, as its own example tells it",
            ["figure", *(f"round {number + 1}" for number in range(len(rounds)))],
            [[name, *(f"{figures[name]:.2f}" for figures in rounds)] for name in rounds[0]],
        )
    )
    for name in rounds[0]:
        least = min(figures[name] for figures in rounds)
        if "threads" in name and "routes" not in name:
            found.judge(f"ns a hit, {name}", least, NANOSECONDS_MAX, "{:.1f}", at_least=False)
        elif "routes" in name:
            found.judge(f"MiB, {name}", least, MEMORY_MAX, "{:.1f}", at_least=False)
    instructions = _instructions()
    shown = "perf may not count" if instructions is None else f"{instructions:.0f}"
    found.rows.append(report.Row("instructions a hit, one thread", shown, "", "–"))
    return found


def _figures():
    """The numbers of one run, by what the example says before or behind them."""
    told = _run([machine.program("cargo"), *EXAMPLE]).stdout
    figures = {}
    for line in told.splitlines():
        match = re.fullmatch(r"(.+): ([0-9.]+)(?: (MiB|ms))?", line.strip())
        if match:
            figures[match[1]] = float(match[2])
    if len(figures) < 4:
        raise scope.Void(f"the example tells something else: {told!r}")
    return figures


def _instructions():
    """Instructions of one more hit; none where nobody may count them."""
    counts = []
    # The first run of cargo has built it; perf counts the program alone.
    target = _run([machine.program("cargo"), "metadata", "--format-version", "1", "--no-deps"]).stdout
    folder = re.search(r'"target_directory":"([^"]+)"', target)[1]
    for hits in (FEW, MANY):
        perf = ["perf", "stat", "-x,", "-e", "instructions:u", f"{folder}/release/examples/cost"]
        try:
            ended = subprocess.run([*perf, str(hits)], capture_output=True, text=True, check=True)
            counts.append(int(ended.stderr.split(",")[0]))
        except (OSError, ValueError, subprocess.CalledProcessError):
            return None
    return (counts[1] - counts[0]) / (MANY - FEW)


def _run(arguments):
    ended = subprocess.run(arguments, cwd=servers.REPOSITORY, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise scope.Void(f"{' '.join(arguments)}: {ended.stderr.strip()[-300:]}")
    return ended

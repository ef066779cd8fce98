"""Rounds in which servers take turns, so that what the machine does besides
falls on all of them, and the medians and ratios that come of it."""

import statistics
import time
from dataclasses import dataclass

from rig import process, report, scope


@dataclass
class Sample:
    """One server's turn in one round."""

    requests: int
    cpu_seconds: float
    seconds: float

    @property
    def cpu_microseconds(self):
        """CPU time a request."""
        return self.cpu_seconds * 1e6 / self.requests

    @property
    def rate(self):
        """Requests a second."""
        return self.requests / self.seconds

    @property
    def busy(self):
        """CPU seconds a second: 1.0 is one core at its limit."""
        return self.cpu_seconds / self.seconds


class Contest:
    """The samples of all rounds, by server."""

    def __init__(self):
        self.samples = {}

    def median(self, name, figure):
        """The median of a Sample's figure over the rounds."""
        return statistics.median(getattr(one, figure) for one in self.samples[name])

    def ratio(self, name, rival, figure):
        """The median over the rounds of `rival`'s figure divided by `name`'s in the
        same round: how many times less `name` needs."""
        pairs = zip(self.samples[name], self.samples[rival], strict=True)
        return statistics.median(getattr(b, figure) / getattr(a, figure) for a, b in pairs)

    def table(self, title):
        """One line a server."""
        lines = [
            [
                name,
                f"{self.median(name, 'cpu_microseconds'):.2f}",
                _spread([one.cpu_microseconds for one in samples]),
                f"{1e6 / self.median(name, 'cpu_microseconds'):,.0f}",
                f"{self.median(name, 'rate'):,.0f}",
                f"{self.median(name, 'busy'):.2f}",
            ]
            for name, samples in self.samples.items()
        ]
        heads = ["server", "CPU µs a request", "least to most", "requests a CPU-second"]
        return report.Table(title, [*heads, "requests a second", "cores busy"], lines)


def hold(contestants, visit, rounds, cpu_seconds=None):
    """`visit(server)` for each server in turn, `rounds` times after one that does not count.
    What it costs is its processes' CPU time, or what `cpu_seconds(server)` says."""
    cpu_seconds = cpu_seconds or (lambda server: process.cpu_seconds(server.process.pid))
    contest = Contest()
    for number in range(rounds + 1):
        for server in contestants:
            before, start = cpu_seconds(server), time.monotonic()
            done = visit(server)
            cpu = cpu_seconds(server) - before
            sample = Sample(done.requests, max(cpu, 1e-6), done.seconds)
            took = time.monotonic() - start
            if number > 0:
                contest.samples.setdefault(server.name, []).append(sample)
            report.progress(
                f"round {number or 'zero'}: {server.name}: {sample.cpu_microseconds:.2f} µs, "
                f"{sample.rate:,.0f}/s ({took:.1f} s)"
            )
    return contest


def _spread(figures):
    return f"{min(figures):.2f}–{max(figures):.2f}"


def hold_from_memory(contestants, visit, rounds, count):
    """The same where only caches are asked: void if PHP, which `count` counts, ran meanwhile."""
    before = count()
    held = hold(contestants, visit, rounds)
    if count() != before:
        raise scope.Void(f"PHP ran {count() - before} times while only caches were asked")
    return held

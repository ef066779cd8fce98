"""What goes wrong on a machine, done to a Wick under load: what fails, and what it says.

[`stage`] is what all of it stands on; `crowd.py`, `holders.py` and `origin.py` are programs of
their own, so that none waits for another.
"""

from rig import report, scope
from rig.faults import behind, shortage, slow, succession

TRIALS = (*succession.TRIALS, *slow.TRIALS, *shortage.TRIALS, *behind.TRIALS)
HEADS = ["fault", "what came of it", "p99 ms before", "p99 ms with it", "what Wick says"]


def measure(options):
    """Each fault in turn; one that can't be tried doesn't keep the others from it."""
    found = report.Report()
    lines = []
    for trial in TRIALS:
        if options.only and trial.__name__ not in options.only:
            continue
        report.progress(f"{trial.__name__} …")
        if options.wick is None:
            raise scope.Void("there is no Wick to try")
        try:
            result = trial(options)
        except scope.Void as why:
            report.progress(f"void: {why}")
            found.void(trial.__name__, why)
            continue
        report.progress(f"{result.meanwhile}; {'; '.join(result.broken) or 'kept'}")
        found.promise(result.fault, result.meanwhile, result.promise, result.broken)
        lines.append([result.fault, result.done, result.without, result.with_it, result.said])
    found.tables.append(report.Table("What was done, and what was seen", HEADS, lines))
    return found

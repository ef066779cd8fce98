"""What a server costs: CPU time and memory of a process and all its descendants.

From /proc/PID/stat and /proc/PID/status. A descendant that ended and was waited
for is counted in its parent's children's times, so nothing is lost between two
readings of one tree.
"""

import os
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def tree(pid):
    """`pid` and every living descendant of it."""
    children = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and (fields := _stat(entry.name)):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    members = [pid]
    for member in members:
        members.extend(children.get(member, ()))
    return members


def cpu_seconds(pid):
    """User and system time that the tree has used so far."""
    ticks = 0
    for member in tree(pid):
        # utime, stime and the same of the children that were waited for.
        ticks += sum(int(field) for field in _stat(member)[11:15])
    return ticks / TICKS_PER_SECOND


def resident_bytes(pid):
    """Memory that the tree has in RAM now (VmRSS)."""
    return _sum_status(pid, "VmRSS:")


def resident_bytes_peak(pid):
    """The most that the tree's members ever had in RAM (VmHWM), summed."""
    return _sum_status(pid, "VmHWM:")


def forget_peaks(pid):
    """Has the tree's members begin anew with what they ever had in RAM."""
    for member in tree(pid):
        # 5: the peak alone (proc(5), clear_refs).
        Path(f"/proc/{member}/clear_refs").write_text("5")


def anonymous_bytes(pid):
    """Memory of the tree that is no file's (RssAnon)."""
    return _sum_status(pid, "RssAnon:")


def _sum_status(pid, key):
    total = 0
    for member in tree(pid):
        try:
            status = Path(f"/proc/{member}/status").read_text()
        except OSError:
            continue
        for line in status.splitlines():
            if line.startswith(key):
                total += int(line.split()[1]) * 1024
    return total


def _stat(pid):
    """The fields after the name, from the state on; none for one that has ended."""
    try:
        # The name in brackets may hold spaces and brackets.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []

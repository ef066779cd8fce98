"""What the figures were measured on, and which cores do what."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from rig.scope import Void

PACKAGES = {
    "nginx": "nginx",
    "varnishd": "varnish",
    "php-fpm": "php-fpm",
    "wrk": "wrk",
    "ab": "apache2-utils",
    "searchd": "sphinxsearch",
    "indexer": "sphinxsearch",
    "mariadbd": "mariadb-server",
    "nats-server": "nats-server",
    "nsenter": "util-linux",
    "cargo": "cargo (rustup's will do)",
}


def program(name):
    """The path of a needed program; /usr/sbin is not on everybody's path."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin:/sbin"
    found = shutil.which(name, path=path)
    if name == "php-fpm" and found is None:
        versions = [str(file) for file in Path("/usr/sbin").glob("php-fpm*")]
        found = max(versions, key=_version_number, default=None)
    if found is None:
        raise Void(
            f"{name} is missing (package {PACKAGES.get(name, name)}); "
            "scripts/setup bench installs all that is needed"
        )
    return found


def is_root():
    """Whether users can be changed."""
    return os.geteuid() == 0


def cores():
    """(for a server, for its visitors, for a second serving thread)."""
    mine = sorted(os.sched_getaffinity(0))
    if len(mine) < 2:
        raise Void("two cores are needed: one for the server, one for its visitors")
    return {mine[0]}, {mine[1]}, {mine[0], mine[1]}


def facts():
    """Machine and versions, one fact a line."""
    lines = [
        f"{_cpu_model()}, {os.cpu_count()} cores, {_memory()}",
        f"Linux {os.uname().release}, {_debian()}",
    ]
    versions = [
        _first_line(["nginx", "-v"]).removeprefix("nginx version: "),
        _first_line(["varnishd", "-V"]).removeprefix("varnishd ").partition(" revision")[0].strip("("),
        " ".join(_first_line(["php-fpm", "-v"]).split()[:2]),
        " ".join(_first_line(["wrk", "-v"]).split()[:2]),
    ]
    lines.append(", ".join(version for version in versions if version))
    return lines


def _cpu_model():
    info = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.+)$", info, re.MULTILINE)
    family = re.search(r"^cpu family\s*:\s*(.+)$", info, re.MULTILINE)
    number = re.search(r"^model\s*:\s*(.+)$", info, re.MULTILINE)
    detail = f" (family {family[1]}, model {number[1]})" if family and number else ""
    return (model[1] if model else os.uname().machine) + detail


def _memory():
    kilobytes = int(Path("/proc/meminfo").read_text().split()[1])
    return f"{kilobytes / 2**20:.0f} GiB"


def _debian():
    try:
        return "Debian " + Path("/etc/debian_version").read_text().strip()
    except OSError:
        return "not Debian"


def _first_line(command):
    """A version, or nothing where the program is absent: facts are never void."""
    try:
        words = [program(command[0]), *command[1:]]
    except Void:
        return ""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return next(iter((done.stdout + done.stderr).splitlines()), "")


def _version_number(path):
    return [int(number) for number in re.findall(r"\d+", path)]

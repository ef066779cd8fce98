"""Everything that a measurement starts, in one place that ends it all.

A scope owns a temporary folder and child processes. Leaving it (finished, failed,
Ctrl-C, TERM) stops the children, youngest first, and removes the folder. Should
the driver itself be killed, the kernel ends the children.
"""

import contextlib
import ctypes
import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

START_SECONDS_MAX = 20
STOP_SECONDS_MAX = 8
PR_SET_PDEATHSIG = 1
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Void(Exception):
    """The run says nothing about speed: something was missing, wrong or not cached."""


class Scope:
    """A temporary folder and the processes that live in it."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="wick-bench-"))
        # Workers of nginx, php-fpm and Varnish give up root and still need to enter.
        self.folder.chmod(0o755)
        self.children = []

    def __enter__(self):
        for number in SIGNALS:
            signal.signal(number, _interrupt)
        return self

    def __exit__(self, *_):
        # A second Ctrl-C must not leave half of them running.
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        try:
            for child in reversed(self.children):
                _stop(child)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
            for number in SIGNALS:
                signal.signal(number, _interrupt)

    def start(self, name, command, cores=None, environment=None, is_told=False):
        """Starts a server on `cores`; its output goes to NAME.log in the folder. One that
        `is_told` hears us on its standard input."""
        log = self.folder / f"{name}.log"
        with log.open("ab") as output:
            child = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.PIPE if is_told else subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
                preexec_fn=lambda: _prepare(cores),
            )
        child.log = log
        child.label = name
        self.children.append(child)
        return child

    def stop(self, child):
        """Stops one child before the scope ends."""
        self.children.remove(child)
        _stop(child)


def run(command, cores=None, seconds_max=600):
    """Runs a visitor on `cores` to its end and gives its output."""
    with visitor(command, cores) as child:
        try:
            output, _ = child.communicate(timeout=seconds_max)
        except subprocess.TimeoutExpired as slow:
            raise Void(f"{command[0]} did not end within {seconds_max} s") from slow
    if child.returncode != 0:
        raise Void(f"{Path(command[0]).name} failed: {output.strip()[-500:]}")
    return output


@contextlib.contextmanager
def visitor(command, cores=None):
    """A visitor whose output is read while it runs; it is ended with the block."""
    child = subprocess.Popen(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: _prepare(cores),
    )
    try:
        yield child
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()
        child.stdout.close()


def free_port():
    """A loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, child, what):
    """Waits for `condition()`; a child that ends first, or silence, is Void."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while not condition():
        if child.poll() is not None:
            raise Void(f"{child.label} ended before {what}:\n{log_end(child)}")
        if time.monotonic() > deadline:
            raise Void(f"{child.label}: no {what} in {START_SECONDS_MAX} s:\n{log_end(child)}")
        time.sleep(0.02)


def log_end(child):
    """The last lines that a child wrote."""
    lines = child.log.read_text(errors="replace").splitlines()
    return "\n".join(f"    {line}" for line in lines[-8:]) or "    (it wrote nothing)"


def open_files_max():
    """How many open files the children may have."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return 65536 if hard == resource.RLIM_INFINITY else min(hard, 65536)


def settle(cores):
    """What each child does before its program begins."""
    _prepare(cores)


def _prepare(cores):
    """In the child, before the program: its cores, its open files, its end with ours."""
    if cores is not None:
        os.sched_setaffinity(0, cores)
    files = open_files_max()
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _stop(child):
    if child.poll() is None:
        child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(STOP_SECONDS_MAX)
    # Each child leads a session of its own, so its group holds only its descendants:
    # whatever of them is left has outlived its parent's chance to stop it.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _interrupt(number, _frame):
    raise KeyboardInterrupt(signal.Signals(number).name)

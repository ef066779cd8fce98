"""A machine that runs out: of disk, of open files, of memory, and of a clock to trust."""

import contextlib
import email.utils
import http.client
import resource
import socket
import subprocess
import time
from pathlib import Path

from rig import machine, process, scope
from rig.faults import stage
from rig.faults.stage import Stage

MEGABYTE = 2**20
#: What the process may use beside the cache, by the README's promise.
BESIDE_MEGABYTES = 24
FAKETIME = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/local/lib/faketime/libfaketimeMT.so.1")
ECHO = "<?php header('Cache-Control: no-store'); echo strlen(file_get_contents('php://input'));"


def disk_full(options):
    """State and access log on a file system of 1 MB that is full, and no room for bodies."""
    with scope.Scope() as here, contextlib.ExitStack() as mounts:
        small = here.folder / "small"
        small.mkdir()
        mounts.enter_context(_mounted(small))
        site = here.folder / "php"
        site.mkdir()
        (site / "index.php").write_text(ECHO)
        on = Stage(
            here,
            options,
            top=f'access_log = "{small}/access.log"',
            site='hosts = ["a.test"]',
            more_sites=f'[[site]]\nhosts = ["php.test"]\norigin = "{site}"\n',
        )
        on.state = small / "state"
        on.begin()
        # Large bodies wait here for PHP, if anywhere.
        mounts.enter_context(_mounted(Path("/dev/shm")))
        on.gather()
        with contextlib.suppress(OSError):
            (small / "filler").write_bytes(b"x" * MEGABYTE)
        on.mark("during")
        large = on.fetch("/", b"x" * (8 * MEGABYTE), host="php.test")
        on.order("reload")
        on.mark("during", options.seconds)
        small_body = on.fetch("/", b"x" * 1000, host="php.test")
        (small / "filler").unlink(missing_ok=True)
        (small / "access.log").write_bytes(b"")
        before = time.monotonic()
        on.until("the log's next line", lambda: (small / "access.log").stat().st_size > 0)
        back = time.monotonic() - before
        figures = on.part()
        meanwhile = on.must_answer(figures["during"])
        if large[0] not in (413, 500, 503, 507):
            on.broken.append(f"a body that there is no room for: {large[0] or 'no answer'}")
        if small_body != (200, b"1000"):
            on.broken.append(f"a small body: {small_body[0]}")
        return on.found(
            "disk full: state and access log, and what holds large bodies",
            f"a body of 8 MB to PHP: {large[0]}, of 1 kB: {small_body[0]}; "
            f"the log went on {back:.1f} s after there was room",
            meanwhile,
            (figures["before"], figures["during"]),
            "0 failed, a clear error for what needs the disk",
        )


@contextlib.contextmanager
def _mounted(folder):
    """A file system of 1 MB at `folder`; nobody else sees it (see `bench/faults`)."""
    options = "size=1m,mode=1777"
    command = [machine.program("mount"), "-t", "tmpfs", "-o", options, "bench", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise scope.Void(f"a small file system needs root: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run([machine.program("umount"), "--lazy", folder], check=False)


def files_exhausted(options):
    """No descriptor is left: those who are connected are served on."""
    with scope.Scope() as here:
        on = Stage(here, options)
        on.begin()
        on.gather(misses_every=0)
        on.mark("during")
        opened = len(list(Path(f"/proc/{on.pid}/fd").iterdir()))
        hard = resource.prlimit(on.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(on.pid, resource.RLIMIT_NOFILE, (opened + 3, hard))
        crowd = []
        with contextlib.suppress(OSError):
            for _ in range(200):
                crowd.append(socket.create_connection(("127.0.0.1", on.port), timeout=5))
        time.sleep(options.seconds)
        most = len(list(Path(f"/proc/{on.pid}/fd").iterdir()))
        resource.prlimit(on.pid, resource.RLIMIT_NOFILE, (hard, hard))
        on.until("a new connection's answer", lambda: on.fetch(seconds_max=1)[0] == 200)
        on.mark("after", options.seconds)
        for link in crowd:
            link.close()
        on.must_serve("when files could be opened again")
        figures = on.part()
        meanwhile = on.must_answer(figures["during"], "requests of those connected failed")
        return on.found(
            "no open file left",
            f"{len(crowd)} connections come where {most - opened} fit; then the limit is raised",
            f"{meanwhile}, on kept connections",
            (figures["before"], figures["during"]),
            "0 failed on kept connections; new ones are taken after",
        )


def memory_scan(options):
    """Every other request is for a page that nobody asked for before and nobody will again."""
    memory = 32
    with scope.Scope() as here:
        on = Stage(here, options)
        on.begin(memory=f"{memory}M")
        on.gather(rate=2000, misses_every=0)
        before = on.part()["before"]
        seconds = 3 if options.quick else 40
        on.gather(rate=2500, misses_every=2)
        on.mark("during", seconds)
        figures = on.part()
        peak = process.resident_bytes_peak(on.pid) / MEGABYTE
        during = figures["during"]
        meanwhile = on.must_answer(during)
        if peak > memory + BESIDE_MEGABYTES:
            on.broken.append(f"{peak:.1f} M at most")
        return on.found(
            f"a scan of {during['miss']['answered']:,} pages with `--memory {memory}M`",
            f"{peak:,.1f} M at most",
            meanwhile,
            (before, during),
            f"0 failed, at most {memory + BESIDE_MEGABYTES} M",
        )


def clock_jumps(options):
    """The wall clock is set an hour forward, and then two hours back."""
    library = next((str(file) for one in FAKETIME for file in Path("/").glob(one[1:])), None)
    if library is None:
        raise scope.Void("libfaketime is missing (package libfaketime)")
    with scope.Scope() as here:
        on = Stage(here, options)
        told = here.folder / "time"
        told.write_text("+0")
        environment = {
            "LD_PRELOAD": library,
            "FAKETIME_TIMESTAMP_FILE": str(told),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }
        on.begin(environment=environment)
        on.gather(rate=2000)
        on.mark("during")
        dates = []
        for offset in ("+3600", "-3600"):
            told.write_text(offset)
            time.sleep(max(options.seconds, 3))
            dates.append(_date_offset(on))
            on.must_serve(f"with the clock at {offset} s")
        figures = on.part()
        meanwhile = on.must_answer(figures["during"])
        if [round(date / 600) for date in dates] != [6, -6]:
            on.broken.append(f"the clock was not moved: {dates}")
        return on.found(
            "the wall clock jumps: 1 h forward, 2 h back",
            "pages stay fresh by a clock that only goes on",
            meanwhile,
            (figures["before"], figures["during"]),
            "0 failed",
        )


def _date_offset(on):
    """By how many seconds the `Date` of a new page is not ours; one in memory stays as old as
    it is."""
    stored, new = _fields(on, "/page/1"), _fields(on, f"/new/dated/{time.monotonic()}")
    told = stored.get("Cache-Status", "")
    if "; hit; ttl=" not in told or not 0 <= int(stored.get("Age", "-1")) <= 600:
        on.broken.append(f"a page in memory: Age {stored.get('Age')}, {told}")
    return email.utils.parsedate_to_datetime(new["Date"]).timestamp() - time.time()


def _fields(on, path):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", on.port, timeout=10)) as link:
        link.request("GET", path, headers={"Host": "a.test"})
        answer = link.getresponse()
        answer.read()
        return answer.headers


TRIALS = (disk_full, files_exhausted, memory_scan, clock_jumps)

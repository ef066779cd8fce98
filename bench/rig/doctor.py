"""What the doctor advises, done and undone on the real parts: php-fpm, Apache, MariaDB.

Each part has the same work done in two settings in turn, after a round that does not count.
What is told is the bad setting's figure divided by the good one's, of the same round.
"""

import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

from rig import fastcgi, machine, process, report, scope, servers
from rig.database import Database
from rig.scope import Void

DOKUWIKI = Path("/usr/share/dokuwiki/doku.php")
# Visitors who keep their connections and say nothing, as browsers do.
RESTING = 40


def _ratios(found, title, figure, bad, good, samples):
    """`samples` has a figure a round for each of the two settings."""
    ratio = statistics.median(b / g for b, g in zip(samples[bad], samples[good], strict=True))
    lines = [
        [name, f"{statistics.median(each):.3f}", f"{min(each):.3f}–{max(each):.3f}"]
        for name, each in samples.items()
    ]
    found.tables.append(report.Table(title, ["setting", figure, "least to most"], lines))
    found.rows.append(report.Row(f"{title}: {bad} ÷ {good}", f"{ratio:.2f}", "", ""))


def _in_turns(rounds, settings, work):
    samples = {name: [] for name in settings}
    for number in range(rounds + 1):
        for name in settings:
            value = work(name)
            if number > 0:
                samples[name].append(value)
            report.progress(f"round {number or 'zero'}: {name}: {value:.3f}")
    return samples


def opcache(here, rounds, quick):
    """CPU time of php-fpm for a page of DokuWiki, without an opcode cache and with one."""
    if not DOKUWIKI.exists():
        raise Void("DokuWiki is missing (package dokuwiki)")
    pages = 5 if quick else 60
    pools, connections = {}, {}
    for name, is_on in (("opcode cache off", 0), ("opcode cache on", 1)):
        pools[name] = _fpm(here, f"fpm-{is_on}", f"php_admin_value[opcache.enable] = {is_on}\n")
        connections[name] = fastcgi.Connection(here.folder / f"fpm-{is_on}.sock")

    def work(name):
        before = process.cpu_seconds(pools[name].pid)
        for _ in range(pages):
            page = connections[name].request(DOKUWIKI, "/doku.php")
            if b"</html>" not in page:
                raise Void(f"DokuWiki answers {page[:300]!r}")
        return (process.cpu_seconds(pools[name].pid) - before) * 1000 / pages

    found = report.Report()
    samples = _in_turns(rounds, list(pools), work)
    _ratios(found, "A page of DokuWiki", "CPU ms", *list(pools), samples)
    return found


def _fpm(here, name, settings):
    configuration = here.folder / f"{name}.conf"
    configuration.write_text(
        f"[global]\nerror_log = {here.folder}/{name}.log\ndaemonize = no\n"
        f"[{name}]\nuser = www-data\ngroup = www-data\nlisten = {here.folder}/{name}.sock\n"
        "listen.owner = www-data\nlisten.group = www-data\n"
        f"pm = static\npm.max_children = 2\n{settings}"
    )
    command = [machine.program("php-fpm"), "--nodaemonize", "--fpm-config", configuration]
    child = here.start(name, command)
    path = here.folder / f"{name}.sock"
    scope.wait_until(path.exists, child, "a socket")
    return child


def mod_php(here, rounds, quick):
    """Memory that is held while visitors rest on their connections: a process with PHP in it
    for each of them, or a thread of nginx's for all and php-fpm's children for who asks."""
    if not DOKUWIKI.exists():
        raise Void("DokuWiki is missing (package dokuwiki)")
    site = servers.php(here, None)
    (site.site / "wiki").symlink_to(DOKUWIKI.parent)
    apache = _apache(here, site.site)
    nginx = servers.nginx_php(here, None, site, cached=False)
    families = {"mod_php": [apache], "php-fpm": [nginx, site]}
    ports = {"mod_php": apache.port, "php-fpm": nginx.port}
    alone = {name: _private_mib(family) for name, family in families.items()}

    def work(name):
        with ExitStack() as held:
            for _ in range(4 if quick else RESTING):
                link = held.enter_context(socket.create_connection(("127.0.0.1", ports[name]), 30))
                link.sendall(b"GET /wiki/doku.php HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                _read_answer(link)
            return _private_mib(families[name])

    found = report.Report()
    samples = _in_turns(rounds, list(families), work)
    title = f"{RESTING} visitors rest on their connections"
    _ratios(found, title, "MiB that nobody else has", "mod_php", "php-fpm", samples)
    for name, mib in alone.items():
        report.progress(f"{name} without visitors: {mib:.1f} MiB")
    return found


def _apache(here, site):
    modules = Path("/usr/lib/apache2/modules")
    php = max(modules.glob("libphp*.so"), default=None)
    if php is None:
        raise Void("Apache's PHP is missing (package libapache2-mod-php)")
    port = scope.free_port()
    folder = here.folder / "apache"
    folder.mkdir()
    loads = [f"LoadModule {one}_module {modules}/mod_{one}.so" for one in ("mpm_prefork", "authz_core", "mime", "dir")]
    (folder / "apache.conf").write_text(
        "\n".join(
            [
                f"ServerRoot {folder}",
                f"PidFile {folder}/pid",
                f"ErrorLog {folder}/error.log",
                f"Listen 127.0.0.1:{port}",
                "ServerName 127.0.0.1",
                *loads,
                f"LoadModule php_module {php}",
                "User www-data",
                "Group www-data",
                "KeepAlive On",
                "KeepAliveTimeout 60",
                "StartServers 5",
                "MaxRequestWorkers 150",
                "TypesConfig /etc/mime.types",
                f"DocumentRoot {site}",
                f"<Directory />\nRequire all granted\nAllowOverride None\n</Directory>",
                '<FilesMatch "\\.php$">\nSetHandler application/x-httpd-php\n</FilesMatch>',
                "",
            ]
        )
    )
    command = [machine.program("apache2"), "-DFOREGROUND", "-f", folder / "apache.conf"]
    runs = here.folder / "apache-runs"
    runs.touch()
    runs.chmod(0o666)
    child = here.start("apache2", command, environment={"BENCH_COUNT": str(runs)})
    scope.wait_until(lambda: _listens(port), child, "a port")
    return servers.Server("mod_php", port, child)


def _listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _read_answer(link):
    """One answer, of a length that is said before or in chunks."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += _more(link)
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise Void(f"answered {head[:200]!r}")
    length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
    while len(body) < int(length[1]) if length else not body.endswith(b"\r\n0\r\n\r\n"):
        body += _more(link)
    if b"</html>" not in body:
        raise Void(f"no page: {body[-200:]!r}")


def _more(link):
    more = link.recv(65536)
    if not more:
        raise Void("an answer broke off")
    return more


def _private_mib(family):
    total = 0
    for server in family:
        for pid in process.tree(server.process.pid):
            try:
                text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            except OSError:
                continue
            total += sum(int(size) for size in re.findall(r"^Private_\w+: +(\d+)", text, re.MULTILINE))
    return total / 1024


def fill(database, rows):
    database.ask(
        "CREATE TABLE posts (id INT PRIMARY KEY, topic INT, body VARCHAR(800)) ENGINE=InnoDB;"
        f"INSERT INTO posts SELECT seq, seq % 5000, REPEAT(MD5(seq), 24) FROM seq_1_to_{rows};"
        "COMMIT;"
    )


def buffer_pool(here, rounds, quick):
    """Time of reads by key, over data that the buffer pool doesn't hold, or does."""
    rows = 20_000 if quick else 250_000
    reads = 200 if quick else 4_000
    settings = {"buffer pool of 16 MB": "16M", "buffer pool as large as the data": "512M"}
    databases = {}
    for at, (name, size) in enumerate(settings.items()):
        options = [f"--innodb-buffer-pool-size={size}", "--innodb-flush-method=O_DIRECT"]
        databases[name] = Database(here, f"pool{at}", options)
        fill(databases[name], rows)

    def work(name):
        statements = "".join(
            f"SELECT LENGTH(body) FROM posts WHERE id = {1 + at * 7919 % rows};" for at in range(reads)
        )
        start = time.monotonic()
        databases[name].ask(statements)
        return (time.monotonic() - start) * 1000 / reads

    found = report.Report()
    samples = _in_turns(rounds, list(settings), work)
    _ratios(found, "A read by key, of 250 MB", "ms", *list(settings), samples)
    for name, database in databases.items():
        report.progress(f"{name}: {database.status('Innodb_buffer_pool_reads')} reads of the disk")
    return found


def tmpfs(here, rounds, quick):
    """Time of a sort that doesn't fit into memory, with its files on the disk or in tmpfs."""
    rows = 20_000 if quick else 150_000
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        raise Void("/dev/shm can't be written")
    folder = shared / here.folder.name
    folder.mkdir()
    try:
        shutil.chown(folder, "mysql", "mysql")
        databases = {}
        for at, (name, tmpdir) in enumerate((("tmpdir on the disk", None), ("tmpdir in tmpfs", folder))):
            options = ["--innodb-buffer-pool-size=512M", "--tmp-table-size=1M", "--max-heap-table-size=1M"]
            databases[name] = Database(here, f"sort{at}", options, tmpdir)
            fill(databases[name], rows)

        def work(name):
            start = time.monotonic()
            databases[name].ask("SELECT COUNT(*) FROM (SELECT DISTINCT body, topic FROM posts) AS one;")
            return (time.monotonic() - start) * 1000

        found = report.Report()
        samples = _in_turns(rounds, list(databases), work)
        _ratios(found, "A temporary table of 120 MB", "ms", *list(databases), samples)
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


MEMORY_KIB = int(Path("/proc/meminfo").read_text().split()[1]) * 95 // 100

# A fault: what MariaDB is started with, and the name that advice about it has to bear.
FAULTS = [
    ("buffer pool as large as the memory", [f"--innodb-buffer-pool-size={MEMORY_KIB}K"], "memory usage", "joint_memory"),
    ("query cache on", ["--query-cache-type=1", "--query-cache-size=64M"], "query_cache", "query_cache"),
    ("tmp_table_size above max_heap_table_size", ["--tmp-table-size=256M", "--max-heap-table-size=16M"], "tmp_table_size", "temporary_tables"),
    ("slow log off", ["--slow-query-log=0"], "slow.query|slow_query|long_query", "slow_log"),
    ("slow log from 10 s on", ["--slow-query-log=1", "--long-query-time=10"], "long_query_time", "slow_log"),
    ("commits lost in a crash", ["--innodb-flush-log-at-trx-commit=0"], "flush_log_at_trx_commit", "durability"),
    ("a binary log for ever", ["--log-bin=binlog", "--expire-logs-days=0"], "expire", "binlog_expiry"),
]
TUNED = ["--slow-query-log=1", "--long-query-time=1", "--query-cache-type=0", "--query-cache-size=0"]
TUNED += ["--innodb-io-capacity=2000", "--innodb-buffer-pool-size=128M", "--log-slow-verbosity=query_plan,explain"]


def tuner(here, wick):
    """What is found of each fault, and said of a server that is as it should be."""
    wick = wick or servers.REPOSITORY / "target/release/wick"
    if not wick.exists():
        raise Void(f"{wick} is missing: cargo build --release -p wick, or --wick FILE")
    lines = []
    for number, (name, settings, word, check) in enumerate([("nothing", [], "", ""), *FAULTS]):
        database = Database(here, f"fault{number}", [*TUNED, *settings])
        warned, advised = _mysqltuner(database)
        ids = _doctor(wick, database)
        here.stop(database.process)
        if name == "nothing":
            lines.append([name, f"{len(advised)} things to do", f"{len(ids)} things to do {', '.join(ids)}".strip()])
            continue
        by_tuner = any(re.search(word, line, re.IGNORECASE) for line in warned + advised)
        lines.append([name, "found" if by_tuner else "–", "found" if check in ids else "–"])
    found = report.Report()
    found.tables.append(report.Table("Faults of a MariaDB", ["fault", "mysqltuner", "wick doctor"], lines))
    count = sum(line[2] == "found" for line in lines)
    found.judge(f"faults that wick doctor finds, of {len(FAULTS)}", count, len(FAULTS), "{:.0f}")
    return found


def _mysqltuner(database):
    command = [machine.program("mysqltuner"), "--nocolor", "--noinfo", "--nogood"]
    login = database.folder / "login.cnf"
    login.write_text(f"[client]\nsocket={database.socket}\nuser=root\n")
    command += [f"--defaults-file={login}", "--skippassword", "--skipsize"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    _, found, advice = done.stdout.rpartition("-- Recommendations --")
    if not found:
        raise Void(f"mysqltuner: {(done.stdout + done.stderr)[-400:]}")
    warned = [line for line in done.stdout.splitlines() if line.startswith("[!!]")]
    advised = [line.strip() for line in advice.splitlines() if line.startswith("    ")]
    return warned, advised


def _doctor(wick, database):
    command = [wick, "doctor", "--window", "1s", "--format", "json"]
    command += ["--mysql", f"mysql://root@localhost/?socket={database.socket}"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise Void(f"wick doctor: {done.stderr.strip()[-400:]}")
    told = json.loads(done.stdout)
    # What else is wrong with this machine isn't the database's.
    about = {"buffer_pool", "joint_memory", "query_cache", "temporary_tables", "slow_log", "durability"}
    about |= {"binlog_expiry", "ssd", "redo_capacity", "connections", "database_files", "thread_cache"}
    about |= {"table_caches", "myisam", "name_resolution", "full_joins", "log_buffer", "buffer_pool_hits"}
    return [one["id"] for one in told["findings"] if one["id"] in about]

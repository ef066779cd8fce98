"""What a search costs: Wick in Sphinx's place, Sphinx, and MariaDB's own full text.

15,360 pages lie in a table of MariaDB. Sphinx's indexer and Wick make an index of them by the same
sphinx.conf; MariaDB has a FULLTEXT index on the same table. All three are asked the same, in turns,
by one client over one connection in MySQL's protocol. Beside that: the anonymous memory of a Wick
that has 100,000 pages, how long a page takes from a visitor's screen to a search, and what each page
costs beside 100,000 queries of feeds.
"""

import contextlib
import resource
import shutil
import statistics
import time

from rig import contest, database, fresh, machine, pages, process, report, scope, servers, site_memory
from rig.visit import Visit

WICK, SPHINX, MARIADB = "Wick", "Sphinx", "MariaDB"
SHOWN = 20
# More than there are pages.
ALL = 100_000
LETTERS = (
    "0..9, A..Z->a..z, a..z, U+C0..U+D6->U+E0..U+F6, U+D8..U+DE->U+F8..U+FE, U+DF..U+F6, "
    "U+F8..U+FF, U+152->U+153, U+153, U+AC00..U+D7A3"
)
DENSE = "U+3041..U+3096, U+30A1..U+30FA, U+30FC..U+30FE, U+4E00..U+9FFF"


def measure(options):
    """Making, asking, agreement; then memory and how soon a page is found."""
    found = report.Report()
    count, asked = (1500, 100) if options.quick else (None, 1000)
    all_pages = pages.pages()[:count]
    wishes = pages.wishes(all_pages, asked)
    program = servers.ask_program()
    with scope.Scope() as here:
        source = _database(here, options)
        _fill(source, here, all_pages)
        source.ask("ALTER TABLE pages ADD FULLTEXT texts (title, text)")
        _makings(found, here, options, source, len(all_pages))
        started = [_searchd(here, options, source)]
        started += [_wick(here, options, source)] if options.wick else []
        started.append(servers.Server(MARIADB, source.port, source.process))
        _contest(found, here, options, program, started, wishes)
        _agreement(found, here, program, started, wishes, all_pages)
    if options.wick:
        _memory(found, options, program, all_pages, wishes)
        fresh.measure(found, options, all_pages)
        site_memory.measure(found, options, all_pages)
    _stored(found, options)
    return found


def _stored(found, options):
    """What kept queries cost each page that is put: an example of the crate itself."""
    count, put, room = (2000, 20, 2) if options.quick else (100_000, 200, 100)
    told = scope.run([servers.example("search", "stored"), count, put, room * 10**6], options.server_cores)
    kept, taken, beside, alone = (float(word) for word in told.split()[:4])
    title = f"queries of feeds kept in {room} MB"
    found.judge(title, kept, count, "{:,.0f}")
    title = f"ms that {count:,} of them add to a page that is put"
    found.judge(title, beside - alone, 1.0, "{:.3f}", at_least=False)
    lines = [[f"{kept:,.0f}", f"{taken / kept:,.0f}", f"{beside:.3f}", f"{alone:.3f}"]]
    heads = ["queries", "bytes each", "ms a page, half", "ms without them"]
    found.tables.append(report.Table("Queries of feeds", heads, lines))


def _database(here, options):
    """All of it fits into its memory. It leaves no word out, as the others don't."""
    port = scope.free_port()
    settings = ["--skip-networking=0", "--bind-address=127.0.0.1", f"--port={port}"]
    settings += ["--innodb-buffer-pool-size=1G", "--innodb-ft-enable-stopword=OFF"]
    settings += ["--innodb-ft-max-token-size=84", "--character-set-server=utf8mb4"]
    made = database.Database(here, "mariadb", settings, cores=options.server_cores)
    made.port = port
    return made


def _fill(source, here, some):
    rows = here.folder / "pages.tsv"
    with rows.open("w") as out:
        for page in some:
            text = page.text.replace("\\", "\\\\")
            out.write(f"{page.id}\t{page.language}\t{page.title}\t{text}\t{len(page.text)}\n")
    source.ask(
        "CREATE TABLE pages (id INT UNSIGNED PRIMARY KEY, language CHAR(2), title VARCHAR(500),"
        " text MEDIUMTEXT, length INT UNSIGNED) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;"
        f"LOAD DATA LOCAL INFILE '{rows}' INTO TABLE pages CHARACTER SET utf8mb4;"
    )
    rows.unlink()


def _conf(here, name, source, port):
    """Settings that both read."""
    folder = here.folder / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    conf = folder / "sphinx.conf"
    conf.write_text(
        f"""source pages
{{
    type = mysql
    sql_host = 127.0.0.1
    sql_port = {source.port}
    sql_sock = {source.socket}
    sql_user = root
    sql_pass =
    sql_db = bench
    sql_query_pre = SET NAMES utf8
    sql_query = SELECT id, title, text, length FROM pages
    sql_attr_uint = length
}}
index pages
{{
    source = pages
    path = {folder}/pages
    docinfo = extern
    dict = keywords
    charset_table = {LETTERS}
    ngram_len = 1
    ngram_chars = {DENSE}
}}
indexer
{{
    mem_limit = 256M
}}
searchd
{{
    listen = 127.0.0.1:{port}:mysql41
    pid_file = {folder}/pid
    log = {folder}/log
    binlog_path =
    max_matches = {ALL}
    workers = threads
    preopen_indexes = 1
    seamless_rotate = 0
}}
"""
    )
    return conf


def _indexer(conf, cores):
    """CPU seconds of Sphinx's own making."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    scope.run([machine.program("indexer"), "--config", conf, "--all"], cores)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _searchd(here, options, source):
    port = scope.free_port()
    conf = _conf(here, "sphinx", source, port)
    _indexer(conf, options.server_cores)
    command = [machine.program("searchd"), "--nodetach", "--config", conf]
    child = here.start("searchd", command, options.server_cores)
    return servers.ready(servers.Server(SPHINX, port, child))


def _wick(here, options, source, name="wick", look=lambda pid: None):
    """It answers once its index was made; meanwhile somebody may `look`."""
    port = scope.free_port()
    conf = _conf(here, name, source, port)
    settings = conf.with_name("wick.toml")
    settings.write_text(
        f'state = "{conf.parent}/state"\nadmin = "off"\nthreads = 1\n'
        f'[sphinx]\nconf = "{conf}"\nlisten = "127.0.0.1:{port}:mysql41"\nevery = "1d"\n'
    )
    child = here.start(name, [options.wick, "serve", "--config", settings], options.server_cores)
    server = servers.ready(servers.Server(WICK, port, child))
    _until_made(server, here, look)
    return server


def _until_made(server, here, look):
    """Until every page is found and nothing more is written. The one who asks is told meanwhile
    that it is made."""
    statement = here.folder / "count.sql"
    statement.write_text("SELECT id FROM pages LIMIT 1\n")
    asking = [servers.ask_program(), "sets", server.port, "bench", statement]
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            break
        look(server.process.pid)
        with contextlib.suppress(scope.Void):
            scope.run(asking)
            return _until_quiet(server, look)
        time.sleep(0.05)
    raise scope.Void(f"{server.name} makes no index:\n{scope.log_end(server.process)}")


def _until_quiet(server, look):
    """What is joined behind an index that is found already belongs to its making."""
    spent, since = None, time.monotonic()
    while time.monotonic() - since < 1.0:
        look(server.process.pid)
        now = process.cpu_seconds(server.process.pid)
        if now != spent:
            spent, since = now, time.monotonic()
        time.sleep(0.05)


def _makings(found, here, options, source, count):
    """Documents a CPU-second, in turns."""
    spent = {SPHINX: [], WICK: []}
    sizes = {}
    for number in range(options.rounds + 1):
        conf = _conf(here, "making", source, scope.free_port())
        took = {SPHINX: _indexer(conf, options.server_cores)}
        sizes[SPHINX] = _bytes(conf.parent)
        if options.wick:
            server = _wick(here, options, source, name="making")
            took[WICK] = process.cpu_seconds(server.process.pid)
            sizes[WICK] = _bytes(conf.parent / "state/sphinx")
            here.stop(server.process)
        for name, seconds in took.items():
            report.progress(f"round {number or 'zero'}: {name} makes its index in {seconds:.2f} CPU s")
            if number:
                spent[name].append(seconds)
    ratios = [theirs / ours for ours, theirs in zip(spent[WICK], spent[SPHINX], strict=False)]
    title = "pages indexed a CPU-second, Wick (text stored) : Sphinx's indexer"
    found.judge(title, statistics.median(ratios) if ratios else None, 0.8)
    lines = [
        [
            name,
            f"{count / statistics.median(seconds):,.0f}",
            f"{min(seconds):.2f}–{max(seconds):.2f}",
            f"{sizes[name] / 2**20:.1f}",
        ]
        for name, seconds in spent.items()
        if seconds
    ]
    heads = ["server", "pages a CPU-second", "CPU seconds, least to most", "MiB on the disk"]
    found.tables.append(report.Table(f"An index of {count:,} pages", heads, lines))


def _bytes(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _statement(server, wish, limit):
    if server.name == MARIADB:
        match = f"MATCH(title, text) AGAINST('{wish.mariadb}' IN BOOLEAN MODE)"
        return (
            f"SELECT id, {match} AS weight FROM pages WHERE {match} "
            f"ORDER BY weight DESC LIMIT {limit}"
        )
    option = f" OPTION max_matches={limit}" if limit > SHOWN else ""
    return f"SELECT id, WEIGHT() FROM pages WHERE MATCH('{wish.sphinx}') LIMIT {limit}{option}"


def _written(here, server, wishes, limit=SHOWN):
    """A file of statements."""
    file = here.folder / f"{server.name}.sql"
    file.write_text("".join(f"{_statement(server, wish, limit)}\n" for wish in wishes))
    return file


def _contest(found, here, options, program, started, wishes):
    """Latencies, and CPU time, of the same queries."""
    within = {}

    def ask(server):
        file = _written(here, server, wishes)
        words = [program, "time", server.port, "bench", file, options.seconds]
        answered, seconds, *taken = scope.run(words, options.visitor_cores).split()
        within.setdefault(server.name, []).append([float(one) for one in taken])
        return Visit(int(answered), float(seconds))

    held = contest.hold(started, ask, options.rounds)
    for server in started:
        # The round that doesn't count.
        del within[server.name][0]
    is_there = WICK in within

    def ratio(rival, place):
        if not is_there:
            return None
        return statistics.median(
            ours[place] / theirs[place]
            for ours, theirs in zip(within[WICK], within[rival], strict=True)
        )

    found.judge("time within which 95 % are answered, Wick : Sphinx", ratio(SPHINX, 1), 0.6, at_least=False)
    slower = 1 / ratio(MARIADB, 1) if is_there else None
    found.judge("time within which 95 % are answered, MariaDB : Wick", slower, 20)
    cpu = held.ratio(WICK, SPHINX, "cpu_microseconds") if is_there else None
    found.judge("queries a CPU-second, Wick : Sphinx", cpu, 1.0)
    lines = [
        [
            server.name,
            *(f"{statistics.median(one[place] for one in within[server.name]):,.0f}" for place in range(3)),
            f"{min(one[1] for one in within[server.name]):,.0f}–{max(one[1] for one in within[server.name]):,.0f}",
            f"{held.median(server.name, 'cpu_microseconds'):,.0f}",
        ]
        for server in started
    ]
    heads = ["server", "µs, half", "µs, 95 %", "µs, 99 %", "95 %, least to most", "CPU µs a query"]
    found.tables.append(report.Table(f"{len(wishes):,} queries, one at a time", heads, lines))


def _agreement(found, here, program, started, wishes, all_pages):
    """Whether Wick finds the pages that Sphinx finds, where both mean the same by a word: to Sphinx
    what a Korean particle follows without a space is another one."""
    if WICK not in {server.name for server in started}:
        return
    same = [wish for wish in wishes if wish.language in pages.SPACED]
    meant = {str(page.id) for page in all_pages if page.language in pages.SPACED}
    sets = {}
    for server in started[:2]:
        file = _written(here, server, same, ALL)
        told = scope.run([program, "sets", server.port, "bench", file]).splitlines()
        sets[server.name] = [set(line.split()) & meant for line in told]
    pairs = list(zip(same, sets[WICK], sets[SPHINX], strict=True))
    others = [(wish, ours, theirs) for wish, ours, theirs in pairs if ours != theirs]
    for wish, ours, theirs in others[:10]:
        report.progress(f"{wish.sphinx}: {len(ours - theirs)} by Wick alone, {len(theirs - ours)} by Sphinx alone")
    share = 1 - len(others) / len(pairs)
    found.judge(f"queries that find the same as Sphinx's, of {len(pairs)}", share, 0.99, "{:.3f}")


def _memory(found, options, program, all_pages, wishes):
    """RssAnon while 100,000 pages are indexed, and when they are searched."""
    count = 3000 if options.quick else 100_000
    with scope.Scope() as here:
        source = _database(here, options)
        _fill(source, here, pages.more(all_pages, count))
        seen = []
        server = _wick(here, options, source, look=lambda pid: seen.append(process.anonymous_bytes(pid)))
        file = _written(here, server, wishes)
        scope.run([program, "time", server.port, "bench", file, 0])
        searched = process.anonymous_bytes(server.process.pid)
    for when, size in (("while they are indexed", max(seen)), ("when they were searched", searched)):
        title = f"MiB of anonymous memory with {count:,} pages, {when}"
        found.judge(title, size / 2**20, 32.0, "{:.1f}", at_least=False)

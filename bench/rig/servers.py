"""The servers under test and what stands behind them.

All of them listen on free loopback ports, live in the scope's folder, and run on
the cores that they are given. A `Server` is ready to be asked when it is returned.
"""

import os
import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from rig import machine, scope

BENCH = Path(__file__).resolve().parent.parent
REPOSITORY = BENCH.parent
PHP_CHILDREN = 8


@dataclass
class Server:
    """One that answers on a loopback port."""

    name: str
    port: int
    process: subprocess.Popen
    scheme: str = "http"

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def url(self):
        return f"{self.scheme}://{self.address}"


@dataclass
class Tls:
    """What a server needs to speak TLS on a port of its own."""

    port: int
    certificate: Path
    key: Path


def tls(into):
    """A certificate for 127.0.0.1, by a key as CAs' customers have them, and a free port."""
    certificate, key = into.folder / "certificate.pem", into.folder / "key.pem"
    if not key.exists():
        command = [machine.program("openssl"), "req", "-x509", "-newkey", "ec", "-nodes"]
        command += ["-pkeyopt", "ec_paramgen_curve:P-256", "-days", "30", "-subj", "/CN=bench"]
        command += ["-addext", "subjectAltName=IP:127.0.0.1"]
        scope.run([*command, "-keyout", key, "-out", certificate])
    return Tls(scope.free_port(), certificate, key)


@dataclass
class Php:
    """php-fpm with a pool (and so a socket) for each that asks: connections that
    are kept alive hold a child each, and nobody may starve a rival of children."""

    site: Path
    process: subprocess.Popen
    runs: Path

    def socket(self, pool):
        return self.site.parent / f"php-{pool}.sock"

    def count(self):
        """How often PHP has run so far."""
        return self.runs.stat().st_size


def php(into, cores, pools=("nginx", "wick", "direct")):
    """The site, copied to where www-data can read it, and php-fpm for it."""
    site = into.folder / "site"
    shutil.copytree(BENCH / "site", site)
    runs = into.folder / "php-runs"
    runs.touch()
    runs.chmod(0o666)
    sections = [f"[global]\nerror_log = {into.folder}/php-fpm.log\ndaemonize = no\n"]
    for pool in pools:
        sections.append(
            f"[{pool}]\n"
            "user = www-data\ngroup = www-data\n"
            f"listen = {into.folder}/php-{pool}.sock\n"
            "listen.owner = www-data\nlisten.group = www-data\nlisten.mode = 0660\n"
            "listen.backlog = 1024\n"
            f"pm = static\npm.max_children = {PHP_CHILDREN}\n"
            f"env[BENCH_COUNT] = {runs}\n"
            "php_admin_value[opcache.enable] = 1\nphp_admin_value[opcache.revalidate_freq] = 60\n"
        )
    configuration = into.folder / "php-fpm.conf"
    configuration.write_text("\n".join(sections))
    command = [machine.program("php-fpm"), "--nodaemonize", "--fpm-config", configuration]
    child = into.start("php-fpm", command, cores)
    made = Php(site, child, runs)
    scope.wait_until(lambda: all(_opens(made.socket(pool)) for pool in pools), child, "php sockets")
    return made


def nginx(into, cores, http_block, name="nginx"):
    """nginx with one worker; `http_block` may use {port}, the port to listen on."""
    port = scope.free_port()
    folder = into.folder / name
    folder.mkdir()
    files = min(scope.open_files_max(), 65536)
    (folder / "nginx.conf").write_text(
        f"""daemon off;
worker_processes 1;
worker_rlimit_nofile {files};
user www-data;
pid {folder}/pid;
error_log {folder}/error.log warn;
events {{ worker_connections {files - 500}; multi_accept on; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    server_tokens off;
    default_type text/html;
    keepalive_requests 1000000000;
    keepalive_timeout 600;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{http_block.replace("{port}", str(port)).replace("{folder}", str(folder))}
}}
"""
    )
    command = [machine.program("nginx"), "-p", folder, "-e", folder / "error.log"]
    child = into.start(name, [*command, "-c", folder / "nginx.conf"], cores)
    return ready(Server(name, port, child))


def nginx_php(
    into, cores, site, cached, name="nginx", http2_port=None, over=None, deferred=False
):
    """nginx before php-fpm, from its cache (files held open) or without one. On
    `http2_port` it speaks HTTP/2 in clear text, and TLS 1.3 where `over` says. Connections
    may be `deferred` until their requests are there."""
    secured = ""
    if over:
        secured = f"""
        listen 127.0.0.1:{over.port} ssl backlog=16384;
        ssl_certificate {over.certificate};
        ssl_certificate_key {over.key};
        ssl_protocols TLSv1.3;
"""
    cache = """
    fastcgi_cache_path {folder}/cache levels=1:2 keys_zone=pages:16m max_size=1g inactive=1h
        use_temp_path=off;
    open_file_cache max=10000 inactive=1h;
    open_file_cache_valid 1h;
    open_file_cache_min_uses 1;
"""
    use_cache = """
            fastcgi_cache pages;
            fastcgi_cache_key $request_uri;
            fastcgi_cache_lock on;
"""
    return nginx(
        into,
        cores,
        (cache if cached else "")
        + f"""
    upstream php {{ server unix:{site.socket("nginx")}; keepalive {PHP_CHILDREN}; }}
    server {{
        listen 127.0.0.1:{{port}} backlog=16384{" deferred" if deferred else ""};
{f"        listen 127.0.0.1:{http2_port} http2 backlog=16384;" if http2_port else ""}
{secured}
        root {site.site};
        location ~ \\.php$ {{
            include /etc/nginx/fastcgi_params;
            fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
            fastcgi_pass php;
            fastcgi_keep_conn on;
            fastcgi_buffers 32 16k;
            fastcgi_buffer_size 16k;
{use_cache if cached else ""}
        }}
    }}""",
        name,
    )


def nginx_files(into, cores, folder):
    """nginx before a folder of files, which it holds open."""
    return nginx(
        into,
        cores,
        f"""
    open_file_cache max=10000 inactive=1h;
    open_file_cache_valid 1h;
    open_file_cache_min_uses 1;
    server {{
        listen 127.0.0.1:{{port}} backlog=16384;
        root {folder};
    }}""",
    )


def nginx_proxy_cache(into, cores, origin):
    """nginx as a cache before an HTTP origin, one request at a time for a new page."""
    return nginx(
        into,
        cores,
        f"""
    proxy_cache_path {{folder}}/cache levels=1:2 keys_zone=pages:16m max_size=4g inactive=1h
        use_temp_path=off;
    open_file_cache max=10000 inactive=1h;
    upstream origin {{ server {origin.address}; keepalive 64; }}
    server {{
        listen 127.0.0.1:{{port}} backlog=16384;
        location / {{
            proxy_pass http://origin;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_cache pages;
            proxy_cache_lock on;
            proxy_cache_lock_timeout 60s;
            proxy_cache_lock_age 60s;
        }}
    }}""",
    )


def h2o(into, cores, folder):
    """h2o, which has no cache, before a folder of files."""
    port = scope.free_port()
    configuration = into.folder / "h2o.conf"
    configuration.write_text(
        f"""user: www-data
num-threads: 1
http2-idle-timeout: 600
listen:
  host: 127.0.0.1
  port: {port}
hosts:
  default:
    paths:
      "/":
        file.dir: {folder}
"""
    )
    command = [machine.program("h2o"), "-m", "worker", "-c", configuration]
    return ready(Server("h2o", port, into.start("h2o", command, cores)))


def caddy(into, cores, folder, over):
    """Caddy, which has no cache, before a folder of files, by HTTP/3 too; on one core."""
    configuration = into.folder / "Caddyfile"
    configuration.write_text(
        f"""{{
	admin off
	auto_https disable_redirects
	grace_period 1s
}}
https://127.0.0.1:{over.port} {{
	bind 127.0.0.1
	tls {over.certificate} {over.key}
	root * {folder}
	file_server
}}
"""
    )
    command = [machine.program("caddy"), "run", "--adapter", "caddyfile"]
    home = {"HOME": str(into.folder), "XDG_DATA_HOME": str(into.folder), "GOMAXPROCS": "1"}
    child = into.start("caddy", [*command, "--config", configuration], cores, home)
    return ready(Server("Caddy", over.port, child, "https"))


def varnish(into, cores, origin, memory="256m", more_rules=""):
    """Varnish, all in memory, its threads fitted to one core, otherwise by default."""
    port = scope.free_port()
    rules = into.folder / "site.vcl"
    rules.write_text(
        'vcl 4.1;\nbackend origin { .host = "127.0.0.1"; '
        f'.port = "{origin.port}"; .first_byte_timeout = 60s; }}\n{more_rules}'
    )
    # Without its jail Varnish keeps its identity, and with it the kernel's promise to
    # end it should the driver be killed.
    command = [machine.program("varnishd"), "-j", "none", "-F"]
    command += ["-f", rules, "-a", f"127.0.0.1:{port}"]
    command += ["-T", "none", "-n", into.folder / "varnish", "-s", f"malloc,{memory}"]
    # On one core fewer threads switch less; the pool grows where more are needed. The
    # longer queue lets ten thousand visitors wait instead of being turned away.
    command += ["-p", "thread_pools=1", "-p", "thread_pool_min=50"]
    command += ["-p", "thread_queue_limit=20000", "-p", "listen_depth=16384"]
    return ready(Server("Varnish", port, into.start("varnish", command, cores)))


def bare(into, cores, body_bytes, threads=1, work_us=0):
    """The bare epoll loop: the least that sockets allow, and `work_us` of work an answer."""
    port = scope.free_port()
    command = [epoll_program(), "page", f"127.0.0.1:{port}", body_bytes, threads, work_us]
    return ready(Server("bare loop", port, into.start(f"bare-{port}", command, cores)))


def origin(into, cores, is_tagged=False):
    """The origin of distinct pages; see bench/epoll/src/origin.rs."""
    port = scope.free_port()
    command = [epoll_program(), "origin", f"127.0.0.1:{port}"] + ["tagged"] * is_tagged
    child = into.start(f"origin-{port}", command, cores)
    return ready(Server("origin", port, child))


def wick(into, cores, program, site, memory, threads=1, php_socket=None, over=None, more=()):
    """Wick before a folder or an http:// origin, by TLS too where `over` says, with `more`
    settings of the site. `None` where it is not built."""
    if program is None:
        return None
    port = scope.free_port()
    settings = into.folder / f"wick-{port}.toml"
    lines = ["[[site]]", f'origin = "{site}"', *more]
    if php_socket is not None:
        # A pool of its own, so that connections are kept, as nginx keeps its.
        lines += [f'php = "unix:{php_socket}"', f"php_children = {PHP_CHILDREN}"]
    if over:
        lines += ['hosts = ["127.0.0.1"]', "https_redirect = false"]
        lines += [f'certificate = "{over.certificate}"', f'certificate_key = "{over.key}"']
        lines.insert(0, f'listen_tls = "127.0.0.1:{over.port}"')
    settings.write_text("\n".join(lines) + "\n")
    command = [program, "serve", "--config", settings, "--listen", f"127.0.0.1:{port}"]
    command += ["--memory", memory, "--threads", threads]
    command += ["--state", into.folder / f"wick-state-{port}"]
    return ready(Server("Wick", port, into.start(f"wick-{port}", command, cores)))


def epoll_program():
    """The bench's own programs, built when they are not."""
    return _built("epoll")


def quic_program():
    """The visitor that speaks HTTP/3, likewise."""
    return _built("quic")


def announce_program():
    """The visitor that announces to trackers, likewise."""
    return _built("announce")


def ask_program():
    """The client that searches, likewise."""
    return _built("ask")


def example(package, name):
    """An example of one of Wick's crates, likewise."""
    command = [machine.program("cargo"), "build", "--release", "--locked", "--quiet"]
    built = subprocess.run([*command, "-p", package, "--example", name], cwd=REPOSITORY, check=False)
    if built.returncode != 0:
        raise scope.Void(f"the example {name} of {package} does not build")
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    return target / "release" / "examples" / name


def _built(name):
    manifest = BENCH / name / "Cargo.toml"
    command = [machine.program("cargo"), "build", "--release", "--locked", "--quiet"]
    built = subprocess.run([*command, "--manifest-path", manifest], check=False)
    if built.returncode != 0:
        raise scope.Void(f"bench/{name} does not build")
    return BENCH / name / "target" / "release" / f"bench-{name}"


def ready(server):
    scope.wait_until(lambda: _opens(("127.0.0.1", server.port)), server.process, "open port")
    return server


def _opens(address):
    family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
    with socket.socket(family) as probe:
        return probe.connect_ex(address if isinstance(address, tuple) else str(address)) == 0

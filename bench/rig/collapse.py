"""Ten thousand visitors at once for one page that nobody has: what reaches the origin."""

from rig import report, scope, servers, visit

BODY_BYTES = 9435


def measure(options):
    """Wick, nginx (proxy_cache_lock) and Varnish, each before an origin of its own."""
    visitors = 500 if options.quick else 10_000
    if scope.open_files_max() < visitors + 1_000:
        raise scope.Void(f"{visitors:,} visitors need ulimit -n {visitors + 1_000}")
    found = report.Report()
    figure = f"origin requests for {visitors:,} at once"
    lines = []
    for name in ("Wick", "nginx", "Varnish"):
        if name == "Wick" and options.wick is None:
            found.judge(figure, None, 1, "{}", at_least=False)
            continue
        try:
            read, asked, seconds = _trial(name, options, visitors)
        except scope.Void as why:
            report.progress(f"{name}: void: {why}")
            lines.append([name, f"{visitors:,}", "void", "void", "void"])
            if name == "Wick":
                found.void(figure, why)
            continue
        report.progress(f"{name}: {asked} of {visitors:,} reached the origin")
        lines.append([name, f"{visitors:,}", f"{read:,}", f"{asked:,}", f"{seconds:.2f}"])
        if name == "Wick" and read < visitors:
            found.void(figure, f"only {read:,} requests were read before the answer")
        elif name == "Wick":
            found.judge(figure, asked, 1, "{}", at_least=False)
    heads = ["server", "visitors", "requests read before the answer", "requests to the origin"]
    heads.append("seconds from the origin's answer to the last visitor's")
    found.tables.append(report.Table("One missing page, all at once", heads, lines))
    return found


def _trial(name, options, visitors):
    """(requests read before the origin answered, requests to the origin, seconds)."""
    with scope.Scope() as here:
        origin = servers.origin(here, options.visitor_cores)
        server = _server(name, here, options, origin)
        path = f"/gate/crowd/{BODY_BYTES}"
        read, seconds = visit.crowd(
            server, origin, path, BODY_BYTES, visitors, options.visitor_cores
        )
        return read, visit.origin_count(origin), seconds


def _server(name, here, options, origin):
    if name == "nginx":
        return servers.nginx_proxy_cache(here, options.server_cores, origin)
    if name == "Varnish":
        return servers.varnish(here, options.server_cores, origin)
    site = f"http://{origin.address}"
    return servers.wick(here, options.server_cores, options.wick, site, "64M")

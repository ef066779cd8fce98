"""The rig: starts servers and visitors, reads what they cost, and judges it.

scope     what is started is stopped again, on every way out
process   CPU time and memory of a server with all its children
machine   what the figures were measured on
servers   the site, php-fpm, nginx, Varnish, the bare loop, the origin, Wick
visit     wrk, ab, h2load, crowds and walks, and what their output says
contest   alternating rounds between servers, medians and ratios
report    targets, verdicts, the table in README.md
hits, connections, http2, tls, miss, threads, collapse, memory, purge, esi    one measurement each

Only Python's own library is used.
"""

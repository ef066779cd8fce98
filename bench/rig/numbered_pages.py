"""A site of numbered pages, made as they are asked for: no two are the same."""

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextlib.contextmanager
def origin(some):
    """The address of the site, whose pages (`/page/NUMBER`) bear the texts of `some`."""

    class Pages(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            number = self.path.rpartition("/")[2]
            is_page = self.path.startswith("/page/") and number.isdigit()
            text = some[int(number) % len(some)].text if is_page else ""
            body = f"<!doctype html><title>Page {number}</title><h1>{word(number)}</h1><p>{text}</p>"
            body = body.encode()
            self.send_response(200 if is_page else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Cache-Control", "max-age=86400")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def word(number):
    """What is on this page and on no other."""
    return f"quillwort{number}"

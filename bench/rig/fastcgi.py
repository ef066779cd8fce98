"""A FastCGI client of one connection: asks php-fpm with nobody in between."""

import socket
import struct

BEGIN, END, PARAMETERS, INPUT, OUTPUT = 1, 3, 4, 5, 6


class Connection:
    """A kept-alive connection to php-fpm."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(str(path))
        self.buffer = b""

    def request(self, script, uri):
        """Runs `script` for `uri` and gives all of its output, head included."""
        query = uri.partition("?")[2]
        values = {
            "GATEWAY_INTERFACE": "CGI/1.1",
            "REQUEST_METHOD": "GET",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "SCRIPT_FILENAME": str(script),
            "SCRIPT_NAME": uri.partition("?")[0],
            "REQUEST_URI": uri,
            "QUERY_STRING": query,
        }
        encoded = b"".join(_pair(key.encode(), value.encode()) for key, value in values.items())
        begin = struct.pack("!HB5x", 1, 1)
        self.socket.sendall(
            _record(BEGIN, begin)
            + _record(PARAMETERS, encoded)
            + _record(PARAMETERS, b"")
            + _record(INPUT, b"")
        )
        output = []
        while True:
            kind, content = self._next()
            if kind == OUTPUT:
                output.append(content)
            elif kind == END:
                return b"".join(output)

    def _next(self):
        _, kind, _, length, padding = struct.unpack("!BBHHBx", self._take(8))
        return kind, self._take(length + padding)[:length]

    def _take(self, count):
        while len(self.buffer) < count:
            more = self.socket.recv(65536)
            if not more:
                raise ConnectionError("php-fpm closed the connection")
            self.buffer += more
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken


def _record(kind, content):
    return struct.pack("!BBHHBx", 1, kind, 1, len(content), 0) + content


def _pair(key, value):
    lengths = b"".join(
        struct.pack("!B", len(part)) if len(part) < 128 else struct.pack("!I", len(part) | 1 << 31)
        for part in (key, value)
    )
    return lengths + key + value

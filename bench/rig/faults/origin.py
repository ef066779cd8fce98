"""An HTTP origin that fails in the way it is told: a program of its own.

    origin.py PORT          words on standard input: `mode WAY`, `end`

It makes a page of 2,048 bytes for every path, which begins with the path. Pages below
`/new/` and `/page/` may be kept for ten minutes, those below `/short/` for a second.
"""

import asyncio
import os
import random
import socket
import struct
import sys

BODY_BYTES = 2048
WAYS = ("serve", "refuse", "reset", "hang", "break", "drip", "garbage")
GARBAGE = (
    lambda chance: chance.randbytes(600),
    lambda chance: b"HTTP/1.1 abc Nonsense\r\n\r\n",
    lambda chance: b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nhello",
    lambda chance: b"HTTP/2 200\r\nserver: nginx\r\n\r\nhello",
    lambda chance: b"HTTP/1.1 200 OK\r\nX: " + b"a" * 2_000_000 + b"\r\n\r\n",
    lambda chance: b"HTTP/1.1 200 OK\r\nBad Name : x\x00\r\nContent-Length: 0\r\n\r\n",
    lambda chance: b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    lambda chance: b"SSH-2.0-OpenSSH_9.2\r\n",
)


class Origin:
    """One port, and the way in which it answers now."""

    def __init__(self, port):
        self.port, self.way, self.server = port, "serve", None
        self.chance = random.Random(1)
        self.writers = set()

    async def listen(self):
        self.server = await asyncio.start_server(self.converse, "127.0.0.1", self.port, backlog=1024)

    async def turn(self, way):
        """From now on it answers, or doesn't, in this way."""
        self.way = way
        if way == "refuse" and self.server:
            self.server.close()
            self.server = None
            for writer in list(self.writers):
                writer.transport.abort()
        elif way != "refuse" and not self.server:
            await self.listen()

    async def converse(self, reader, writer):
        self.writers.add(writer)
        try:
            while await self.answer(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self.writers.discard(writer)
            writer.close()

    async def answer(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ", 2)[1]
        lower = head.lower()
        at = lower.find(b"content-length:")
        if at >= 0:
            await reader.readexactly(int(lower[at + 15 :].split(b"\r\n", 1)[0]))
        size = int(path.rpartition(b"-")[2]) if path.startswith(b"/large-") else BODY_BYTES
        body = (path + b"\n").ljust(size, b"x")
        kept = 1 if path.startswith(b"/short/") else 600
        told = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nCache-Control: max-age={kept}\r\n"
        told = told.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode()
        if self.way == "serve":
            writer.write(told + body)
            await writer.drain()
            return True
        if self.way == "hang":
            await reader.read(1)
        elif self.way == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        elif self.way == "break":
            writer.write(told + body[:500])
            await writer.drain()
        elif self.way == "drip":
            writer.write(told)
            for byte in body[:50]:
                writer.write(bytes([byte]))
                await asyncio.sleep(0.1)
        elif self.way == "garbage":
            writer.write(self.chance.choice(GARBAGE)(self.chance))
            await writer.drain()
        return False


async def main():
    origin = Origin(int(sys.argv[1]))
    await origin.listen()
    words = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(words)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(0))
    while line := (await words.readline()).decode().strip():
        if line == "end":
            return
        await origin.turn(line.removeprefix("mode "))


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        sys.exit(130)

"""Fills a cache with many small resources of different names and sizes, through the proxy."""

import asyncio
import threading
from urllib.parse import quote

CLIENTS = 8
WORDS = ["Overture", "Nocturne", "Étude", "March", "Waltz", "Sonata", "Elegy", "Fugue"]


def name(number):
    return f"{WORDS[number % len(WORDS)]} {number:05}.mp3"


def size(number):
    return 300 + number * 7919 % 4000


class Origin:
    """Answers each name with a body of its own length."""

    async def serve(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                number = int(head.split(b" ", 2)[1].rsplit(b".", 1)[0][-5:])
                body = (b"%05d\n" % number).ljust(size(number), b".")
                partial = b"\r\nrange:" in head.lower()
                status = b"206 Partial Content" if partial else b"200 OK"
                extent = b"Content-Range: bytes 0-%d/%d\r\n" % (len(body) - 1, len(body)) if partial else b""
                writer.write(
                    b"HTTP/1.1 " + status + b'\r\nETag: "%d"\r\nContent-Type: audio/mpeg\r\nCache-Control: max-age=86400\r\n' % number
                    + extent + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()


async def _read(authority, place, numbers):
    host, port = authority.rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    for number in numbers:
        writer.write(f"GET {place}{quote(name(number))} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"{name(number)}: {head!r}")
        await reader.readexactly(size(number))
    writer.close()


async def _fill(proxy, count):
    server = await asyncio.start_server(Origin().serve, "127.0.0.1", 0)
    place = f"/http/127.0.0.1:{server.sockets[0].getsockname()[1]}/music/"
    await asyncio.gather(*(_read(proxy.authority, place, range(client, count, CLIENTS)) for client in range(CLIENTS)))
    server.close()


def fill(proxy, count):
    """Stores `count` resources."""
    failures = []

    def run():
        try:
            asyncio.run(_fill(proxy, count))
        except Exception as error:  # pylint: disable=broad-except
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]

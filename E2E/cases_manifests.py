"""What a document of an origin may cost: CPU time of the event loop, and memory."""

import itertools
import re
import threading
import urllib.request
import zlib
from http.server import BaseHTTPRequestHandler

from harness import CaseList, expect
from scripted import ScriptedServer

CASES = CaseList()
case = CASES

# One callback of the event loop, in CPU time.
CALLBACK_MICROSECONDS = 5_000
MEMORY_TIMES = 8
MEMORY_BYTES = 512 << 10
CLIENTS = 20

HLS, DASH, JSON = "application/vnd.apple.mpegurl", "application/dash+xml", "application/json"


def playlist(line, size):
    return b"#EXTM3U\n#EXT-X-VERSION:3\n" + line * ((size - 26) // len(line))


def mpd(head, unit, size, tail):
    head, tail = b"<MPD xmlns='urn:mpeg:dash:schema:mpd:2011'>" + head, tail + b"</MPD>"
    return head + unit * ((size - len(head) - len(tail)) // len(unit)) + tail


def assets(unit, size):
    return b'{"ASSETS":[' + unit * ((size - 16) // (len(unit) + 1)) + b"0]}"


BASES = b"".join(b"<BaseURL>http://h%d.example/%s/</BaseURL>" % (n, b"d" * 40) for n in range(64))
LIST = b"<Period><AdaptationSet><Representation><SegmentList>"
LIST_END = b"</SegmentList></Representation></AdaptationSet></Period>"
PREFIXES = b" ".join(b"xmlns:n%d='urn:x%d'" % (n, n) for n in range(120))

# The kinds of costly documents: their type, and the text for a size.
KINDS = {
    "segments": (HLS, lambda size: playlist(b"#EXTINF:4,\nhttps://cdn.example/path/segment.ts?sig=0123456789\n", size)),
    "roots": (HLS, lambda size: playlist(b"/a%20.ts\n", size)),
    "short lines": (HLS, lambda size: playlist(b"a\n", size)),
    "empty lines": (HLS, lambda size: playlist(b"\n", size)),
    "other origins": (HLS, lambda size: playlist(b"//a\n", size)),
    "queries": (HLS, lambda size: playlist(b'#EXT-X-DEFINE:QUERYPARAM="a"\n', size)),
    "attributes": (HLS, lambda size: b"#EXTM3U\n#EXT-X-MEDIA:" + b"A=," * ((size - 30) // 3)),
    "variables": (HLS, lambda size: playlist(b"{$v}.ts\n", size).replace(b"\n", b'\n#EXT-X-DEFINE:NAME="v",VALUE="' + b"v" * 300 + b'"\n', 1)),
    "bases": (DASH, lambda size: mpd(BASES + LIST, b"<SegmentURL media='/x/y.m4s'/>", size, LIST_END)),
    "elements": (DASH, lambda size: mpd(b"", b"<S d='1'/>", size, b"")),
    "prefixes": (DASH, lambda size: mpd(b"<Period " + PREFIXES + b">", b"<E " + b"n0:a='' " * 100 + b"/>", size, b"</Period>")),
    "assets": (JSON, lambda size: assets(b'{"URI":"/a"},', size)),
    "nesting": (JSON, lambda size: assets(b"[" * 50 + b"]" * 50 + b",", size)),
}


# The versions of a playlist that changes with each request.
VERSIONS = itertools.count()


def changing(version):
    return playlist(b"#EXTINF:4,\n/v%06d/segment.ts\n" % version, 1 << 20)


class Documents(BaseHTTPRequestHandler):
    """Answers `/kind/size` with such a document."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path.startswith("/changing/"):
            return self.answer(HLS, changing(next(VERSIONS)), "no-cache")
        _, kind, size, _ = self.path.split("?")[0].replace("%20", " ").split("/")
        media_type, text = KINDS[kind]
        self.answer(media_type, text(int(size)))

    def answer(self, media_type, body, cache_control="max-age=3600"):
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", cache_control)
        self.send_header("ETag", f'"{zlib.crc32(body)}"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def longest_callback(proxy):
    with urllib.request.urlopen(f"{proxy.page_url()}metrics", timeout=60) as answer:
        return float(re.search(r"^spool_loop_longest_callback_seconds ([0-9.e-]+)$", answer.read().decode(), re.MULTILINE)[1]) * 1e6


def ask(proxy, port, kind, size):
    query = "?" + "&".join(["b"] * 3_500) if kind == "queries" else ""
    with urllib.request.urlopen(proxy.absolute(f"http/127.0.0.1:{port}/{kind.replace(' ', '%20')}/{size}/m{query}"), timeout=120) as answer:
        answer.read()


@case("no document of an origin takes more than 5 ms of CPU in one callback, and its memory follows its size", is_about_cache=True, is_alone=True)
def _(t):
    server = ScriptedServer(("127.0.0.1", 0), Documents)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        for kind in KINDS:
            proxy = t.proxy()
            for size in (60 << 10, 64 << 10, 1 << 20):
                ask(proxy, server.server_port, kind, size)
            before, size = proxy.resident_bytes(), 8 << 20
            clients = [threading.Thread(target=ask, args=(proxy, server.server_port, kind, size)) for _ in range(CLIENTS)]
            for client in clients:
                client.start()
            for client in clients:
                client.join()
            took, grew = longest_callback(proxy), proxy.resident_bytes() - before
            t.note(f"{kind}: {took:.0f} µs, {grew / size:.1f} times its size")
            expect(took <= CALLBACK_MICROSECONDS, f"{kind}: a callback of the event loop took {took:.0f} µs of CPU")
            expect(grew <= MEMORY_TIMES * size + MEMORY_BYTES, f"{kind}: {grew} bytes of memory for a document of {size}")
            proxy.stop()
    finally:
        server.shutdown()


@case("a playlist that changes with each request is answered with one of its versions, however many ask at once", is_about_cache=True)
def _(t):
    server = ScriptedServer(("127.0.0.1", 0), Documents)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    proxy, found, failures = t.proxy(), [], []

    def ask_once():
        request = urllib.request.Request(
            proxy.absolute(f"http/127.0.0.1:{server.server_port}/changing/m.m3u8"), headers={"Cache-Control": "no-cache"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                found.append(answer.read())
        except OSError as error:
            failures.append(error)

    try:
        for _ in range(3):
            clients = [threading.Thread(target=ask_once) for _ in range(CLIENTS)]
            for client in clients:
                client.start()
            for client in clients:
                client.join()
        expect(not failures, f"{len(failures)} of {3 * CLIENTS} answers failed: {failures[:1]}")
        for body in found:
            lines = {line for line in body.split(b"\n") if line.startswith(b"/")}
            expect(len(lines) == 1 and body.count(b"\n") == changing(0).count(b"\n"), f"not one whole version: {sorted(lines)[:2]}")
    finally:
        server.shutdown()

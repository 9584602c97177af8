"""The main promise: never a wrong byte, never the same byte twice."""

import http.client
import threading
from http.server import BaseHTTPRequestHandler

from clients import Download, request
from harness import CaseList, expect, expect_equal, expect_fetched_once
from media import MARK, SPARSE_MARKS
from scripted import ScriptedServer

CASES = CaseList()
case = CASES

RANDOM_RANGES = 500
RANGE_CONNECTIONS = 8


@case("a cold start makes one origin request, and a second play none", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["faststart.mp4"]
    mark = t.origin.mark()
    expect(request(proxy, file.name, headers={"Range": "bytes=0-"}).body == file.read(), "the bytes differ")
    asked = t.origin.requests(mark)
    expect_equal(len(asked), 1, "origin requests of the first play")
    expect(asked[0].sent <= file.size * 1.02, f"the origin sent {asked[0].sent} of {file.size} bytes")
    expect_equal(asked[0].accept_encoding, "identity", "Accept-Encoding")
    expect(request(proxy, file.name, headers={"Range": "bytes=0-"}).body == file.read(), "the bytes of the second play differ")
    expect_equal(len(t.origin.requests(mark)), 1, "origin requests after the second play")


@case("where the origin demands a check, a play sends one without a body; offline none", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["faststart.mp4"]
    forms = {"no-cache": 1, "max-age-0": 1, "short": 1, "expired": 1, "none": 0}

    def play(form, place):
        for fields in ({}, {"Range": "bytes=1000-1999"}, {"Range": "bytes=0-"}):
            wanted = file.read(1000, 2000) if "1000" in str(fields) else file.read()
            expect(request(proxy, f"demand/{form}/{file.name}", headers=fields).body == wanted, f"{form}: the bytes differ {place}")

    for form in forms:
        play(form, "at first")
    # A new process begins new plays.
    expect_equal(proxy.stop(), 0, "exit code")
    proxy.restart()
    for form, count in forms.items():
        mark = t.origin.mark()
        play(form, "in the second play")
        asked = t.origin.requests(mark)
        expect_equal([(r.status, r.sent) for r in asked], [(304, 0)] * count, f"{form}: status and bytes of the origin's answers")
    expect_equal(proxy.stop(), 0, "exit code")
    t.origin.stop()
    proxy.restart()
    for form in forms:
        play(form, "offline")


@case("a first request in the middle makes one origin request", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["faststart.mp4"]
    mark = t.origin.mark()
    answer = request(proxy, file.name, headers={"Range": "bytes=1000000-1999999"})
    expect_equal((answer.status, answer.body == file.read(1_000_000, 2_000_000)), (206, True), "status and bytes")
    expect_equal(len(t.origin.requests(mark)), 1, "origin requests")


@case("a cancelled transfer keeps its bytes, and the next starts at the first missing one", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["faststart.mp4"]
    mark = t.origin.mark()
    first = Download(proxy, "paced/" + file.name)
    taken = len(first.read(1_500_000))
    first.drop()
    before = t.origin.requests(mark)
    expect_equal(len(before), 1, "origin requests of the cancelled transfer")
    expect(before[0].was_cancelled, "the origin's transfer was not cancelled")

    expect(request(proxy, "paced/" + file.name).body == file.read(), "the bytes differ")
    asked = t.origin.requests(mark)
    expect_equal(len(asked), 2, "origin requests")
    resumed = asked[1]
    t.note(f"{taken} taken, resumed at {resumed.first_byte}")
    expect(taken <= resumed.first_byte <= before[0].sent, f"resumed at {resumed.first_byte}, of {before[0].sent} sent and {taken} taken")
    expect(resumed.if_range.startswith('"'), f"resumed with If-Range {resumed.if_range!r}")
    expect_equal(resumed.sent, file.size - resumed.first_byte, "bytes of the second transfer")


@case("two clients on one cold file share an origin request and see bytes as they arrive", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["faststart.mp4"]
    mark = t.origin.mark()
    clients = [Download(proxy, "paced/" + file.name) for _ in range(2)]
    for client in clients:
        expect(client.read(1_000_000) == file.read(0, 1_000_000), "the first bytes differ")
    expect_equal(t.origin.requests(mark, is_quiet=False), [], "origin responses that ended before both clients had a megabyte")
    for client in clients:
        expect(client.read_all() == file.read(), "the bytes differ")
        client.drop()
    asked = t.origin.requests(mark)
    expect_equal(len(asked), 1, "origin requests")
    expect_equal(asked[0].sent, file.size, "bytes of the origin")


@case("gaps are filled, and no byte between them is fetched again", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["random.bin"]
    mark = t.origin.mark()
    step = 4 << 20
    for lower in range(step, file.size, 2 * step):
        answer = request(proxy, file.name, headers={"Range": f"bytes={lower}-{lower + step - 1}"})
        expect(answer.body == file.read(lower, lower + step), f"the bytes at {lower} differ")
    expect(request(proxy, file.name).body == file.read(), "the bytes of the whole differ")
    asked = t.origin.requests(mark)
    expect_fetched_once(t, proxy, file, asked)
    expect(all(r.if_range for r in asked[1:]), "a later request without If-Range")


@case("500 random ranges of a 64 MiB file over 8 connections have the right bytes")
def _(t):
    proxy, file = t.proxy(), t.media["random.bin"]
    data = file.read()
    mark = t.origin.mark()
    ranges = []
    for _ in range(RANDOM_RANGES):
        # From a few bytes to a megabyte, with the logarithm of the size uniform.
        length = int(2 ** t.random.uniform(0, 20))
        lower = t.random.randrange(file.size - length)
        ranges.append((lower, lower + length))
    wrong = []

    def ask(mine):
        connection = http.client.HTTPConnection(proxy.authority, timeout=60)
        try:
            for lower, upper in mine:
                answer = request(proxy, file.name, headers={"Range": f"bytes={lower}-{upper - 1}"}, connection=connection)
                if answer.status != 206 or answer.body != data[lower:upper]:
                    wrong.append(f"{lower}-{upper - 1}: {answer.status}, {len(answer.body)} bytes")
        except (OSError, http.client.HTTPException) as error:
            wrong.append(f"{type(error).__name__}: {error}")
        finally:
            connection.close()

    threads = [threading.Thread(target=ask, args=(ranges[n::RANGE_CONNECTIONS],)) for n in range(RANGE_CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect_equal(wrong, [], "wrong answers")
    asked = t.origin.requests(mark)
    if t.is_direct:
        return
    expect_fetched_once(t, proxy, file, asked)
    # Stored ranges need no further request.
    mark = t.origin.mark()
    for lower, upper in ranges[:50]:
        expect(request(proxy, file.name, headers={"Range": f"bytes={lower}-{upper - 1}"}).body == data[lower:upper], "a byte differs")
    expect_equal(len(t.origin.requests(mark)), 0, "origin requests for stored ranges")


@case("200 connections on stored parts of a 5 GiB file, some of them slow, need less than 32 MiB", is_about_cache=True, is_alone=True)
def _(t):
    proxy, file = t.proxy(), t.media["sparse.bin"]
    part = 2 << 20
    for offset in SPARSE_MARKS[:4]:
        expect(request(proxy, file.name, headers={"Range": f"bytes={offset}-{offset + part - 1}"}).body[:16] == MARK, f"the mark at {offset}")
    # A new process, so that the memory of the fetches does not count.
    expect_equal(proxy.stop(), 0, "exit code")
    proxy.restart()
    mark = t.origin.mark()
    clients = []
    for number in range(200):
        offset = SPARSE_MARKS[number % 4]
        clients.append(Download(proxy, file.name, {"Range": f"bytes={offset}-{offset + part - 1}"}))
    # Every fourth reads a little, and then no more until the others are done.
    for client in clients[::4]:
        client.read(1000)
    for number, client in enumerate(clients):
        if number % 4:
            expect(client.read_all()[:16] == MARK and len(client.body) == part, f"{len(client.body)} bytes of connection {number}")
            client.body = bytearray()
    for client in clients[::4]:
        expect(len(client.read_all()) == part, f"{len(client.body)} bytes of a slow connection")
        client.body = bytearray()
    for client in clients:
        client.drop()
    resident = proxy.resident_bytes() / (1 << 20)
    t.note(f"{resident:.1f} MiB")
    expect_equal(len(t.origin.requests(mark)), 0, "origin requests")
    expect(resident < 32, f"{resident:.1f} MiB resident")


PLAYLISTS = 40
FILM = b"#FILM" * 800_000


def playlist(name):
    lines = "".join(f"#EXTINF:4,\nsegment-{name}-{number:07}.ts\n" for number in range(12_000))
    return f"#EXTM3U\n#EXT-X-TARGETDURATION:4\n{lines}#EXT-X-ENDLIST\n".encode()


class Mixture(BaseHTTPRequestHandler):
    """An origin of long playlists and films. Each path is a resource of its own."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):  # pylint: disable=invalid-name
        name, _, extension = self.path.removeprefix("/").partition(".")
        body, kind = (FILM, "video/mp4") if extension == "mp4" else (playlist(name), "application/vnd.apple.mpegurl")
        self.send_response(200)
        for field, value in (("ETag", f'"{name}"'), ("Content-Type", kind), ("Content-Length", str(len(body)))):
            self.send_header(field, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


# A playlist was copied from memory that its fetch had given back, and had bytes of another client's film.
@case("long playlists beside downloads have their own bytes, with three event loops", is_about_cache=True)
def _(t):
    proxy = t.proxy("--loops", "3")
    origin = ScriptedServer(("127.0.0.1", 0), Mixture)
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    place = f"/http/127.0.0.1:{origin.server_address[1]}/"
    is_over = threading.Event()
    wrong = []

    def download(client):
        number = 0
        while not is_over.is_set():
            number += 1
            if request(proxy, f"{place}film-{client}-{number}.mp4").body != FILM:
                wrong.append(f"film {number} of client {client}")
                return

    downloads = [threading.Thread(target=download, args=(client,)) for client in range(2)]
    try:
        for thread in downloads:
            thread.start()
        for number in range(PLAYLISTS):
            answer = request(proxy, f"{place}list-{number}.m3u8")
            expect_equal((answer.status, answer.body == playlist(f"list-{number}")), (200, True), f"status and bytes of playlist {number}")
    finally:
        is_over.set()
        for thread in downloads:
            thread.join()
        origin.shutdown()
        origin.server_close()
    expect_equal(wrong, [], "wrong films")

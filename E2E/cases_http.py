"""The answers to a client: RFC 9110 as curl and hand-made requests see it."""

import email
import http.client
import subprocess
import time

from clients import exchange, request
from harness import CaseList, expect, expect_equal
from media import MARK, ODD_NAME, SPARSE_BYTES, SPARSE_MARKS
from origin import sent_bytes
from ports import free_port

CASES = CaseList()
case = CASES


def curl(t, *arguments, **options):
    return t.run("curl", "-sS", "--max-time", "60", *arguments, **options)


@case("curl gets a whole file, byte for byte", "curl")
def _(t):
    proxy, file = t.proxy(), t.media["faststart.mp4"]
    out = t.directory / "out"
    said = curl(t, "-o", out, "-w", "%{http_code} %{size_download} %{content_type}", proxy.url(file.name)).stdout.decode()
    expect_equal(said, f"200 {file.size} video/mp4", "status, length and type")
    expect(out.read_bytes() == file.read(), "the bytes differ")


@case("curl gets bounded, open and suffix ranges, cold and warm", "curl")
def _(t):
    proxy, file = t.proxy(), t.media["moov-at-end.mp4"]
    size = file.size
    ranges = [(0, 1), (0, 100), (65535, 65537), (size // 2, size // 2 + 200_000), (size - 1, size), (size - 5000, size)]
    for turn in ("cold", "warm"):
        for lower, upper in ranges:
            done = curl(t, "-D", t.directory / "head", "-r", f"{lower}-{upper - 1}", proxy.url(file.name))
            expect(done.stdout == file.read(lower, upper), f"{turn} {lower}-{upper - 1}: the bytes differ")
            head = (t.directory / "head").read_text()
            expect(" 206" in head.splitlines()[0], f"{turn} {lower}-{upper - 1}: {head.splitlines()[0]}")
            expect(f"bytes {lower}-{upper - 1}/{size}" in head, f"{turn}: Content-Range of {lower}-{upper - 1}: {head}")
    expect(curl(t, "-r", "1000000-", proxy.url(file.name)).stdout == file.read(1_000_000), "open range: the bytes differ")
    expect(curl(t, "-r", "-777", proxy.url(file.name)).stdout == file.read(size - 777), "suffix: the bytes differ")
    expect(curl(t, "-r", f"-{size + 5}", proxy.url(file.name)).stdout == file.read(), "suffix longer than the file: the bytes differ")


@case("an HTTPS origin with a private authority plays over HTTP/1.1 and HTTP/2", is_about_cache=True)
def _(t):
    file = t.media["vbr.mp3"]
    path = t.origin.secure_path(file.name)
    for protocol, options in (("HTTP/1.1", ()), ("HTTP/2.0", ("--http2",))):
        proxy = t.proxy("--ca-file", str(t.origin.certificate), *options, cache=t.directory / protocol[5])
        mark = t.origin.mark()
        for turn in ("cold", "warm"):
            expect(request(proxy, path).body == file.read(), f"{protocol} {turn}: the bytes differ")
        asked = t.origin.requests(mark)
        expect_equal({entry.protocol for entry in asked}, {protocol}, "protocol")
        expect_equal(sent_bytes(asked), file.size, "bytes sent")
        t.note(f"{protocol}: {len(asked)} requests")


@case("an HTTPS origin with an unknown authority gets no request", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    mark = t.origin.mark()
    answer = request(proxy, t.origin.secure_path(file.name))
    expect_equal(answer.status, 502, "status")
    expect(b"certificate" in answer.body, f"no reason: {answer.body[:200]}")
    expect_equal(len(t.origin.requests(mark)), 0, "requests")


@case("several ranges are answered with one multipart body")
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    wanted = [(0, 10), (1000, 3000), (file.size - 7, file.size)]
    field = "bytes=0-9,1000-2999,-7"
    for turn in ("cold", "warm"):
        answer = request(proxy, file.name, headers={"Range": field})
        expect_equal(answer.status, 206, f"{turn} status")
        kind = answer["Content-Type"]
        expect(kind.startswith("multipart/byteranges"), f"{turn}: a body of type {kind}")
        message = email.message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + answer.body)
        parts = message.get_payload()
        expect_equal(len(parts), len(wanted), f"{turn} parts")
        for part, (lower, upper) in zip(parts, wanted):
            expect_equal(part["Content-Range"], f"bytes {lower}-{upper - 1}/{file.size}", f"{turn} Content-Range")
            # The parser is for text. It gives the fields, and the bytes are searched for in the raw body.
            expect(file.read(lower, upper) in answer.body, f"{turn}: bytes of part {lower}-{upper - 1} differ")


@case("HEAD returns the fields of GET without a body")
def _(t):
    proxy, file = t.proxy(), t.media["plain.flac"]
    head = request(proxy, file.name, "HEAD")
    get = request(proxy, file.name)
    expect_equal((head.status, head.body), (200, b""), "status and body")
    for name in ("Content-Length", "Content-Type", "ETag", "Last-Modified", "Accept-Ranges"):
        expect(head[name] is not None, f"no {name}")
        expect_equal(head[name], get[name], name)


@case("curl -C - finishes a broken download", "curl")
def _(t):
    proxy, file = t.proxy(), t.media["faststart.mp4"]
    out = t.directory / "out"
    out.write_bytes(file.read(0, 300_000))
    curl(t, "-C", "-", "-o", out, proxy.url(file.name))
    expect(out.read_bytes() == file.read(), "the bytes differ")
    # The file is complete now. The range is not satisfiable, which curl treats as done.
    curl(t, "-C", "-", "-o", out, proxy.url(file.name))
    expect(out.read_bytes() == file.read(), "the bytes differ after a further request")


@case("If-None-Match gives 304 for the same validator and 200 for another")
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    tag = request(proxy, file.name)["ETag"]
    same = request(proxy, file.name, headers={"If-None-Match": tag})
    expect_equal((same.status, same.body), (304, b""), "same validator")
    expect_equal(same["ETag"], tag, "ETag of the 304")
    other = request(proxy, file.name, headers={"If-None-Match": '"other"'})
    expect_equal((other.status, other.body == file.read()), (200, True), "other validator")


@case("If-Modified-Since gives 304 for an unchanged file")
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    date = request(proxy, file.name)["Last-Modified"]
    expect_equal(request(proxy, file.name, headers={"If-Modified-Since": date}).status, 304, "same date")
    expect_equal(request(proxy, file.name, headers={"If-Modified-Since": "Sat, 01 Jan 2000 00:00:00 GMT"}).status, 200, "earlier date")


@case("If-Range gives the part for the same validator and the whole for another")
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    tag = request(proxy, file.name)["ETag"]
    same = request(proxy, file.name, headers={"Range": "bytes=100-199", "If-Range": tag})
    expect_equal((same.status, same.body == file.read(100, 200)), (206, True), "same validator")
    other = request(proxy, file.name, headers={"Range": "bytes=100-199", "If-Range": '"other"'})
    expect_equal((other.status, other.body == file.read()), (200, True), "other validator")


@case("a method other than GET and HEAD gets 405 with the allowed methods")
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    for method in ("POST", "PUT", "DELETE"):
        answer = request(proxy, file.name, method, headers={"Content-Length": "0"})
        expect_equal(answer.status, 405, method)
        if not t.is_direct:
            allowed = {word.strip() for word in (answer["Allow"] or "").split(",")}
            expect({"GET", "HEAD"} <= allowed, f"{method}: Allow is {answer['Allow']}")
            expect(answer.body, f"{method}: no explanation")
    expect(request(proxy, file.name).body == file.read(), "afterwards the bytes differ")


@case("a range beyond the end gets 416 with the length, cold and warm")
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    for turn in ("cold", "warm"):
        for field in (f"bytes={file.size}-", f"bytes={file.size + 1000}-{file.size + 2000}"):
            answer = request(proxy, file.name, headers={"Range": field})
            expect_equal((answer.status, answer["Content-Range"]), (416, f"bytes */{file.size}"), f"{turn} {field}")
        request(proxy, file.name)


@case("an invalid range is ignored", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    for field in ("bytes=5-2", "seconds=0-5", "bytes=abc", "bytes"):
        answer = request(proxy, file.name, headers={"Range": field})
        expect_equal((answer.status, len(answer.body)), (200, file.size), field)


@case("range units and field names are compared without regard to case")
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    for name, value in (("RANGE", "bytes=5-9"), ("range", "Bytes=5-9")):
        answer = request(proxy, file.name, headers={name: value})
        expect_equal((answer.status, answer.body), (206, file.read(5, 10)), f"{name}: {value}")


@case("a 404 of the origin is passed on and not stored")
def _(t):
    proxy = t.proxy()
    # A host that serves a request with an added range is believed when it refuses another one.
    expect_equal(request(proxy, "one.bin").status, 200, "status of a file")
    mark = t.origin.mark()
    for _ in range(2):
        expect_equal(request(proxy, "nothing-here.mp4").status, 404, "status")
    if not t.is_direct:
        expect_equal(len(t.origin.requests(mark)), 2, "origin requests")


@case("an empty file and a file of one byte are served right")
def _(t):
    proxy = t.proxy()
    for turn in ("cold", "warm"):
        answer = request(proxy, "empty.bin")
        expect_equal((answer.status, answer.body, answer["Content-Length"]), (200, b"", "0"), f"{turn} empty")
        answer = request(proxy, "one.bin")
        expect_equal((answer.status, answer.body), (200, b"1"), f"{turn} one")
        answer = request(proxy, "one.bin", headers={"Range": "bytes=0-"})
        expect_equal((answer.status, answer.body, answer["Content-Range"]), (206, b"1", "bytes 0-0/1"), f"{turn} bytes=0- of one")
        # No byte satisfies this range. A server may also ignore it.
        answer = request(proxy, "empty.bin", headers={"Range": "bytes=0-0"})
        expect(answer.status in (200, 416), f"{turn} bytes=0-0 of the empty file: {answer.status}")


@case("path and query reach the origin unchanged")
def _(t):
    proxy, file = t.proxy(), t.media[ODD_NAME]
    mark = t.origin.mark()
    path = "sp%20ace+%c3%BCn%C3%AF%2525&x=1.bin?b=2&a=%2f%20&a=1"
    answer = request(proxy, path)
    expect_equal((answer.status, answer.body == file.read()), (200, True), "status and bytes")
    expect_equal([r.uri for r in t.origin.requests(mark)], ["/" + path], "URIs that the origin saw")


@case("ranges of a 5 GiB file are fetched without the rest of the file")
def _(t):
    proxy, file = t.proxy(), t.media["sparse.bin"]
    mark = t.origin.mark()
    for offset in SPARSE_MARKS:
        answer = request(proxy, file.name, headers={"Range": f"bytes={offset}-{offset + 15}"})
        expect_equal((answer.status, answer.body), (206, MARK), f"at {offset}")
        expect_equal(answer["Content-Range"], f"bytes {offset}-{offset + 15}/{SPARSE_BYTES}", "Content-Range")
    sent = sent_bytes(t.origin.requests(mark))
    t.note(f"{sent / 1e6:.1f} MB from the origin")
    expect(sent < 100e6, f"the origin sent {sent} bytes")


@case("pipelined requests are answered in order on one connection")
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    one = f"GET {proxy.path(file.name)} HTTP/1.1\r\nHost: {proxy.authority}\r\nRange: bytes=%d-%d\r\n"
    data = (one + "\r\n") % (0, 9) + (one + "\r\n") % (20, 29) + (one + "Connection: close\r\n\r\n") % (40, 49)
    received = exchange(proxy, data.encode())
    places = [received.find(b"\r\n\r\n" + file.read(lower, lower + 10)) for lower in (0, 20, 40)]
    expect(-1 not in places and places == sorted(places), f"answers at {places}")


@case("one connection serves many requests")
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    connection = http.client.HTTPConnection(proxy.authority, timeout=30)
    connection.connect()
    port = connection.sock.getsockname()[1]
    for offset in range(0, 20_000, 1000):
        answer = request(proxy, file.name, headers={"Range": f"bytes={offset}-{offset + 999}"}, connection=connection)
        expect_equal((answer.status, answer.body), (206, file.read(offset, offset + 1000)), f"at {offset}")
        expect_equal(connection.sock.getsockname()[1], port, "port of the connection")
    connection.close()


@case("the form ?url= names the same resource as the path form", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    mark = t.origin.mark()
    done = t.run("curl", "-sSL", proxy.query_url(file.name))
    expect(done.stdout == file.read(), "the bytes differ")
    expect(request(proxy, file.name).body == file.read(), "the bytes of the path form differ")
    expect_equal(len(t.origin.requests(mark)), 1, "origin requests for both forms")


@case("a proxy with a fixed origin answers like that site", is_about_cache=True)
def _(t):
    proxy, file = t.proxy("--origin", t.origin.url("")[:-1]), t.media["vbr.mp3"]
    expect(request(proxy, "/" + file.name).body == file.read(), "the bytes differ")
    expect(request(proxy, "/paced/" + file.name, headers={"Range": "bytes=1-10"}).body == file.read(1, 11), "the bytes of a range differ")


@case("a configured token is required", is_about_cache=True)
def _(t):
    proxy, file = t.proxy("--token", "0123456789abcdef"), t.media["vbr.mp3"]
    expect(request(proxy, file.name).body == file.read(), "the bytes differ")
    for path in (f"/http/{t.origin.authority}/{file.name}", f"/wrong/http/{t.origin.authority}/{file.name}"):
        answer = request(proxy, path)
        expect(answer.status in (401, 403, 404), f"{path}: {answer.status}")
        expect(answer.body and file.read(0, 100) not in answer.body, f"{path}: body of {len(answer.body)} bytes")


@case("a foreign Host is refused", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    answer = request(proxy, file.name, headers={"Host": "rebound.example"})
    expect(answer.status in (400, 403, 421), f"{answer.status}")
    expect(answer.body, "no explanation")


@case("a malformed request gets a status and an explanation, and other connections go on", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    other = http.client.HTTPConnection(proxy.authority, timeout=30)
    request(proxy, file.name, connection=other)
    path = proxy.path(file.name)
    host = f"Host: {proxy.authority}\r\n"
    bad = {
        "no request line": b"\x00\x01\x02\x03\r\n\r\n",
        "two words": b"GET /\r\n\r\n",
        "no Host": f"GET {path} HTTP/1.1\r\n\r\n".encode(),
        "two Hosts": f"GET {path} HTTP/1.1\r\n{host}{host}\r\n".encode(),
        "space before colon": f"GET {path} HTTP/1.1\r\n{host}Range : bytes=0-1\r\n\r\n".encode(),
        "header of 64 KiB": f"GET {path} HTTP/1.1\r\n{host}X: {'x' * 65536}\r\n\r\n".encode(),
        "line of 64 KiB": f"GET /{'x' * 65536} HTTP/1.1\r\n{host}\r\n".encode(),
        "1000 headers": f"GET {path} HTTP/1.1\r\n{host}".encode() + b"X: y\r\n" * 1000 + b"\r\n",
    }
    for name, data in bad.items():
        received = exchange(proxy, data)
        expect(received.startswith(b"HTTP/1."), f"{name}: no status in {received[:60]!r}")
        status = int(received.split(b" ", 2)[1])
        expect(400 <= status < 500, f"{name}: {status}")
        expect(received.partition(b"\r\n\r\n")[2], f"{name}: no explanation")
    expect(request(proxy, file.name, connection=other).body == file.read(), "the other connection's bytes differ")
    other.close()
    expect(proxy.is_running(), "the program ended")


@case("an interrupt during a transfer ends the program cleanly and frees its port", is_about_cache=True)
def _(t):
    # A port that no outgoing connection of another program takes while it is free.
    proxy, file = t.proxy("--listen", f"127.0.0.1:{free_port()}"), t.media["faststart.mp4"]
    client = subprocess.Popen(
        ["curl", "-sS", "-o", str(t.directory / "out"), proxy.url("paced/" + file.name)], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 10
        while not (t.directory / "out").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        start = time.monotonic()
        expect_equal(proxy.stop(), 0, "exit code")
        t.note(f"stopped in {time.monotonic() - start:.2f} s")
        again = t.proxy("--listen", proxy.authority)
        expect(request(again, file.name).body == file.read(), "afterwards the bytes differ")
    finally:
        client.kill()
        client.wait()

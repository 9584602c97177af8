"""The fields of real players: the origin gets them, and what they select stays apart."""

import http.server
import re
import threading

from browser import Chromium
from clients import ffmpeg_frames, mpv_output, request, vlc_output
from harness import CaseList, expect, expect_equal
from scripted import ScriptedServer

CASES = CaseList()
case = CASES

TOKEN = "Bearer t0ken"
REFERRER = "https://site.example/watch"
AGENT = "MyTV/2.0"


class Guarded:
    """An origin that serves the media directory to requests with `needed` fields, and answers 401 to all others. It keeps a log of fields."""

    def __init__(self, context, needed=None, extra=None):
        self.context = context
        self.needed = needed or {}
        self.extra = extra or {}
        self.requests = []
        guarded = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):  # pylint: disable=invalid-name
                guarded.answer(self)

            def log_message(self, *_):
                pass

        self.server = ScriptedServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ends the origin. Later requests find no listener."""
        if self.server:
            self.server.shutdown()
            self.server.server_close()
        self.server = None

    def answer(self, handler):
        fields = dict(handler.headers.items())
        lower = {name.lower(): value for name, value in fields.items()}
        allowed = all(re.search(pattern, lower.get(name.lower(), "")) for name, pattern in self.needed.items())
        file = self.context.media[handler.path.rsplit("/", 1)[-1]]
        content = file.read()
        tag = f'"{file.sha256()[:16]}"'
        status = 401 if not allowed else 304 if tag in lower.get("if-none-match", "") else 206 if "range" in lower else 200
        self.requests.append((status, lower))
        start, end = 0, len(content)
        if status == 206:
            first, last = re.fullmatch(r"bytes=(\d+)-(\d*)", lower["range"]).groups()
            start, end = int(first), int(last) + 1 if last else end
            if start >= len(content):
                status = 416
        body = content[start:end] if status in (200, 206) else b""
        handler.send_response(status)
        if status in (200, 206, 304):
            handler.send_header("ETag", tag)
            handler.send_header("Accept-Ranges", "bytes")
            handler.send_header("Access-Control-Allow-Origin", "*")
            for name, value in self.extra.items():
                handler.send_header(name, value)
        if status in (200, 206):
            handler.send_header("Content-Type", "audio/mpeg" if file.name.endswith("mp3") else "video/mp4")
        if status == 206:
            handler.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")
        if status == 416:
            handler.send_header("Content-Range", f"bytes */{len(content)}")
        if status == 401:
            handler.send_header("WWW-Authenticate", "Bearer")
        if status != 304:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        try:
            handler.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            handler.close_connection = True

    def url(self, proxy, name):
        """The URL of a file by the proxy."""
        return f"http://{proxy.authority}/http/127.0.0.1:{self.port}/{name}"

    def path(self, name):
        return f"/http/127.0.0.1:{self.port}/{name}"

    def accepted(self):
        return [fields for status, fields in self.requests if status != 401]


def expect_fields(guarded, wanted):
    """Every accepted request of the origin's log has these fields."""
    expect(guarded.accepted(), "the origin accepted no request")
    for fields in guarded.accepted():
        for name, value in wanted.items():
            expect_equal(fields.get(name.lower()), value, name)
        for name in ("x-forwarded-for", "x-forwarded-host"):
            expect(name not in fields, f"{name} reached the origin")


@case("curl's cookies, token and referrer reach an origin that demands them", "curl", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["faststart.mp4"]
    with Guarded(t, {"Authorization": TOKEN, "Cookie": "id=7"}) as origin:
        url = origin.url(proxy, file.name)
        expect_equal(t.run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", url).stdout, b"401", "status without fields")
        fields = ["-H", f"Authorization: {TOKEN}", "-b", "id=7", "-e", REFERRER, "-A", AGENT, "-H", "X-Forwarded-Host: evil.example"]
        for _ in range(2):
            expect(t.run("curl", "-sS", *fields, url).stdout == file.read(), "the bytes differ")
        expect_fields(origin, {"Authorization": TOKEN, "Cookie": "id=7", "Referer": REFERRER, "User-Agent": AGENT})
        expect_equal(len(origin.accepted()), 1, "requests for the bytes")


@case("ffmpeg's headers, user agent and cookies reach an origin that demands them", "ffmpeg", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["moov-at-end.mp4"]
    wanted = ffmpeg_frames(t, t.origin.url(file.name))
    with Guarded(t, {"Authorization": TOKEN, "Cookie": "id=7", "User-Agent": AGENT}) as origin:
        url = origin.url(proxy, file.name)
        done = t.run(
            "ffmpeg", "-v", "error", "-nostdin", "-headers", f"Authorization: {TOKEN}\r\n", "-user_agent", AGENT,
            "-cookies", "id=7; path=/", "-i", url, "-map", "0", "-f", "framemd5", "-")
        expect(done.stdout == wanted, "the frames differ")
        expect_fields(origin, {"Authorization": TOKEN, "Cookie": "id=7", "User-Agent": AGENT})


@case("mpv's header fields and referrer reach an origin that demands them", "mpv", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["faststart.mp4"]
    wanted = mpv_output(t, t.origin.url(file.name), "video")
    with Guarded(t, {"Authorization": TOKEN, "Referer": "site.example"}) as origin:
        found = mpv_output(
            t, origin.url(proxy, file.name), "video", f"--http-header-fields=Authorization: {TOKEN},X-Own: 1",
            f"--referrer={REFERRER}", f"--user-agent={AGENT}")
        expect_equal(found, wanted, "pictures")
        expect_fields(origin, {"Authorization": TOKEN, "Referer": REFERRER, "User-Agent": AGENT, "X-Own": "1"})


@case("VLC's referrer and user agent reach an origin that demands them", "vlc", "setpriv", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    wanted = vlc_output(t, t.origin.url(file.name))
    with Guarded(t, {"Referer": "site.example", "User-Agent": AGENT}) as origin:
        found = vlc_output(t, origin.url(proxy, file.name), f"--http-referrer={REFERRER}", f":http-user-agent={AGENT}")
        expect_equal(found, wanted, "samples")
        expect_fields(origin, {"Referer": REFERRER, "User-Agent": AGENT})


@case("Chromium's own fields reach the origin, and its cookies for the proxy's address do not", "chromium", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    with Guarded(t, {}) as origin, Chromium(t) as browser:
        browser.open(proxy.page_url())
        length = browser.evaluate(
            f"""document.cookie = "secret=1; path=/";
            const answer = await fetch("{origin.url(proxy, file.name)}",
                {{ headers: {{ "X-Own": "1", "Accept": "audio/x-own", "Accept-Language": "eo" }} }});
            return (await answer.arrayBuffer()).byteLength;""")
        expect_equal(length, file.size, "bytes")
        expect_fields(origin, {"X-Own": "1", "Accept": "audio/x-own", "Accept-Language": "eo"})
        for fields in origin.accepted():
            expect("cookie" not in fields, "a cookie of the proxy's address reached the origin")
            expect("mozilla" in fields.get("user-agent", "").lower(), "no User-Agent of the browser")


@case("players with other fields get their own answer, and share equal bytes", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    with Guarded(t, {}, {"Vary": "User-Agent, X-Device"}) as origin:
        for agent in ("a", "b", "a", "b"):
            answer = request(proxy, origin.path(file.name), headers={"User-Agent": agent, "X-Device": "tv"})
            expect(answer.body == file.read(), f"{agent}: the bytes differ")
        expect_equal([status for status, _ in origin.requests], [206, 304], "the origin's answers")


@case("an expired token plays a stored film offline for the only user, and is refused to another", is_about_cache=True)
def _(t):
    file = t.media["vbr.mp3"]
    for users, offline in (("one", 200), ("many", 502)):
        cache = t.directory / users
        proxy = t.proxy("--users", users, cache=cache)
        with Guarded(t, {"Cookie": "token=1"}) as origin:
            path = origin.path(file.name)
            expect(request(proxy, path, headers={"Cookie": "token=1"}).body == file.read(), "the bytes differ")
            if users == "many":
                expect_equal(request(proxy, path, headers={"Cookie": "token=2"}).status, 401, "another user's status")
            origin.stop()
            expect_equal(proxy.stop(), 0, "exit code")
            proxy.restart()
            expect(request(proxy, path, headers={"Cookie": "token=1"}).body == file.read(), f"{users}: the same user's bytes differ")
            expect_equal(request(proxy, path, headers={"Cookie": "token=2"}).status, offline, f"{users}: status with another token")

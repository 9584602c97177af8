"""A small real site behind `--origin`: a browser and curl see it through the gateway as they see it directly."""

import contextlib
import http.client
import json
import socket
import subprocess
import threading
import time

from browser import Chromium
from harness import CaseList, expect, expect_equal
from origin import Origin

CASES = CaseList()
case = CASES

# Longer than any answer of a healthy origin takes, and shorter than the time-out of a body that does not come (30 s).
PATIENCE_SECONDS = 20

# A foreign host name, which the browser here resolves to this machine.
STRANGER = "stranger.example"

CONFIGURATION = """
daemon off;
master_process off;
worker_processes 1;
pid {directory}/pid;
error_log {directory}/error.log warn;
events {{ worker_connections 128; }}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    types {{ text/html html; text/css css; text/javascript js; application/json json; text/plain txt; video/mp4 mp4; }}
    server {{
        listen 127.0.0.1:{port};
        root {root};
        gzip on;
        gzip_min_length 0;
        gzip_types text/plain application/json text/css text/javascript;
        gzip_vary on;
        error_page 404 /lost.html;
        client_max_body_size 64m;
        location / {{ }}
        location = /_status {{ stub_status; }}
        location /old/ {{ rewrite ^/old/(.*)$ /new/$1 permanent; }}
        location /away/ {{ rewrite ^/away/(.*)$ http://$http_host/new/$1?from=away redirect; }}
        location = /empty {{ return 204; }}
        location = /broken {{ default_type text/plain; return 500 "broken on purpose"; }}
        location = /odd {{ default_type text/plain; return 477 "an odd status"; }}
        location = /sign-in {{ add_header Set-Cookie "session=yes; Path=/"; default_type text/plain; return 200 "signed in"; }}
        location = /whoami {{ default_type text/plain; add_header Cache-Control "private, max-age=60"; return 200 "session: $cookie_session"; }}
        location = /shared.json {{
            add_header Access-Control-Allow-Origin $http_origin always;
            add_header Vary Origin always;
            add_header Cache-Control "max-age=60" always;
        }}
        location = /closed.json {{ add_header Cache-Control "max-age=60"; }}
        location = /form {{ default_type text/plain; return 201 "$request_method of $content_length bytes"; }}
        location /uploads/ {{ dav_methods PUT DELETE; }}
    }}
}}
"""

PAGE = """<!doctype html>
<meta charset="utf-8"><title>A site</title>
<link rel="stylesheet" href="old/style.css"><script src="app.js" defer></script>
<body><h1>Grüße</h1><p id="script">no script</p><a id="relative" href="new/page.html">a page</a>
<video id="film" src="film.mp4" muted preload="auto" width="64"></video>"""

FILES = {
    "index.html": PAGE,
    "app.js": "document.getElementById('script').textContent = 'the script ran'",
    "new/style.css": "h1 { color: rgb(1, 2, 3) }",
    "new/page.html": "<!doctype html><title>A page</title><body>the new page, <a href=next.html>next</a>",
    "lost.html": "<!doctype html><title>Lost</title><body>nothing is here",
    "long.txt": "a line that compresses well\n" * 400,
    "digits.txt": "0123456789",
    "shared.json": '{"shared": true}',
    "closed.json": '{"shared": false}',
}

# The facts about the site that a page of it can see. Hosts differ, so URLs are shortened to their paths.
LOOK = """
const path = url => { const u = new URL(url, location.href); return (u.origin === location.origin ? "" : u.origin) + u.pathname + u.search; };
const kept = ["content-type", "content-range", "content-length", "etag", "last-modified", "location", "vary", "cache-control"];
const look = async (url, options = {}) => {
    const answer = await fetch(url, options);
    const fields = {};
    for (const name of kept) if (answer.headers.has(name)) fields[name] = answer.headers.get(name);
    return {status: answer.status, url: path(answer.url), moved: answer.redirected, fields, body: await answer.text()};
};
const wait = async (what, seconds) => { for (let i = 0; i < seconds * 20 && !what(); i++) await new Promise(r => setTimeout(r, 50)); };
const film = document.getElementById("film");
await wait(() => film.readyState >= 2, 20);
film.currentTime = film.duration / 2;
await wait(() => !film.seeking && film.readyState >= 2, 20);
const tag = (await look("digits.txt", {cache: "no-store"})).fields.etag;
const result = {
    title: document.title, heading: document.querySelector("h1").textContent, color: getComputedStyle(document.querySelector("h1")).color,
    script: document.getElementById("script").textContent, link: path(document.getElementById("relative").href),
    film: [film.videoWidth, film.videoHeight, film.duration, film.error && film.error.message, Math.abs(film.currentTime - film.duration / 2) < 0.1],
    answers: {},
};
const requests = {
    whole: ["digits.txt"], again: ["digits.txt"], part: ["digits.txt", {headers: {Range: "bytes=2-4"}}],
    suffix: ["digits.txt", {headers: {Range: "bytes=-3"}}], beyond: ["digits.txt", {headers: {Range: "bytes=50-"}}],
    unchanged: ["digits.txt", {headers: {"If-None-Match": tag}}], changed: ["digits.txt", {headers: {"If-None-Match": '"other"'}}],
    compressed: ["long.txt"], moved: ["old/page.html"], away: ["away/page.html"], empty: ["empty"], broken: ["broken"], odd: ["odd"],
    lost: ["nowhere"], head: ["digits.txt", {method: "HEAD"}], form: ["form", {method: "POST", body: "twelve bytes"}],
    stranger: ["whoami"], signIn: ["sign-in"], known: ["whoami"],
};
for (const turn of ["first", "second"])
    for (const [name, [url, options]] of Object.entries(requests))
        result.answers[turn + " " + name] = await look(url, {cache: "no-store", ...options});
return result;
"""

# The view of a page of another site.
LOOK_FROM_OUTSIDE = """
const look = async url => { try { const a = await fetch(url, {cache: "no-store"}); return [a.status, await a.text()]; } catch { return "refused"; } };
return [await look("%s/shared.json"), await look("%s/closed.json"), await look("%s/shared.json")];
"""


class Site(Origin):
    """The nginx of the site, with its files in the directory of the case."""

    def __init__(self, t, film):
        root = t.directory / "root"
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        (root / "uploads").mkdir()
        (root / "film.mp4").write_bytes(film.read())
        super().__init__(t.program("nginx"), root, t.directory / "site")
        self.root = root
        self.configuration.write_text(
            CONFIGURATION.format(directory=self.directory, port=self.port, root=root), encoding="utf-8")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()


def differences(direct, proxied):
    """Returns the facts that differ, in words."""
    found = []
    for name in direct:
        if name == "answers":
            for request, answer in direct[name].items():
                for part in answer:
                    if answer[part] != proxied[name][request][part]:
                        found.append(f"{request}, {part}: {answer[part]!r} directly and {proxied[name][request][part]!r} through the gateway")
        elif direct[name] != proxied[name]:
            found.append(f"{name}: {direct[name]!r} directly and {proxied[name]!r} through the gateway")
    return found


@case("Chromium sees a site behind --origin as it sees it directly: DOM, statuses, fields, bodies, cookies and media", "chromium",
      is_about_cache=True)
def _(t):
    with Site(t, t.media["faststart.mp4"]) as site:
        proxy = t.proxy("--origin", f"http://{site.authority}")
        views = []
        for authority in (site.authority, proxy.authority):
            # A browser of its own each time, because cookies of one host ignore the port.
            with Chromium(t) as browser:
                expect_equal(browser.open(f"http://{authority}/index.html"), None, "the page opens")
                views.append(json.loads(json.dumps(browser.evaluate(LOOK))))
        direct, proxied = views
        # A gateway asks for the identity coding, so the length is known, and the coding varies nothing.
        for view in views:
            for answer in view["answers"].values():
                for name in ("content-length", "vary"):
                    answer["fields"].pop(name, None)
                if answer["status"] in (304, 416):
                    # A cache answers these by itself: a 304 may have the type, and a 416 has a text of its own.
                    answer["fields"].pop("content-type", None)
                    answer["body"] = ""
                # A compressed answer has a weak tag.
                if answer["fields"].get("etag", "").startswith("W/"):
                    answer["fields"]["etag"] = answer["fields"]["etag"][2:]
        found = differences(direct, proxied)
        expect(not found, "\n".join(found))
        expect_equal(direct["film"][4], True, "the film sought")
        t.note(f"{len(direct['answers'])} answers are equal")


@case("a page of another site gets through the gateway what the site's own CORS fields permit", "chromium", is_about_cache=True)
def _(t):
    with Site(t, t.media["faststart.mp4"]) as site:
        page = f"http://{STRANGER}:{site.port}/new/page.html"
        proxy = t.proxy("--origin", f"http://{site.authority}", "--allow-site", f"http://{STRANGER}:{site.port}")
        views = []
        for authority in (site.authority, proxy.authority):
            with Chromium(t, foreign=[STRANGER]) as browser:
                expect_equal(browser.open(page), None, "the page opens")
                views.append(browser.evaluate(LOOK_FROM_OUTSIDE.replace("%s", f"http://{authority}")))
        expect_equal(views[1], views[0], "the foreign page's view")
        expect_equal(views[0], [[200, FILES["shared.json"]], "refused", [200, FILES["shared.json"]]], "the view of the site itself")


@case("curl uploads with Expect: 100-continue, changes and removes a file through the gateway", "curl", is_about_cache=True)
def _(t):
    with Site(t, t.media["faststart.mp4"]) as site:
        proxy = t.proxy("--origin", f"http://{site.authority}")
        body = t.directory / "body"
        body.write_bytes(t.random.randbytes(5 << 20))
        url = proxy.url("uploads/new.bin")
        done = t.run("curl", "-sS", "-v", "-H", "Expect: 100-continue", "-T", body, "-o", t.directory / "out", "-w", "%{http_code}", url)
        expect_equal(done.stdout.decode(), "201", "status of the upload")
        expect("HTTP/1.1 100" in done.stderr.decode(), "no 100 came")
        expect((site.root / "uploads/new.bin").read_bytes() == body.read_bytes(), "the uploaded bytes differ")
        expect(t.run("curl", "-sS", url).stdout == body.read_bytes(), "the bytes differ when they come back")
        body.write_bytes(b"changed")
        t.run("curl", "-sS", "-T", body, url)
        expect_equal(t.run("curl", "-sS", url).stdout, b"changed", "the bytes after a second upload")
        expect_equal(t.run("curl", "-sS", "-X", "DELETE", "-o", "/dev/null", "-w", "%{http_code}", url).stdout, b"204", "status of the removal")
        expect_equal(t.run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", url).stdout, b"404", "status after the removal")


@contextlib.contextmanager
def held_requests(authority, requests):
    """Sends each request on a connection of its own, and reads no answer meanwhile."""
    with contextlib.ExitStack() as stack:
        for text in requests:
            connection = stack.enter_context(socket.create_connection(authority, PATIENCE_SECONDS))
            connection.sendall(text.encode())
        yield


def status_of(authority, path, fields):
    connection = http.client.HTTPConnection(*authority, timeout=PATIENCE_SECONDS)
    with contextlib.closing(connection):
        connection.request("GET", path, headers=fields)
        answer = connection.getresponse()
        answer.read()
        return answer.status


@case("128 uploads that stand still keep no other request from the site", is_about_cache=True)
def _(t):
    with Site(t, t.media["faststart.mp4"]) as site:
        proxy = t.proxy("--origin", f"http://{site.authority}")
        authority = ("127.0.0.1", proxy.port)
        uploads = [f"PUT /uploads/{number} HTTP/1.1\r\nHost: {proxy.authority}\r\nContent-Length: 100000\r\n\r\nabc" for number in range(128)]
        with held_requests(authority, uploads):
            for path, fields in (("/film.mp4", {}), ("/whoami", {"Cookie": "session=yes"})):
                expect_equal(status_of(authority, path, fields), 200, f"status of {path} beside the uploads")


class Drips:
    """An origin whose answers bring a byte every two seconds. It has many ports, because requests are limited for each."""

    def __init__(self, ports):
        self.listeners = [socket.create_server(("127.0.0.1", 0), backlog=64) for _ in range(ports)]
        self.authorities = [f"127.0.0.1:{listener.getsockname()[1]}" for listener in self.listeners]
        self.is_over = threading.Event()
        self.asked = threading.Semaphore(0)
        for listener in self.listeners:
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._answer, args=(listener.accept()[0],), daemon=True).start()

    def _answer(self, connection):
        with contextlib.suppress(OSError), connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nContent-Type: video/mp4\r\n\r\nx")
            self.asked.release()
            while not self.is_over.wait(2):
                connection.sendall(b"x")

    def close(self):
        self.is_over.set()
        for listener in self.listeners:
            listener.close()


@case("66 answers of a byte every two seconds keep no request from a healthy origin", is_about_cache=True)
def _(t):
    file = t.media["vbr.mp3"]
    proxy = t.proxy()
    authority = ("127.0.0.1", proxy.port)
    with contextlib.closing(Drips(12)) as drips:
        paths = [f"/http/{drips.authorities[number % 12]}/{number}.mp4" for number in range(66)]
        with held_requests(authority, [f"GET {path} HTTP/1.1\r\nHost: {proxy.authority}\r\n\r\n" for path in paths]):
            for _ in range(64):
                expect(drips.asked.acquire(timeout=PATIENCE_SECONDS), "the origin was not asked")
            expect_equal(status_of(authority, proxy.path(file.name), {}), 200, "status of the healthy origin")

"""References and redirects that lead from the Internet into this machine, and from one site to another."""

import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import names
from harness import CaseList, expect, expect_equal
from ports import free_port
from proxy import Spool
from scripted import ScriptedServer

CASES = CaseList()
case = CASES

PLAYLIST_TYPE = "application/vnd.apple.mpegurl"
SECRET = b"a service of this machine"
NAVIGATION = {"Sec-Fetch-Site": "none", "Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate", "User-Agent": "Mozilla/5.0"}


@contextmanager
def server(answers):
    """Serves a table of paths, whose values are a status, fields and a body. Yields the port and the list of requested paths."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):  # pylint: disable=invalid-name
            asked.append(self.path)
            status, fields, body = answers.get(self.path, (404, {}, b""))
            self.send_response(status)
            for name, value in {**fields, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    listener = ScriptedServer(("127.0.0.1", free_port()), Handler)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield listener.server_port, asked
    finally:
        listener.shutdown()
        listener.server_close()


class NotFollowed(urllib.request.HTTPRedirectHandler):
    """A client that shows redirects."""

    def redirect_request(self, *_):
        return None


def get(url, fields=None):
    """Returns status, fields and body."""
    request = urllib.request.Request(url, headers=fields or {})
    try:
        with urllib.request.build_opener(NotFollowed, urllib.request.ProxyHandler({})).open(request, timeout=20) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def start(t, *options):
    proxy = Spool(t.runner.binary, t.cache_directory(), t.origin, options)
    proxy.environment = names.environment(t)
    return t.start(proxy)


def playlist(port):
    text = f"#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nhttp://127.0.0.1:{port}/secret\n#EXTINF:4,\nhttp://cdn.example:{port}/a/s.ts\n#EXT-X-ENDLIST\n"
    return 200, {"Content-Type": PLAYLIST_TYPE}, text.encode()


@case("no playlist and no redirect of a public site opens a service of this machine to clients of a gateway", is_about_cache=True)
def _(t):
    answers = {"/secret": (200, {"Content-Type": "text/plain"}, SECRET), "/a/s.ts": (200, {"Content-Type": "video/mp2t"}, b"segment")}
    with server(answers) as (inside, asked):
        evil_answers = {"/m.m3u8": playlist(inside)}
        with server(evil_answers) as (evil, _):
            away = (302, {"Location": f"http://evil.example:{evil}/m.m3u8"}, b"")
            inward = (302, {"Location": f"http://127.0.0.1:{inside}/secret"}, b"")
            with server({"/ugc.m3u8": playlist(inside), "/go.m3u8": away, "/go": away, "/in.mp4": inward}) as (site, _):
                proxy = start(t, "--origin", f"http://site.example:{site}")
                base = f"http://{proxy.authority}"
                for path, fields in (("/ugc.m3u8", {}), ("/go.m3u8", {}), ("/go", {"Range": "bytes=0-"})):
                    status, head, body = get(base + path, fields)
                    if status in (302, 307):
                        status, head, body = get(base + head["Location"])
                    lines = [line for line in body.decode().split("\n") if line and not line.startswith("#")]
                    expect_equal(status, 200, f"status of {path}")
                    expect_equal(lines[0], f"http://127.0.0.1:{inside}/secret", f"the private line of {path}")
                    expect_equal(get(base + lines[1])[2], b"segment", f"the public segment of {path}")
                    expect_equal(get(base + lines[1].replace("/a/s.ts", "/secret"))[0], 403, "status of another resource of the segment's origin")
                status, head, _ = get(f"{base}/in.mp4")
                expect_equal((status, head["Location"]), (307, f"http://127.0.0.1:{inside}/secret"), "the redirect inward")
                expect_equal([path for path in asked if path == "/secret"], [], "requests for the private service")
                said = proxy.errors.read_text(errors="replace")
                expect("--allow-private site.example" in said and "--allow-private evil.example" in said, f"no notice: {said}")


@case("a general proxy leaves private references, redirects and names to the only user, and --allow-private takes them", is_about_cache=True)
def _(t):
    with server({"/secret": (200, {"Content-Type": "text/plain"}, SECRET)}) as (inside, asked):
        with server({"/m.m3u8": playlist(inside), "/go": (302, {"Location": f"http://127.0.0.1:{inside}/secret"}, b"")}) as (site, _):
            proxy = start(t)
            def at(port, host, path):
                return f"http://{proxy.authority}/http/{host}:{port}{path}"
            expect(f"\nhttp://127.0.0.1:{inside}/secret\n" in get(at(site, "site.example", "/m.m3u8"))[2].decode(), "the line was rewritten")
            status, head, _ = get(at(site, "site.example", "/go"))
            expect_equal((status, head["Location"]), (307, f"http://127.0.0.1:{inside}/secret"), "the redirect")
            status, head, _ = get(at(inside, "inside.example", "/secret"))
            expect_equal((status, head["Location"]), (307, f"http://inside.example:{inside}/secret"), "the name")
            expect_equal(asked, [], "requests for the private service")
            expect_equal(get(at(inside, "127.0.0.1", "/secret"))[2], SECRET, "what the client itself asks for")
            proxy.stop()
            many = start(t, "--users", "many")
            expect_equal(get(f"http://{many.authority}/http/inside.example:{inside}/secret")[0], 403, "status of the name for many users")
            many.stop()
            proxy = start(t, "--allow-private", "site.example", "--allow-private", "inside.example")
            expect(f"\n/_spool/child/http/127.0.0.1:{inside}/secret\n" in get(at(site, "site.example", "/m.m3u8"))[2].decode(), "not led here")
            expect_equal(get(at(site, "site.example", "/go"))[2], SECRET, "the redirect with the flag")
            expect_equal(get(at(inside, "inside.example", "/secret"))[2], SECRET, "the name with the flag")


@case("a redirect of a gateway's site gives another origin none of the site's rights", is_about_cache=True)
def _(t):
    fields = {"Content-Type": "text/html", "Set-Cookie": "session=evil; Path=/", "Service-Worker-Allowed": "/"}
    with server({"/x.html": (200, fields, b"<script>alert(1)</script>")}) as (evil, _):
        target = f"http://evil.example:{evil}/x.html"
        with server({"/go/film.mp4": (302, {"Location": target}, b""), "/go": (302, {"Location": target}, b"")}) as (site, _):
            proxy = start(t, "--origin", f"http://site.example:{site}")
            base = f"http://{proxy.authority}"
            for _ in range(2):
                for path, more in (("/go/film.mp4", {}), ("/go/film.mp4", {"Cookie": "sid=1"}), ("/go", {})):
                    status, head, _ = get(base + path, {**NAVIGATION, **more})
                    expect_equal((status, head["Location"], head["Set-Cookie"]), (302, target, None), f"a navigation to {path}")
                for path in ("/go/film.mp4", "/go"):
                    status, head, _ = get(base + path, {"Range": "bytes=0-"})
                    expect(status in (200, 206) and "sandbox" in head["Content-Security-Policy"], f"{path}: {status} {head}")
                    expect_equal((head["Set-Cookie"], head["Service-Worker-Allowed"]), (None, None), f"the rights of {path}")

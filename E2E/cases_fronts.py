"""nginx and HAProxy before the proxy, with the files of deploy/: strangers, and users with credentials of their own."""

import http.client
import os
import socket
import threading
from http.server import BaseHTTPRequestHandler

from fleet import TOKEN, Balancer
from harness import CaseList, expect, expect_equal
from proxy import Spool
from scripted import ScriptedServer

CASES = CaseList()
case = CASES

FILM = b"paid film" * 5000


class Service:
    """A server of this machine that records the fields of each request. `/film.mp4` is for one user only."""

    def __init__(self):
        self.asked = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):  # pylint: disable=invalid-name
                service.asked.append(dict(self.headers))
                is_permitted = self.path != "/film.mp4" or self.headers.get("Authorization") == "Bearer A"
                body = FILM if is_permitted else b"who are you?"
                self.send_response(200 if is_permitted else 401)
                self.send_header("Content-Type", "video/mp4")
                self.send_header("ETag", '"1"')
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        self.server = ScriptedServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def authority(self):
        return f"127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def get(port, path, **fields):
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        client.request("GET", path, headers={"Host": "media.example", **fields})
        answer = client.getresponse()
        return answer.status, answer.read()
    finally:
        client.close()


def strangers(t, kind, *flags):
    """Checks what strangers and users get behind a balancer, and returns the proxy."""
    with Service() as site, Service() as inside:
        options = ["--token", TOKEN, "--allow-origin", f"http://{site.authority}", *flags]
        proxy = Spool(t.runner.binary, t.cache_directory(), t.origin, options)
        if "--unix-socket" in flags:
            proxy.unix_path = flags[-1]
            # What a killed server left behind.
            with socket.socket(socket.AF_UNIX) as left:
                left.bind(proxy.unix_path)
        t.start(proxy)
        balancer = Balancer(kind, t.program(kind), t.directory / "balancer")
        balancer.start([proxy])
        try:
            film = f"/{TOKEN}/http/{site.authority}/film.mp4"
            expect_equal(get(balancer.port, film, Authorization="Bearer A"), (200, FILM), "the user's film")
            status, body = get(balancer.port, film)
            expect(status == 401 and FILM not in body, f"a stranger got the film of a user: {status}")
            status, body = get(balancer.port, film, Authorization="Bearer B")
            expect(status == 401 and FILM not in body, f"another user got the film of a user: {status}")
            expect_equal(get(balancer.port, f"/http/{site.authority}/open.mp4")[0], 403, "a stranger without the token")
            expect_equal(get(balancer.port, f"/{TOKEN}/http/{inside.authority}/secret")[0], 403, "a service of this machine")
            expect_equal(inside.asked, [], "requests to the service of this machine")
            for place in ("", "api/resources", "api/status", "metrics"):
                status, body = get(balancer.port, f"/{TOKEN}/_spool/{place}")
                expect(status in (403, 404), f"a stranger got the page /_spool/{place}: {status}")
                # The balancer's own answer hides that of the proxy.
                forwarded = {"X-Forwarded-For": "198.51.100.7"}
                expect_equal(get(proxy.port, f"/{TOKEN}/_spool/{place}", Host="localhost", **forwarded)[0], 403, f"the page /_spool/{place}")
            expect(all("X-Forwarded-For" not in asked for asked in site.asked), "the client's address went to an origin")
            # Programs on this machine keep the page and the commands.
            proxy.status()
        finally:
            balancer.close()
        if "--unix-socket" in flags:
            permissions = os.stat(proxy.unix_path).st_mode & 0o777
            expect_equal(permissions, 0o660, "the permissions of the Unix socket")
        done = t.run(t.runner.binary, "doctor", "--cache", proxy.cache, check=False)
        said = done.stdout.decode() + done.stderr.decode()
        expect_equal("--behind-proxy" in said, "--behind-proxy" not in flags, "the advice of doctor")


for program in ("nginx", "haproxy"):
    name = {"nginx": "nginx", "haproxy": "HAProxy"}[program]

    @case(f"behind {name}, a stranger gets nothing of this machine and nothing of another user", program, is_about_cache=True)
    def _(t, program=program):
        strangers(t, program, "--behind-proxy")

    @case(f"behind {name} on a Unix socket, a stranger gets nothing more", program, is_about_cache=True)
    def _(t, program=program):
        strangers(t, program, "--behind-proxy", "--unix-socket", str(t.directory / "front.sock"))

    @case(f"behind {name} without its flag, a stranger loses privileges and not service", program, is_about_cache=True)
    def _(t, program=program):
        strangers(t, program)

"""Several nodes behind a balancer, with an origin that counts the bytes of each resource."""

import hashlib
import http.client
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from ports import free_port
from proxy import Spool
from scripted import ScriptedServer

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
TOKEN = "fleet-token"
START_SECONDS = 10
PLAYLIST = "application/vnd.apple.mpegurl"
# The segments of a playlist.
SEGMENTS = 6
# The clients that ask at the same time.
CLIENTS = 8


class CountingOrigin:
    """Serves bytes that depend on the path, and counts those that it sent for each."""

    def __init__(self, body_bytes):
        self.body_bytes = body_bytes
        # The origin of the segments that the playlists here name.
        self.playlists_of = None
        self.sent = {}
        # Requests that were answered with 304.
        self.confirmed = 0
        # Paths with another version than the first, and its number.
        self.versions = {}
        self.lock = threading.Lock()
        origin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):  # pylint: disable=invalid-name
                body = origin.body(self.path)
                first, status = 0, 200
                tag = f'"{hashlib.sha1(body).hexdigest()}"'
                control = "private, max-age=86400" if self.path.startswith("/private") else "max-age=86400"
                if self.headers.get("If-None-Match") == tag:
                    with origin.lock:
                        origin.confirmed += 1
                    self.send_response(304)
                    self.send_header("Cache-Control", control)
                    self.send_header("ETag", tag)
                    self.end_headers()
                    return
                if match := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
                    first, last = int(match[1]), int(match[2] or len(body) - 1)
                    whole, body, status = len(body), body[first:last + 1], 206
                self.send_response(status)
                self.send_header("Content-Type", PLAYLIST if self.path.endswith(".m3u8") else "video/mp4")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", control)
                self.send_header("ETag", tag)
                if status == 206:
                    self.send_header("Content-Range", f"bytes {first}-{first + len(body) - 1}/{whole}")
                self.end_headers()
                # Counted before they leave, so that a client that has them finds them counted.
                with origin.lock:
                    origin.sent[self.path] = origin.sent.get(self.path, 0) + len(body)
                self.wfile.write(body)

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        self.server = ScriptedServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def authority(self):
        return f"127.0.0.1:{self.server.server_port}"

    def body(self, path):
        if path.endswith(".m3u8"):
            lines = [f"#EXTINF:4,\nhttp://{self.playlists_of.authority}{path[:-5]}-{number}.ts" for number in range(SEGMENTS)]
            return "\n".join(["#EXTM3U", "#EXT-X-TARGETDURATION:4", *lines, "#EXT-X-ENDLIST", ""]).encode()
        return random.Random(f"{path} {self.versions.get(path, '')}").randbytes(self.body_bytes)

    def take_sent(self):
        """Returns the bytes by path since the last call."""
        with self.lock:
            sent, self.sent = self.sent, {}
        return sent

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Balancer:
    """HAProxy or nginx with the file in `deploy`, in which only addresses are replaced."""

    def __init__(self, kind, program, directory):
        self.kind = kind
        self.program = program
        self.directory = Path(directory)
        self.directory.mkdir()
        self.port = free_port()
        self.process = None
        self.count = 0
        self.errors = self.directory / "stderr"

    @property
    def stats(self):
        return self.directory / f"stats-{self.count}"

    def start(self, nodes):
        """Starts the balancer, or in the place of a running one another with these nodes."""
        self.close()
        self.count += 1
        text = self.haproxy(nodes) if self.kind == "haproxy" else self.nginx(nodes)
        path = self.directory / "configuration"
        path.write_text(text, encoding="utf-8")
        command = [self.program, "-db", "-f", str(path)] if self.kind == "haproxy" else [
            self.program, "-p", str(self.directory), "-c", str(path), "-e", str(self.errors), "-g", "daemon off; master_process off;"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(self.errors, "ab"), start_new_session=True,
            env={**os.environ, "SPOOL_TOKEN": TOKEN})
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError(f"{self.kind} did not start: {self.errors.read_text(errors='replace')[-600:]}")

    def address(self, node):
        """Where a balancer reaches a node: the path of its Unix socket, if it has one, or a port of this machine."""
        path = getattr(node, "unix_path", None)
        return f"127.0.0.1:{node.port}" if path is None else f"unix{'@' if self.kind == 'haproxy' else ':'}{path}"

    def haproxy(self, nodes):
        text = (DEPLOY / "haproxy" / "haproxy.cfg").read_text(encoding="utf-8")
        servers = "".join(f"    server node{i} {self.address(node)} id {i}\n" for i, node in enumerate(nodes, 1))
        text, count = re.subn(r"(?:    server node\d .*\n)+", servers, text)
        assert count == 1, "the file has one list of servers"
        # A user may not have the descriptors of a server.
        text = text.replace("    maxconn 20000\n", "    maxconn 500\n")
        text = text.replace("bind :8080", f"bind 127.0.0.1:{self.port}")
        return text.replace("global\n", f"global\n    stats socket {self.stats} level admin\n", 1)

    def nginx(self, nodes):
        text = (DEPLOY / "nginx" / "nginx.conf").read_text(encoding="utf-8")
        servers = "".join(f"        server {self.address(node)} max_fails=2 fail_timeout=5s;\n" for node in nodes)
        text, count = re.subn(r"(?:        server node\d.*\n)+", servers, text)
        assert count == 1, "the file has one list of servers"
        text = text.replace("listen 8080", f"listen 127.0.0.1:{self.port}")
        places = "".join(
            f"    {name}_temp_path {self.directory}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return f"pid {self.directory}/pid;\n" + text.replace("http {\n", f"http {{\n    access_log off;\n{places}", 1)

    def wait_until_down(self, count):
        """Waits until HAProxy's own checks have taken this number of nodes out."""
        deadline = time.monotonic() + 30
        while self.states().count("DOWN") != count:
            if time.monotonic() > deadline:
                raise RuntimeError(f"HAProxy still has {self.states()}")
            time.sleep(0.1)

    def states(self):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.stats))
            client.sendall(b"show stat\n")
            said = b"".join(iter(lambda: client.recv(65536), b"")).decode()
        rows = [line.split(",") for line in said.splitlines()]
        return [row[17].split()[0] for row in rows if len(row) > 17 and row[0] == "nodes" and row[1].startswith("node")]

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Fleet:
    """Nodes behind a balancer. Use it in a `with` statement."""

    def __init__(self, context, kind, body_bytes, nodes=3, options=()):
        self.context = context
        self.directory = context.directory / f"fleet-{kind}"
        self.directory.mkdir()
        self.origin = CountingOrigin(body_bytes)
        # A second host, whose segments the playlists of the first one name.
        self.segments = CountingOrigin(body_bytes)
        self.origin.playlists_of = self.segments
        self.origins = [self.origin, self.segments]
        self.options = options
        self.nodes = []
        self.balancer = Balancer(kind, context.program(kind), self.directory / "balancer")
        try:
            for _ in range(nodes):
                self.add_node()
            self.balancer.start(self.nodes)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.balancer.close()
        for node in self.nodes:
            node.close()
        for origin in self.origins:
            origin.close()

    def add_node(self):
        directory = self.directory / f"node{len(self.nodes) + 1}"
        directory.mkdir()
        # The origins are on this machine, which players behind a balancer reach by name only.
        origins = [word for origin in self.origins for word in ("--allow-origin", f"http://{origin.authority}")]
        options = ["--token", TOKEN, "--log-level", "warning", "--behind-proxy", "--users", "one", *origins, *self.options]
        node = Spool(self.context.runner.binary, directory / "cache", self.origin, options)
        node.start()
        self.nodes.append(node)

    def path(self, name):
        return f"/{TOKEN}/http/{self.origin.authority}{name}"

    def get(self, name, byte_range=None):
        """Returns status, body and whether the body is short of its length, through the balancer."""
        return self.get_path(self.path(name), byte_range)

    def get_path(self, path, byte_range=None):
        """The same for a path at the balancer."""
        client = http.client.HTTPConnection("127.0.0.1", self.balancer.port, timeout=60)
        try:
            client.request("GET", path, headers={"Range": f"bytes={byte_range[0]}-{byte_range[1]}"} if byte_range else {})
            answer = client.getresponse()
            try:
                return answer.status, answer.read(), False
            except http.client.IncompleteRead as error:
                return answer.status, error.partial, True
        except (ConnectionError, http.client.BadStatusLine):
            return None, b"", True
        finally:
            client.close()

    def get_all(self, wishes, at=None, act=None):
        """Gets (name, range) pairs by several clients, and returns the results in the same order. Calls `act` before the request number `at`."""

        def get(number, wish):
            if number == at:
                act()
            return self.get(*wish)

        with ThreadPoolExecutor(CLIENTS) as pool:
            return list(pool.map(get, range(len(wishes)), wishes))

    def fetched(self):
        """Returns the bytes that each running node has fetched from the origin."""
        return [node.fetched_bytes() if node.is_running() else None for node in self.nodes]

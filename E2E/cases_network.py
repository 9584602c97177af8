"""The proxy behind a mapped port, as in a container: clients use an address that the proxy itself does not have."""

import http.client
import os
import re
import select
import socket
import subprocess
import threading
import time

from confined import PUBLIC_ADDRESS, Unit, make
from harness import ROOT, CaseList, Skip, expect, expect_equal, find_program
from proxy import Spool

CASES = CaseList()
case = CASES

# Both ends of the link between this machine and the container, from a block for network tests (RFC 2544).
OUTSIDE, INSIDE = "198.18.77.1", "198.18.77.2"
TOKEN = "mapped-port"
START_SECONDS = 10


def ip(*arguments):
    return subprocess.run([find_program("ip"), *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False)


class Namespace:
    """A separate network with a link to this machine's, like a container's."""

    def __init__(self):
        # Two runs on one machine need different names. The name of an interface has at most 15 characters.
        self.name = f"spool{os.getpid()}"
        self.cable = (f"spo{os.getpid()}", f"spi{os.getpid()}")

    def __enter__(self):
        if os.geteuid() != 0:
            raise Skip("needs root for a network namespace")
        steps = [
            ("netns", "add", self.name),
            ("link", "add", self.cable[0], "type", "veth", "peer", "name", self.cable[1], "netns", self.name),
            ("address", "add", f"{OUTSIDE}/30", "dev", self.cable[0]),
            ("link", "set", self.cable[0], "up"),
            ("-n", self.name, "link", "set", "lo", "up"),
            ("-n", self.name, "address", "add", f"{INSIDE}/30", "dev", self.cable[1]),
            ("-n", self.name, "link", "set", self.cable[1], "up"),
        ]
        for step in steps:
            done = ip(*step)
            if done.returncode != 0:
                self.__exit__()
                raise Skip(f"no network namespace: {done.stderr.decode().strip()}")
        return self

    def __exit__(self, *_):
        ip("link", "delete", self.cable[0])
        ip("netns", "delete", self.name)

    def start(self, *arguments):
        """Starts a program in the namespace."""
        return subprocess.Popen(
            [find_program("ip"), "netns", "exec", self.name, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Mapping:
    """A port of this machine that forwards connections to another address and port, like a container's."""

    def __init__(self, host, target):
        self.target = target
        self.listener = socket.create_server((host, 0))
        self.authority = f"{host}:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(self.target, timeout=30)
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=(source, sink), daemon=True).start()

    @staticmethod
    def copy(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listener.close()


def port_of(process):
    """Returns the port from the line with the server's address."""
    said, deadline = b"", time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if select.select([process.stdout], [], [], 0.1)[0]:
            more = os.read(process.stdout.fileno(), 4096)
            said += more
            if match := re.search(rb"listening on http://[^/]*:(\d+)/", said):
                return int(match[1])
            if not more:
                break
    raise RuntimeError(f"spool serve printed no address; it printed {said!r}")


def get(authority, path, host):
    connection = http.client.HTTPConnection(authority, timeout=30)
    try:
        connection.request("GET", path, headers={"Host": host})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@case("behind a mapped port, clients may use any address, and a name only if it is allowed", "ip", is_about_cache=True)
def _(t):
    file = t.media["vbr.mp3"]
    host, port = t.origin.authority.split(":")
    with Namespace() as container:
        origin = Mapping(OUTSIDE, (host, int(port)))
        path = f"/{TOKEN}/http/{origin.authority}/{file.name}"
        for flags, named in (((), False), (("--allow-host", "media.example"), True), (("--allow-host", "*"), True)):
            cache = t.directory / f"cache{len(flags)}{named}"
            server = container.start(
                str(t.runner.binary), "serve", "--listen", "0.0.0.0:0", "--token", TOKEN, "--cache", str(cache), *flags)
            door = None
            try:
                door = Mapping("127.0.0.1", (INSIDE, port_of(server)))
                # An address of the host machine, one of its network, and the proxy's own.
                for literal in (door.authority, "192.168.1.5:9090", INSIDE, "[2001:db8::5]:9090"):
                    status, body = get(door.authority, path, literal)
                    expect_equal(status, 200, f"{flags}: status for Host: {literal}: {body[:200]!r}")
                    expect(body == file.read(), f"{flags}: the bytes differ for Host: {literal}")
                # No real client uses these. A page of another site uses them to reach a proxy on its user's machine.
                for never in ("0.0.0.0:9090", "[::]:9090", "[::ffff:127.0.0.1]:9090"):
                    status, _ = get(door.authority, path, never)
                    expect(status in (400, 403, 421), f"{flags}: Host: {never} was answered with {status}")
                status, _ = get(door.authority, path, "media.example:9090")
                expect(status == 200 if named else status in (400, 403, 421), f"{flags}: a name was answered with {status}")
            finally:
                server.terminate()
                server.wait(10)
                server.stdout.close()
                if door:
                    door.close()
        origin.close()


@case("under the filters of its systemd unit, the server asks public origins and no private address", "cc", "systemd-analyze", is_about_cache=True)
def _(t):
    launcher, resolver = make(t, Unit(ROOT / "packaging" / "spool.service"))
    # Under the unit the store exists, and the program is where every user may read it.
    proxy = Spool(t.runner.binary, t.cache_directory(), t.origin)
    proxy.wrapper = [launcher, resolver]
    t.start(proxy)
    port = t.origin.authority.rpartition(":")[2]
    file = t.media["vbr.mp3"]

    def get(host):
        client = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=60)
        client.request("GET", f"/http/{host}:{port}/{file.name}")
        answer = client.getresponse()
        return answer.status, answer.read()

    status, body = get("media.example")
    expect_equal((status, len(body)), (200, file.size), f"the answer of a public origin at {PUBLIC_ADDRESS}: {body[:200]!r}")
    status, body = get("127.1")
    # The only user of the machine may go there directly.
    expect(status == 307, f"a name that leads to a private address: {status} {body[:200]!r}")
    expect(not [line for line in proxy.tail() if "not refused" in line], "the filters take a check away")

"""Nodes with an S3-compatible bucket: what one node has stored serves the next, and nothing wrong does."""

import hashlib
import http.client
import json
import os
import shutil
import subprocess
import time

from bucket import PROGRAMS, SwiftStore
from fleet import TOKEN, CountingOrigin
from harness import CaseList, expect, expect_equal
from proxy import Spool

CASES = CaseList()
case = CASES

# Several chunks and runs of an upload, with a short last one.
BODY_BYTES = 2_700_001
RESOURCES = [f"/film-{number}.mp4?part={number}" for number in range(6)]
UPLOAD_SECONDS = 60
# The longest time that a node waits for its bucket, in seconds: to connect and to bring the first bytes.
PATIENCE_SECONDS = 2


class Nodes:
    """Nodes that come and go, with one bucket and one origin. Use it in a `with` statement."""

    def __init__(self, context):
        self.context = context
        self.origin = CountingOrigin(BODY_BYTES)
        self.nodes = []
        try:
            self.store = SwiftStore(context.directory / "swift")
        except BaseException:
            self.origin.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.close()
        self.store.close()
        self.origin.close()

    def add(self):
        directory = self.context.directory / f"node{len(self.nodes) + 1}"
        directory.mkdir()
        options = ["--token", TOKEN, "--log-level", "info", "--bucket", self.store.url]
        node = Spool(self.context.runner.binary, directory / "cache", self.origin, options)
        node.environment = self.store.environment
        node.start()
        self.nodes.append(node)
        return node

    def throw_away(self, node):
        """Kills a node, and removes its store."""
        node.kill()
        shutil.rmtree(node.cache)

    def object_name(self, name):
        """Returns the name of an object: the SHA-256 of the resource's key."""
        return hashlib.sha256(f"http://{self.origin.authority}{name}".encode()).hexdigest()

    def get(self, node, name, byte_range=None, fields=None):
        """Gets a resource from a node, and compares it with the origin's bytes."""
        client = http.client.HTTPConnection("127.0.0.1", node.port, timeout=60)
        fields = dict(fields or {})
        if byte_range:
            fields["Range"] = f"bytes={byte_range[0]}-{byte_range[1]}"
        client.request("GET", f"/{TOKEN}/http/{self.origin.authority}{name}", headers=fields)
        answer = client.getresponse()
        body = answer.read()
        client.close()
        wanted = self.origin.body(name)
        wanted = wanted[byte_range[0]:byte_range[1] + 1] if byte_range else wanted
        expect_equal(answer.status, 206 if byte_range else 200, f"the status of {name}")
        expect(body == wanted, f"the bytes of {name} differ")

    def wait(self, node, count, value):
        """Waits until a count of the bucket has a value."""
        deadline = time.monotonic() + UPLOAD_SECONDS
        while (now := node.status()["bucket"])[count] < value:
            expect(time.monotonic() < deadline, f"{count} stays below {value}: {now}")
            time.sleep(0.1)
        return now

    def fill(self):
        """Lets a node fill the bucket, and throws it away."""
        node = self.add()
        for name in RESOURCES:
            self.get(node, name)
        self.wait(node, "uploads", len(RESOURCES))
        self.throw_away(node)
        self.origin.take_sent()


@case("a new node has every byte of a lost one from the bucket, and the origin only confirms versions", *PROGRAMS, is_about_cache=True)
def _(t):
    with Nodes(t) as nodes:
        first = nodes.add()
        for name in RESOURCES:
            nodes.get(first, name)
        # Of these, nothing goes to the bucket.
        nodes.get(first, "/private.mp4")
        nodes.get(first, "/secret.mp4", fields={"Authorization": "Bearer a-secret"})
        nodes.wait(first, "uploads", len(RESOURCES))
        for name in ("/private.mp4", "/secret.mp4"):
            expect_equal(nodes.store.request("HEAD", nodes.object_name(name))[0], 404, f"the status of the object of {name}")
        nodes.throw_away(first)
        nodes.origin.take_sent()
        second = nodes.add()
        for name in RESOURCES[:3]:
            nodes.get(second, name)
        for name in RESOURCES[3:]:
            lower = t.random.randrange(BODY_BYTES)
            nodes.get(second, name, (lower, t.random.randrange(lower, BODY_BYTES)))
            nodes.get(second, name)
        expect_equal(nodes.origin.take_sent(), {}, "bytes that left the origin again")
        expect(nodes.origin.confirmed >= len(RESOURCES), f"the origin confirmed {nodes.origin.confirmed} versions of {len(RESOURCES)}")
        counts = second.status()["bucket"]
        expect_equal((counts["failures"], counts["damages"], counts["uploads"]), (0, 0, 0), "failures, damages, uploads of the second node")
        expect(counts["servedBytes"] >= len(RESOURCES) * BODY_BYTES, f"the bucket served {counts['servedBytes']} bytes")
        t.note(f"{counts['hits']} answers of the bucket, {nodes.origin.confirmed} confirmations")


@case("while the origin is away, a new node serves every byte from the bucket", *PROGRAMS, is_about_cache=True)
def _(t):
    with Nodes(t) as nodes:
        nodes.fill()
        nodes.origin.close()
        node = nodes.add()
        nodes.get(node, RESOURCES[0], (1_000_000, 1_999_999))
        for name in RESOURCES:
            nodes.get(node, name)
        counts = node.status()["bucket"]
        expect_equal((counts["failures"], counts["damages"]), (0, 0), "failures and damages")
        expect(counts["servedBytes"] >= len(RESOURCES) * BODY_BYTES, f"the bucket served {counts['servedBytes']} bytes")


@case("spool doctor checks the bucket: it reads, writes only when asked to, and finds a wrong key", *PROGRAMS, is_about_cache=True)
def _(t):
    with Nodes(t) as nodes:
        checks = doctor(t, nodes.store)
        expect_equal((checks["bucket"]["level"], checks["bucket clock"]["level"]), ("ok", "ok"), "the levels")
        expect("bucket write" not in checks, "something was written")
        expect_equal(nodes.store.request("HEAD", "spool-doctor")[0], 404, "the status of the object")
        expect_equal(doctor(t, nodes.store, "--probe-bucket")["bucket write"]["level"], "ok", "the level of a write")
        expect_equal(nodes.store.request("HEAD", "spool-doctor")[0], 404, "the status of the deleted object")
        wrong = doctor(t, nodes.store, environment={"AWS_SECRET_ACCESS_KEY": "another"})["bucket"]
        expect_equal(wrong["level"], "problem", "the level with a wrong key")
        expect("secret key" in wrong["advice"], f"the advice is {wrong}")


def doctor(t, store, *options, environment=None):
    """Returns the checks of `spool doctor` by their names."""
    words = ["doctor", "--json", "--listen", "127.0.0.1:0", "--cache", str(t.directory / "doctor"), "--bucket", store.url, *options]
    done = subprocess.run(
        [str(t.runner.binary), *words], stdout=subprocess.PIPE, timeout=60, check=False,
        env={**os.environ, **store.environment, **(environment or {})})
    return {check["check"]: check for check in json.loads(done.stdout)["checks"]}


@case("bytes that were changed in the bucket are never served, and are replaced", *PROGRAMS, is_about_cache=True)
def _(t):
    with Nodes(t) as nodes:
        nodes.fill()
        _, good = nodes.store.request("GET", nodes.object_name(RESOURCES[0]))
        middle = bytearray(good)
        middle[BODY_BYTES // 2] ^= 1
        wrong = [middle, bytes([good[0] ^ 1]) + good[1:], good[:-1] + bytes([good[-1] ^ 1]), good[:1000], b"<html>not found</html>",
                 nodes.store.request("GET", nodes.object_name(RESOURCES[1]))[1]]
        for body in wrong:
            expect_equal(nodes.store.request("PUT", nodes.object_name(RESOURCES[0]), bytes(body))[0], 200, "the status of a PUT")
            node = nodes.add()
            nodes.get(node, RESOURCES[0])
            nodes.get(node, RESOURCES[0], (BODY_BYTES // 2, BODY_BYTES - 1))
            counts = nodes.wait(node, "damages", 1)
            # The node has the right bytes now, and mends the object.
            nodes.wait(node, "uploads", 1)
            mended = nodes.store.request("GET", nodes.object_name(RESOURCES[0]))[1]
            expect(mended[:BODY_BYTES] == good[:BODY_BYTES], "the object is not mended")
            nodes.throw_away(node)
        t.note(f"{len(wrong)} wrong objects; the last counts {counts}")


@case("a new version at the origin replaces the object of the bucket, and the old one is not served", *PROGRAMS, is_about_cache=True)
def _(t):
    with Nodes(t) as nodes:
        nodes.fill()
        nodes.origin.versions[RESOURCES[0]] = 2
        node = nodes.add()
        nodes.get(node, RESOURCES[0], (0, 99))
        nodes.get(node, RESOURCES[0])
        nodes.wait(node, "uploads", 1)
        nodes.throw_away(node)
        nodes.origin.take_sent()
        nodes.get(nodes.add(), RESOURCES[0])
        expect_equal(nodes.origin.take_sent(), {}, "bytes of the new version that left the origin again")


@case("a bucket that stands still costs its patience once, and one that is away nothing", *PROGRAMS, is_about_cache=True, is_alone=True)
def _(t):
    with Nodes(t) as nodes:
        nodes.fill()
        nodes.store.stand_still(True)
        try:
            node = nodes.add()
            waits = []
            for name in RESOURCES:
                begin = time.monotonic()
                nodes.get(node, name)
                waits.append(time.monotonic() - begin)
        finally:
            nodes.store.stand_still(False)
        slow = sum(wait >= PATIENCE_SECONDS for wait in waits)
        t.note("waits " + ", ".join(f"{wait:.2f} s" for wait in waits))
        expect(slow <= 1, f"{slow} of {len(waits)} requests waited for the bucket")
        expect_equal(node.status()["bucket"]["failures"], 1, "failures")
        expect_equal(len(nodes.origin.take_sent()), len(RESOURCES), "resources from the origin")
        nodes.store.close()
        node = nodes.add()
        for name in RESOURCES:
            nodes.get(node, name)
        expect_equal(node.status()["bucket"]["failures"], 1, "failures of a bucket that is away")
        begin = time.monotonic()
        expect_equal(node.stop(), 0, "the exit status")
        t.note(f"stopped in {time.monotonic() - begin:.2f} s")

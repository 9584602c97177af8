"""Three nodes behind HAProxy or nginx, with the files of deploy/: see deploy/README.md."""

import http.client
import os

from fleet import SEGMENTS, TOKEN, Fleet
from harness import CaseList, expect, expect_equal

CASES = CaseList()
case = CASES

IS_NIGHTLY = os.environ.get("SPOOL_DEPTH") == "nightly"
# Names, and bytes of each resource.
RESOURCES, BODY_BYTES = (400, 1 << 20) if IS_NIGHTLY else (48, 200_000)
# For shares of keys, which need many of them. Small bodies suffice.
KEYS, KEY_BYTES = (4000, 512) if IS_NIGHTLY else (600, 512)
# How far the share of a node may lie from the mean. HAProxy has 1600 places a node on its ring, nginx 160.
SHARE_TOLERANCE = 0.35


def names(count):
    return [f"/film-{number}.mp4?part={number % 7}" for number in range(count)]


def check(fleet, wishes, results):
    """Compares each answer with the bytes of its resource."""
    for (name, byte_range), (status, body, is_short) in zip(wishes, results):
        wanted = fleet.origin.body(name)
        wanted = wanted[byte_range[0]:byte_range[1] + 1] if byte_range else wanted
        expect_equal((status, is_short), (206 if byte_range else 200, False), f"the answer for {name} {byte_range or ''}")
        expect(body == wanted, f"the bytes of {name} differ")


def ranges(t, found, repeats):
    """Some ranges of each resource, in a random order."""
    wishes = []
    for name in found:
        for _ in range(repeats):
            first = t.random.randrange(BODY_BYTES)
            wishes.append((name, (first, t.random.randrange(first, BODY_BYTES))))
    t.random.shuffle(wishes)
    return wishes


def warm(t, fleet):
    """Reads each resource by several clients at the same time, and returns the bytes that each node fetched."""
    asked = [(name, None) for name in names(RESOURCES) for _ in range(3)]
    check(fleet, asked, fleet.get_all(asked))
    sent = fleet.origin.take_sent()
    again = {name: count for name, count in sent.items() if count != BODY_BYTES}
    expect_equal((len(sent), again), (RESOURCES, {}), "resources, and those of which another number of bytes left the origin")
    return fleet.fetched()


def once(t, kind):
    with Fleet(t, kind, BODY_BYTES) as fleet:
        fetched = warm(t, fleet)
        expect_equal(sum(fetched), RESOURCES * BODY_BYTES, "fetched bytes of all nodes")
        expect(min(fetched) > 0, f"a node has no share: {fetched}")
        asked = ranges(t, names(RESOURCES), 4)
        check(fleet, asked, fleet.get_all(asked))
        expect_equal(fleet.origin.take_sent(), {}, "bytes that left the origin a second time")
        # Seeks of a cold fleet: the nodes' own count is exact, and the origin's has what cancelled requests left in socket buffers.
        seeks = [f"/cold-{number}.mp4" for number in range(RESOURCES // 2)]
        asked = ranges(t, seeks, 4)
        check(fleet, asked, fleet.get_all(asked))
        expect(sum(fleet.fetched()) - sum(fetched) <= len(seeks) * BODY_BYTES, "a byte was fetched twice by the nodes")
        t.note("shares " + ", ".join(f"{100 * count / sum(fetched):.0f} %" for count in fetched))


@case("every byte leaves the origin once for three nodes behind HAProxy", "haproxy", is_about_cache=True)
def _(t):
    once(t, "haproxy")


@case("every byte leaves the origin once for three nodes behind nginx", "nginx", is_about_cache=True)
def _(t):
    once(t, "nginx")


def across(t, kind):
    with Fleet(t, kind, BODY_BYTES) as fleet:
        # Playlists of two clients: the second one gets everything from the nodes.
        for _ in range(2):
            status, playlist, _ = fleet.get("/show.m3u8")
            paths = [line for line in playlist.decode().splitlines() if line and not line.startswith("#")]
            expect_equal((status, len(paths)), (200, SEGMENTS), "the playlist")
            for number, path in enumerate(paths):
                status, body, is_short = fleet.get_path(path)
                expect_equal((status, is_short), (200, False), f"the answer for {path}")
                expect(body == fleet.segments.body(f"/show-{number}.ts"), f"the bytes of {path} differ")
        sent = fleet.segments.take_sent()
        expect_equal(set(sent.values()), {BODY_BYTES}, "bytes of each segment that left their origin")
        expect_equal(len(sent), SEGMENTS, "segments that left their origin")
        for place in ("", "api/resources", "metrics"):
            expect_equal(fleet.get_path(f"/{TOKEN}/_spool/{place}")[0], 404, f"a node's own page /_spool/{place}")


@case("segments at another host than their playlist come through HAProxy and its nodes, once each", "haproxy", is_about_cache=True)
def _(t):
    across(t, "haproxy")


@case("segments at another host than their playlist come through nginx and its nodes, once each", "nginx", is_about_cache=True)
def _(t):
    across(t, "nginx")


@case("a node that dies costs its share and no wrong byte", "haproxy", is_about_cache=True)
def _(t):
    with Fleet(t, "haproxy", BODY_BYTES) as fleet:
        share = warm(t, fleet)[1]
        asked = ranges(t, names(RESOURCES), 3)
        results = fleet.get_all(asked, at=len(asked) // 3, act=fleet.nodes[1].kill)
        cut = 0
        for (name, byte_range), (status, body, is_short) in zip(asked, results):
            wanted = fleet.origin.body(name)
            wanted = wanted[byte_range[0]:byte_range[1] + 1]
            # An answer that the dead node had begun ends early. The balancer answers 502 or 503 when it could not ask another node.
            cut += is_short or status in (502, 503)
            if status in (200, 206):
                expect(wanted.startswith(body) and (is_short or body == wanted), f"the bytes of {name} differ")
            else:
                expect(status in (None, 502, 503), f"status {status} for {name}")
        fleet.balancer.wait_until_down(1)
        asked = [(name, None) for name in names(RESOURCES)]
        check(fleet, asked, fleet.get_all(asked))
        again = sum(fleet.origin.take_sent().values())
        t.note(f"{cut} answers cut, {again / BODY_BYTES:.0f} of {RESOURCES} resources fetched again")
        # Before HAProxy noticed, it chose the other node by its own rule, which may be a different one from the later choice.
        expect(share <= again <= 2 * share, f"{again} bytes were fetched again, and the dead node had {share}")
        asked = [(name, None) for name in names(RESOURCES)]
        check(fleet, asked, fleet.get_all(asked))
        expect_equal(fleet.origin.take_sent(), {}, "bytes that left the origin a second time")


def grow(t, kind):
    with Fleet(t, kind, KEY_BYTES) as fleet:
        asked = [(name, None) for name in names(KEYS)]
        check(fleet, asked, fleet.get_all(asked))
        fleet.origin.take_sent()
        before = fleet.fetched()
        mean = KEYS * KEY_BYTES / 3
        expect(all(abs(count - mean) < SHARE_TOLERANCE * mean for count in before), f"the shares are unequal: {before}")
        fleet.add_node()
        fleet.balancer.start(fleet.nodes)
        check(fleet, asked, fleet.get_all(asked))
        moved = len(fleet.origin.take_sent())
        after = fleet.fetched()
        expect_equal(after[:3], before, "bytes that the old nodes fetched: a key moved between them")
        expect_equal(after[3], moved * KEY_BYTES, "bytes that the new node fetched")
        t.note(f"{100 * moved / KEYS:.1f} % of the keys moved")
        expect(abs(moved - KEYS / 4) < SHARE_TOLERANCE * KEYS / 4, f"{moved} of {KEYS} keys moved to the fourth node")


@case("a fourth node takes a quarter of the keys, and no other key moves, behind HAProxy", "haproxy", is_about_cache=True)
def _(t):
    grow(t, "haproxy")


@case("a fourth node takes a quarter of the keys, and no other key moves, behind nginx", "nginx", is_about_cache=True)
def _(t):
    grow(t, "nginx")


def direct(node, fleet, wishes):
    """Gets ranges from one node, without the balancer."""
    results = []
    for name, byte_range in wishes:
        client = http.client.HTTPConnection("127.0.0.1", node.port, timeout=60)
        client.request("GET", fleet.path(name), headers={"Range": f"bytes={byte_range[0]}-{byte_range[1]}"} if byte_range else {})
        answer = client.getresponse()
        results.append((answer.status, answer.read(), False))
        client.close()
    return results


@case("every byte leaves the origin once for two nodes that ask a fleet of three as their parent", "haproxy", is_about_cache=True)
def _(t):
    with Fleet(t, "haproxy", BODY_BYTES) as fleet:
        fleet.options = ["--parent", f"http://127.0.0.1:{fleet.balancer.port}/{TOKEN}/"]
        fleet.add_node()
        fleet.add_node()
        for node in fleet.nodes[3:]:
            asked = [(name, None) for name in names(RESOURCES)]
            check(fleet, asked, direct(node, fleet, asked))
        sent = fleet.origin.take_sent()
        again = {name: count for name, count in sent.items() if count != BODY_BYTES}
        expect_equal((len(sent), again), (RESOURCES, {}), "resources, and those of which another number of bytes left the origin")
        # The balancer answers 503 without nodes, which is no answer of a parent.
        for node in fleet.nodes[:3]:
            node.kill()
        asked = [(f"/new-{number}.mp4", None) for number in range(4)]
        check(fleet, asked, direct(fleet.nodes[3], fleet, asked))
        expect_equal(len(fleet.origin.take_sent()), len(asked), "resources from the origin without a parent")

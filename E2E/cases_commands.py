"""Each command that plays or fetches, beside each kind of server: exit codes, texts, bytes and requests to the origin."""

import contextlib
import subprocess
import time
from dataclasses import dataclass
from urllib.parse import quote

from clients import request
from harness import CaseList, expect, expect_equal
from origin import sent_bytes
from proxy import Spool

CASES = CaseList()
case = CASES

# The exit code of `spool` when the origin cannot be reached (EX_UNAVAILABLE).
UNREACHABLE = 69
# Room for manifests that are asked again, and for the answers of probes, in bytes.
SLACK_BYTES = 256 << 10
# The options of mpv that play at once, without a screen or a sound card.
MPV = ["--no-config", "--no-terminal", "--msg-level=all=error", "--ytdl=no", "--vo=null", "--ao=null", "--ao-null-untimed=yes", "--untimed", "--hwdec=no"]


@dataclass
class Kind:
    """A kind of resource: its path at the origin, and the files that one play of it needs."""

    name: str
    path: str
    # The folder with the files of one play, below the media directory; None for a single file.
    folder: str = None

    def bytes_of_play(self, t):
        root = t.media.directory
        if not self.folder:
            return (root / self.path).stat().st_size
        return sum(file.stat().st_size for file in (root / self.folder).iterdir())


FILE = Kind("file", "faststart.mp4")
HLS = Kind("HLS stream", "streams/fmp4/index.m3u8", "streams/fmp4")
DASH = Kind("DASH stream", "dash/timeline/manifest.mpd", "dash/timeline")
KINDS = [FILE, HLS, DASH]

PLACES = {
    "no server": None,
    "a server": [],
    "a server with a token": ["--token", "a-token-of-a-server"],
    "the server of its site": ["--origin", None],
}


class Desk:
    """One cell of the table: the store, and the server that has it or not."""

    def __init__(self, t, name, place, has_second=False):
        self.t = t
        self.name = name
        # A store of its own for each place.
        self.cache = t.directory / f"store {name}" / "cache"
        self.cache.parent.mkdir()
        self.server = self.second = None
        if place is not None:
            options = [t.origin.url("").rstrip("/") if word is None else word for word in place]
            self.server = t.start(Spool(t.runner.binary, self.cache, t.origin, options))
        if has_second:
            self.second = t.start(Spool(t.runner.binary, self.cache, t.origin))

    def run(self, command, kind):
        """Runs a command on a resource. Returns the exit code, its output and its messages."""
        t, url, tail = self.t, self.t.origin.url(kind.path), []
        if command == "serve":
            return self.ask(kind)
        if command == "get" and not kind.folder:
            tail = ["-o", "-"]
        elif command == "preload":
            tail = ["--whole"] if not kind.folder else ["--seconds", "3600"]
        words = [t.runner.binary, command, "--cache", self.cache, *tail]
        words += ["--player", "mpv", url, "--", *MPV] if command == "play" else [url]
        done = t.run(*words, check=False)
        return done.returncode, done.stdout, done.stderr.decode(errors="replace")

    def ask(self, kind):
        """Plays through a second server on the same store, which is started for this, or through the only one."""
        t = self.t
        proxy = self.second or t.start(Spool(t.runner.binary, self.cache, t.origin))
        try:
            answer = request(proxy, proxy.path(kind.path))
            said = f"{answer.status} {answer.body[-300:]!r}"
            # A player asks again and again for what fails.
            if answer.status != 200:
                return (UNREACHABLE if answer.status in (502, 504) else 1), b"", said
            done = t.run(t.program("mpv"), *MPV, proxy.url(kind.path), check=False)
            return done.returncode, answer.body if not kind.folder else b"", f"{said if kind.folder else ''} {done.stderr[-300:]!r}"
        finally:
            if not self.second:
                proxy.stop()


@contextlib.contextmanager
def away(origin):
    """The origin is away for the time of the block."""
    origin.stop()
    try:
        yield
    finally:
        origin.start()


def check(desk, command, kind):
    """One cell: not stored with the origin away, not stored, stored, and stored with the origin away."""
    t, what = desk.t, f"{command} of a {kind.name} beside {desk.name}"
    whole = t.media[kind.path].read() if not kind.folder else None

    def succeeds(state):
        code, output, messages = desk.run(command, kind)
        expect_equal(code, 0, f"{what}, {state}: exit code ({messages})")
        if command in ("get", "serve") and whole is not None:
            expect(output == whole, f"{what}, {state}: {len(output)} other bytes")
        for word in ("not kept", "without being stored", "302", "Location"):
            expect(word not in messages, f"{what}, {state}: {messages}")

    with away(t.origin):
        code, _, messages = desk.run(command, kind)
        expect_equal(code, UNREACHABLE, f"{what}, away and not stored: exit code ({messages})")
        if command != "serve":
            expect("onnect" in messages, f"{what}, away and not stored: the reason is missing in {messages}")
    mark = t.origin.mark()
    succeeds("not stored")
    sent = sent_bytes(t.origin.requests(mark))
    expect(sent <= kind.bytes_of_play(t) + SLACK_BYTES, f"{what}, not stored: the origin sent {sent} bytes")
    mark = t.origin.mark()
    succeeds("stored")
    sent = sent_bytes(t.origin.requests(mark))
    expect(sent <= SLACK_BYTES, f"{what}, stored: the origin sent {sent} bytes again")
    with away(t.origin):
        succeeds("stored and away")


def table(command, kind):
    needs = ["mpv"] if command in ("play", "serve") else []

    @case(f"spool {command} of a {kind.name}: right beside each kind of server, stored or not, with the origin or without", *needs,
          is_about_cache=True)
    def _(t):
        for name, place in PLACES.items():
            check(Desk(t, name, place), command, kind)
        if command != "serve":
            check(Desk(t, "two servers", [], has_second=True), command, kind)


for _command in ("get", "preload", "play", "serve"):
    for _kind in KINDS:
        table(_command, _kind)


@case("spool get takes every form of URL of a running server", is_about_cache=True)
def _(t):
    desk = Desk(t, "a server", ["--token", "a-token-of-a-server"])
    server, wanted = desk.server, t.media[FILE.path].read()
    origin = t.origin.url(FILE.path)
    base = f"http://{server.authority}/{server.token}/"
    for form in (
        origin, server.url(FILE.path), f"{base}?url={quote(origin, safe='')}", f"{base}{origin}",
        f"http://localhost:{server.port}/{server.token}/{origin}", f"{base}{origin.replace('://', ':/')}",
    ):
        done = t.run(t.runner.binary, "get", "--cache", desk.cache, "-o", "-", form)
        expect(done.stdout == wanted, f"{form} gave {len(done.stdout)} bytes")
    listed = t.run(t.runner.binary, "ls", "--cache", desk.cache, "--json").stdout
    expect_equal(listed.count(b'"url"') or listed.count(b'"key"'), 1, f"resources in {listed!r}")


@case("two commands for one URL at the same time, without a server, fetch it once", is_about_cache=True)
def _(t):
    file, mark = t.media["random.bin"], t.origin.mark()
    first = subprocess.Popen(
        [t.runner.binary, "get", "--cache", t.cache_directory(), "-o", t.directory / "first", t.origin.url(f"brisk/{file.name}")],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 30
        while not any(t.directory.glob("first.part")) and first.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        second = t.run(
            t.runner.binary, "get", "--cache", t.cache_directory(), "-o", t.directory / "second", t.origin.url(f"brisk/{file.name}"),
            check=False)
        expect_equal((second.returncode, first.wait(60)), (0, 0), f"exit codes ({second.stderr!r})")
    finally:
        first.kill()
        first.wait()
    for name in ("first", "second"):
        expect((t.directory / name).read_bytes() == file.read(), f"the {name} copy has other bytes")
    sent = sent_bytes(t.origin.requests(mark))
    expect(sent <= file.size + SLACK_BYTES, f"the origin sent {sent} of {file.size} bytes")

"""A preloaded beginning plays without the origin."""

import json
import os

import beginnings
from clients import ffmpeg_frames
from harness import CaseList, expect, expect_equal

CASES = CaseList()
case = CASES

SECONDS = 10
# The most bytes that a preload fetches, in parts of the bytes of the samples, beside the headers.
SAMPLE_SHARE = 1.15
FILES = ["faststart.mp4", "moov-at-end.mp4", "cues-at-end.mkv", "vp8-opus.webm", "vbr.mp3", "plain.flac"]


def preload(t, *arguments):
    """Runs `spool preload` on the case's own store, and returns what it prints for each resource."""
    output = t.run(t.runner.binary, "preload", "--cache", t.cache_directory(), "--json", *arguments).stdout
    return [json.loads(line) for line in output.splitlines()]


def plays(name):
    @case(f"ffmpeg plays the preloaded seconds of {name} while the origin is away", "ffmpeg", is_about_cache=True)
    def _(t):
        wanted = ffmpeg_frames(t, t.origin.url(name), length=SECONDS)
        file = t.media[name]
        (result,) = preload(t, "--seconds", SECONDS, t.origin.url(name))
        expect_equal(result["bytesReason"], None, "the reason for bytes")
        expect(result["fetched"] < 0.75 * file.size, f"{result['fetched']} of {file.size} bytes were preloaded")
        t.note(f"{100 * result['fetched'] // file.size} % of the bytes")
        proxy = t.proxy()
        t.origin.stop()
        expect_equal(ffmpeg_frames(t, proxy.url(name), length=SECONDS), wanted, "the frames without the origin")
        t.origin.start()


for name in FILES:
    plays(name)


def plays_of_thirty(name):
    @case(f"ffmpeg plays ten seconds of {name} from few bytes more than they have", "ffmpeg", "ffprobe", is_about_cache=True)
    def _(t):
        directory = t.media.directory / "beginnings"
        path = beginnings.make(name, directory, t.program("ffmpeg"))
        try:
            url = f"beginnings/{name}"
            need = beginnings.need(path, SECONDS, t.program("ffprobe"))
            wanted = ffmpeg_frames(t, t.origin.url(url), length=SECONDS)
            (result,) = preload(t, "--seconds", SECONDS, t.origin.url(url))
            expect_equal(result["bytesReason"], None, "the reason for bytes")
            t.note(f"{result['fetched'] / need.samples:.3f} of the samples' bytes, headers {need.headers / need.samples:.3f}")
            allowed = SAMPLE_SHARE * need.samples + need.headers
            expect(result["fetched"] <= allowed, f"{result['fetched']} bytes were fetched, {allowed:.0f} are allowed")
            proxy = t.proxy()
            t.origin.stop()
            expect_equal(ffmpeg_frames(t, proxy.url(url), length=SECONDS), wanted, "the frames without the origin")
            t.origin.start()
        finally:
            path.unlink()


# The films of several bit rates hold the same containers, so the normal depth takes those of one.
IS_NIGHTLY = os.environ.get("SPOOL_DEPTH") == "nightly"
for name in beginnings.NAMES:
    if IS_NIGHTLY or not name.startswith(("vbr-", "60m-")):
        plays_of_thirty(name)


@case("a second preload fetches nothing, and a whole one the rest", is_about_cache=True)
def _(t):
    url = t.origin.url("random.bin")
    (first,) = preload(t, "--bytes", "1M", url)
    expect_equal((first["fetched"], first["stored"]), (1 << 20, 0), "bytes of the first preload")
    mark = t.origin.mark()
    (second,) = preload(t, "--bytes", "1M", url)
    expect_equal((second["fetched"], second["stored"]), (0, 1 << 20), "bytes of the second preload")
    expect_equal(t.origin.requests(mark), [], "origin requests of the second preload")
    (whole,) = preload(t, "--whole", url)
    expect_equal(whole["fetched"] + whole["stored"], t.media["random.bin"].size, "bytes of the whole preload")

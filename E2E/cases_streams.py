"""Players play streams (HLS) through the proxy as they do without it, and again while the origin is away."""

import streams
from clients import chromium_stream, ffmpeg_frames, gstreamer_output, mpv_output, vlc_output
from harness import CaseList, expect, expect_equal

CASES = CaseList()
case = CASES

STREAMS = ["ts", "fmp4", "single-ts", "single-fmp4", "aes", "multi", "root", "absolute", "moved"]
# A redirect to the stream `multi`, from a directory in which its relative references mean nothing.
PATHS = {"moved": "moved/multi/index.m3u8", "absolute": "own/hls/index.m3u8"}

PLAYERS = {
    "ffmpeg": ("ffmpeg", lambda t, url: ffmpeg_frames(t, url)),
    "mpv": ("mpv", lambda t, url: mpv_output(t, url, "video")),
    "VLC": ("vlc", lambda t, url: vlc_output(t, url)),
    "GStreamer": ("gst-launch-1.0", lambda t, url: gstreamer_output(t, url)),
}


def path_of(t, name):
    if name == "absolute":
        streams.absolute(t.media.directory / "streams", t.origin.own / "hls", t.origin.url(""))
    return PATHS.get(name, f"streams/{name}/index.m3u8")


def expect_through_proxy(t, requests):
    """Checks that each request came from the proxy, and that no byte of a segment, key or map crossed the network twice."""
    around = [str(request) for request in requests if "spool-" not in request.via]
    expect_equal(around, [], "requests around the proxy")
    seen = {}
    for request in requests:
        if not request.uri.split("?")[0].endswith((".m3u8", ".mpd", ".mpp")) and request.status in (200, 206):
            seen.setdefault(request.uri, []).append(request)
    # A byte range of a single file is a request of its own.
    again = [uri for uri, asked in seen.items() if len(asked) > 1 and len({request.range for request in asked}) < len(asked)]
    expect_equal(again, [], "resources that were fetched twice")


def expect_same_output(t, path, output):
    """Plays a stream directly, through the proxy, and through the proxy without the origin, and expects the same output."""
    wanted = output(t, t.origin.url(path))
    proxy = t.proxy()
    if t.is_direct:
        return
    mark = t.origin.mark()
    expect_equal(output(t, proxy.url(path)), wanted, "the output through the proxy")
    requests = t.origin.requests(mark)
    t.note(f"{len(requests)} requests")
    expect(requests, "the origin was not asked")
    expect_through_proxy(t, requests)
    t.origin.stop()
    expect_equal(output(t, proxy.url(path)), wanted, "the output while the origin is away")
    t.origin.start()


def expect_same_frames_by_other_forms(t, path):
    """Plays a stream directly, by the query form, and through a gateway, and expects the same frames."""
    wanted = ffmpeg_frames(t, t.origin.url(path))
    proxy = t.proxy()
    expect(ffmpeg_frames(t, proxy.query_url(path)) == wanted, "the frames by the query form differ")
    gateway = t.proxy("--origin", t.origin.url("").rstrip("/"), cache=t.directory / "gateway")
    expect(ffmpeg_frames(t, gateway.url(path)) == wanted, "the frames through a gateway differ")


def plays(name, player):
    program, output = PLAYERS[player]

    @case(f"{player} plays the HLS stream {name} as it does without the proxy, and again while the origin is away", program)
    def _(t):
        expect_same_output(t, path_of(t, name), output)


for _player in PLAYERS:
    for _name in STREAMS:
        plays(_name, _player)


def shown(report, name):
    """Returns the part of a browser's report that is the same in each play. With a sound of its own, a seek may end one frame earlier."""
    return {key: value for key, value in report.items() if key != "frames" or name not in ("multi", "moved")}


def browser_plays(name):
    @case(f"Chromium plays the HLS stream {name} as it does without the proxy, and again while the origin is away", "chromium")
    def _(t):
        path = path_of(t, name)
        wanted = chromium_stream(t, t.origin.url("blank.html"), t.origin.url(path))
        expect("error" not in wanted, f"direct play: {wanted.get('error')}")
        proxy = t.proxy()
        if t.is_direct:
            return
        mark = t.origin.mark()
        wanted = shown(wanted, name)
        expect_equal(shown(chromium_stream(t, proxy.page_url(), proxy.url(path)), name), wanted, "frames and end through the proxy")
        expect_through_proxy(t, t.origin.requests(mark))
        # A browser that seeks skips segments, and another time others.
        ffmpeg_frames(t, proxy.url(path))
        t.origin.stop()
        expect_equal(shown(chromium_stream(t, proxy.page_url(), proxy.url(path)), name), wanted, "frames and end while the origin is away")
        t.origin.start()


for _name in ["ts", "fmp4", "aes", "multi", "root", "absolute", "moved"]:
    browser_plays(_name)


@case("ffmpeg plays an HLS stream by the query form and through a gateway as it does without the proxy", "ffmpeg", is_about_cache=True)
def _(t):
    expect_same_frames_by_other_forms(t, path_of(t, "root"))

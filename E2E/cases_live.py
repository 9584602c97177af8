"""Live streams of a scripted origin play through the proxy to their end, and then again while the origin is away."""

import functools

from cases_streams import expect_through_proxy
from clients import chromium_dash, chromium_low_latency, ffmpeg_frames, mpv_output
from harness import CaseList, expect, expect_equal
from live import SEGMENT_SECONDS, SEGMENTS, LiveOrigin

CASES = CaseList()
case = CASES

# A player that joins a live stream begins near its edge. These begin with its first segment.
PLAYERS = {
    "ffmpeg": ("ffmpeg", lambda t, url: ffmpeg_frames(t, url, options=("-live_start_index", "0"))),
    "mpv": ("mpv", lambda t, url: mpv_output(t, url, "video", "--demuxer-lavf-o=live_start_index=0")),
}
MUXED = "video/mp4; codecs=\"avc1.640015, mp4a.40.2\""


@functools.cache
def live_origin(directory):
    """Returns the scripted origin of this worker."""
    return LiveOrigin(directory)


def expect_no_failure(requests):
    expect_equal([request.uri for request in requests if request.status >= 400], [], "requests that failed")


def plays(kind, player):
    program, output = PLAYERS[player]

    @case(f"{player} plays the {'EVENT' if kind == 'event' else 'live'} playlist of a scripted origin to its end, and again without it", program)
    def _(t):
        live = live_origin(t.media.directory / "live")
        name = f"{kind}-{player}"
        wanted = output(t, live.url(f"{name}-direct", f"{kind}/index.m3u8"))
        proxy = t.proxy()
        if t.is_direct:
            return
        url = proxy.absolute(live.path(name, f"{kind}/index.m3u8"))
        expect_equal(output(t, url), wanted, "the output through the proxy")
        requests = live.requests(name)
        t.note(f"{len(requests)} requests")
        expect_through_proxy(t, requests)
        expect_no_failure(requests)
        live.pause()
        expect_equal(output(t, url), wanted, "the output while the origin is away")
        live.resume()


for _player in PLAYERS:
    for _kind in ("event", "hls"):
        plays(_kind, _player)


def browser_follows(title, programme, path, client):
    @case(f"Chromium follows {title} to its end with Media Source Extensions, and plays it again without its origin", "chromium")
    def _(t):
        live = live_origin(t.media.directory / "live")
        wanted = client(t, t.origin.url("blank.html"), live.url(f"{programme}-direct", path))
        expect("error" not in wanted, f"direct play: {wanted.get('error')}")
        expect_equal(wanted["duration"], SEGMENTS * SEGMENT_SECONDS, "the duration of direct play")
        proxy = t.proxy()
        if t.is_direct:
            return
        url = proxy.absolute(live.path(programme, path))
        expect_equal(client(t, proxy.page_url(), url), wanted, "frames and bytes through the proxy")
        requests = live.requests(programme)
        t.note(f"{len(requests)} requests")
        expect_through_proxy(t, requests)
        expect_no_failure(requests)
        # A player that comes after the end finds the whole stream.
        expect_equal(client(t, proxy.page_url(), url), wanted, "frames and bytes after the end")
        live.pause()
        expect_equal(client(t, proxy.page_url(), url), wanted, "frames and bytes while the origin is away")
        live.resume()


browser_follows(
    "a playlist with low latency", "low", "low/index.m3u8", lambda t, page, url: chromium_low_latency(t, page, url, MUXED))
browser_follows("a live MPD with a location", "dash", "dash/manifest.mpd", lambda t, page, url: chromium_dash(t, page, url, [MUXED]))
browser_follows("a live MPD with patches", "patch", "dash/manifest.mpd", lambda t, page, url: chromium_dash(t, page, url, [MUXED]))

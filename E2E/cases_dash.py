"""Players play DASH streams through the proxy as they do without it, and again while the origin is away."""

import dash
from cases_streams import PLAYERS, expect_same_frames_by_other_forms, expect_same_output, expect_through_proxy
from clients import chromium_dash
from harness import CaseList, expect, expect_equal

CASES = CaseList()
case = CASES

STREAMS = ["number", "timeline", "list", "single", "base", "periods", "root", "absolute"]
# mpv reads streams as ffmpeg does, and GStreamer ends at a second period, so each of them plays a sample. VLC loses another number of
# samples at the border of two periods in each run, without a proxy as well.
PLAYED = {"ffmpeg": STREAMS, "mpv": ["number", "base"], "VLC": [name for name in STREAMS if name != "periods"], "GStreamer": ["timeline", "list", "absolute"]}


def path_of(t, name):
    if name == "absolute":
        dash.absolute(t.media.directory / "dash", t.origin.own / "dash", t.origin.url(""))
        return "own/dash/manifest.mpd"
    return f"dash/{name}/manifest.mpd"


def plays(name, player):
    program, output = PLAYERS[player]

    @case(f"{player} plays the DASH stream {name} as it does without the proxy, and again while the origin is away", program)
    def _(t):
        expect_same_output(t, path_of(t, name), output)


for _player in PLAYERS:
    for _name in PLAYED[_player]:
        plays(_name, _player)


def browser_plays(name):
    @case(f"Chromium plays the DASH stream {name} with Media Source Extensions, and again while the origin is away", "chromium")
    def _(t):
        path = path_of(t, name)
        wanted = chromium_dash(t, t.origin.url("blank.html"), t.origin.url(path))
        expect("error" not in wanted, f"direct play: {wanted.get('error')}")
        expect(wanted["duration"] >= 23, f"a duration of {wanted['duration']} s")
        proxy = t.proxy()
        if t.is_direct:
            return
        mark = t.origin.mark()
        expect_equal(chromium_dash(t, proxy.page_url(), proxy.url(path)), wanted, "frames and bytes through the proxy")
        expect_through_proxy(t, t.origin.requests(mark))
        t.origin.stop()
        expect_equal(chromium_dash(t, proxy.page_url(), proxy.url(path)), wanted, "frames and bytes while the origin is away")
        t.origin.start()


for _name in STREAMS:
    browser_plays(_name)


@case("ffmpeg plays a DASH stream by the query form and through a gateway as it does without the proxy", "ffmpeg", is_about_cache=True)
def _(t):
    expect_same_frames_by_other_forms(t, path_of(t, "absolute"))

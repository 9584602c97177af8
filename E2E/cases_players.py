"""Players decode the same through the proxy as without it."""

from clients import chromium_play, compare_report, decoded, ffmpeg_frames, mpv_output, vlc_output
from harness import CaseList, Failure, Skip, expect, expect_equal, expect_fetched_once
from media import RECIPES
from origin import allowed_bytes, sent_bytes

CASES = CaseList()
case = CASES
NAMES = [name for name, _ in RECIPES]


def expect_once(t, proxy, mark, file):
    """Checks that no byte of the file crossed the network twice."""
    if not t.is_direct:
        expect_fetched_once(t, proxy, file, t.origin.requests(mark))


def expect_nothing_asked(t, mark):
    """Checks that a second play makes no origin request."""
    if not t.is_direct:
        expect_equal([str(request) for request in t.origin.requests(mark)], [], "origin requests of the second play")


def players_of(name):
    @case(f"ffmpeg decodes {name} as it does without the proxy, cold and warm", "ffmpeg")
    def _(t):
        proxy, file = t.proxy(), t.media[name]
        wanted = decoded(t, ffmpeg_frames, file)
        expect(len(wanted.splitlines()) > 200, "direct play decodes hardly any data")
        mark = t.origin.mark()
        expect(ffmpeg_frames(t, proxy.url(name)) == wanted, "the frames differ")
        expect_once(t, proxy, mark, file)
        mark = t.origin.mark()
        expect(ffmpeg_frames(t, proxy.url(name)) == wanted, "the frames of the second play differ")
        expect_nothing_asked(t, mark)

    @case(f"ffmpeg seeks in {name} as it does without the proxy, then plays it whole", "ffmpeg")
    def _(t):
        proxy, file = t.proxy(), t.media[name]
        mark = t.origin.mark()
        for start in ("15", "4"):
            wanted = decoded(t, ffmpeg_frames, file, start, "2")
            expect(ffmpeg_frames(t, proxy.url(name), start, "2") == wanted, f"the frames at {start} s differ")
        wanted = decoded(t, ffmpeg_frames, file)
        expect(ffmpeg_frames(t, proxy.url(name)) == wanted, "the frames of the whole differ")
        expect_once(t, proxy, mark, file)

    @case(f"mpv plays {name} as it does without the proxy", "mpv")
    def _(t):
        proxy, file = t.proxy(), t.media[name]
        wanted = decoded(t, mpv_output, file, file.kind)
        mark = t.origin.mark()
        expect_equal(mpv_output(t, proxy.url(name), file.kind), wanted, "number and hash of the played data")
        expect_once(t, proxy, mark, file)

    @case(f"mpv seeks in {name} as it does without the proxy", "mpv")
    def _(t):
        proxy, file = t.proxy(), t.media[name]
        options = ("--start=14", "--length=2")
        wanted = decoded(t, mpv_output, file, file.kind, *options)
        expect_equal(mpv_output(t, proxy.url(name), file.kind, *options), wanted, "number and hash of the played data")

    @case(f"VLC plays {name} as it does without the proxy, cold and warm", "vlc")
    def _(t):
        proxy, file = t.proxy(), t.media[name]
        wanted = decoded(t, vlc_output, file)
        expect(wanted[0] > 1 << 20, f"direct play decodes hardly any data: {wanted[0]} bytes")
        mark = t.origin.mark()
        expect_equal(vlc_output(t, proxy.url(name)), wanted, "length and hash of the played samples")
        expect_once(t, proxy, mark, file)
        mark = t.origin.mark()
        expect_equal(vlc_output(t, proxy.url(name)), wanted, "length and hash of the second play")
        expect_nothing_asked(t, mark)


for _name in NAMES:
    players_of(_name)


def direct_report(t):
    """Returns the browser's report on all files without the proxy. Made once a run."""
    return t.runner.share(
        "chromium",
        lambda: chromium_play(t, t.origin.url("blank.html"), [(file, t.origin.url(file.name)) for file in t.media.playable()]))


def cold_report(t):
    """Returns the report through the proxy on an empty cache. Made once a run."""
    def play():
        mark = t.origin.mark()
        proxy = t.proxy()
        # The player is on the proxy's own page, because the proxy serves no pages of origins.
        report = chromium_play(t, proxy.page_url(), [(file, proxy.url(file.name)) for file in t.media.playable()])
        # A browser's own requests (an icon) are a few kilobytes.
        allowed = sum(file.size for file in t.media.playable()) + (64 << 10)
        expect(proxy.fetched_bytes() <= allowed, f"{proxy.fetched_bytes()} bytes were fetched of {allowed}")
        return report, t.origin.requests(mark)

    return t.runner.share("chromium-cold", play)


def browser_plays(name):
    # The first of these cases plays all files.
    @case(f"Chromium plays {name}, seeks and reaches its end with the same frames as without the proxy", "chromium", is_long=name == NAMES[0])
    def _(t):
        file = t.media[name]
        wanted = direct_report(t)[name]
        if "error" in wanted:
            raise Skip(f"does not play directly: {wanted['error']}")
        report, asked = ({name: wanted}, []) if t.is_direct else cold_report(t)
        compare_report(report[name], wanted, file, expect, expect_equal)
        mine = [request for request in asked if request.uri == "/" + name]
        if mine:
            t.note(f"{len(mine)} requests, {sent_bytes(mine) / file.size:.3f} of the size")
            t.runner.plays.append((sent_bytes(mine), file.size))
            if sent_bytes(mine) > allowed_bytes(file.size, mine):
                raise Failure(f"the origin sent {sent_bytes(mine)} of {file.size} bytes")


for _name in NAMES:
    browser_plays(_name)


@case("all players together have the origin send what the files have, and hardly more", is_about_cache=True, is_alone=True)
def _(t):
    plays = t.runner.plays
    if not plays:
        raise Skip("no player has played")
    times = sum(sent for sent, _ in plays) / sum(size for _, size in plays)
    t.note(f"{len(plays)} plays, {times:.4f} of the sizes")
    expect(times <= 1.01, f"the origin sent {times:.4f} of the sizes in {len(plays)} plays")

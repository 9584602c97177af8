"""Players decode the same through the proxy as without it."""

from clients import chromium_play, compare_report, decoded, ffmpeg_frames, mpv_output, vlc_output
from harness import CaseList, Failure, Play, Skip, expect, expect_equal, expect_fetched_once
from media import RECIPES
from origin import allowed_bytes, sent_bytes

CASES = CaseList()
case = CASES
NAMES = [name for name, _ in RECIPES]


def expect_once(t, proxy, mark, file):
    """Checks that no byte of the file crossed the network twice."""
    if not t.is_direct:
        expect_fetched_once(t, proxy, file, t.origin.requests(mark))


def expect_nothing_asked(t, mark, may_ask_for_end=False):
    """Checks that a second play makes no origin request, but for one about the end of the file where the player asks behind it."""
    if not t.is_direct:
        asked = t.origin.requests(mark)
        if may_ask_for_end and len(asked) == 1 and asked[0].if_none_match != "-" and (asked[0].status, asked[0].sent) == (304, 0):
            return
        expect_equal([str(request) for request in asked], [], "origin requests of the second play")


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
        # The plays without the proxy come first, because the origin's log has them, too.
        plays = [(options, decoded(t, ffmpeg_frames, file, *options)) for options in (("15", "2"), ("4", "2"), ())]
        mark = t.origin.mark()
        for options, wanted in plays:
            expect(ffmpeg_frames(t, proxy.url(name), *options) == wanted, f"the frames from {options[:1] or 'the start'} differ")
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
        # In some plays VLC asks for the range behind the last byte, also without the proxy. The origin confirms the end then.
        expect_nothing_asked(t, mark, may_ask_for_end=True)


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
        asked = t.origin.requests(mark)
        # One process has played all files, so each has an equal part of the lost bytes.
        return report, asked, proxy.statistics()["lostBytes"] / len(report)

    return t.runner.share("chromium-cold", play)


def browser_plays(name):
    # The first of these cases plays all files.
    @case(f"Chromium plays {name}, seeks and reaches its end with the same frames as without the proxy", "chromium", is_long=name == NAMES[0])
    def _(t):
        file = t.media[name]
        wanted = direct_report(t)[name]
        if "error" in wanted:
            raise Skip(f"does not play directly: {wanted['error']}")
        report, asked, lost = ({name: wanted}, [], 0) if t.is_direct else cold_report(t)
        compare_report(report[name], wanted, file, expect, expect_equal)
        mine = [request for request in asked if request.uri == "/" + name]
        if mine:
            t.note(f"{len(mine)} requests, {sent_bytes(mine) / file.size:.3f} of the size")
            t.runner.plays.append(Play(sent_bytes(mine), lost, file.size))
            if sent_bytes(mine) > allowed_bytes(file.size, mine):
                raise Failure(f"the origin sent {sent_bytes(mine)} of {file.size} bytes")


for _name in NAMES:
    browser_plays(_name)


@case("all players together have the origin send what the files have, and lose hardly a byte", is_about_cache=True, is_alone=True)
def _(t):
    plays = t.runner.plays
    if not plays:
        raise Skip("no player has played")
    size = sum(play.size for play in plays)
    sent, lost = (sum(play.sent for play in plays) / size, sum(play.lost for play in plays) / size)
    t.note(f"{len(plays)} plays, {sent:.4f} of the sizes sent, {lost:.4f} lost")
    expect(sent <= 1.01, f"the origin sent {sent:.4f} of the sizes in {len(plays)} plays")
    expect(lost <= 0.02, f"{lost:.4f} of the sizes arrived in vain in {len(plays)} plays")

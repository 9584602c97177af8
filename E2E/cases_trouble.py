"""Playback when the origin or the program stops."""

from pathlib import Path
from urllib.request import urlopen

from clients import Download, chromium_play, compare_report, decoded, ffmpeg_frames, mpv_output, request
from cases_players import direct_report
from harness import CaseList, expect, expect_equal
from media import MARK, SPARSE_MARKS
from origin import allowed_bytes, sent_bytes

# The bytes of a running fetch that a kill may lose: an uncommitted batch, and the buffers of the pool (16 of 1 MiB).
COMMIT_BATCH_BYTES = 4 << 20
POOL_BYTES = 16 << 20

CASES = CaseList()
case = CASES


@case("stored files play in curl, ffmpeg and mpv from a new process with the origin stopped", "ffmpeg", "mpv", is_about_cache=True, is_long=True)
def _(t):
    proxy = t.proxy()
    for file in t.media.playable():
        expect(request(proxy, file.name).body == file.read(), f"the bytes of {file.name} differ")
    wanted = {file.name: (decoded(t, ffmpeg_frames, file), decoded(t, mpv_output, file, file.kind)) for file in t.media.playable()}
    expect_equal(proxy.stop(), 0, "exit code")
    t.origin.stop()
    proxy.restart()
    for file in t.media.playable():
        expect(request(proxy, file.name, headers={"Range": "bytes=0-"}).body == file.read(), f"the bytes of {file.name} differ offline")
        found = (ffmpeg_frames(t, proxy.url(file.name)), mpv_output(t, proxy.url(file.name), file.kind))
        expect(found == wanted[file.name], f"{file.name} decodes differently offline")


@case("files played in Chromium play again in a new profile and process with the origin stopped", "chromium", is_about_cache=True, is_long=True)
def _(t):
    wanted = direct_report(t)
    files = [file for file in t.media.playable() if "error" not in wanted[file.name]]
    proxy = t.proxy()
    chromium_play(t, proxy.page_url(), [(file, proxy.url(file.name)) for file in files])
    expect_equal(proxy.stop(), 0, "exit code")
    t.origin.stop()
    proxy.restart()
    report = chromium_play(t, proxy.page_url(), [(file, proxy.url(file.name)) for file in files])
    for file in files:
        compare_report(report[file.name], wanted[file.name], file, expect, expect_equal)
    t.note(f"{len(files)} files")


@case("with the origin stopped, a missing resource gets 502 or 504 with a reason", is_about_cache=True)
def _(t):
    proxy = t.proxy()
    t.origin.stop()
    answer = request(proxy, "vbr.mp3")
    expect(answer.status in (502, 504), f"status {answer.status}")
    expect(answer.body.strip(), "no reason in the body")
    expect("Cache-Status" in answer.headers, "no Cache-Status")
    t.note(answer.body.decode(errors="replace").strip()[:100])


@case("with the origin stopped, a stored part is served and the missing rest is reported", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["sparse.bin"]
    part = 1 << 20
    offset = SPARSE_MARKS[1]
    request(proxy, file.name, headers={"Range": f"bytes={offset}-{offset + part - 1}"})
    expect_equal(proxy.stop(), 0, "exit code")
    t.origin.stop()
    proxy.restart()

    inside = request(proxy, file.name, headers={"Range": f"bytes={offset}-{offset + 99}"})
    expect_equal((inside.status, inside.body[:16], len(inside.body)), (206, MARK, 100), "a range inside")
    across = request(proxy, file.name, headers={"Range": f"bytes={offset}-{offset + 4 * part}"})
    expect_equal(across.status, 206, "status of a range that begins inside")
    expect(across.is_short, "a partly stored range arrived whole")
    expect(len(across.body) >= part, f"{len(across.body)} of {part} stored bytes came")
    outside = request(proxy, file.name, headers={"Range": "bytes=100-199"})
    expect(outside.status in (502, 504), f"status of a range outside: {outside.status}")
    expect(outside.body.strip(), "no reason in the body")


@case("an origin that returns is used again", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    t.origin.stop()
    expect(request(proxy, file.name).status in (502, 504), "an answer without an origin")
    t.origin.start()
    expect(request(proxy, file.name).body == file.read(), "the bytes differ")


@case("a killed program keeps its committed bytes and serves no wrong byte afterwards", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["random.bin"]
    mark = t.origin.mark()
    # At the pace of a fast line, so that the loss at a kill has a bound in bytes: there is a commit for every batch and every second.
    client = Download(proxy, "brisk/" + file.name)
    taken = len(client.read(40 << 20))
    proxy.kill()
    client.drop()
    proxy.restart()
    expect(request(proxy, "brisk/" + file.name).body == file.read(), "the bytes differ")
    asked = t.origin.requests(mark)
    resumed = asked[-1].first_byte
    t.note(f"{taken} taken, resumed at {resumed}, {sent_bytes(asked) / file.size:.3f} of the size")
    # Bytes in memory and uncommitted bytes are fetched again after the kill. The index does not list them.
    expect(resumed >= taken - COMMIT_BATCH_BYTES - POOL_BYTES, f"resumed at {resumed} of {taken} bytes taken")
    allowed = allowed_bytes(file.size + COMMIT_BATCH_BYTES + POOL_BYTES, asked)
    expect(sent_bytes(asked) <= allowed, f"the origin sent {sent_bytes(asked)} bytes, {allowed:.0f} allowed")


@case("metrics count what players got, the access log has a line for each request, and each fault raises its own alert", "promtool",
      is_about_cache=True)
def _(t):
    monitoring = Path(__file__).parent.parent / "packaging" / "monitoring"
    t.run(t.program("promtool"), "test", "rules", "alerts-test.yml", cwd=monitoring)
    log = t.cache_directory() / "access.log"
    proxy = t.proxy("--access-log", str(log))
    for headers in ({}, {"Range": "bytes=10-19", "User-Agent": 'a "player"'}):
        request(proxy, "vbr.mp3", headers=headers)
    request(proxy, "missing.mp3")
    with urlopen(proxy.page_url() + "metrics", timeout=30) as answer:
        text = answer.read().decode()
    saved = t.cache_directory() / "metrics"
    saved.write_text(text)
    with saved.open("rb") as file:
        t.run(t.program("promtool"), "check", "metrics", stdin=file)
    for line in ('spool_responses_total{route="media",status="206"} 1', 'spool_responses_total{route="media",status="404"} 1',
                 'spool_first_byte_seconds_bucket{le="+Inf"} 3', 'spool_notices_total{kind="evicted"} 0'):
        expect(f"\n{line}\n" in text, f"the metrics lack {line}")
    expect_equal(proxy.stop(), 0, "exit code")
    lines = log.read_text().splitlines()
    expect('" 206 10 "-" "a \\"player\\"" "bytes 10-19/' in lines[1] and '"spool; hit"' in lines[1], f"the log has {lines[1]}")
    expect('" 404 ' in lines[2] and len(lines) == 4, f"the log has {lines}")

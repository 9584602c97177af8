"""The DASH streams that the players play. ffmpeg cuts them from one film; the MPDs of some are written here."""

import re
import subprocess

SEGMENT_SECONDS = 4

# Name, and ffmpeg's arguments for `manifest.mpd` in a directory of that name.
RECIPES = [
    ("number", "-use_template 1 -use_timeline 0"),
    ("timeline", "-use_template 1 -use_timeline 1"),
    ("list", "-use_template 0 -use_timeline 0"),
    ("single", "-single_file 1"),
]

HEAD = '<?xml version="1.0" encoding="utf-8"?>\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" '
KINDS = {"video": ('contentType="video" mimeType="video/mp4"', 'codecs="avc1.640015" width="480" height="270"'),
         "audio": ('contentType="audio" mimeType="audio/mp4"', 'codecs="mp4a.40.2" audioSamplingRate="44100"')}


def make(directory, ffmpeg, film):
    """Makes every stream below `directory` of the file `film`."""
    for name, options in RECIPES:
        _segment(directory / name, ffmpeg, film, options.split())
    _indexed(directory / "base", ffmpeg, film)
    _periods(directory / "periods", ffmpeg, film)
    _moved_root(directory)


def absolute(directory, made, origin_url):
    """Writes an MPD into `made` whose templates and bases are absolute and from the root, with queries like those of signatures."""
    text = (directory / "number" / "manifest.mpd").read_text(encoding="utf-8")
    text = text.replace('media="', f'media="{origin_url}dash/number/').replace('initialization="', 'initialization="/dash/number/')
    text = text.replace(".m4s\"", ".m4s?Expires=1&amp;Signature=a%2Fb~\"")
    made.mkdir(exist_ok=True)
    (made / "manifest.mpd").write_text(text, encoding="utf-8")


def _moved_root(directory):
    """Writes an MPD with a base from the root, and with single quotes."""
    text = (directory / "timeline" / "manifest.mpd").read_text(encoding="utf-8")
    text = re.sub(r"(<Period[^>]*>)", r"\1<BaseURL>/dash/timeline/</BaseURL>", text, count=1)
    made = directory / "root"
    made.mkdir()
    (made / "manifest.mpd").write_text(text.replace('"', "'"), encoding="utf-8")


def _segment(directory, ffmpeg, film, options, cut=()):
    directory.mkdir(parents=True)
    subprocess.run(
        [ffmpeg, "-v", "error", "-nostdin", "-y", *cut, "-i", str(film), "-c", "copy", "-f", "dash", "-seg_duration", str(SEGMENT_SECONDS),
         "-adaptation_sets", "id=0,streams=v id=1,streams=a", *options, "-fflags", "+bitexact", "-flags", "+bitexact", "manifest.mpd"],
        check=True, timeout=120, cwd=directory)


def _indexed(directory, ffmpeg, film):
    """Makes one file for each kind, with an index, and an MPD that names the index only."""
    directory.mkdir()
    sets = ""
    for kind, (of_set, of_representation) in KINDS.items():
        path = directory / f"{kind}.mp4"
        subprocess.run(
            [ffmpeg, "-v", "error", "-nostdin", "-y", "-i", str(film), "-map", f"0:{kind[0]}", "-c", "copy", "-movflags",
             "+dash+global_sidx+frag_keyframe", "-frag_duration", str(SEGMENT_SECONDS * 1_000_000), "-fflags", "+bitexact", "-flags",
             "+bitexact", str(path)],
            check=True, timeout=120)
        start, end = box_of(path.read_bytes(), b"sidx")
        sets += (
            f'<AdaptationSet {of_set} subsegmentAlignment="true"><Representation id="{kind}" bandwidth="900000" {of_representation}>'
            f'<BaseURL>{kind}.mp4</BaseURL><SegmentBase indexRange="{start}-{end - 1}"><Initialization range="0-{start - 1}"/>'
            "</SegmentBase></Representation></AdaptationSet>\n")
    (directory / "manifest.mpd").write_text(
        f'{HEAD}type="static" mediaPresentationDuration="PT24S" minBufferTime="PT4S">\n<Period>\n{sets}</Period>\n</MPD>\n', encoding="utf-8")


def box_of(data, kind):
    """Returns the range of the first top-level box of a kind."""
    offset = 0
    while offset < len(data):
        size = int.from_bytes(data[offset : offset + 4], "big")
        if data[offset + 4 : offset + 8] == kind:
            return offset, offset + size
        offset += size
    raise ValueError(f"no {kind} box")


def _periods(directory, ffmpeg, film):
    """Makes two periods of 12 s, each with a base of its own."""
    directory.mkdir()
    periods = ""
    for number, start in enumerate((0, 12)):
        _segment(directory / f"part{number}", ffmpeg, film, ["-use_template", "1", "-use_timeline", "1"], ["-ss", str(start), "-t", "12"])
        text = (directory / f"part{number}" / "manifest.mpd").read_text(encoding="utf-8")
        period = re.search(r"<Period[^>]*>(.*)</Period>", text, re.S)[1]
        periods += f'<Period id="{number}" start="PT{start}S" duration="PT12S"><BaseURL>part{number}/</BaseURL>{period}</Period>\n'
    (directory / "manifest.mpd").write_text(
        f'{HEAD}type="static" mediaPresentationDuration="PT24S" minBufferTime="PT4S">\n{periods}</MPD>\n', encoding="utf-8")

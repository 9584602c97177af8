"""The streams that the players play: HLS in its kinds. ffmpeg and openssl make them from one film, and they are kept with the media."""

import subprocess

SEGMENT_SECONDS = 4
KEYS = [bytes(range(16)), bytes(range(16, 32))]
# Segments of one key, before the next key takes its turn.
KEY_SEGMENTS = 2

# Name, and ffmpeg's arguments for `index.m3u8` in a directory of that name.
RECIPES = [
    ("ts", ""),
    ("fmp4", "-hls_segment_type fmp4"),
    ("single-ts", "-hls_flags single_file"),
    ("single-fmp4", "-hls_segment_type fmp4 -hls_flags single_file"),
]

MASTER = """#EXTM3U
#EXT-X-VERSION:6
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="English, main",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,URI="sound/index.m3u8"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="text",NAME="English",LANGUAGE="en",DEFAULT=NO,AUTOSELECT=NO,URI="/streams/multi/text/index.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=2000000,CODECS="avc1.640015,mp4a.40.2",RESOLUTION=480x270,AUDIO="sound",SUBTITLES="text"
/streams/multi/picture/index.m3u8
"""


def make(directory, ffmpeg, film):
    """Makes every stream below `directory` of the file `film`."""
    for name, options in RECIPES:
        _segment(directory / name, ffmpeg, film, options.split())
    _encrypt(directory / "ts", directory / "aes")
    _root_relative(directory / "ts", directory / "root")
    multi = directory / "multi"
    _segment(multi / "picture", ffmpeg, film, ["-hls_segment_type", "fmp4"], ["-an"])
    _segment(multi / "sound", ffmpeg, film, ["-hls_segment_type", "fmp4"], ["-vn"])
    text = multi / "text"
    text.mkdir()
    (text / "lines.vtt").write_text("WEBVTT\n\n00:00.000 --> 00:05.000\nA line.\n", encoding="utf-8")
    (text / "index.m3u8").write_text(
        "#EXTM3U\n#EXT-X-TARGETDURATION:24\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXTINF:24,\nlines.vtt\n#EXT-X-ENDLIST\n", encoding="utf-8")
    (multi / "index.m3u8").write_text(MASTER, encoding="utf-8")


def absolute(directory, made, origin_url):
    """Writes a playlist into `made`, with absolute URIs, which name the origin's port, and queries like those of signatures."""
    lines = (directory / "ts" / "index.m3u8").read_text(encoding="utf-8").splitlines()
    made.mkdir(exist_ok=True)
    text = "\r\n".join(line if line.startswith("#") else f"{origin_url}streams/ts/{line}?Expires=1&Signature=a%2Fb~" for line in lines)
    (made / "index.m3u8").write_text(text + "\r\n", encoding="utf-8", newline="")


def _segment(directory, ffmpeg, film, options, streams=()):
    directory.mkdir(parents=True)
    kind = "m4s" if "fmp4" in options else "ts"
    subprocess.run(
        [ffmpeg, "-v", "error", "-nostdin", "-y", "-i", str(film), *streams, "-c", "copy", "-f", "hls", "-hls_time", str(SEGMENT_SECONDS),
         "-hls_list_size", "0", "-hls_playlist_type", "vod", *options, "-hls_segment_filename",
         str(directory / ("all." if "single_file" in options else "%d.")) + kind, "-fflags", "+bitexact", "-flags", "+bitexact", str(directory / "index.m3u8")],
        check=True, timeout=120, cwd=directory)


def _encrypt(plain, directory):
    """Encrypts segments with AES-128. The keys take turns, and one of them has an explicit initialisation vector."""
    directory.mkdir()
    for number, key in enumerate(KEYS):
        (directory / f"{number}.key").write_bytes(key)
    lines, sequence = [], 0
    for line in (plain / "index.m3u8").read_text(encoding="utf-8").splitlines():
        if line.startswith("#EXTINF") and sequence % KEY_SEGMENTS == 0:
            number = sequence // KEY_SEGMENTS % len(KEYS)
            vector = ",IV=0x" + "0" * 30 + "07" if number == 1 else ""
            lines.append(f'#EXT-X-KEY:METHOD=AES-128,URI="{number}.key"{vector}')
        lines.append(line)
        if not line.startswith("#"):
            number = sequence // KEY_SEGMENTS % len(KEYS)
            vector = 7 if number == 1 else sequence
            subprocess.run(
                ["openssl", "enc", "-aes-128-cbc", "-K", KEYS[number].hex(), "-iv", f"{vector:032x}", "-in", str(plain / line), "-out",
                 str(directory / line)],
                check=True, timeout=60)
            sequence += 1
    (directory / "index.m3u8").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _root_relative(plain, directory):
    directory.mkdir()
    lines = (plain / "index.m3u8").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line if line.startswith("#") else f"/streams/ts/{line}" for line in lines)
    (directory / "index.m3u8").write_text(text + "\n", encoding="utf-8")

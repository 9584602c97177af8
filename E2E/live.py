"""A scripted origin of live streams: HLS, HLS with low latency, and DASH with `Location` and patches. Each programme begins at its first
request, publishes a segment each second, and ends."""

import re
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace

from scripted import ScriptedServer

SEGMENT_SECONDS = 2
SEGMENTS = 6
PARTS = 4
# The segments that exist when a programme begins.
FIRST = 2
# A new part comes out after this time.
PART_SECONDS = 0.25
TYPES = {"m3u8": "application/vnd.apple.mpegurl", "mpd": "application/dash+xml", "mpp": "application/dash-patch+xml", "m4s": "video/iso.segment",
         "mp4": "video/mp4"}
MPD = """<?xml version="1.0" encoding="utf-8"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" id="live" {attributes} minBufferTime="PT2S">
{locations}<Period id="1" start="PT0S"><AdaptationSet contentType="video" mimeType="video/mp4" segmentAlignment="true">
<SegmentTemplate timescale="1000" media="/live/{programme}/dash/$Number$.m4s" initialization="init.mp4" startNumber="0"><SegmentTimeline>{entries}</SegmentTimeline></SegmentTemplate>
<Representation id="v" bandwidth="900000" codecs="avc1.640015,mp4a.40.2" width="480" height="270"/></AdaptationSet></Period></MPD>
"""


def make(directory, ffmpeg, film):
    """Makes the segments of the programmes."""
    directory.mkdir(parents=True)
    subprocess.run(
        [ffmpeg, "-v", "error", "-nostdin", "-y", "-i", str(film), "-t", str(SEGMENTS * SEGMENT_SECONDS), "-c", "copy", "-f", "hls",
         # The first picture is a little late, so the second segment begins before its time.
         "-hls_time", str(SEGMENT_SECONDS - 0.1), "-hls_list_size", "0", "-hls_segment_type", "fmp4", "-hls_segment_filename", "%d.m4s",
         "-hls_fmp4_init_filename", "init.mp4", "-fflags", "+bitexact", "-flags", "+bitexact", "index.m3u8"],
        check=True, timeout=120, cwd=directory)


class LiveOrigin:
    """The server. Programmes differ by their name, and have the same segments."""

    def __init__(self, directory):
        self.content = {path.name: path.read_bytes() for path in Path(directory).iterdir()}
        self.durations = re.findall(r"#EXTINF:([\d.]+)", self.content["index.m3u8"].decode())[:SEGMENTS]
        self.began = {}
        self.log = []
        self.is_away = False
        self.lock = threading.Lock()
        origin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):  # pylint: disable=invalid-name
                origin.answer(self)

            def log_message(self, *_):
                pass

        self.server = ScriptedServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, programme, path):
        return f"http://127.0.0.1:{self.server.server_address[1]}/live/{programme}/{path}"

    def path(self, programme, path):
        return f"http/{self.url(programme, path)[7:]}"

    def pause(self):
        """Refuses new requests until `resume`."""
        self.is_away = True

    def resume(self):
        self.is_away = False

    def requests(self, programme):
        """Returns the requests for a programme, in the form of the other origin's log."""
        with self.lock:
            return [request for request in self.log if request.uri.startswith(f"/live/{programme}/")]

    # Time

    def published(self, programme):
        """Returns the number of parts that are published."""
        with self.lock:
            begin = self.began.setdefault(programme, time.monotonic())
        return min(FIRST * PARTS + int((time.monotonic() - begin) / PART_SECONDS), SEGMENTS * PARTS)

    def wait(self, programme, parts):
        """Waits until a number of parts is published."""
        while self.published(programme) < min(parts, SEGMENTS * PARTS):
            time.sleep(0.02)

    # Answers

    def answer(self, handler):
        if self.is_away:
            # Without any byte, as a process that is gone.
            handler.close_connection = True
            return
        path, _, query = handler.path.partition("?")
        _, _, programme, kind, name = path.split("/")
        extension = name.rsplit(".")[-1]
        body = self.body(programme, kind, name, dict(item.split("=") for item in query.split("&") if "=" in item))
        status, fields = (200, {}) if body is not None else (404, {})
        if body is None:
            body = b"not yet"
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", handler.headers.get("Range") or "")
        if found and status == 200 and int(found[1]) < len(body):
            last = min(int(found[2] or len(body)), len(body) - 1)
            fields["Content-Range"] = f"bytes {found[1]}-{last}/{len(body)}"
            status, body = 206, body[int(found[1]) : last + 1]
        with self.lock:
            self.log.append(SimpleNamespace(
                method="GET", uri=handler.path, status=status, range=handler.headers.get("Range") or "", via=handler.headers.get("Via") or ""))
        is_media = extension in ("m4s", "mp4")
        fields |= {
            "Content-Type": TYPES[extension], "Content-Length": str(len(body)), "Access-Control-Allow-Origin": "*",
            "Cache-Control": "max-age=3600" if is_media else "no-cache"}
        if is_media:
            fields["ETag"] = f'"{name}"'
        try:
            handler.send_response(status)
            for field in fields.items():
                handler.send_header(*field)
            handler.end_headers()
            handler.wfile.write(body)
        except OSError:
            # The player has left.
            handler.close_connection = True

    def body(self, programme, kind, name, query):
        if name == "index.m3u8":
            return self.playlist(programme, kind, query).encode()
        if name == "manifest.mpd":
            return self.mpd(programme, self.published(programme) // PARTS).encode()
        if name == "patch.mpp":
            return self.patch(programme, int(query["have"]))
        if match := re.fullmatch(r"(\d+)\.(\d+)\.m4s", name):
            number, part = int(match[1]), int(match[2])
            # A hinted part is held back until it exists.
            self.wait(programme, number * PARTS + part + 1)
            content = self.content[f"{number}.m4s"]
            size = len(content) // PARTS + 1
            return content[part * size : (part + 1) * size]
        if match := re.fullmatch(r"(\d+)\.m4s", name):
            return self.content[name] if self.published(programme) >= (int(match[1]) + 1) * PARTS else None
        return self.content.get(name)

    def playlist(self, programme, kind, query):
        if "_HLS_msn" in query:
            self.wait(programme, int(query["_HLS_msn"]) * PARTS + int(query.get("_HLS_part", PARTS - 1)) + 1)
        published = self.published(programme)
        has_parts = kind == "low"
        lines = ["#EXTM3U", "#EXT-X-VERSION:9", f"#EXT-X-TARGETDURATION:{SEGMENT_SECONDS}", "#EXT-X-MEDIA-SEQUENCE:0"]
        if kind == "event":
            lines.append("#EXT-X-PLAYLIST-TYPE:EVENT")
        if has_parts:
            lines.append(f"#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK={SEGMENT_SECONDS}")
            lines.append(f"#EXT-X-PART-INF:PART-TARGET={SEGMENT_SECONDS / PARTS}")
        lines.append(f'#EXT-X-MAP:URI="/live/{programme}/{kind}/init.mp4"')
        for part in range(published):
            number, index = divmod(part, PARTS)
            if has_parts:
                lines.append(f'#EXT-X-PART:DURATION={SEGMENT_SECONDS / PARTS},URI="/live/{programme}/{kind}/{number}.{index}.m4s"')
            if index == PARTS - 1:
                lines += [f"#EXTINF:{self.durations[number]},", f"{number}.m4s"]
        if published == SEGMENTS * PARTS:
            lines.append("#EXT-X-ENDLIST")
        elif has_parts:
            number, index = divmod(published, PARTS)
            lines.append(f'#EXT-X-PRELOAD-HINT:TYPE=PART,URI="/live/{programme}/{kind}/{number}.{index}.m4s"')
        return "\n".join(lines) + "\n"

    def mpd(self, programme, count):
        has_ended = count == SEGMENTS
        duration = f'mediaPresentationDuration="PT{SEGMENTS * SEGMENT_SECONDS}S"'
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        attributes = f'type="static" {duration}' if has_ended else (
            f'type="dynamic" availabilityStartTime="2020-01-01T00:00:00Z" publishTime="{now}" minimumUpdatePeriod="PT1S"')
        locations = "" if has_ended else f"<Location>{self.url(programme, 'dash/manifest.mpd')}?session=1</Location>\n"
        if programme.startswith("patch") and not has_ended:
            locations += f'<PatchLocation ttl="60">/live/{programme}/dash/patch.mpp?have={count}</PatchLocation>\n'
        entries = "".join(self.entry(number) for number in range(count))
        return MPD.format(attributes=attributes, locations=locations, programme=programme, entries=entries)

    @staticmethod
    def entry(number):
        return f'<S t="{number * SEGMENT_SECONDS * 1000}" d="{SEGMENT_SECONDS * 1000}"/>'

    def patch(self, programme, have):
        """Returns the difference between the MPD with `have` segments and the newest one."""
        count = self.published(programme) // PARTS
        if count == have:
            # Another wait than the MPD's update period shows nothing new.
            self.wait(programme, (have + 1) * PARTS)
            count = have + 1
        operations = (
            f'<add sel="/MPD/Period/AdaptationSet/SegmentTemplate/SegmentTimeline">{"".join(self.entry(n) for n in range(have, count))}</add>'
            f'<replace sel="/MPD/PatchLocation"><PatchLocation ttl="60">/live/{programme}/dash/patch.mpp?have={count}</PatchLocation></replace>')
        if count == SEGMENTS:
            operations += '<replace sel="/MPD/@type">static</replace>'
        return (
            '<Patch xmlns="urn:mpeg:dash:schema:mpd-patch:2020" mpdId="live" originalPublishTime="2020-01-01T00:00:00Z" '
            f'publishTime="2020-01-01T00:00:00Z">{operations}</Patch>').encode()

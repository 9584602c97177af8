"""Drivers of the real clients. Each returns its decoded output, for comparison with direct play."""

import hashlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

from browser import Chromium
from harness import CLIENT_SECONDS
from media import SECONDS


# The user without rights, which every system has.
NOBODY = 65534


def ffmpeg_frames(context, url, start=None, length=None, options=()):
    """Returns a checksum of every decoded picture and sound frame, as ffmpeg's framemd5 prints it."""
    arguments = ["-v", "error", "-nostdin"]
    arguments += ["-ss", start] if start else []
    arguments += [*options, "-i", url]
    arguments += ["-t", length] if length else []
    return context.run(context.program("ffmpeg"), *arguments, "-map", "0", "-f", "framemd5", "-").stdout


def mpv_output(context, url, kind, *options):
    """Returns a hash of mpv's pictures (every frame as an image) or sound (all samples)."""
    directory = Path(tempfile.mkdtemp(prefix="mpv-", dir=context.directory))
    common = ["--no-config", "--no-terminal", "--msg-level=all=error", "--ytdl=no", "--untimed", "--hwdec=no", *options]
    if kind == "video":
        common += ["--vo=image", "--vo-image-format=jpg", f"--vo-image-outdir={directory}", "--framedrop=no", "--no-audio"]
    else:
        common += ["--vo=null", "--no-video", "--ao=pcm", f"--ao-pcm-file={directory}/sound.wav"]
    context.run(context.program("mpv"), *common, url)
    digest = hashlib.sha256()
    names = sorted(os.listdir(directory))
    for name in names:
        digest.update((directory / name).read_bytes())
    shutil.rmtree(directory)
    return len(names), digest.hexdigest()


def vlc_output(context, url, *options):
    """Returns length and hash of the samples that VLC decodes. Options that begin with a colon are those of the URL alone."""
    directory = Path(tempfile.mkdtemp(prefix="spool-vlc-"))
    sound = directory / "sound.wav"
    command = [
        context.program("vlc"), "--intf=dummy", "--no-video", "--no-one-instance", "--no-media-library", "--play-and-exit",
        *(option for option in options if option[0] != ":"), f"--sout=#transcode{{acodec=s16l}}:std{{access=file,mux=wav,dst={sound}}}", url,
        *(option for option in options if option[0] == ":"), "vlc://quit",
    ]
    if os.geteuid() == 0:
        # VLC refuses to run as root.
        os.chown(directory, NOBODY, NOBODY)
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]
    context.run(*command, env={**os.environ, "HOME": str(directory)})
    samples = sound.read_bytes()
    shutil.rmtree(directory)
    return len(samples), hashlib.sha256(samples).hexdigest()


def gstreamer_output(context, url):
    """Returns length and hash of the pictures that GStreamer decodes.

    The sound is played, too. GStreamer stops to load a stream that nothing plays, after another number of segments each time, and one
    play of some hundred never begins, without a proxy as well.
    """
    pictures = Path(tempfile.mkdtemp(prefix="gst-", dir=context.directory)) / "pictures"
    context.run(
        context.program("gst-launch-1.0"), "-q", "playbin3", f"uri={url}", "flags=video+audio",
        f"video-sink=videoconvert ! video/x-raw,format=I420 ! filesink location={pictures}", "audio-sink=fakesink")
    with open(pictures, "rb") as file:
        result = pictures.stat().st_size, hashlib.sha256(file.read()).hexdigest()
    shutil.rmtree(pictures.parent)
    return result


def decoded(context, client, file, *options):
    """Returns the output of `client` for a file without the proxy. Made once a run."""
    return context.runner.share((client.__name__, file.name, options), lambda: client(context, context.origin.url(file.name), *options))


# A browser


def chromium_play(context, page_url, files, seconds=300):
    """Plays `files`, pairs of a file and its URL, in a headless Chromium with a fresh profile, in a page of the same server.

    Returns its report by file name.
    """
    order = json.dumps([{"name": file.name, "kind": file.kind, "url": url} for file, url in files])
    script = Path(__file__).with_name("player.js").read_text(encoding="utf-8")
    with Chromium(context) as browser:
        if failure := browser.open(page_url):
            raise RuntimeError(f"Chromium can't open {page_url}: {failure}")
        results = browser.evaluate(f"{script}\nreturn await playAll({order});", seconds)
    return {result["name"]: result for result in results}


def chromium_stream(context, page_url, url, seconds=CLIENT_SECONDS):
    """Plays a stream in a headless Chromium, and returns its duration, the frames after two seeks, and whether it ended."""
    script = Path(__file__).with_name("player.js").read_text(encoding="utf-8")
    with Chromium(context) as browser:
        if failure := browser.open(page_url):
            raise RuntimeError(f"Chromium can't open {page_url}: {failure}")
        return browser.evaluate(f"{script}\nreturn await playStream({json.dumps(url)});", seconds)


def chromium_dash(context, page_url, url, types=('video/mp4; codecs="avc1.640015"', 'audio/mp4; codecs="mp4a.40.2"')):
    """Plays a DASH stream with Media Source Extensions, and returns its duration, its bytes and the frames after two seeks."""
    return _run_page(context, page_url, f"playDASH({json.dumps(url)}, {json.dumps(list(types))})")


def chromium_low_latency(context, page_url, url, kind):
    """Plays the parts of a playlist with low latency with Media Source Extensions, and returns the same report."""
    return _run_page(context, page_url, f"playLowLatency({json.dumps(url)}, {json.dumps(kind)})")


def _run_page(context, page_url, call, seconds=CLIENT_SECONDS):
    script = "\n".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("player.js", "mse.js"))
    with Chromium(context) as browser:
        # The page's own policy allows no media from a script.
        browser.call("Page.setBypassCSP", enabled=True)
        if failure := browser.open(page_url):
            raise RuntimeError(f"Chromium can't open {page_url}: {failure}")
        return browser.evaluate(f"{script}\nreturn await {call};", seconds)


def compare_report(found, wanted, file, expect, expect_equal):
    """Compares the browser's report on one file with the report of direct play."""
    expect("error" not in found, found.get("error", ""))
    expect(abs(found["duration"] - SECONDS) < 1, f"a duration of {found['duration']} s")
    expect(found["ended"], "the end was not reached")
    expect_equal(found["sha256"], file.sha256(), "hash of the bytes")
    expect_equal([seek.get("frame") for seek in found["seeks"]], [seek.get("frame") for seek in wanted["seeks"]], "frames after seeks")


# Hand-made requests


class Answer:
    """A response that was read to its end, or as far as it arrived."""

    def __init__(self, response, body, is_short):
        self.status = response.status
        self.headers = response.headers
        self.body = body
        self.is_short = is_short

    def __getitem__(self, name):
        return self.headers.get(name)


def request(proxy, path, method="GET", headers=None, connection=None, seconds=30):
    """Sends one request to the proxy. `path` is the origin's, or begins with a slash and is sent unchanged."""
    own = connection or http.client.HTTPConnection(proxy.authority, timeout=seconds)
    try:
        own.request(method, path if path.startswith("/") else proxy.path(path), headers=headers or {})
        response = own.getresponse()
        try:
            return Answer(response, response.read(), False)
        except http.client.IncompleteRead as short:
            return Answer(response, short.partial, True)
    finally:
        if connection is None:
            own.close()


def exchange(proxy, data, seconds=10):
    """Sends raw bytes on a new connection, and returns all bytes until the other side closes or is silent."""
    host, port = proxy.authority.split(":")
    with socket.create_connection((host, int(port)), timeout=seconds) as connection:
        received = b""
        try:
            connection.sendall(data)
            while chunk := connection.recv(65536):
                received += chunk
        except (TimeoutError, ConnectionResetError, BrokenPipeError):
            pass
        return received


class Download:
    """A response that is read step by step."""

    def __init__(self, proxy, path, headers=None):
        self.connection = http.client.HTTPConnection(proxy.authority, timeout=30)
        self.connection.request("GET", proxy.path(path), headers=headers or {})
        self.response = self.connection.getresponse()
        self.body = bytearray()

    def read(self, count):
        """Reads `count` more bytes, or fewer at the end."""
        wanted = len(self.body) + count
        while len(self.body) < wanted:
            chunk = self.response.read1(min(65536, wanted - len(self.body)))
            if not chunk:
                break
            self.body += chunk
        return self.body

    def read_all(self):
        while chunk := self.response.read1(65536):
            self.body += chunk
        return self.body

    def drop(self):
        """Closes the connection in the middle, as players do."""
        if self.connection.sock:
            self.connection.sock.close()
        self.response.close()
        self.connection.close()

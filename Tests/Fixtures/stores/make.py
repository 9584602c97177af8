#!/usr/bin/env python3
"""Makes the stores of this directory with a given build of the program: make.py PROGRAM DIRECTORY"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def pattern(seed, count):
    """The byte at each position follows from the position and the seed, so that a reader can tell every byte."""
    return bytes((position * 2654435761 + seed * 97) >> 13 & 0xFF for position in range(count))


# Path: seed, length and entity tag of each version that the origin sends.
RESOURCES = {
    "/film.mp4": [(1, 9_000, '"film-1"')],
    "/song.mp3": [(2, 66_000, '"song-1"')],
    "/news.mp3": [(3, 3_000, '"news-1"'), (4, 2_000, '"news-2"')],
    "/empty.vtt": [(5, 0, '"empty-1"')],
    "/dated.m4a": [(6, 1_500, None)],
    "/list.m3u8": [(0, 0, '"list-1"')],
}
# A stream with one segment, the body of /list.m3u8.
PLAYLIST = b"#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\ndated.m4a\n#EXT-X-ENDLIST\n"
# What the origin sends of the first version of a resource, from its beginning.
PREFIXES = {"/film.mp4": 4_000, "/news.mp3": 1_000}
TYPES = {".mp4": "video/mp4", ".mp3": "audio/mpeg", ".vtt": "text/vtt", ".m4a": "audio/mp4", "m3u8": "application/vnd.apple.mpegurl"}


class Origin(BaseHTTPRequestHandler):
    """Stands in for http://media.example: the program asks it as its HTTP proxy."""

    protocol_version = "HTTP/1.1"
    version = 0

    def log_message(self, *_):
        pass

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except ConnectionResetError:
            self.close_connection = True

    def do_GET(self):
        path = self.path.removeprefix("http://media.example")
        versions = RESOURCES[path]
        seed, length, tag = versions[min(Origin.version, len(versions) - 1)]
        whole = PLAYLIST if path.endswith(".m3u8") else pattern(seed, length)
        length = len(whole)
        first, last = 0, length - 1
        asked = self.headers.get("Range")
        condition = self.headers.get("If-Range")
        is_part = bool(asked) and length > 0 and condition in (None, tag)
        if is_part:
            a, b = asked.removeprefix("bytes=").split("-")
            first, last = int(a), min(int(b), last) if b else last
        self.send_response(206 if is_part else 200)
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("Content-Type", TYPES[path[-4:]])
        self.send_header("Cache-Control", "max-age=0")
        self.send_header("Last-Modified", "Wed, 01 Jan 2025 00:00:00 GMT")
        self.send_header("Accept-Ranges", "bytes")
        if tag:
            self.send_header("ETag", tag)
        if is_part:
            self.send_header("Content-Range", f"bytes {first}-{last}/{length}")
        self.end_headers()
        body = whole[first : last + 1]
        if path in PREFIXES and Origin.version == 0 and first == 0:
            # The program gets this much of the beginning, and hangs up.
            self.wfile.write(body[: PREFIXES[path]])
            self.rfile.read(1)
        else:
            self.wfile.write(body)


def main():
    program, root = sys.argv[1], pathlib.Path(sys.argv[2]).absolute()
    origin = ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    environment = {
        "PATH": os.environ["PATH"], "HOME": "/nonexistent",
        "http_proxy": f"http://127.0.0.1:{origin.server_port}",
    }

    def run(store, lock, *arguments, wrapper=()):
        subprocess.run(
            [*wrapper, program, arguments[0], "--cache", str(root / store), *lock, *arguments[1:]],
            env=environment, check=not wrapper, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def fill(store, lock, has_song=True):
        url = "http://media.example"
        Origin.version = 0
        if has_song:
            run(store, lock, "get", "-o", "/dev/null", f"{url}/song.mp3")
        run(store, lock, "get", "-r", "0-999", "-o", "/dev/null", f"{url}/news.mp3")
        run(store, lock, "get", "-o", "/dev/null", f"{url}/empty.vtt")
        run(store, lock, "get", "-o", "/dev/null", f"{url}/dated.m4a")
        run(store, lock, "get", "-r", "0-2999", "-o", "/dev/null", f"{url}/film.mp4")
        run(store, lock, "get", "-r", "8000-", "-o", "/dev/null", f"{url}/film.mp4")
        Origin.version = 1
        run(store, lock, "get", "-r", "1500-", "-o", "/dev/null", f"{url}/news.mp3")
        run(store, lock, "pin", f"{url}/song.mp3", f"{url}/later.mp4")

    def downloads(store, lock):
        """Returns the states of the list of downloads, by path."""
        listed = subprocess.run(
            [program, "download", "ls", "--json", "--cache", str(root / store), *lock], env=environment, check=True, stdout=subprocess.PIPE)
        return {download["url"].removeprefix("http://media.example"): download["state"] for download in json.loads(listed.stdout)["downloads"]}

    def download(store, lock):
        """A stream that a server downloads, and a film that waits."""
        run(store, lock, "download", "add", "--group", "trip", "http://media.example/list.m3u8")
        server = subprocess.Popen(
            [program, "serve", "--listen", "127.0.0.1:0", "--cache", str(root / store), *lock], env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        for _ in range(100):
            if downloads(store, lock).get("/list.m3u8") == "complete":
                break
            time.sleep(0.1)
        server.terminate()
        server.wait()
        run(store, lock, "download", "add", "http://media.example/later.mp4")
        run(store, lock, "download", "pause", "http://media.example/later.mp4")
        assert downloads(store, lock) == {"/list.m3u8": "complete", "/later.mp4": "paused"}, downloads(store, lock)

    with tempfile.TemporaryDirectory() as directory:
        keys = pathlib.Path(directory)
        for name, text in {"one": "01" * 32, "two": "02" * 32, "words": "correct horse battery staple"}.items():
            (keys / name).write_text(text + "\n")
            (keys / name).chmod(0o600)
        one = ["--key-file", str(keys / "one")]
        words = ["--passphrase-file", str(keys / "words")]
        fill("plain", [])
        download("plain", [])
        fill("key", one)
        download("key", one)
        fill("passphrase", [*words, "--cipher", "aes-256-gcm"], has_song=False)
        # The program ends while it seals the resources anew: some are sealed by the key before, some by the new one.
        fill("rotation", one, has_song=False)
        run("rotation", one, "rekey", "--new-key-file", str(keys / "two"), wrapper=STOP_AMID_ROTATION)
    # The reserve is 1 MiB of zeros, which every opening makes again.
    for reserve in root.glob("*/reserve"):
        reserve.unlink()
    for index in root.glob("*/spool.sqlite"):
        subprocess.run(["sqlite3", str(index), "PRAGMA wal_checkpoint(TRUNCATE)"], check=True, stdout=subprocess.DEVNULL)


# Ends the program at the n-th time that it syncs a file.
STOP_AMID_ROTATION = ("strace", "-f", "-qq", "-e", "trace=fdatasync", "-e", "inject=fdatasync:signal=SIGKILL:when=3")

main()

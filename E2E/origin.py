"""The origin: an nginx on a free port, with a log of its requests and responses."""

import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from ports import free_port

# The kernel's send buffer for each connection. It is small, because the log of a cancelled transfer counts its contents.
SEND_BUFFER_BYTES = 128 << 10
# For a cut transfer the log counts the bytes in the socket buffers of both sides.
CANCEL_SLACK_BYTES = 1 << 20
# The pace of URLs below /paced/. The bytes of the first second arrive at once.
PACE_BYTES = 1 << 20
# The pace of URLs below /brisk/: that of a fast line, not of the loopback interface.
BRISK_BYTES = 16 << 20

CONFIGURATION = """
daemon off;
master_process off;
worker_processes 1;
pid {directory}/pid;
error_log {directory}/error.log warn;
events {{ worker_connections 512; }}
http {{
    log_format wire escape=json '{{"method":"$request_method","uri":"$request_uri","status":$status,"range":"$http_range",'
        '"if_range":"$http_if_range","if_none_match":"$http_if_none_match","accept_encoding":"$http_accept_encoding",'
        '"cookie":"$http_cookie","via":"$http_via","protocol":"$server_protocol","sent":$body_bytes_sent,"complete":"$request_completion"}}';
    access_log {directory}/access.log wire;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    types {{
        text/html html; video/mp4 mp4; video/x-matroska mkv; video/webm webm; audio/mpeg mp3; audio/flac flac;
        application/octet-stream bin; audio/mp4 m4a; image/jpeg jpg; text/vtt vtt; application/vnd.apple.mpegurl m3u8; video/mp2t ts;
        video/iso.segment m4s; application/octet-stream key; application/dash+xml mpd;
    }}
    sendfile on;
    keepalive_timeout 75s;
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    server {{
        listen 127.0.0.1:{port} sndbuf={send_buffer};
        listen 127.0.0.1:{secure_port} ssl http2;
        root {root};
        # Long enough for a run: what is asked again here was fetched again, not revalidated.
        add_header Cache-Control "max-age=86400";
        add_header Set-Cookie "visitor=1";
        # Pages of the origin and of the proxy play streams of each other.
        add_header Access-Control-Allow-Origin "*";
        location / {{ }}
        location /moved/ {{ rewrite ^/moved/(.*)$ /streams/$1 redirect; }}
        # Files that name the port of this origin.
        location /own/ {{ alias {directory}/own/; }}
        location /paced/ {{ alias {root}/; limit_rate {pace}; }}
        location /brisk/ {{ alias {root}/; limit_rate {brisk}; }}
        # Files whose origin demands a check of stored bytes.
        location /demand/no-cache/ {{ alias {root}/; add_header Cache-Control "no-cache"; }}
        location /demand/max-age-0/ {{ alias {root}/; add_header Cache-Control "max-age=0, must-revalidate"; }}
        location /demand/short/ {{ alias {root}/; add_header Cache-Control "max-age=59"; }}
        location /demand/expired/ {{ alias {root}/; add_header Expires "Thu, 01 Jan 1970 00:00:01 GMT"; }}
        location /demand/none/ {{ alias {root}/; }}
        location /typed/octet-stream/ {{ alias {root}/; types {{ }} default_type application/octet-stream; }}
        location /typed/plain/ {{ alias {root}/; types {{ }} default_type text/plain; }}
        location /typed/none/ {{ alias {root}/; types {{ }} default_type ""; }}
        location = /_status {{ stub_status; access_log off; }}
    }}
}}
"""


@dataclass
class Request:
    """One line of the origin's log."""

    method: str
    uri: str
    status: int
    range: str
    if_range: str
    if_none_match: str
    accept_encoding: str
    cookie: str
    via: str
    protocol: str
    sent: int
    complete: str

    @property
    def was_cancelled(self):
        return self.complete != "OK"

    @property
    def first_byte(self):
        """The first requested offset."""
        match = re.fullmatch(r"bytes=(\d+)-\d*", self.range)
        return int(match[1]) if match else 0

    def __str__(self):
        return f"{self.method} {self.uri} {self.range or 'no range'} -> {self.status}, {self.sent} bytes{', cancelled' if self.was_cancelled else ''}"


class Origin:
    """nginx over the media directory. It can be stopped and started again on the same port."""

    def __init__(self, nginx, root, directory):
        self.nginx = nginx
        self.directory = Path(directory)
        self.directory.mkdir(parents=True)
        self.port = free_port()
        self.secure_port = free_port()
        self.certificate = self.directory / "certificate.pem"
        self.process = None
        key = self._make_certificate()
        self.configuration = self.directory / "nginx.conf"
        self.configuration.write_text(
            CONFIGURATION.format(
                directory=self.directory, port=self.port, secure_port=self.secure_port, certificate=self.certificate, key=key, root=root,
                send_buffer=SEND_BUFFER_BYTES, pace=PACE_BYTES, brisk=BRISK_BYTES),
            encoding="utf-8")
        self.own = self.directory / "own"
        self.own.mkdir()
        self.log = self.directory / "access.log"
        self.log.touch()

    def _make_certificate(self):
        """Makes a self-signed certificate, which is its own authority, and returns the path of its key."""
        key = self.directory / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=origin", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(self.certificate)],
            check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return key

    @property
    def authority(self):
        return f"127.0.0.1:{self.port}"

    def url(self, path):
        return f"http://{self.authority}/{path}"

    def secure_path(self, path):
        """The proxy's path of a file over TLS."""
        return f"/https/127.0.0.1:{self.secure_port}/{path}"

    def start(self):
        self.process = subprocess.Popen(
            [self.nginx, "-p", str(self.directory), "-c", str(self.configuration), "-e", str(self.directory / "error.log")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(self.directory / "stderr", "wb"), start_new_session=True)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                self._status()
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError("nginx did not start: " + (self.directory / "stderr").read_text(errors="replace"))

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None

    def ensure_running(self):
        if self.process is None or self.process.poll() is not None:
            self.start()

    # The requests

    def mark(self):
        """Returns a position in the log. Requests that end from now on come after it."""
        self.wait_until_quiet()
        return os.path.getsize(self.log)

    def requests(self, mark, is_quiet=True):
        """Waits until no request is under way, and returns those that ended since `mark`."""
        if is_quiet and self.process:
            self.wait_until_quiet()
        with open(self.log, encoding="utf-8") as file:
            file.seek(mark)
            return [Request(**json.loads(line)) for line in file]

    def wait_until_quiet(self, seconds=10):
        """Waits until no response is being sent, because a request is logged only at its end."""
        deadline = time.monotonic() + seconds
        while self._status()["Writing"] > 1:
            if time.monotonic() > deadline:
                raise RuntimeError(f"a response of the origin was still open after {seconds} s")
            time.sleep(0.02)

    def _status(self):
        with urllib.request.urlopen(self.url("_status"), timeout=5) as answer:
            return {name: int(value) for name, value in re.findall(r"(\w+): (\d+)", answer.read().decode())}

    def tail(self):
        with open(self.log, encoding="utf-8") as file:
            return [f"origin: {Request(**json.loads(line))}" for line in file.readlines()[-8:]]


def sent_bytes(requests):
    return sum(request.sent for request in requests)


def allowed_bytes(size, requests):
    """Returns the bytes that an origin may send for a file of `size` bytes: 2 % more, and the contents of socket buffers.

    The kernel may accept a whole response before the request is cut where another begins. The log then calls it complete.
    So every request but one counts as cut.
    """
    return size * 1.02 + CANCEL_SLACK_BYTES * max(len(requests) - 1, sum(request.was_cancelled for request in requests))

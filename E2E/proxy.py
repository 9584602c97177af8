"""The program under test as a process, and its absence."""

import json
import os
import re
import select
import signal
import subprocess
import time
import urllib.request
from pathlib import Path
from urllib.parse import quote

# A crash report with the crashed thread only, because a failure prints the last lines of the log.
BACKTRACE = "color=no,images=none,registers=none,threads=crashed,limit=12"
START_SECONDS = 10
STOP_SECONDS = 10


class Direct:
    """No proxy: the client talks to the origin."""

    def __init__(self, origin):
        self.origin = origin
        self.authority = origin.authority

    def url(self, path):
        return self.origin.url(path)

    def path(self, path):
        return "/" + path


class Spool:
    """`spool serve` on a cache directory."""

    command = "serve"

    def __init__(self, binary, cache, origin, options=()):
        self.binary = binary
        self.cache = Path(cache)
        self.origin = origin
        self.options = options
        self.token = options[options.index("--token") + 1] if "--token" in options else None
        self.is_fixed = "--origin" in options
        self.process = None
        self.port = None
        # Variables besides those of the test itself.
        self.environment = {}
        # A program that starts the one under test.
        self.wrapper = []
        self.errors = self.cache.parent / "stderr"

    def start(self):
        self.cache.mkdir(parents=True, exist_ok=True)
        self.process = subprocess.Popen(
            [*map(str, self.wrapper), str(self.binary), self.command, "--listen", "127.0.0.1:0", "--cache", str(self.cache), *self.options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=open(self.errors, "ab"), start_new_session=True,
            env={**os.environ, "SWIFT_BACKTRACE": BACKTRACE, **self.environment})
        self.port = self._read_port()

    def _read_port(self):
        """Waits for the line with the proxy's address, and returns the port."""
        said = b""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            ready, _, _ = select.select([self.process.stdout], [], [], 0.1)
            if ready:
                more = os.read(self.process.stdout.fileno(), 4096)
                said += more
                if match := re.search(rb"listening on http://127\.0\.0\.1:(\d+)/", said):
                    return int(match[1])
                if not more:
                    break
        raise RuntimeError(f"spool serve printed no address; it printed {said!r}")

    @property
    def authority(self):
        return f"127.0.0.1:{self.port}"

    def path(self, path):
        """Returns the proxy's path for an origin's path."""
        prefix = f"/{self.token}" if self.token else ""
        return f"/{path}" if self.is_fixed else f"{prefix}/http/{self.origin.authority}/{path}"

    def url(self, path):
        return f"http://{self.authority}{self.path(path)}"

    def absolute(self, place):
        """Returns the URL of a place below the proxy: scheme, authority and path of another origin."""
        return f"http://{self.authority}/{self.token + '/' if self.token else ''}{place}"

    def query_url(self, path):
        """Returns the form with the origin's URL as a query item."""
        return f"http://{self.authority}/?url={quote(self.origin.url(path), safe='')}"

    def login_link(self):
        """Returns the link of `spool login`."""
        done = subprocess.run(
            [str(self.binary), "login", "--cache", str(self.cache)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60, check=True)
        return done.stdout.decode().strip()

    def stop(self):
        """Interrupts the program as Ctrl-C does, and returns its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(STOP_SECONDS)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self):
        """Starts a new process on the same cache, on another port."""
        self.start()

    def statistics(self):
        """Returns the counts since the process started."""
        with urllib.request.urlopen(f"{self.page_url()}api/resources", timeout=10) as answer:
            return json.load(answer)["statistics"]

    def fetched_bytes(self):
        """Returns the body bytes from origins since the process started: the exact figure, without socket buffers."""
        return self.statistics()["fetchedBytes"]

    def status(self):
        """Returns the server's report on itself."""
        with urllib.request.urlopen(f"{self.page_url()}api/status", timeout=10) as answer:
            return json.load(answer)

    def page_url(self):
        """Returns the status page's address. With `--origin` it is a secret that only the server's user can read."""
        if self.is_fixed:
            return json.loads((self.cache / "serve.json").read_text(encoding="utf-8"))["page"]
        return f"http://{self.authority}/{self.token + '/' if self.token else ''}_spool/"

    def resident_bytes(self):
        """Returns the peak of the process's resident memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) << 10

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def close(self):
        if self.is_running():
            self.kill()
        if self.process:
            self.process.stdout.close()

    def tail(self):
        said = self.errors.read_text(errors="replace").splitlines()[-30:] if self.errors.exists() else []
        state = "running" if self.is_running() else f"ended with {self.process.returncode if self.process else None}"
        return [f"spool: {line}" for line in said] + [f"spool: {state}"]


class Demo(Spool):
    """`spool demo` on a cache directory."""

    command = "demo"

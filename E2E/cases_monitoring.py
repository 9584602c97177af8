"""The shipped alerts in a running Prometheus, over servers of which each has one fault."""

import http.server
import json
import re
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

from clients import request
from harness import ROOT, CaseList, Failure, expect_equal
from ports import free_port
from proxy import Spool
from scripted import ScriptedServer

CASES = CaseList()
case = CASES

# The rules wait for minutes, and the case for seconds.
SHORTER = [(r"\[(5|10)m\]", "[15s]"), (r"for: (2|5|10)m", "for: 3s"), ("< 1e9", "< 1e6")]
# The time within which each fault raises its alert on a busy machine, and that in which no other may follow, in seconds.
LATEST, AFTERWARDS = 90, 5
# A small disk, with room for an index and some files.
DISK = "mount -t tmpfs -o size=24m tmpfs \"$1\" && shift && exec \"$@\""


class Prometheus:
    """Prometheus with the shipped rules, which looks at its targets each second."""

    def __init__(self, t, targets):
        directory = t.directory / "prometheus"
        directory.mkdir()
        rules = (ROOT / "packaging/monitoring/alerts.yml").read_text(encoding="utf-8")
        for pattern, shorter in SHORTER:
            rules = re.sub(pattern, shorter, rules)
        (directory / "alerts.yml").write_text(rules, encoding="utf-8")
        jobs = [{"job_name": "spool", "metrics_path": "/_spool/metrics", "static_configs": [{"targets": targets}]}]
        # YAML contains JSON.
        (directory / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": ["alerts.yml"], "scrape_configs": jobs,
        }), encoding="utf-8")
        self.authority = f"127.0.0.1:{free_port()}"
        self.log = directory / "log"
        self.words = [
            t.program("prometheus"), f"--config.file={directory / 'prometheus.yml'}", f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address={self.authority}"]

    def __enter__(self):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def firing(self):
        """Returns pairs of target and alert, or none while Prometheus starts."""
        if self.process.poll() is not None:
            raise Failure(f"prometheus ended: {self.log.read_text(errors='replace')[-500:]}")
        try:
            with urllib.request.urlopen(f"http://{self.authority}/api/v1/alerts", timeout=10) as answer:
                alerts = json.load(answer)["data"]["alerts"]
        except OSError:
            return set()
        return {(alert["labels"]["instance"], alert["labels"]["alertname"]) for alert in alerts if alert["state"] == "firing"}


class HeldLoop:
    """The metrics of a server whose loop was held later. The real program offers no way to hold it."""

    def __init__(self, server):
        held = self
        self.turn = 0.009

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                with urllib.request.urlopen(f"{server.page_url()}metrics", timeout=10) as answer:
                    text = answer.read().decode()
                body = re.sub(r"(?m)^(spool_loop_longest_turn_seconds) .*$", rf"\1 {held.turn}", text).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ScriptedServer(("127.0.0.1", 0), Handler)
        self.authority = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def server_on_small_disk(t):
    """Starts a server whose store is on a disk of its own, or returns None where that is forbidden."""
    for unshare in (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"]):
        if t.run(*unshare, "sh", "-c", DISK, "sh", t.directory, "true", check=False).returncode == 0:
            break
    else:
        return None
    server = Spool(t.runner.binary, t.directory / "small" / "cache", t.origin, ["--min-free", "1K"])
    server.cache.mkdir(parents=True)
    server.wrapper = [*unshare, "sh", "-c", DISK, "sh", server.cache]
    return t.start(server)


def fill_disk(server):
    """Fills the disk of a server beside it."""
    disk = Path(f"/proc/{server.process.pid}/root") / server.cache.relative_to("/")
    with open(disk / "filler", "wb", buffering=0) as filler:
        try:
            while True:
                filler.write(bytes(1 << 16))
        except OSError:
            return


@case("each fault raises its own alert in a running Prometheus, and a server without a fault none", "prometheus", is_about_cache=True)
def _(t):
    file = t.media["vbr.mp3"]

    def server(name):
        return t.start(Spool(t.runner.binary, t.directory / name / "cache", t.origin))

    for name in ("sound", "loop", "lonely"):
        (t.directory / name).mkdir()
    sound, errors, lonely, full = server("sound"), server("loop"), server("lonely"), server_on_small_disk(t)
    held, gone = HeldLoop(sound), f"127.0.0.1:{free_port()}"
    nowhere = f"127.0.0.1:{free_port()}"
    wanted = {
        (errors.authority, "SpoolPlayersGetErrors"), (lonely.authority, "SpoolOriginFails"), (held.authority, "SpoolLoopHeld"),
        (gone, "SpoolDown")}
    if full:
        wanted.add((full.authority, "SpoolStoresNothing"))
        fill_disk(full)
    else:
        t.note("no disk of its own is permitted here, so no full disk")
    fired, began, done = set(), time.monotonic(), None
    with Prometheus(t, [sound.authority, errors.authority, lonely.authority, held.authority, gone] + ([full.authority] if full else [])) as prometheus:
        try:
            for number in range(10_000):
                request(sound, sound.path(file.name))
                request(errors, f"/http/{errors.authority}/{number}.mp3")
                request(lonely, f"/http/{nowhere}/{number}.mp3")
                if full:
                    request(full, full.path(f"{file.name}?{number}"))
                now = time.monotonic()
                if now - began > 8:
                    held.turn = 0.9
                fired |= prometheus.firing()
                if done is None and wanted <= fired:
                    done = now
                if now - began > LATEST or done and now - done > AFTERWARDS:
                    break
                time.sleep(0.3)
        finally:
            held.close()
    names = {sound.authority: "sound", errors.authority: "errors", lonely.authority: "lonely", held.authority: "held", gone: "gone"}
    named = lambda pairs: sorted((names.get(instance, "full"), alert) for instance, alert in pairs)
    expect_equal(named(fired), named(wanted), "alerts that fired")
    t.note(f"all within {done - began:.0f} s")

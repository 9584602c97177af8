"""An S3-compatible store for the fleet: OpenStack Swift with its `s3api`, as Debian packages it."""

import getpass
import hashlib
import hmac
import http.client
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from ports import free_port

# The programs of Debian's swift-proxy, swift-account, swift-container, swift-object and memcached.
PROGRAMS = (
    "swift-proxy-server", "swift-account-server", "swift-container-server", "swift-object-server", "memcached")
START_SECONDS = 30
REGION = "us-east-1"
ACCESS_KEY, SECRET_KEY = "test:tester", "a-secret-of-the-test"

PROXY = """[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = {user}
swift_dir = {directory}
[pipeline:main]
pipeline = catch_errors cache s3api tempauth proxy-server
[app:proxy-server]
use = egg:swift#proxy
allow_account_management = true
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:{memory_port}
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = {secret} .admin
"""

BACKEND = """[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = {user}
swift_dir = {directory}
devices = {directory}/devices
mount_check = false
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{kind}
"""


# Makes the rings of three servers with one device. The Python of Debian has the module.
RINGS = """
import sys
from swift.common.ring import RingBuilder
directory, *ports = sys.argv[1:]
for kind, port in zip(("account", "container", "object"), ports):
    builder = RingBuilder(4, 1, 1)
    builder.add_dev({"region": 1, "zone": 1, "ip": "127.0.0.1", "port": int(port), "device": "d1", "weight": 1, "meta": "",
                     "replication_ip": "127.0.0.1", "replication_port": int(port)})
    builder.rebalance()
    builder.get_ring().save(f"{directory}/{kind}.ring.gz")
"""


class SwiftStore:
    """One account with one bucket, on one device. Use it in a `with` statement."""

    def __init__(self, directory, bucket="media"):
        self.directory = Path(directory)
        self.bucket = bucket
        self.port = free_port()
        self.processes = []
        (self.directory / "devices" / "d1").mkdir(parents=True)
        self.memory_port = free_port()
        ports = {kind: free_port() for kind in ("account", "container", "object")}
        try:
            subprocess.run(["/usr/bin/python3", "-c", RINGS, str(self.directory), *map(str, ports.values())], check=True)
            started = [
                self._run(["memcached", "-u", getpass.getuser(), "-l", "127.0.0.1", "-p", str(self.memory_port)], "memcached", self.memory_port),
                self._start("proxy", PROXY, self.port), *(self._start(kind, BACKEND, port) for kind, port in ports.items())]
            for process in started:
                self._wait(*process)
            status, said = self.request("PUT", "")
            if status != 200:
                raise RuntimeError(f"no bucket: {status} {said[:300]!r}")
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/{self.bucket}"

    @property
    def environment(self):
        return {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}

    def _start(self, kind, text, port):
        path = self.directory / f"{kind}-server.conf"
        path.write_text(
            text.format(
                kind=kind, port=port, user=getpass.getuser(), directory=self.directory, secret=SECRET_KEY, memory_port=self.memory_port),
            encoding="utf-8")
        return self._run([f"swift-{kind}-server", str(path), "-v"], kind, port)

    def _run(self, command, name, port):
        log = self.directory / f"{name}.log"
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=open(log, "ab"), stderr=subprocess.STDOUT, start_new_session=True)
        self.processes.append(process)
        return process, log, port

    @staticmethod
    def _wait(process, log, port):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"{log.stem} did not start: {log.read_text(errors='replace')[-600:]}")

    def stand_still(self, is_still):
        """Makes the front of the store stop to answer while its port stays open, or go on."""
        os.killpg(self.processes[1].pid, signal.SIGSTOP if is_still else signal.SIGCONT)

    def request(self, method, name, body=b"", fields=None):
        """Sends a signed request (AWS Signature Version 4), and returns the status and the body."""
        path = f"/{self.bucket}/{name}" if name else f"/{self.bucket}"
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        scope = f"{now[:8]}/{REGION}/s3/aws4_request"
        digest = hashlib.sha256(body).hexdigest()
        signed = {"host": f"127.0.0.1:{self.port}", "x-amz-content-sha256": digest, "x-amz-date": now, **(fields or {})}
        names = ";".join(sorted(signed))
        lines = "".join(f"{key}:{signed[key]}\n" for key in sorted(signed))
        canonical = hashlib.sha256(f"{method}\n{path}\n\n{lines}\n{names}\n{digest}".encode()).hexdigest()
        key = f"AWS4{SECRET_KEY}".encode()
        for word in scope.split("/"):
            key = hmac.digest(key, word.encode(), "sha256")
        signature = hmac.digest(key, f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{canonical}".encode(), "sha256").hex()
        authorization = f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope}, SignedHeaders={names}, Signature={signature}"
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        client.request(method, path, body, {**signed, "Authorization": authorization})
        answer = client.getresponse()
        try:
            return answer.status, answer.read()
        finally:
            client.close()

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

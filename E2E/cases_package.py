"""The Debian package in a fresh Debian without Swift."""

import os
import subprocess
import time
import urllib.request
from pathlib import Path

from harness import ROOT, CaseList, Skip, expect, expect_equal
from proxy import Spool

CASES = CaseList()
case = CASES

STORE = "var/cache/spool"
# Downloads of another system's packages take their time.
NETWORK_SECONDS = 600


def release():
    """Returns the name of this machine's release of Debian, whose libraries the package needs, or None for another system."""
    lines = Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
    facts = dict(line.replace('"', "").split("=", 1) for line in lines if "=" in line)
    return facts.get("VERSION_CODENAME") if facts.get("ID") == "debian" else None


class FreshDebian:
    """A root directory with the smallest Debian that has apt."""

    def __init__(self, t):
        self.t = t
        self.root = t.directory / "debian"
        if not t.program("mmdebstrap"):
            raise Skip("mmdebstrap not installed")
        name = release()
        if not name:
            raise Skip("this is no Debian, and the package needs the libraries of the system that built it")
        if os.geteuid() != 0:
            raise Skip("only root can enter another root directory")
        made = t.run("mmdebstrap", "--variant=minbase", "--quiet", name, self.root, check=False, timeout=NETWORK_SECONDS)
        if made.returncode != 0:
            raise Skip(f"no fresh Debian here: {made.stderr.decode(errors='replace').strip()[-200:]}")

    def words(self, *command):
        """Returns the words that run a command in the root directory, with a /proc of its own."""
        enter = 'mount -t proc proc "$1/proc" && root=$1 && shift && exec chroot "$root" "$@"'
        clean = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive"]
        return [*clean, "unshare", "--mount", "sh", "-c", enter, "sh", str(self.root), *command]

    def run(self, *command):
        return self.t.run(*self.words(*command), timeout=NETWORK_SECONDS)


class Installed(Spool):
    """The installed program as a server, as the user of its unit."""

    def __init__(self, debian, origin):
        super().__init__("/usr/bin/spool", debian.root / STORE, origin)
        self.debian = debian
        self.errors = debian.t.directory / "stderr"

    def start(self):
        words = ["setpriv", "--reuid=spool", "--regid=spool", "--clear-groups", str(self.binary), "serve", "--listen", "127.0.0.1:0", "--cache", f"/{STORE}"]
        self.process = subprocess.Popen(
            self.debian.words(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=open(self.errors, "ab"), start_new_session=True)
        self.port = self._read_port()


def read(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read()


@case("the package installs in a fresh Debian without Swift, serves after two commands, and its removal leaves the store", is_about_cache=True,
      is_long=True)
def _(t):
    debian = FreshDebian(t)
    t.run(ROOT / "scripts/package", "--binary", t.runner.binary, "--into", t.directory / "package", timeout=NETWORK_SECONDS)
    package = next((t.directory / "package").glob("*.deb"))
    (debian.root / "tmp/spool.deb").write_bytes(package.read_bytes())
    debian.run("apt-get", "update")
    began = time.monotonic()
    debian.run("apt-get", "install", "-y", "--no-install-recommends", "/tmp/spool.deb")
    server, file = t.start(Installed(debian, t.origin)), t.media["vbr.mp3"]
    expect(read(server.url(file.name)) == file.read(), "other bytes")
    t.note(f"{time.monotonic() - began:.0f} s from the package to the end of a song, {package.stat().st_size / 1e6:.1f} MB")
    t.origin.stop()
    try:
        expect(read(server.url(file.name)) == file.read(), "other bytes from the store")
    finally:
        t.origin.start()
    expect_equal(server.stop(), 0, "exit code of the server")
    linked = debian.run("ldd", "/usr/bin/spool").stdout.decode()
    expect("swift" not in linked.lower() and "not found" not in linked, f"libraries: {linked}")
    debian.run("apt-get", "remove", "-y", "spool")
    expect(not (debian.root / "usr/bin/spool").exists(), "the program stays")
    expect((debian.root / STORE / "spool.sqlite").exists(), "the store is gone")

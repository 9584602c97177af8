"""The runner: cases as sentences, a context for each, and a cleanup at the end."""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import media
from origin import Origin, allowed_bytes, sent_bytes
from proxy import Direct, Spool

ROOT = Path(__file__).resolve().parent.parent


class Failure(Exception):
    """A case failed."""


class Skip(Exception):
    """A case cannot run on this machine. The reason is printed."""


def expect(condition, message):
    if not condition:
        raise Failure(message)


def expect_equal(found, wanted, what):
    if found != wanted:
        raise Failure(f"{what}: {found!r} instead of {wanted!r}")


def expect_fetched_once(t, proxy, file, asked):
    """Compares the program's own count of fetched bytes, and the origin's log, with the size of the one requested file."""
    fetched, sent = proxy.fetched_bytes(), sent_bytes(asked)
    t.note(f"{len(asked)} requests, fetched {fetched / file.size:.3f} of the size")
    expect(fetched <= file.size, f"{fetched} bytes were fetched of {file.size}")
    expect(sent <= allowed_bytes(file.size, asked), f"the origin sent {sent} of {file.size} bytes")


@dataclass
class Case:
    """A sentence about the product, and the function that checks it."""

    name: str
    body: Callable
    programs: tuple = ()
    # A case about the cache itself needs the proxy.
    is_about_cache: bool = False


@dataclass
class CaseList:
    """The cases of one module, in the order of its source."""

    cases: list = field(default_factory=list)

    def __iter__(self):
        return iter(self.cases)

    def __call__(self, name, *programs, is_about_cache=False):
        def enter(body):
            self.cases.append(Case(name, body, programs, is_about_cache))
            return body

        return enter


# Other names of a program.
ALIASES = {"chromium": ["chromium", "google-chrome"], "firefox": ["firefox-esr", "firefox"]}


def find_program(name):
    """Returns the path of a program, or None. Debian keeps daemons out of a plain user's PATH."""
    path = os.environ.get("PATH", "") + os.pathsep + "/usr/sbin"
    return next(filter(None, (shutil.which(alias, path=path) for alias in ALIASES.get(name, [name]))), None)


class Context:
    """The environment of a case. Every process that it starts is stopped when the case ends."""

    def __init__(self, runner, directory):
        self.runner = runner
        self.directory = Path(directory)
        self.origin = runner.origin
        self.media = runner.media
        self.is_direct = runner.direct
        self.random = random.Random(runner.seed)
        self.notes = []
        self._proxies = []

    def cache_directory(self):
        """The directory of this case's own cache, the same one each time."""
        return self.directory / "cache"

    def proxy(self, *options, cache=None):
        """Starts the proxy on a cache. In direct mode, returns the origin in its place."""
        if self.is_direct:
            return Direct(self.origin)
        return self.start(Spool(self.runner.binary, cache or self.cache_directory(), self.origin, options))

    def start(self, proxy):
        """Starts a proxy, which is closed at the end of the case."""
        self._proxies.append(proxy)
        proxy.start()
        return proxy

    def note(self, text):
        """Adds a figure to the case's line of output."""
        self.notes.append(text)

    def cache_only(self):
        if self.is_direct:
            raise Skip("direct")

    def run(self, *arguments, timeout=60, check=True, **options):
        """Runs a client to its end, and returns the completed process, with its output as bytes."""
        done = subprocess.run(
            [str(a) for a in arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
            check=False, **options)
        if check and done.returncode != 0:
            raise Failure(f"{Path(arguments[0]).name} ended with {done.returncode}: {done.stderr.decode(errors='replace')[-400:]}")
        return done

    def program(self, name):
        return find_program(name)

    def close(self):
        for proxy in self._proxies:
            proxy.close()

    def tail(self):
        """Returns the last lines of the programs' logs, for a failure."""
        return [line for proxy in self._proxies for line in proxy.tail()] + self.origin.tail()


class Runner:
    """Owns the origin and the media of all cases, and counts the results."""

    def __init__(self, direct, is_ci, binary):
        self.direct = direct
        self.is_ci = is_ci
        self.binary = Path(binary).resolve()
        self.seed = int(os.environ.get("SPOOL_SEED") or random.randrange(2**32))
        self.sums = {"ok": 0, "FAILED": 0, "skipped": 0}
        self.failed = []
        # Results that several cases share, by name.
        self.shared = {}
        self.started = time.monotonic()

    def __enter__(self):
        # A terminated run cleans up like an interrupted one.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        if not self.direct and not os.access(self.binary, os.X_OK):
            print(f"cannot run: no program at {self.binary}; build it or name it in SPOOL_BIN")
            sys.exit(1)
        self.directory = Path(tempfile.mkdtemp(prefix="spool-e2e-"))
        try:
            self.media = media.Media(ROOT / ".build" / "e2e-media", find_program("ffmpeg"))
            self.origin = Origin(find_program("nginx"), self.media.directory, self.directory / "origin")
            self.origin.start()
        except BaseException:
            self.__exit__()
            raise
        print(f"seed {self.seed} (SPOOL_SEED replays it){', without the proxy' if self.direct else ''}")
        return self

    def __exit__(self, *_):
        if hasattr(self, "origin"):
            self.origin.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def run(self, case):
        missing = [name for name in case.programs if not find_program(name)]
        if missing:
            self.tell(case, "FAILED" if self.is_ci else "skipped", [f"{', '.join(missing)} not installed"], 0)
            return
        if case.is_about_cache and self.direct:
            self.tell(case, "skipped", ["direct"], 0)
            return
        start = time.monotonic()
        directory = tempfile.mkdtemp(dir=self.directory)
        context = Context(self, directory)
        try:
            self.origin.ensure_running()
            case.body(context)
            self.tell(case, "ok", context.notes, time.monotonic() - start)
        except Skip as skip:
            self.tell(case, "skipped", [str(skip)], time.monotonic() - start)
        except Exception as error:  # pylint: disable=broad-except
            what = str(error) if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
            self.tell(case, "FAILED", context.notes, time.monotonic() - start)
            print("\n".join(f"      {line}" for line in [what] + context.tail()))
        finally:
            context.close()
            shutil.rmtree(directory, ignore_errors=True)

    def tell(self, case, result, notes, seconds):
        self.sums[result] += 1
        if result == "FAILED":
            self.failed.append(case.name)
        note = f" ({'; '.join(notes)})" if notes else ""
        print(f"{result:>7}  {case.name}{note} {seconds:.1f} s", flush=True)

    def finish(self, report):
        passed, failed, skipped = self.sums["ok"], self.sums["FAILED"], self.sums["skipped"]
        print(f"end to end: {passed} passed, {failed} failed, {skipped} skipped in {time.monotonic() - self.started:.0f} s")
        write_report(report, passed, failed, skipped)
        return 1 if failed else 0


def write_report(path, passed, failed, skipped):
    """Writes the counts to a file for the caller."""
    if path:
        Path(path).write_text(f"{passed} {failed} {skipped}\n", encoding="utf-8")

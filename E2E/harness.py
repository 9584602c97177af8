"""The runner: cases as sentences, a context for each, and a cleanup at the end."""

import fcntl
import hashlib
import os
import pickle
import random
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import media
import ports
from origin import Origin, allowed_bytes, sent_bytes
from proxy import Direct, Spool

ROOT = Path(__file__).resolve().parent.parent


# Far more than a client takes, also beside others on a busy machine. It ends a client that hangs.
CLIENT_SECONDS = 180


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


@dataclass
class Play:
    """The bytes of one first play of a file."""

    # What the origin sent.
    sent: int
    # What arrived, and was neither stored nor delivered.
    lost: float
    size: int


def expect_fetched_once(t, proxy, file, asked):
    """Compares the program's own count of fetched bytes, and the origin's log, with the size of the one requested file."""
    counts, sent = proxy.statistics(), sent_bytes(asked)
    fetched = counts["fetchedBytes"]
    t.note(f"{len(asked)} requests, fetched {fetched / file.size:.3f} of the size, lost {counts['lostBytes'] / file.size:.3f}")
    expect(fetched <= file.size, f"{fetched} bytes were fetched of {file.size}")
    expect(sent <= allowed_bytes(file.size, asked), f"the origin sent {sent} of {file.size} bytes")
    t.runner.plays.append(Play(sent, counts["lostBytes"], file.size))


@dataclass
class Case:
    """A sentence about the product, and the function that checks it."""

    name: str
    body: Callable
    programs: tuple = ()
    # A case about the cache itself needs the proxy.
    is_about_cache: bool = False
    # A case that measures processor time, frames, memory or patience runs while no other case does, after all of them.
    is_alone: bool = False
    # A case of half a minute or more starts first, so that the others do not wait for it at the end.
    is_long: bool = False


@dataclass
class CaseList:
    """The cases of one module, in the order of its source."""

    cases: list = field(default_factory=list)

    def __iter__(self):
        return iter(self.cases)

    def __call__(self, name, *programs, **marks):
        def enter(body):
            self.cases.append(Case(name, body, programs, **marks))
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

    def run(self, *arguments, timeout=CLIENT_SECONDS, check=True, **options):
        """Runs a client to its end, and returns the completed process, with its output as bytes."""
        done = subprocess.run(
            [str(a) for a in arguments], stdin=options.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
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


@dataclass
class Outcome:
    """How a case ended: "ok", "FAILED" or "skipped", with the lines that explain a failure."""

    result: str
    notes: list = field(default_factory=list)
    seconds: float = 0
    explanation: list = field(default_factory=list)
    # The first plays of files.
    plays: list = field(default_factory=list)


@dataclass
class Settings:
    """What all workers of a run have in common."""

    direct: bool
    is_ci: bool
    binary: Path
    seed: int
    # The directory of the run, which is removed at its end.
    directory: Path
    media: media.Media


class Runner:
    """Runs cases one after the other, with an origin of its own. Each worker has one."""

    def __init__(self, settings, number):
        self.direct = settings.direct
        self.is_ci = settings.is_ci
        self.binary = settings.binary
        self.seed = settings.seed
        self.media = settings.media
        self.shared = settings.directory / "shared"
        self.directory = settings.directory / f"w{number}"
        # The plays of this run's cases so far, in all workers. A case adds its own.
        self.plays = []
        ports.use_share(number)

    def __enter__(self):
        self.shared.mkdir(exist_ok=True)
        self.directory.mkdir()
        self.origin = Origin(find_program("nginx"), self.media.directory, self.directory / "origin")
        try:
            self.origin.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.origin.stop()

    def share(self, name, make):
        """Returns the result of `make`, which the cases of all workers share by its name. The first case makes it, the others wait."""
        path = self.shared / hashlib.sha256(repr(name).encode()).hexdigest()
        with open(path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            if data := file.read():
                return pickle.loads(data)
            made = make()
            file.write(pickle.dumps(made))
            return made

    def run(self, case, plays=()):
        """Runs one case. `plays` are those of the cases before it."""
        missing = [name for name in case.programs if not find_program(name)]
        if missing:
            return Outcome("FAILED" if self.is_ci else "skipped", [f"{', '.join(missing)} not installed"])
        if case.is_about_cache and self.direct:
            return Outcome("skipped", ["direct"])
        self.plays = list(plays)
        start = time.monotonic()
        directory = tempfile.mkdtemp(dir=self.directory)
        context = Context(self, directory)
        outcome = Outcome("ok")
        try:
            self.origin.ensure_running()
            case.body(context)
            outcome.notes = context.notes
        except Skip as skip:
            outcome = Outcome("skipped", [str(skip)])
        except Exception as error:  # pylint: disable=broad-except
            what = str(error) if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
            outcome = Outcome("FAILED", context.notes, explanation=[what] + context.tail())
        finally:
            context.close()
            shutil.rmtree(directory, ignore_errors=True)
        outcome.seconds = time.monotonic() - start
        outcome.plays = self.plays[len(plays):]
        return outcome


class Results:
    """Counts the outcomes of all cases, and prints each as one block of lines."""

    def __init__(self):
        self.sums = {"ok": 0, "FAILED": 0, "skipped": 0}
        self.plays = []
        # The lines of the failures, which the end repeats: a long log is read from there.
        self.failures = []
        self.started = time.monotonic()

    def add(self, name, outcome):
        self.sums[outcome.result] += 1
        self.plays += outcome.plays
        note = f" ({'; '.join(outcome.notes)})" if outcome.notes else ""
        lines = [f"{outcome.result:>7}  {name}{note} {outcome.seconds:.1f} s"] + [f"      {line}" for line in outcome.explanation]
        print("\n".join(lines), flush=True)
        if outcome.result == "FAILED":
            self.failures += lines

    def lose(self, ended, all_cases, why):
        """Counts the cases that never began as failed."""
        if all_cases > ended:
            self.sums["FAILED"] += all_cases - ended
            self.failures.append(f" FAILED  {all_cases - ended} cases did not run: {why}")
            print(self.failures[-1], flush=True)

    def finish(self, report):
        """Prints the failures again and the sums, writes both to a file for the caller, and returns the exit code."""
        if self.failures:
            print("\n".join(["", "what failed:", *self.failures, ""]))
        passed, failed, skipped = self.sums["ok"], self.sums["FAILED"], self.sums["skipped"]
        print(f"end to end: {passed} passed, {failed} failed, {skipped} skipped in {time.monotonic() - self.started:.0f} s")
        write_report(report, passed, failed, skipped, self.failures)
        return 1 if failed else 0


def write_report(path, passed, failed, skipped, failures=()):
    """Writes the counts to a file for the caller, and below them the lines of the failures."""
    if path:
        Path(path).write_text("\n".join([f"{passed} {failed} {skipped}", *failures, ""]), encoding="utf-8")

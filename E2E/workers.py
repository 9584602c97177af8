"""Runs cases in several processes at once, and loses none of them."""

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from multiprocessing.connection import wait
from pathlib import Path

from harness import Outcome, Runner

# The time in which workers stop their programs after a signal. scripts/test kills the run ten seconds after its own signal.
STOP_SECONDS = 7
# prctl(2): the orphans among a process's descendants become its own children.
PR_SET_CHILD_SUBREAPER = 36


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM ended the run."""

    def __init__(self, number):
        super().__init__(number)
        self.exit_code = 128 + number


def end_by_exception():
    """Makes Ctrl-C and SIGTERM an exception, so that a run cleans up. A second signal has no effect."""
    def interrupt(number, _):
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_IGN)
        raise Interrupted(number)

    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, interrupt)


class Worker:
    """A process that runs the cases whose numbers it gets by a pipe, one at a time."""

    def __init__(self, number, settings, cases):
        self.case = None
        self.pipe, other = multiprocessing.Pipe()
        # A fork, because the bodies of cases cannot be sent to a new process.
        self.process = multiprocessing.get_context("fork").Process(target=self.work, args=(other, number, settings, cases))
        self.process.start()
        other.close()

    def work(self, pipe, number, settings, cases):
        # Ctrl-C reaches all processes of a terminal, and the parent ends its workers.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        self.pipe.close()
        with Runner(settings, number) as runner, contextlib.suppress(EOFError):
            while (order := pipe.recv()) is not None:
                case, plays = order
                pipe.send(runner.run(cases[case], plays))

    def give(self, case, plays):
        """Sends the number of a case, and the plays of the cases before it."""
        self.case = case
        self.send((case, plays))

    def take(self):
        """Waits for the outcome of the case. Returns None when the process ended before."""
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            return None

    def release(self):
        """Lets the process end after its last case."""
        self.send(None)

    def send(self, order):
        # A process that has ended is noticed when its outcome is taken.
        with contextlib.suppress(OSError):
            self.pipe.send(order)


class Workers:
    """The worker processes of a run. Use it in a `with` statement."""

    def __init__(self, count, settings, cases, results):
        self.count = count
        self.settings = settings
        self.cases = cases
        self.results = results
        # The numbers of the cases that no worker has begun.
        self.left = deque()
        self.workers = []

    def __enter__(self):
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            for number in range(self.count):
                self.workers.append(Worker(number, self.settings, self.cases))
        except BaseException:
            self.stop(is_at_once=True)
            raise
        return self

    def __exit__(self, error, *_):
        self.stop(is_at_once=error is not None)

    def stop(self, is_at_once):
        """Ends all workers, and kills what is left of them and their programs."""
        try:
            for worker in self.workers:
                if is_at_once:
                    worker.process.terminate()
                else:
                    worker.release()
            deadline = time.monotonic() + STOP_SECONDS
            for worker in self.workers:
                worker.process.join(max(0, deadline - time.monotonic()))
        finally:
            end_children()

    def run(self):
        """Runs all cases. Those that a signal or a lost worker keeps from an end count as failed."""
        together, alone = list(range(len(self.cases))), []
        if self.count > 1:
            alone = [number for number in together if self.cases[number].is_alone]
            together = [number for number in together if not self.cases[number].is_alone]
            together.sort(key=lambda number: not self.cases[number].is_long)
        self.left.extend(together)
        try:
            self.drain(self.count)
            self.left.extend(alone)
            self.drain(1)
        except Interrupted:
            running = [worker.case for worker in self.workers if worker.case is not None]
            for case in running:
                self.results.add(self.cases[case].name, Outcome("FAILED", explanation=["a signal ended the tests"]))
            self.results.lose(sum(self.results.sums.values()), len(self.cases), "a signal ended the tests")
            raise

    def drain(self, most):
        """Runs the cases that are left in at most `most` workers at a time, until all have ended."""
        while self.left or any(worker.case is not None for worker in self.workers):
            idle = [worker for worker in self.workers if worker.case is None]
            for worker in idle[: max(0, most - len(self.workers) + len(idle))]:
                if self.left:
                    worker.give(self.left.popleft(), self.results.plays)
            if not self.workers:
                self.left.clear()
                self.results.lose(sum(self.results.sums.values()), len(self.cases), "no worker is left")
                return
            ready = wait([worker.pipe for worker in self.workers if worker.case is not None])
            for worker in [worker for worker in self.workers if worker.pipe in ready]:
                self.settle(worker)

    def settle(self, worker):
        """Adds the outcome of a worker's case. A worker that ended without one fails its case, and gets no other."""
        outcome = worker.take()
        if outcome is None:
            self.workers.remove(worker)
            outcome = Outcome("FAILED", explanation=[f"the worker of the case ended with {worker.process.exitcode}"])
        name, worker.case = self.cases[worker.case].name, None
        self.results.add(name, outcome)


def end_children():
    """Kills the programs that workers left behind, and their children, until none is left."""
    while children := children_of(os.getpid()):
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def children_of(parent):
    """Returns the processes whose parent is this one. Without /proc there are none."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
        except OSError:
            # It has just ended.
            continue
        if int(fields[1]) == parent:
            found.append(int(entry.parent.name))
    return found

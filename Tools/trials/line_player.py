#!/usr/bin/env python3
"""A player on a slow line of real TCP, alone and beside eight preloads and two downloads.

    ip netns exec NAME python3 line_player.py SPOOL ORIGIN [--rounds N] [--lone]

SPOOL is the program, ORIGIN the URL of a file of 256 MiB at the other end of the line (see line.c).
Each round plays four seconds of 24 Mbit/s from the beginning and after two seeks, alone and beside
the others. With --lone it times a download that runs alone, too.
"""

import argparse
import re
import selectors
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from urllib.parse import urlsplit

MIB = 1 << 20
RATE = 3 * MIB
PART, BUFFER, START = 4 * RATE, 2 * RATE, RATE // 2
SEEKS = (0, 96 * MIB, 176 * MIB)
PRELOADS, DOWNLOADS, PRELOAD = 8, 2, 4 * MIB
LEAD = 0.5


class Server:
    def __init__(self, program):
        self.directory = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [program, "serve", "--listen", "127.0.0.1:0", "--cache", self.directory.name + "/cache"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self.process.stdout:
            found = re.search(r"listening on http://[^ ]*:(\d+)/", line)
            if found:
                self.port = int(found.group(1))
                break
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.directory.cleanup()


def ask(port, target, first, last="", background=False):
    connection = socket.create_connection(("127.0.0.1", port))
    fields = "Priority: u=7\r\n" if background else ""
    connection.sendall(
        f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nRange: bytes={first}-{last}\r\n{fields}\r\n".encode())
    return connection


def take(connection, limit=256 << 10):
    data = connection.recv(limit)
    if not data:
        raise SystemExit("the server closed the connection")
    return len(data)


def play(port, target, offset):
    """Returns the seconds to the first byte, without a picture, and to the last byte."""
    begun = time.monotonic()
    connection = ask(port, target, offset)
    received, shown, showing, stalled, first, waiting = 0, 0.0, None, 0.0, None, None
    connection.setblocking(False)
    selector = selectors.DefaultSelector()
    selector.register(connection, selectors.EVENT_READ)
    while received < PART:
        now = time.monotonic()
        if showing is not None:
            shown += (now - showing) * RATE
            showing = now
            if shown >= received:
                shown, showing, waiting = received, None, now
        elif received - shown >= START:
            if waiting is not None:
                stalled += now - waiting
            showing, waiting = now, None
        if received - shown >= BUFFER:
            time.sleep(0.001)
            continue
        if selector.select(0.001):
            received += take(connection)
            first = first or time.monotonic() - begun
    connection.close()
    if waiting is not None:
        stalled += time.monotonic() - waiting
    return first, stalled, time.monotonic() - begun


class Others:
    """Preloads, each followed by the next one, and downloads."""

    def __init__(self, port, target, name):
        self.isOver, self.bytes = False, 0
        self.threads = [
            threading.Thread(target=self.run, args=(port, f"{target}?other={name}-{number}", number < PRELOADS))
            for number in range(PRELOADS + DOWNLOADS)]
        for thread in self.threads:
            thread.start()

    def run(self, port, target, isPreload):
        count = 0
        while not self.isOver:
            count += 1
            connection = ask(port, f"{target}-{count}", 0, PRELOAD - 1 if isPreload else "", background=True)
            connection.settimeout(0.05)
            left = PRELOAD if isPreload else 256 * MIB
            while left > 0 and not self.isOver:
                try:
                    taken = take(connection)
                except TimeoutError:
                    continue
                left -= taken
                self.bytes += taken
            connection.close()

    def stop(self):
        self.isOver = True
        for thread in self.threads:
            thread.join()


def download(port, target, size=48 * MIB):
    begun = time.monotonic()
    connection = ask(port, target, 0, size - 1, background=True)
    while size > 0:
        size -= take(connection)
    connection.close()
    return 48 / (time.monotonic() - begun)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spool")
    parser.add_argument("origin")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--lone", action="store_true", help="time a download alone, too")
    words = parser.parse_args()
    origin = urlsplit(words.origin)
    target = f"/http/{origin.netloc}{origin.path}"
    server = Server(words.spool)
    figures = {name: [] for name in ("alone", "beside")}
    lone, others_rates = [], []
    try:
        if words.lone:
            for number in range(words.rounds):
                lone.append(download(server.port, f"{target}?lone={number}"))
        for number in range(words.rounds + 1):
            for name in ("alone", "beside") if number % 2 == 0 else ("beside", "alone"):
                others = Others(server.port, target, number) if name == "beside" else None
                time.sleep(LEAD)
                begun = time.monotonic()
                results = [play(server.port, f"{target}?play={number}-{name}", offset) for offset in SEEKS]
                if others:
                    others.stop()
                    others_rates.append(others.bytes / MIB / (LEAD + time.monotonic() - begun))
                time.sleep(1.5)
                if number > 0:
                    figures[name].append(results)
    finally:
        server.stop()
    for name, rounds in figures.items():
        rates = [len(SEEKS) * PART / MIB / sum(result[2] for result in results) for results in rounds]
        starts = [results[0][0] * 1e3 for results in rounds]
        seeks = [result[0] * 1e3 for results in rounds for result in results[1:]]
        stalls = [sum(result[1] for result in results) * 1e3 for results in rounds]
        print(f"{name:7} rate {statistics.median(rates):5.2f} MiB/s   start {statistics.median(starts):6.1f} ms   "
              f"seek {statistics.median(seeks):6.1f} ms   stalls {statistics.median(stalls):6.1f} ms")
    print(f"others  rate {statistics.median(others_rates):5.2f} MiB/s")
    if lone:
        print(f"a download alone: {statistics.median(lone):.2f} MiB/s")


main()

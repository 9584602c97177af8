"""Documents, answers and requests that attack the program: none of them ends it. SPOOL_SEED replays a run, and a failure names the number."""

import http.client
import os
import socket
import subprocess
import threading

from harness import CaseList, expect
from hostile import HostileOrigin, Texts, corpus

IS_NIGHTLY = os.environ.get("SPOOL_DEPTH") == "nightly"
DOCUMENTS = 1_000_000 if IS_NIGHTLY else 10_000
# Of these documents, a server without the origin answers a second time.
OFFLINE_DOCUMENTS = 5_000 if IS_NIGHTLY else 300
HEADS = 100_000 if IS_NIGHTLY else 1_000
# Documents that the commands read. Each of them is four processes.
COMMAND_DOCUMENTS = 2_000 if IS_NIGHTLY else 8
CLIENTS = 4
# An answer that can't be used is asked for again after some seconds, so many clients wait at once.
WAITING_CLIENTS = 24
KINDS = ("m3u8", "mpd", "json")
# Far more than an answer takes.
ANSWER_SECONDS = 60
# A command that waits for bytes of a segment of 2^60 bytes is stopped after this time.
COMMAND_SECONDS = 30

CASES = CaseList()
case = CASES


def each(count, ask, clients=CLIENTS):
    """Calls `ask` for the numbers below `count` in several threads, and raises the first error, which names its number."""
    failures = []

    def work(first):
        for number in range(first, count, clients):
            if failures:
                return
            try:
                ask(number)
            except Exception as error:  # pylint: disable=broad-exception-caught
                failures.append((number, error))

    threads = [threading.Thread(target=work, args=(first,)) for first in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(not failures, f"number {failures[0][0]}: {failures[0][1]!r}" if failures else "")


def get(proxy, path):
    """Returns the status of an answer, or None when it was cut off."""
    connection = http.client.HTTPConnection(proxy.authority, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        while answer.read(65536):
            pass
        return answer.status
    except (http.client.HTTPException, ConnectionError):
        expect(proxy.is_running(), "the server ended")
        return None
    finally:
        connection.close()


def expect_sound(t, proxy):
    expect(proxy.is_running(), "the server ended")
    expect(proxy.status() is not None, "the server gives no status")
    expect("Fatal error" not in "\n".join(proxy.tail()), "the server reported a trap")


def hostile(t):
    origin = HostileOrigin(t.runner.seed)
    return origin, lambda path: f"/http/{origin.authority}/{path}"


@case("no hostile playlist, MPD or JSON document ends the server, with the origin and without it", is_about_cache=True, is_long=True)
def _(t):
    origin, path = hostile(t)
    proxy = t.proxy()
    # The parts of the local documents, so that some of their renditions are complete.
    for name in ("init.mp4", "1.m4s", "2.m4s"):
        get(proxy, path(f"d/{name}"))
    each(DOCUMENTS, lambda number: get(proxy, path(f"d/{number}.{KINDS[number % len(KINDS)]}")))
    expect_sound(t, proxy)
    origin.close()
    each(OFFLINE_DOCUMENTS, lambda number: get(proxy, path(f"d/{number}.{KINDS[number % len(KINDS)]}")))
    expect_sound(t, proxy)
    t.note(f"{DOCUMENTS} documents, {OFFLINE_DOCUMENTS} of them again without the origin")


@case("no hostile answer of an origin and no hostile request of a client ends the server", is_about_cache=True, is_long=True)
def _(t):
    _, path = hostile(t)
    proxy = t.proxy()
    each(HEADS, lambda number: get(proxy, path(f"h/{number}")), WAITING_CLIENTS)
    requests = Texts(t.runner.seed, corpus("requests"))

    def send(number):
        with socket.create_connection(("127.0.0.1", proxy.port), ANSWER_SECONDS) as connection:
            try:
                connection.sendall(requests[number])
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
            except ConnectionError:
                expect(proxy.is_running(), "the server ended")

    each(HEADS, send)
    expect_sound(t, proxy)
    t.note(f"{HEADS} heads of an origin, {HEADS} of clients")


@case("get, preload, stat and export end with an exit code for every hostile document", is_about_cache=True, is_long=True)
def _(t):
    origin, _ = hostile(t)
    commands = (["get"], ["preload", "--whole"], ["stat"], ["export"])

    def ask(number):
        # Segments below `e` announce 2^60 - 1 bytes and end at once.
        url = origin.url(f"{'de'[number // 2 % 2]}/{number}.{KINDS[number % 2]}")
        cache = t.directory / f"cache-{number}"
        for command in commands:
            target = [str(t.directory / f"out-{number}")] if command == ["export"] else []
            arguments = [str(t.runner.binary), *command, "--cache", str(cache), url, *target]
            process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=t.directory)
            try:
                _, errors = process.communicate(timeout=COMMAND_SECONDS)
            except subprocess.TimeoutExpired:
                process.terminate()
                _, errors = process.communicate()
                continue
            expect(process.returncode >= 0, f"{command[0]} ended with signal {-process.returncode}: {errors.decode(errors='replace')[-300:]}")

    each(COMMAND_DOCUMENTS, ask)
    t.note(f"{COMMAND_DOCUMENTS} documents")

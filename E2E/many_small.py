"""Measures `spool serve` with many small resources: descriptors, resident memory, and the origin requests of a second pass.

    python3 E2E/many_small.py --resources 88000
    python3 E2E/many_small.py --resources 10000 --descriptors 256

Prints one line, and exits with 1 when a bound of docs/scaling.md is exceeded. Linux only, because it reads /proc.
"""

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time

BODY_BYTES = 4096
CLIENTS = 8
# Measured with 88 000 resources on a quiet machine: 68 MiB, and 257 MiB before writes and commits had a bound.
RESIDENT_KIB = 96 << 10


class Origin:
    """Answers each path with its own body, and counts the requests."""

    def __init__(self):
        self.requests = 0

    async def serve(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.requests += 1
                path = head.split(b" ", 2)[1]
                fields = f'ETag: "{path.decode()}"\r\nContent-Type: video/mp4\r\nCache-Control: max-age=86400\r\n'
                length = f"Content-Length: {BODY_BYTES}\r\n"
                status = "200 OK"
                if b"\r\nrange:" in head.lower():
                    status = "206 Partial Content"
                    fields += f"Content-Range: bytes 0-{BODY_BYTES - 1}/{BODY_BYTES}\r\n"
                writer.write(f"HTTP/1.1 {status}\r\n{fields}{length}\r\n".encode() + body(path))
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()


def body(path):
    return (path + b"\n").ljust(64, b".") * (BODY_BYTES // 64)


async def play(port, numbers):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number in numbers:
        path = b"/%d.mp4" % number
        writer.write(b"GET " + path + b" HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200") or await reader.readexactly(BODY_BYTES) != body(path):
            raise SystemExit(f"{path.decode()} came differently: {head!r}")
    writer.close()


async def watch(process, most):
    while True:
        try:
            most["descriptors"] = max(most["descriptors"], len(os.listdir(f"/proc/{process.pid}/fd")))
            with open(f"/proc/{process.pid}/status") as status:
                lines = dict(line.split(":", 1) for line in status)
            most["KiB"] = max(most["KiB"], int(lines["VmRSS"].split()[0]))
            # Pages of the program, its libraries and mapped files, which the kernel can reclaim.
            most["anonymous KiB"] = max(most["anonymous KiB"], int(lines["RssAnon"].split()[0]))
        except (FileNotFoundError, ProcessLookupError):
            return
        await asyncio.sleep(0.05)


async def measure(options, directory):
    origin = Origin()
    server = await asyncio.start_server(origin.serve, "127.0.0.1", 0)
    origin_port = server.sockets[0].getsockname()[1]
    limit = options.descriptors

    def restrict():
        if limit:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    process = subprocess.Popen(
        [options.program, "serve", "--cache", directory, "--origin", f"http://127.0.0.1:{origin_port}", "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=restrict, text=True)
    try:
        line = await asyncio.to_thread(process.stdout.readline)
        port = int(line.strip().rstrip("/").rsplit(":", 1)[1].split("/")[0])
        most = {"descriptors": 0, "KiB": 0, "anonymous KiB": 0}
        watcher = asyncio.create_task(watch(process, most))
        passes = []
        for _ in range(2):
            before, start = origin.requests, time.monotonic()
            shares = [range(client, options.resources, CLIENTS) for client in range(CLIENTS)]
            await asyncio.gather(*(play(port, share) for share in shares))
            passes.append((origin.requests - before, time.monotonic() - start))
        watcher.cancel()
    finally:
        process.terminate()
        process.wait()
    (first, seconds), (second, _) = passes
    print(
        f"{options.resources} resources in {seconds:.0f} s: {most['descriptors']} descriptors, {most['KiB'] / 1024:.1f} MiB resident "
        f"({most['anonymous KiB'] / 1024:.1f} of them anonymous), {first} requests, {second} of the second pass")
    bound = 96 if limit else 2048
    return second == 0 and most["descriptors"] <= bound and most["KiB"] <= RESIDENT_KIB


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--resources", type=int, default=10_000)
    parser.add_argument("--descriptors", type=int, help="the limit of the server's process (default: that of this shell)")
    parser.add_argument("--program", default=os.environ.get("SPOOL_BIN", ".build/release/spool"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="spool-many-") as directory:
        return 0 if asyncio.run(measure(options, directory)) else 1


if __name__ == "__main__":
    sys.exit(main())

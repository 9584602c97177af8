"""An encrypted store serves its media and reveals none of it on the disk."""

from clients import decoded, ffmpeg_frames, request
from harness import CaseList, expect, expect_equal

WINDOW = 16

CASES = CaseList()
case = CASES


def secret(t, name, content):
    """Writes a file that only its owner can read, and returns its path."""
    path = t.directory / name
    path.touch(0o600)
    path.write_bytes(content)
    return str(path)


def leaks(cache, file):
    """Returns the names of a store's files that contain 16 bytes of the media, or its name.

    Searches every window of the files for every aligned window of 16 bytes of the media. So any run of 31 bytes is found.
    """
    media = file.read()
    wanted = {media[at:at + WINDOW] for at in range(0, len(media) - WINDOW + 1, WINDOW)} - {bytes(WINDOW)}
    found = []
    for path in sorted(cache.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            if file.name.encode() in content or any(content[at:at + WINDOW] in wanted for at in range(len(content) - WINDOW + 1)):
                found.append(path.name)
    return found


@case("an encrypted store plays offline in a new process, reveals no plaintext and refuses another key", "ffmpeg", is_about_cache=True)
def _(t):
    key = secret(t, "key", bytes(range(32)))
    file = t.media["vbr.mp3"]
    for cipher in ("chacha20-poly1305", "aes-256-gcm"):
        cache = t.directory / cipher
        proxy = t.proxy("--key-file", key, "--cipher", cipher, cache=cache)
        expect(request(proxy, file.name).body == file.read(), "the bytes differ")
        wanted = decoded(t, ffmpeg_frames, file)
        expect_equal(leaks(cache, file), [], f"{cipher}: files with plaintext, in use")
        expect_equal(proxy.stop(), 0, "exit code")
        expect_equal(leaks(cache, file), [], f"{cipher}: files with plaintext")
        t.origin.stop()
        proxy.restart()
        expect(request(proxy, file.name, headers={"Range": "bytes=70000-"}).body == file.read(70000), f"{cipher}: the bytes differ offline")
        expect(ffmpeg_frames(t, proxy.url(file.name)) == wanted, f"{cipher}: decodes differently offline")
        expect_equal(proxy.stop(), 0, "exit code")

        before = {path: path.read_bytes() for path in cache.rglob("*") if path.is_file() and path.name != "lock"}
        other = secret(t, "other", bytes(range(1, 33)))
        for command in (["ls"], ["verify", "--repair"], ["rm", "--all"], ["serve", "--listen", "127.0.0.1:0"]):
            refused = t.run(t.runner.binary, *command, "--cache", cache, "--key-file", other, check=False)
            expect_equal(refused.returncode, 1, f"exit code of {command[0]} with another key")
            expect(b"another key" in refused.stderr, f"{command[0]} printed {refused.stderr!r}")
        expect({path: path.read_bytes() for path in before} == before, "another key changed the store")
        t.origin.ensure_running()

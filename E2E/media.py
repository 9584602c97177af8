"""The played files. ffmpeg makes them, bit-exact, and they are kept between runs."""

import hashlib
import os
import random
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import dash
import live
import streams

SECONDS = 24
RANDOM_BYTES = 64 << 20
SPARSE_BYTES = 5 << 30
# Offsets at the limits of 32-bit arithmetic, and both ends.
SPARSE_MARKS = [0, 1 << 30, (1 << 31) - 8, (1 << 32) - 6, SPARSE_BYTES - 16]
MARK = b"spool mark: 16 B"
ODD_NAME = "sp ace+\u00fcn\u00ef%25&x=1.bin"

# Moving shapes with noise, so that a misplaced frame is detected and the files have some size.
PICTURE = f"testsrc2=size=480x270:rate=25:duration={SECONDS},noise=alls=10:allf=t+u:all_seed=7"
SOUND = f"aevalsrc='0.3*sin(2*PI*(300+20*t)*t)+0.1*random(0)|0.3*sin(2*PI*440*t)+0.1*random(1)':s=44100:d={SECONDS}"
H264 = "-c:v libx264 -preset veryfast -threads 1 -b:v 1600k -g 50 -pix_fmt yuv420p -c:a aac -b:a 128k"

# Name, and arguments after the inputs. {name} is an earlier file.
RECIPES = [
    ("faststart.mp4", f"-f lavfi -i {PICTURE} -f lavfi -i {SOUND} {H264} -movflags +faststart"),
    ("moov-at-end.mp4", "-i {faststart.mp4} -c copy"),
    ("cues-at-end.mkv", "-i {faststart.mp4} -c copy"),
    (
        "vp8-opus.webm",
        f"-f lavfi -i {PICTURE} -f lavfi -i {SOUND} -c:v libvpx -deadline realtime -cpu-used 8 -threads 1 -b:v 1600k -g 50 -c:a libopus -b:a 96k",
    ),
    ("vbr.mp3", f"-f lavfi -i {SOUND} -c:a libmp3lame -q:a 0 -metadata title=spool"),
    ("plain.flac", f"-f lavfi -i {SOUND} -c:a flac -sample_fmt s16 -metadata title=spool"),
]

# Other files for a browser's tab. The playlist's segments lie beside it.
TAB_RECIPES = [
    ("sound.m4a", "-i {faststart.mp4} -vn -c copy"),
    ("picture.jpg", "-i {faststart.mp4} -frames:v 1 -update 1"),
    ("list.m3u8", "-i {faststart.mp4} -c copy -f hls -hls_time 4 -hls_list_size 0"),
]
SUBTITLES = "WEBVTT\n\n00:00.000 --> 00:05.000\nA line.\n"


@dataclass
class File:
    """One file of the origin."""

    name: str
    path: Path
    kind: str  # video, audio or bytes

    @property
    def size(self):
        return self.path.stat().st_size

    def read(self, lower=0, upper=None):
        """Returns the bytes in [lower, upper)."""
        with open(self.path, "rb") as file:
            file.seek(lower)
            return file.read(-1 if upper is None else upper - lower)

    def sha256(self):
        with open(self.path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else hash_in_chunks(file)


def hash_in_chunks(file):
    digest = hashlib.sha256()
    while chunk := file.read(1 << 20):
        digest.update(chunk)
    return digest.hexdigest()


class Media:
    """The directory that the origin serves."""

    def __init__(self, directory, ffmpeg):
        self.directory = Path(directory)
        # After a change of the recipes or the encoder, all files are made again.
        version = subprocess.run([ffmpeg, "-version"], capture_output=True, check=True).stdout.splitlines()[0]
        recipes = b"".join(Path(file).read_bytes() for file in (__file__, streams.__file__, dash.__file__, live.__file__))
        stamp = hashlib.sha256(recipes + version).hexdigest()
        stamp_file = self.directory / ".recipe"
        if not stamp_file.exists() or stamp_file.read_text(encoding="utf-8") != stamp:
            self._make(ffmpeg, stamp)
        (self.directory / "blank.html").write_text("<!doctype html><title>blank</title>\n", encoding="utf-8")

        self.files = {
            name: File(name, self.directory / name, "audio" if name.endswith(("mp3", "flac")) else "video") for name, _ in RECIPES
        }
        for name in ("random.bin", "sparse.bin", "empty.bin", "one.bin", ODD_NAME):
            self.files[name] = File(name, self.directory / name, "bytes")

    def __getitem__(self, name):
        return self.files[name]

    def playable(self):
        return [file for file in self.files.values() if file.kind != "bytes"]

    def _make(self, ffmpeg, stamp):
        """Makes every file in a new directory, which then replaces the old one."""
        print("making media …", flush=True)
        self.directory.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix="e2e-media-", dir=self.directory.parent))
        try:
            for name, arguments in RECIPES + TAB_RECIPES:
                words = [word.replace("{", str(aside) + "/").replace("}", "") for word in arguments.split(" ")]
                subprocess.run(
                    [ffmpeg, "-v", "error", "-nostdin", "-y", *words, "-fflags", "+bitexact", "-flags", "+bitexact", str(aside / name)],
                    check=True, timeout=120)
            streams.make(aside / "streams", ffmpeg, aside / "faststart.mp4")
            dash.make(aside / "dash", ffmpeg, aside / "faststart.mp4")
            live.make(aside / "live", ffmpeg, aside / "faststart.mp4")
            (aside / "random.bin").write_bytes(random.Random(64).randbytes(RANDOM_BYTES))
            with open(aside / "sparse.bin", "wb") as file:
                file.truncate(SPARSE_BYTES)
                for offset in SPARSE_MARKS:
                    file.seek(offset)
                    file.write(MARK)
            (aside / "lines.vtt").write_text(SUBTITLES, encoding="utf-8")
            (aside / "empty.bin").write_bytes(b"")
            (aside / "one.bin").write_bytes(b"1")
            (aside / ODD_NAME).write_bytes(random.Random(1).randbytes(1000))
            os.chmod(aside, 0o755)
            (aside / ".recipe").write_text(stamp, encoding="utf-8")
            shutil.rmtree(self.directory, ignore_errors=True)
            aside.rename(self.directory)
        finally:
            shutil.rmtree(aside, ignore_errors=True)

"""Thirty files for the preload of seconds: all containers, both ends, fragments, from 64 kbit/s to 60 Mbit/s."""

import fcntl
import subprocess
from dataclasses import dataclass
from pathlib import Path

SECONDS = 14
SOUND = f"aevalsrc='0.3*sin(2*PI*(300+20*t)*t)+0.1*random(0)|0.3*sin(2*PI*440*t)+0.1*random(1)':s=44100:d={SECONDS}"


def picture(size):
    return f"testsrc2=size={size}:rate=25:duration={SECONDS},noise=alls=30:allf=t+u:all_seed=7"


def film(size, video):
    return f"-f lavfi -i {picture(size)} -f lavfi -i {SOUND} {video} -g 50 -pix_fmt yuv420p -c:a aac -b:a 128k"


# The encoded films. The files below are made of them without another encoding.
SOURCES = {
    "2m.mp4": film("480x270", "-c:v libx264 -preset ultrafast -b:v 2M -maxrate 2M -bufsize 1M"),
    "vbr.mp4": film("640x360", "-c:v libx264 -preset ultrafast -crf 28"),
    "60m.mp4": film("1280x720", "-c:v mpeg4 -b:v 60M -maxrate 60M -bufsize 20M -qmin 1"),
    "vp8.webm": f"-f lavfi -i {picture('480x270')} -f lavfi -i {SOUND} -c:v libvpx -deadline realtime -cpu-used 8 -b:v 2M -g 50"
    " -c:a libopus -b:a 96k",
}
SHAPES = {
    "front.mp4": "-movflags +faststart",
    "end.mp4": "",
    "fragments.mp4": "-movflags +frag_keyframe+empty_moov+default_base_moof",
    "sidx.mp4": "-movflags +frag_keyframe+empty_moov+default_base_moof+dash+global_sidx",
    "end.mkv": "",
    "front.mkv": "-cues_to_front 1",
}
COPIES = {f"{source.split('.')[0]}-{shape}": (source, options) for source in list(SOURCES)[:3] for shape, options in SHAPES.items()}
COPIES |= {
    "vp8-end.webm": ("vp8.webm", ""),
    "vp8-front.webm": ("vp8.webm", "-cues_to_front 1"),
    "2m.mov": ("2m.mp4", ""),
    "front.m4a": ("2m.mp4", "-vn -movflags +faststart"),
    "end.m4a": ("2m.mp4", "-vn"),
    "plain.aac": ("2m.mp4", "-vn -f adts"),
}
ENCODED = {
    "cbr.mp3": "-c:a libmp3lame -b:a 192k",
    "vbr.mp3": "-c:a libmp3lame -q:a 0 -metadata title=spool",
    "plain.flac": "-c:a flac -sample_fmt s16",
    "plain.wav": "-c:a pcm_s16le",
    "vorbis.ogg": "-c:a libvorbis -q:a 5",
    "opus.ogg": "-c:a libopus -b:a 96k",
}
NAMES = [*COPIES, *ENCODED]


def make(name, directory, ffmpeg):
    """Makes one file, and the film that it is made of if that is missing. Films stay, files are the caller's."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    if name in ENCODED:
        run(ffmpeg, f"-f lavfi -i {SOUND} {ENCODED[name]}", directory / name)
        return directory / name
    source, options = COPIES[name]
    film_path = directory / f"film-{source}"
    # One worker makes a film, and the others wait for it.
    with open(directory / f"lock-{source}", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not film_path.exists():
            draft = directory / f"draft-{source}"
            run(ffmpeg, SOURCES[source] + " -threads 1", draft)
            draft.rename(film_path)
    run(ffmpeg, f"-i {film_path} -map 0 -c copy {options}".strip(), directory / name)
    return directory / name


def run(ffmpeg, arguments, output):
    words = [word for word in arguments.split(" ") if word]
    subprocess.run(
        [ffmpeg, "-v", "error", "-nostdin", "-y", *words, "-fflags", "+bitexact", "-flags", "+bitexact", str(output)], check=True,
        timeout=300)


# The bytes at the end of an Ogg file in which players look for the last page, which states the duration.
OGG_TAIL = 64 << 10


@dataclass
class Need:
    """The bytes of the samples of the first seconds, and of everything that is no sample: headers, index, and the end of an Ogg file."""

    samples: int
    headers: int


def need(path, seconds, ffprobe):
    """Counts by ffprobe's packets: those that begin before the end of the seconds, and the rest of the file around all of them."""
    output = subprocess.run(
        [ffprobe, "-v", "error", "-show_entries", "packet=pts_time,size", "-of", "csv=p=0", str(path)], check=True, capture_output=True,
        timeout=120).stdout.decode()
    samples = everything = 0
    for line in output.splitlines():
        fields = line.split(",")
        # Side data of a packet leaves a line of its own.
        if len(fields) < 2 or not fields[1].isdigit():
            continue
        size = int(fields[1])
        everything += size
        if fields[0] == "N/A" or float(fields[0]) < seconds:
            samples += size
    headers = max(0, Path(path).stat().st_size - everything)
    return Need(samples, headers + OGG_TAIL if str(path).endswith(".ogg") else headers)

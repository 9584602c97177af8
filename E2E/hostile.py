"""Hostile documents, answers and requests: texts of `Tests/Corpus` with small changes, each made again from its number."""

import random
import re
import socket
import threading
from pathlib import Path

CORPUS = Path(__file__).resolve().parent.parent / "Tests" / "Corpus"
# Numbers around 2^31, 2^60, the largest offset, 2^63 and 2^64.
EXTREMES = ["0", "1", "-1", "2147483648", "4294967296", "1152921504606846975", "1152921504606846976", "9223372036854775806",
            "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615", "1e308"]
SNIPPETS = [",", "=", "-", "/", "\"", "\\", ";", ":", "@", "?", "#", " ", "\t", "\r\n", "\n", "\0", "..", "//", "[", "]", "{", "}", "&", "<", ">",
            "é", "$Number$", "{$x}", "<!--", "]]>", "&#0;"]
TYPES = {"m3u8": "application/vnd.apple.mpegurl", "mpd": "application/dash+xml", "json": "application/json"}
# The length that an answer announces for a segment: the largest one that counts.
ANNOUNCED = (1 << 60) - 1
SEGMENT = b"s" * 1000
# Documents from this number on are not stored, so that the cache stays small.
STORED = 5000

# Documents whose parts are all at this origin: commands fetch them, and a server without the
# origin offers a part of them.
LOCAL = {
    "mpd": [
        '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT8S"><Period>'
        '<AdaptationSet contentType="video" mimeType="video/mp4"><Representation id="lo" bandwidth="1000"><BaseURL>./</BaseURL><BaseURL>/d/</BaseURL>'
        '<SegmentList duration="4"><Initialization sourceURL="init.mp4" range="0-99"/><SegmentURL media="1.m4s" mediaRange="0-99"/></SegmentList>'
        '</Representation><Representation id="hi" bandwidth="2000"><ContentProtection schemeIdUri="urn:x"><Laurl>license/1</Laurl>'
        '</ContentProtection><SegmentTemplate media="x$Number$.m4s" duration="4" timescale="1" startNumber="1" endNumber="2"/></Representation>'
        "</AdaptationSet></Period></MPD>",
        '<MPD type="static" mediaPresentationDuration="PT8S"><Period start="PT0S" duration="PT8S"><AdaptationSet mimeType="audio/mp4">'
        '<SegmentTemplate media="$Number$.m4s" initialization="init.mp4" timescale="1"><SegmentTimeline><S t="0" d="4" r="1"/></SegmentTimeline>'
        '</SegmentTemplate><Representation id="a" bandwidth="1"/></AdaptationSet></Period></MPD>',
    ],
    "m3u8": [
        '#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-MAP:URI="init.mp4",BYTERANGE="100@0"\n#EXTINF:4,\n#EXT-X-BYTERANGE:100@0\n1.m4s\n'
        "#EXTINF:4,\n#EXT-X-BYTERANGE:100\n1.m4s\n#EXTINF:4,\n2.m4s\n#EXT-X-ENDLIST\n",
        '#EXTM3U\n#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="t",NAME="en",URI="t.m3u8"\n'
        '#EXT-X-STREAM-INF:BANDWIDTH=1000,RESOLUTION=640x360,SUBTITLES="t"\n0.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=2000\nx.m3u8\n',
    ],
}


def corpus(name):
    """Returns the texts of a file of the corpus, without their escapes."""
    escapes = {b"r": b"\r", b"n": b"\n", b"t": b"\t", b"0": b"\0"}
    lines = (CORPUS / f"{name}.txt").read_bytes().split(b"\n")
    pattern = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
    return [pattern.sub(lambda m: bytes([int(m[1][1:], 16)]) if m[1][:1] == b"x" else escapes.get(m[1], m[1]), line) for line in lines if line]


class Texts:
    """Derived texts. The same seed and number make the same text."""

    def __init__(self, seed, texts):
        self.seed = seed
        self.texts = texts

    def __getitem__(self, number):
        chance = random.Random(f"{self.seed}/{number}")
        text = bytearray(chance.choice(self.texts))
        for _ in range(chance.randrange(5)):
            self.change(text, chance)
        return bytes(text[:65536])

    def change(self, text, chance):
        place, kind = chance.randrange(len(text) + 1), chance.randrange(8)
        if kind == 0 and place < len(text):
            text[place] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del text[place:place + chance.randrange(1, 9)]
        elif kind == 2:
            text[place:place] = chance.choice(SNIPPETS).encode()
        elif kind == 3:
            text[place:place] = text[place:place + 200]
        elif kind == 4:
            text[place:place] = chance.choice(self.texts)
        elif numbers := list(re.finditer(rb"\d+", bytes(text))):
            number = chance.choice(numbers)
            text[number.start():number.end()] = chance.choice(EXTREMES).encode()


class HostileOrigin:
    """Sends document N of a kind at `/d/N.kind`, head N at `/h/N`, and segments that announce 2^60 - 1 bytes everywhere else below `/e/`."""

    def __init__(self, seed):
        self.documents = {
            "m3u8": Texts(seed, corpus("manifests")[:6] + [text.encode() for text in LOCAL["m3u8"]] * 3),
            "mpd": Texts(seed, corpus("mpds") + [text.encode() for text in LOCAL["mpd"]] * 3),
            "json": Texts(seed, [text for text in corpus("manifests") if text[:1] == b"{"]),
        }
        self.heads = Texts(seed, corpus("heads"))
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.authority = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.is_open = True
        threading.Thread(target=self.accept, daemon=True).start()

    def url(self, path):
        return f"http://{self.authority}/{path}"

    def accept(self):
        while self.is_open:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            with connection, connection.makefile("rb") as requests:
                while self.is_open and (line := requests.readline()):
                    while requests.readline().strip():
                        pass
                    answer, goes_on = self.answer(line.split(b" ")[1].decode().split("?")[0], line.startswith(b"HEAD"))
                    connection.sendall(answer)
                    if not goes_on:
                        return
        except (OSError, IndexError, UnicodeDecodeError):
            return

    def answer(self, path, is_head):
        """Returns the bytes of an answer, and whether the connection stays open."""
        if match := re.fullmatch(r"/h/(\d+)", path):
            return self.heads[int(match[1])] + SEGMENT, False
        if match := re.fullmatch(r"/\w+/(\d+)\.(m3u8|mpd|json)", path):
            body = self.documents[match[2]][int(match[1])]
            fields = f"Content-Type: {TYPES[match[2]]}\r\nCache-Control: {'max-age=1' if int(match[1]) < STORED else 'no-store'}"
        elif path.startswith("/e/"):
            head = f"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nETag: \"s\"\r\nContent-Length: {ANNOUNCED}\r\n\r\n"
            return head.encode() + SEGMENT, False
        else:
            body, fields = SEGMENT, "Content-Type: video/mp4\r\nETag: \"s\"\r\nCache-Control: max-age=3600"
        return f"HTTP/1.1 200 OK\r\n{fields}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + (b"" if is_head else body), True

    def close(self):
        self.is_open = False
        self.socket.close()

#!/usr/bin/env python3
"""Makes the stores of other caches in this directory, from the formats that docs/migration.md names: make.py [DIRECTORY]"""

import hashlib
import json
import pathlib
import plistlib
import shutil
import sys

SITE = "http://media.example/"
MASK = (1 << 64) - 1


def content(seed, lower, upper):
    """The bytes that `OriginContent` of SpoolTesting has for a seed."""

    def word(index):
        x = (seed + index * 0xD1B54A32D192ED03) & MASK
        x = ((x ^ (x >> 32)) * 0xABC98388FB8FAC03) & MASK
        x = ((x ^ (x >> 29)) * 0x8CB92BA72F3D8DD7) & MASK
        return (x ^ (x >> 32)).to_bytes(8, "little")

    first = lower // 8
    data = b"".join(word(index) for index in range(first, (upper + 7) // 8))
    return data[lower - first * 8:upper - first * 8]


def md5(url):
    return hashlib.md5(url.encode()).hexdigest()


class Archiver:
    """Writes what NSKeyedArchiver writes: a list of objects that refer to each other by number."""

    def __init__(self):
        self.objects = ["$null"]
        self.classes = {}

    def add(self, value):
        self.objects.append(value)
        return plistlib.UID(len(self.objects) - 1)

    def of_class(self, name, *parents):
        if name not in self.classes:
            self.classes[name] = self.add({"$classname": name, "$classes": [name, *parents, "NSObject"]})
        return self.classes[name]

    def object(self, name, members, *parents):
        return self.add({**members, "$class": self.of_class(name, *parents)})

    def array(self, elements):
        return self.object("NSMutableArray", {"NS.objects": elements}, "NSArray")

    def dictionary(self, members):
        names = [self.add(name) for name in members]
        values = [self.add(value) for value in members.values()]
        return self.object("NSDictionary", {"NS.keys": names, "NS.objects": values})

    def range(self, lower, upper):
        members = {"NS.special": 4, "NS.rangeval.location": self.add(lower), "NS.rangeval.length": self.add(upper - lower)}
        return self.object("NSValue", members)

    def url(self, text):
        return self.object("NSURL", {"NS.base": plistlib.UID(0), "NS.relative": self.add(text)})

    def bytes(self, root, format=plistlib.FMT_BINARY):
        top = {"$archiver": "NSKeyedArchiver", "$version": 100000, "$top": {"root": root}, "$objects": self.objects}
        if format == plistlib.FMT_XML:
            top = as_xml(top)
        return plistlib.dumps(top, fmt=format, sort_keys=False)


def as_xml(value):
    """In XML, Apple's archiver writes a reference as a dictionary with one member."""
    if isinstance(value, plistlib.UID):
        return {"CF$UID": value.data}
    if isinstance(value, dict):
        return {name: as_xml(member) for name, member in value.items()}
    return [as_xml(element) for element in value] if isinstance(value, list) else value


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


# MARK: KTVHTTPCache


def ktv(root):
    archiver = Archiver()
    units = []

    def unit(name, length, pieces, headers=None, slash="", mutable=False):
        """A piece is its offset, its bytes and the name of its file, or None for the usual name."""
        url = SITE + name
        digest = md5(url)
        items = []
        for number, (offset, data, file) in enumerate(pieces):
            file = file or f"{digest}_{offset}_{number}"
            if data is not None:
                write(root / "KTVHTTPCache" / digest / file, data)
            items.append(archiver.object("KTVHCDataUnitItem", {
                "createTimeInterval": archiver.add(700000000.25),
                "relativePath": archiver.add(f"{slash}KTVHTTPCache/{digest}/{file}"),
                "offset": archiver.add(offset),
            }))
        text = archiver.object("NSMutableString", {"NS.string": url}, "NSString") if mutable else archiver.add(url)
        units.append(archiver.object("KTVHCDataUnit", {
            "URLString": text,
            "uniqueIdentifier": archiver.add(digest),
            "createTimeInterval": archiver.add(700000000.5),
            "responseHeaderFields": archiver.dictionary(headers or {"Accept-Ranges": "bytes", "Content-Type": "video/mp4"}),
            "totalContentLength": archiver.add(length),
            "unitItems": archiver.array(items),
        }))

    film = "film.mp4?token=a%26b"
    unit(film, 9000, [(0, content(21, 0, 9000), md5(SITE + film) + ".mp4")], slash="/")
    unit("song.mp3", 70000, [
        (0, content(22, 0, 30000), None), (65000, content(22, 65000, 70000), None), (25000, content(22, 25000, 65001), None),
    ], {"Content-Type": "audio/mpeg"}, mutable=True)
    unit("part.mp4", 8000, [(0, content(23, 0, 3000), None), (6000, content(23, 6000, 8000), None)])
    unit("tagged.mp4", 8000, [(0, content(24, 0, 3000), None)], {"content-type": "video/mp4", "Etag": '"v24"', "Server": "x"})
    unit("list.m3u8", 10, [(0, b"#EXTM3U\n#\n", None)], {"Content-Type": "application/vnd.apple.mpegurl"})
    unit("lost.mp4", 100, [(0, None, None)])
    unit("beyond.mp4", 8000, [(4000, content(25, 0, 8000), None)])
    unit("torn.mp4", 8000, [(0, content(26, 0, 5000), None), (4000, content(27, 4000, 8000), None)])
    write(root / "KTVHTTPCache" / "KTVHTTPCache.archive", archiver.bytes(archiver.array(units)))


# MARK: VIMediaCache


def sparse(seed, length, ranges):
    data = bytearray(length)
    for lower, upper in ranges:
        data[lower:upper] = content(seed, lower, upper)
    return bytes(data)


def vi(root):
    def media(name, seed, length, ranges, with_url=True, format=plistlib.FMT_BINARY, cut_file=None, cut_index=None):
        url = SITE + name
        file = root / f"{md5(url)}.{name.rsplit('.')[-1]}"
        archiver = Archiver()
        information = archiver.object("VIContentInfo", {
            "kContentLengthKey": archiver.add(length),
            "kContentTypeKey": archiver.add("public.mpeg-4"),
            "kByteRangeAccessSupported": archiver.add(True),
        })
        configuration = archiver.object("VICacheConfiguration", {
            "kFileNameKey": archiver.add(file.name + ".mt_cfg"),
            "kCacheFragmentsKey": archiver.array([archiver.range(*range) for range in ranges]),
            "kDownloadInfoKey": archiver.array([archiver.array([archiver.add(1000), archiver.add(0.5)])]),
            "kContentInfoKey": information,
            "kURLKey": archiver.url(url) if with_url else plistlib.UID(0),
        })
        write(file, sparse(seed, length, ranges)[:cut_file])
        write(file.with_name(file.name + ".mt_cfg"), archiver.bytes(configuration, format)[:cut_index])

    media("vi/whole.mp4", 31, 6000, [(0, 2500), (2500, 6000)])
    media("vi/part.mp4", 32, 6000, [(0, 2000), (4000, 5000)])
    media("vi/old.mp4", 33, 3000, [(0, 3000)], with_url=False)
    media("vi/xml.mp4", 34, 3000, [(0, 3000)], format=plistlib.FMT_XML)
    media("vi/torn.mp4", 35, 3000, [(0, 3000)], cut_index=300)
    media("vi/short.mp4", 36, 3000, [(0, 3000)], cut_file=2000)


# MARK: GSPlayer


def gs(root):
    def media(name, seed, length, ranges, named=None, cut_index=None):
        url = SITE + (named or name)
        file = root / f"{md5(url)}.{url.rsplit('.')[-1]}"
        index = {
            "info": {"contentLength": length, "contentType": "video/mp4", "isByteRangeAccessSupported": True},
            "fragments": [[lower, upper - lower] for lower, upper in ranges],
            "filePath": "\\/private\\/var\\/tmp\\/" + file.name + ".cfg",
        }
        write(file, sparse(seed, length, ranges))
        write(file.with_name(file.name + ".cfg"), json.dumps(index).encode()[:cut_index])

    media("gs/whole.mp4", 41, 5000, [(0, 5000)])
    media("gs/part.mp4", 42, 5000, [(0, 1000), (4000, 5000)])
    media("gs/clip.mov", 43, 2000, [(0, 2000)], named="gs/clip.mp4")
    media("gs/unknown.mp4", 44, 2000, [(0, 2000)])
    media("gs/torn.mp4", 45, 2000, [(0, 2000)], cut_index=40)
    names = ["gs/whole.mp4", "gs/part.mp4", "gs/clip.mov", "gs/torn.mp4", "vi/old.mp4"]
    write(root.parent / "urls.txt", "# The URLs of the app's films\n".encode() + "".join(SITE + name + "\n" for name in names).encode())


# MARK: Files


def files(root):
    """CachingPlayerItem keeps finished files under names that the app chose, or random ones."""
    write(root / "0B1C4C8E-5B0F-4B43-9B0B-0C6E2E9C9A51.mp3", content(51, 0, 4000))
    write(root / "films" / "clip.bin", content(52, 0, 3000))
    write(root / "short.mp3", content(53, 0, 1000))
    write(root / "other.mp3", b"not named")
    lines = [
        "# path, URL, and more",
        f"0B1C4C8E-5B0F-4B43-9B0B-0C6E2E9C9A51.mp3\t{SITE}files/song.mp3\tlength=4000",
        f"films/clip.bin\t{SITE}files/clip\ttype=video/mp4\tetag=\"v52\"\r",
        "",
        f"short.mp3\t{SITE}files/short.mp3\tlength=4000",
        f"missing.mp3\t{SITE}files/missing.mp3",
    ]
    write(root / "spool-adopt.tsv", "\n".join(lines).encode())


if __name__ == "__main__":
    here = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for name, make in {"ktv": ktv, "vi": vi, "gs": gs, "files": files}.items():
        shutil.rmtree(here / name, ignore_errors=True)
        make(here / name)

import SpoolCore
import Testing

@Suite struct `media types` {
    @Test func `a media type is lowercased, whatever its parameters are`() throws {
        let type = try #require(MediaType("Video/MP4; Codecs=\"avc1.4d401e, mp4a.40.2\"; x=y ;bad; =1; z=\"a\\\"b\""))
        #expect(type.type == "video")
        #expect(type.subtype == "mp4")
        #expect(type.essence == "video/mp4")
    }

    @Test(arguments: ["", "video", "video/", "/mp4", "video mp4", "video/mp4 x", "video / mp4", "é/ü"])
    func `a text without type and subtype is not a media type`(value: String) {
        #expect(MediaType(value) == nil)
    }

    @Test func `mutated media types never trap`() {
        mutate(["video/mp4; codecs=\"avc1\"; x=y", "text/html;charset=utf-8"]) { value in
            guard let type = MediaType(value) else { return }
            #expect(MediaType(type.essence)?.essence == type.essence, "\(value)")
        }
    }
}

@Suite struct `extensions of data files` {
    @Test(
        arguments: [
            // A media extension in the path has priority.
            ("https://e.com/a/Movie.MP4", nil, "mp4"), ("https://e.com/movie.mp4", "application/octet-stream", "mp4"),
            ("https://e.com/audio.mp3", "video/mp4", "mp3"), ("https://e.com/v.tar.webm?x=.mov#.avi", nil, "webm"),
            ("https://e.com/seg-1.ts", "video/mp2t", "ts"), ("https://e.com/seg.m4s", nil, "m4s"),
            // The media type comes next.
            ("https://e.com/watch.php?v=1", "video/mp4", "mp4"), ("https://e.com/", "video/quicktime", "mov"),
            ("https://e.com/live", "application/vnd.apple.mpegurl", "m3u8"),
            ("https://e.com/live", "Application/X-MpegURL; charset=utf-8", "m3u8"),
            ("https://e.com/m", "application/dash+xml", "mpd"), ("https://e.com/s", "text/vtt", "vtt"),
            ("https://e.com/a", "audio/mpeg", "mp3"),
            // The other extension of the path comes last.
            ("https://e.com/file.bin", nil, "bin"), ("https://e.com/file.JSON", "text/plain", "json"),
            // An extension consists of ASCII letters and digits only.
            ("https://e.com/file", nil, ""), ("https://e.com/file.", nil, ""), ("https://e.com/.mp4", nil, ""),
            ("https://e.com/a.b/c", nil, ""),
            ("https://e.com/a.mp4/", nil, ""), ("https://e.com/a.ninechars", nil, ""), ("https://e.com/a.eightchr", nil, "eightchr"),
            ("https://e.com/a.mp%34", nil, ""), ("https://e.com/a.m-4", nil, ""), ("https://e.com/a.é", nil, ""),
            ("https://e.com", nil, ""),
            ("no url\n.mp4", nil, ""), ("", "video/mp4", "mp4"), ("https://e.com/x", "nonsense", ""),
        ] as [(String, String?, String)])
    func `the extension comes from the path, then from the media type`(url: String, contentType: String?, expected: String) {
        #expect(fileExtension(url: url, contentType: contentType) == expected)
    }

    @Test(
        arguments: [
            ("mp4", "video/mp4"), ("m4a", "audio/mp4"), ("M4B", "audio/mp4"), ("cmft", "application/mp4"), ("avi", "video/x-msvideo"),
            ("ogg", "audio/ogg"), ("ogv", "video/ogg"), ("weba", "audio/webm"), ("mka", "audio/x-matroska"), ("ec3", "audio/eac3"),
            ("m3u8", "application/vnd.apple.mpegurl"), ("m4s", "video/iso.segment"), ("srt", "application/x-subrip"), ("aifc", nil),
            ("txt", nil), ("", nil),
        ] as [(String, String?)])
    func `an extension has the type that most origins send`(name: String, type: String?) {
        #expect(MediaKind.mediaType(ofFileExtension: name) == type)
    }

    @Test func `the lists of media types and the table of kinds agree`() {
        for kind in MediaKind.all {
            #expect(MediaKind.ofIdentifier(kind.identifier) == kind && MediaKind.ofFileExtension(kind.fileExtension) == kind)
            for type in kind.mediaTypes {
                #expect(MediaKind.ofMediaType(type) == kind)
                let name = MediaKind.fileExtension(ofMediaType: type) ?? ""
                // A playlist of another kind than HLS and DASH is stored like any text.
                #expect(MediaKind.isMediaExtension(name) || kind.isPlaylist, "\(type)")
                #expect(MediaKind.mediaType(ofFileExtension: name) != nil, "\(type)")
            }
        }
    }

    @Test func `the extension of a mutated URL is always short and plain`() {
        mutate(["https://e.com/a/movie.mp4?x=1", "/a.b.c", "watch.php"]) { url in
            let ending = fileExtension(url: url, contentType: nil)
            #expect(ending.utf8.count <= 8 && ending.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }, "\(url)")
        }
    }
}

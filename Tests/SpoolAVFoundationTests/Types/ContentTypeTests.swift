import SpoolAVFoundation
import SpoolCore
import Testing

/// The type of a resource for the player, from the server's statement and from the bytes.
@Suite struct ContentTypeTests {
    @Test(arguments: [
        ("audio/mpeg", "public.mp3"), ("AUDIO/MPEG; charset=UTF-8", "public.mp3"), ("video/mp4;UTF-8", "public.mpeg-4"),
        ("video/mp4;charset=GBK", "public.mpeg-4"), ("video/quicktime", "com.apple.quicktime-movie"),
        ("audio/mp4", "public.mpeg-4-audio"), ("audio/x-m4a", "com.apple.m4a-audio"), ("audio/flac", "org.xiph.flac"),
        ("audio/wav", "com.microsoft.waveform-audio"), ("video/mp2t", "public.mpeg-2-transport-stream"), ("text/vtt", "org.w3.webvtt"),
    ])
    func `a type of a known kind becomes its identifier, without a look at the bytes`(contentType: String, identifier: String) {
        #expect(ContentTypeDecision(.init(contentType: contentType)) == .identifier(identifier))
    }

    @Test(arguments: [
        "application/vnd.apple.mpegurl", "application/x-mpegURL", "audio/mpegurl", "audio/x-scpls", "application/dash+xml",
    ])
    func `the type of a playlist is recognised`(contentType: String) {
        #expect(ContentTypeDecision(.init(contentType: contentType)) == .playlist)
    }

    @Test(arguments: [nil, "", "application/octet-stream", "binary/octet-stream", "text/plain", "text/html", "no type at all", "video"])
    func `a vague type needs a look at the bytes`(contentType: String?) {
        #expect(ContentTypeDecision(.init(contentType: contentType, fileExtension: "mp3")) == .needsBytes)
    }

    @Test func `the bytes take precedence over the extension, and the extension over nothing`() {
        let evidence = ContentTypeDecision.Evidence(contentType: "application/octet-stream", fileExtension: "mp3")
        func with(_ bytes: [UInt8]) -> ContentTypeDecision {
            var evidence = evidence
            evidence.firstBytes = bytes
            return ContentTypeDecision(evidence)
        }
        #expect(with(Array("fLaC".utf8)) == .identifier("org.xiph.flac"))
        #expect(with([0, 0, 0, 0]) == .identifier("public.mp3"))
        #expect(with([]) == .identifier("public.mp3"))
        #expect(with(Array("#EXTM3U\n".utf8)) == .playlist)
        #expect(ContentTypeDecision(.init(fileExtension: "php", firstBytes: [])) == .undecided)
    }

    @Test(arguments: ["<!DOCTYPE html>", "\u{FEFF} \n<html>", "{\"error\":1}", "<?xml version="])
    func `a page is not media, whatever its type and extension`(text: String) {
        for type in ["text/html", "application/octet-stream", "text/plain"] {
            let evidence = ContentTypeDecision.Evidence(contentType: type, fileExtension: "mp4", firstBytes: Array(text.utf8.prefix(16)))
            #expect(ContentTypeDecision(evidence) == .notMedia(type))
        }
    }

    @Test func `media with an HTML type counts as media only by its bytes`() {
        func decision(_ bytes: [UInt8]) -> ContentTypeDecision {
            ContentTypeDecision(.init(contentType: "text/html", fileExtension: "mp3", firstBytes: bytes))
        }
        #expect(decision(Array("ID3".utf8)) == .identifier("public.mp3"))
        #expect(decision([1, 2, 3, 4]) == .notMedia("text/html"))
    }

    @Test func `the app's hint takes precedence, as MIME type or as identifier`() {
        #expect(ContentTypeDecision(.init(hint: "audio/flac", contentType: "video/mp4")) == .identifier("org.xiph.flac"))
        #expect(ContentTypeDecision(.init(hint: "public.mp3", contentType: "text/html")) == .identifier("public.mp3"))
        #expect(ContentTypeDecision(.init(hint: "com.example.own")) == .identifier("com.example.own"))
        #expect(ContentTypeDecision(.init(hint: "application/x-mpegurl")) == .playlist)
    }

    @Test(
        arguments: [
            ("mp3 with a tag", Array("ID3\u{4}".utf8), "public.mp3"), ("mp3 frame", [0xFF, 0xFB, 0x90, 0], "public.mp3"),
            ("adts", [0xFF, 0xF1, 0x50, 0x80], "public.aac-audio"), ("adts, MPEG-2", [0xFF, 0xF9, 0x50, 0x80], "public.aac-audio"),
            ("m4a", [0, 0, 0, 32] + Array("ftypM4A ".utf8), "com.apple.m4a-audio"),
            ("mp4", [0, 0, 0, 32] + Array("ftypisom".utf8), "public.mpeg-4"),
            ("mov", [0, 0, 0, 20] + Array("ftypqt  ".utf8), "com.apple.quicktime-movie"),
            ("3gp", [0, 0, 0, 20] + Array("ftyp3gp5".utf8), "public.3gpp"),
            ("3g2", [0, 0, 0, 20] + Array("ftyp3g2a".utf8), "public.3gpp2"),
            ("old mov", [0, 0, 1, 0] + Array("moov".utf8), "com.apple.quicktime-movie"),
            ("wav", Array("RIFF".utf8) + [1, 2, 3, 4] + Array("WAVE".utf8), "com.microsoft.waveform-audio"),
            ("aiff", Array("FORM".utf8) + [1, 2, 3, 4] + Array("AIFF".utf8), "public.aiff-audio"),
            ("ac3", [0x0B, 0x77, 1, 2], "public.ac3-audio"), ("webm", [0x1A, 0x45, 0xDF, 0xA3], "org.webmproject.webm"),
            ("transport stream", [0x47, 0x40, 0x00, 0x10], nil), ("nothing", [], nil), ("one byte", [0xFF], nil),
        ] as [(String, [UInt8], String?)])
    func `the first bytes determine the kind`(name: String, bytes: [UInt8], identifier: String?) {
        let found: String? = if case .media(let kind) = ContentSniffer.look(at: bytes) { kind.identifier } else { nil }
        #expect(found == identifier, "\(name)")
    }

    private static let ogg = Array("OggS".utf8) + [UInt8](repeating: 0, count: 24)

    /// The formats that the issue names, as servers send them: by type, by bytes, by name.
    @Test(
        arguments: [
            ("an audiobook by its type", "audio/x-m4b", nil, [], "com.apple.protected-mpeg-4-audio-b"),
            ("an audiobook by its name", nil, "m4b", [1, 2, 3, 4], "com.apple.protected-mpeg-4-audio-b"),
            ("an audiobook by its brand", nil, "php", [0, 0, 0, 32] + Array("ftypM4B ".utf8), "com.apple.protected-mpeg-4-audio-b"),
            ("FLAC by its type", "audio/x-flac", nil, [], "org.xiph.flac"), ("FLAC by its name", nil, "flac", [1, 2], "org.xiph.flac"),
            ("FLAC by its bytes", nil, "bin", Array("fLaC".utf8), "org.xiph.flac"),
            ("Opus in Ogg by its type", "audio/opus", nil, [], "org.xiph.opus"),
            ("Opus in Ogg by the type of Ogg", "audio/ogg; codecs=opus", "ogg", ogg + Array("OpusHead".utf8), "org.xiph.opus"),
            ("Opus in Ogg by its bytes", nil, "ogg", ogg + Array("OpusHead".utf8), "org.xiph.opus"),
            ("Vorbis in Ogg", "audio/ogg", "ogg", ogg + Array("\u{1}vorbis ".utf8), "org.xiph.ogg-audio"),
            ("Opus in CAF by its type", "audio/x-caf", nil, [], "com.apple.coreaudio-format"),
            ("Opus in CAF by its bytes", nil, nil, Array("caff\0\u{1}".utf8), "com.apple.coreaudio-format"),
        ] as [(String, String?, String?, [UInt8], String)])
    func `audiobooks, FLAC and Opus get their identifiers`(
        name: String, type: String?, fileExtension: String?, bytes: [UInt8], identifier: String
    ) {
        let evidence = ContentTypeDecision.Evidence(contentType: type, fileExtension: fileExtension, firstBytes: bytes)
        #expect(ContentTypeDecision(evidence) == .identifier(identifier), "\(name)")
    }

    @Test(arguments: [
        ("video/webm", "webm"), ("audio/webm", "webm"), ("video/x-matroska", "mkv"), ("video/x-msvideo", "avi"), ("audio/ogg", "ogg"),
    ])
    func `a container that the system does not open is found by its bytes, and not by its type alone`(type: String, name: String) {
        func decision(_ bytes: [UInt8]?, opens: Bool = false) -> ContentTypeDecision {
            var evidence = ContentTypeDecision.Evidence(contentType: type, fileExtension: name, firstBytes: bytes)
            evidence.isOpenable = { _ in opens }
            return ContentTypeDecision(evidence)
        }
        let kind = MediaKind.ofFileExtension(name)
        #expect(decision(nil) == .needsBytes)
        #expect(decision([1, 2, 3, 4]) == kind.map { .unsupported($0) })
        #expect(decision([1, 2, 3, 4], opens: true) == kind.map { .identifier($0.identifier) })
        // A server that sends a wrong type for a file that plays.
        #expect(decision([0, 0, 0, 32] + Array("ftypisom".utf8)) == .identifier("public.mpeg-4"))
        #expect(decision(Array("<html>".utf8)) == .notMedia(kind?.mediaTypes.first ?? ""))
        // The app knows better.
        var hinted = ContentTypeDecision.Evidence(hint: type, contentType: type)
        hinted.isOpenable = { _ in false }
        #expect(ContentTypeDecision(hinted) == MediaKind.ofMediaType(type).map { .identifier($0.identifier) })
    }

    @Test func `a Matroska file is found by its bytes, with any type`() {
        for type in [nil, "application/octet-stream", "video/x-matroska"] {
            var evidence = ContentTypeDecision.Evidence(contentType: type, fileExtension: "mkv", firstBytes: [0x1A, 0x45, 0xDF, 0xA3])
            evidence.isOpenable = { _ in false }
            guard case .unsupported = ContentTypeDecision(evidence) else {
                Issue.record("\(type ?? "no type")")
                continue
            }
        }
    }

    @Test func `the table has each name once, in lower case`() {
        let types = MediaKind.all.flatMap(\.mediaTypes)
        let extensions = MediaKind.all.flatMap(\.fileExtensions)
        #expect(Set(types).count == types.count && Set(extensions).count == extensions.count)
        #expect((types + extensions).allSatisfy { $0 == $0.lowercased() })
        #expect(Set(MediaKind.all.map(\.identifier)).count == MediaKind.all.count)
    }

    /// Bytes from the network never make the sniffer trap: every prefix of every two-byte
    /// beginning.
    @Test func `the sniffer accepts any first bytes`() {
        for first in UInt8.min...UInt8.max {
            for second in [0x00, 0x0B, 0x45, 0x77, 0xF1, 0xFB, 0xFF] as [UInt8] {
                let bytes = [first, second] + Array("ftypRIFFFORM".utf8)
                for count in 0...bytes.count { _ = ContentSniffer.look(at: Array(bytes.prefix(count))) }
            }
        }
    }
}

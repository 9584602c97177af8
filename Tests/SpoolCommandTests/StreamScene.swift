import Foundation
import SpoolCore
import SpoolOrigin
import SpoolTesting

/// An origin with the manifests of a stream. Every other URL has 1000 bytes.
final class StreamScene {
    let directory: ScratchDirectory
    let origin: RawOrigin

    init(_ manifests: [String: String]) throws {
        directory = try ScratchDirectory()
        origin = try RawOrigin(script: { request, _ in
            let path = URL(string: request.url)?.path ?? ""
            guard let text = manifests[path] else { return .correct }
            let type = path.hasSuffix("mpd") ? "application/dash+xml" : "application/vnd.apple.mpegurl"
            return .status(200, fields: ["Content-Type": type, "Cache-Control": "max-age=60"], body: Array(text.utf8))
        })
        let names = (1...3).flatMap { number in ["hi", "lo", "en", "de", "sub"].map { "/s/\($0)\(number).m4s" } }
        for name in names + ["/s/init.mp4", "/s/key", "/s/whole.mp4"] {
            origin.serve(VirtualResource(url: origin.url(name), seed: UInt64(name.utf8.count), length: 1000))
        }
    }

    deinit { origin.stop() }

    func get(_ path: String, _ flags: [String] = []) throws -> SpoolProcess.Outcome {
        try run("get", [origin.url(path)] + flags)
    }

    /// Runs a command on the store of the scene.
    func run(_ command: String, _ arguments: [String]) throws -> SpoolProcess.Outcome {
        try SpoolProcess.run([command] + arguments, environment: ["SPOOL_CACHE": directory.path("store")], in: directory)
    }

    /// The paths that the origin was asked for since the last call, without manifests.
    func asked() -> [String] {
        let all = origin.log.entries.map { URL(string: $0.request.url)?.path ?? "" }
        defer { seen = all.count }
        return all.dropFirst(seen).filter { $0.hasPrefix("/s/") }.sorted()
    }

    private var seen = 0
}

/// The manifests of the streams of the tests.
extension StreamScene {
    static func playlist(_ name: String) -> String {
        let segments = (1...3).map { "#EXTINF:4,\n/s/\(name)\($0).m4s\n" }.joined()
        return "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-KEY:METHOD=AES-128,URI=\"/s/key\"\n"
            + "#EXT-X-MAP:URI=\"/s/init.mp4\"\n\(segments)#EXT-X-ENDLIST\n"
    }

    static let hls = [
        "/v/master.m3u8": """
        #EXTM3U
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English, of course",LANGUAGE="en",DEFAULT=YES,URI="en.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch",LANGUAGE="de-AT",URI="de.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="t",NAME="English",LANGUAGE="en",URI="sub.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=300000,RESOLUTION=640x360,AUDIO="a",SUBTITLES="t"
        lo.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=3000000,RESOLUTION=1280x720,AUDIO="a",SUBTITLES="t"
        hi.m3u8
        """,
        "/v/hi.m3u8": playlist("hi"), "/v/lo.m3u8": playlist("lo"), "/v/en.m3u8": playlist("en"), "/v/de.m3u8": playlist("de"),
        "/v/sub.m3u8": playlist("sub"),
        "/v/live.m3u8": playlist("hi").replacingOccurrences(of: "#EXT-X-ENDLIST\n", with: "")
            .replacingOccurrences(of: "#EXT-X-PLAYLIST-TYPE:VOD\n", with: ""),
    ]

    static let dash = [
        "/v/stream.mpd": """
        <MPD type="static" mediaPresentationDuration="PT12S"><BaseURL>/s/</BaseURL><Period>\
        <AdaptationSet mimeType="video/mp4"><SegmentTemplate media="$RepresentationID$$Number$.m4s" initialization="init.mp4" \
        duration="4" startNumber="1"/><Representation id="lo" bandwidth="300000" height="360"/>\
        <Representation id="hi" bandwidth="3000000" height="720"/></AdaptationSet>\
        <AdaptationSet mimeType="audio/mp4" lang="en"><SegmentTemplate media="$RepresentationID$$Number$.m4s"><SegmentTimeline>\
        <S t="0" d="4" r="-1"/></SegmentTimeline></SegmentTemplate><Representation id="en" bandwidth="1"/></AdaptationSet>\
        <AdaptationSet mimeType="audio/mp4" lang="de"><Representation id="de" bandwidth="1"><SegmentList>\
        <SegmentURL media="de1.m4s"/><SegmentURL media="de2.m4s"/></SegmentList></Representation></AdaptationSet>\
        <AdaptationSet mimeType="text/vtt" lang="en"><Representation id="t" bandwidth="1"><BaseURL>whole.mp4</BaseURL>\
        </Representation></AdaptationSet></Period></MPD>
        """
    ]

    static func segments(_ names: String...) -> [String] {
        names.flatMap { name in (1...3).map { "/s/\(name)\($0).m4s" } }
    }
}

import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolTesting

/// An HLS presentation to download, with its playlists and segments.
struct Presentation {
    /// The URL of the entry in the list of downloads.
    let url: String
    /// The text of each playlist, by URL.
    private(set) var playlists: [String: [UInt8]] = [:]
    /// The segments and initialisation sections that a download of the best variant stores.
    private(set) var segments: [VirtualResource] = []
    /// The playlists and segments of other variants, which no download asks for.
    private(set) var others: Set<String> = []

    private static let segmentCount = 5

    /// Makes the presentation with this number: a media playlist, or a multivariant playlist with
    /// two variants and a sound of its own.
    init(_ number: Int, isMultivariant: Bool) {
        let base = "http://origin.test/show/\(number)/"
        url = base + (isMultivariant ? "main.m3u8" : "film.m3u8")
        guard isMultivariant else {
            add("film", base, number, isWanted: true)
            return
        }
        let text = """
            #EXTM3U
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",LANGUAGE="en",DEFAULT=YES,URI="sound.m3u8"
            #EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=640x360,AUDIO="a"
            low.m3u8
            #EXT-X-STREAM-INF:BANDWIDTH=3000000,RESOLUTION=1280x720,AUDIO="a"
            high.m3u8

            """
        playlists[url] = Array(text.utf8)
        add("low", base, number, isWanted: false)
        add("sound", base, number, isWanted: true)
        add("high", base, number, isWanted: true)
    }

    private mutating func add(_ name: String, _ base: String, _ number: Int, isWanted: Bool) {
        let names = ["\(name)-init.mp4"] + (1...Self.segmentCount).map { "\(name)\($0).m4s" }
        let segments = names.dropFirst().map { "#EXTINF:4,\n\($0)\n" }.joined()
        let text = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-MAP:URI=\"\(names[0])\"\n\(segments)#EXT-X-ENDLIST\n"
        playlists[base + name + ".m3u8"] = Array(text.utf8)
        guard isWanted else {
            others.formUnion(names.map { base + $0 } + [base + name + ".m3u8"])
            return
        }
        for (index, name) in names.enumerated() {
            let seed = UInt64(1000 + 100 * number + self.segments.count)
            self.segments.append(VirtualResource(url: base + name, seed: seed, length: index == 0 ? 900 : Int64(30_000 + 9000 * index)))
        }
    }

    /// The length of each resource that a complete download has, by URL.
    var lengths: [String: Int64] {
        var lengths = Dictionary(uniqueKeysWithValues: segments.map { ($0.url, $0.length) })
        for (url, text) in playlists where !others.contains(url) { lengths[url] = Int64(text.count) }
        return lengths
    }
}

/// The bytes that a resource has to have.
enum ExpectedBytes {
    case computed(OriginContent)
    case text([UInt8])

    /// Returns the index of the first byte in `bytes` that differs from the content at `offset`, or
    /// nil if all are equal.
    func firstDifference(in bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int? {
        switch self {
        case .computed(let content): content.firstDifference(in: bytes, at: offset)
        case .text(let text):
            bytes.indices.first { index in
                let place = Int(offset) + index
                return place >= text.count || text[place] != bytes[index]
            }
        }
    }
}

extension Programme {
    /// The presentations to download, after `downloads` in the list.
    static let presentations = (0..<4).map { Presentation($0, isMultivariant: $0 % 2 == 1) }

    /// The URLs of all entries in the list of downloads, in the order in which they are added.
    static let listed = downloads.map(\.url) + presentations.map(\.url)

    /// The lengths of all resources that each entry of the list stores, by the URL of the entry.
    static let lengths = Dictionary(
        uniqueKeysWithValues: downloads.map { ($0.url, [$0.url: $0.length]) } + presentations.map { ($0.url, $0.lengths) })

    /// The entry of the list that a resource belongs to, by the URL of the resource.
    static let owners = Dictionary(uniqueKeysWithValues: lengths.flatMap { entry in entry.value.keys.map { ($0, entry.key) } })

    /// The resources of the origin of downloads.
    static let downloadedResources = downloads + presentations.flatMap(\.segments)

    private static let playlists = presentations.reduce(into: [String: [UInt8]]()) { $0.merge($1.playlists) { first, _ in first } }

    /// Returns the bytes that a resource has to have, or nil if no process asks for it.
    static func expectedBytes(of url: String) -> ExpectedBytes? {
        if let text = playlists[url] { return .text(text) }
        return (resources + downloadedResources).first { $0.url == url }.map { .computed($0.content) }
    }

    /// Returns the answer to a request for a playlist, or nil for any other request.
    static func playlistAnswer(to request: OriginRequest) -> OriginBehaviour? {
        guard let text = playlists[request.url] else { return nil }
        var fields: HTTPFields = [
            "Content-Type": "application/vnd.apple.mpegurl", "ETag": "\"1\"", "Accept-Ranges": "bytes", "Cache-Control": "max-age=86400",
        ]
        guard case .from(let first)? = request.fields["Range"].flatMap(RangeHeader.init)?.specs.first, first > 0, first < text.count else {
            fields["Content-Length"] = "\(text.count)"
            return .status(200, fields: fields, body: text)
        }
        fields["Content-Range"] = "bytes \(first)-\(text.count - 1)/\(text.count)"
        fields["Content-Length"] = "\(text.count - Int(first))"
        return .status(206, fields: fields, body: Array(text[Int(first)...]))
    }
}

import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTesting

/// A transport whose origin publishes live streams on virtual time: three renditions of HLS with low
/// latency, which hold answers back, and a DASH stream with patches.
final class LiveTransport: Transport {
    /// A failure of the origin.
    enum Fault: CaseIterable {
        case unreachable, refused
    }

    static let site = "https://live.example"
    static let targetSeconds: Int64 = 4
    static let partsOfSegment = 4
    /// The number of segments in a playlist.
    private static let window = 6
    private static let firstParts = 8

    private struct Held {
        let answer: LaneTransfer
        let url: String
        let parts: Int
    }

    private struct State {
        var held: [Held] = []
        var asked = 0
        var fault: Fault?
        var lastMPD: Int?
    }

    private let time: ManualTime
    private let began: Timestamp
    private let lane = DiskLane(name: "live")
    private let state = Locked(State())

    init(_ time: ManualTime) {
        self.time = time
        began = time.wallNow
    }

    var windowBytes: Int64? { nil }

    /// The number of requests so far.
    var asked: Int { state.withLock { $0.asked } }
    /// The number of answers that are held back.
    var heldCount: Int { state.withLock { $0.held.count } }

    /// The failure of every answer that is begun from now on, or nil.
    var fault: Fault? {
        get { state.withLock { $0.fault } }
        set { state.withLock { $0.fault = newValue } }
    }

    /// The number of parts that are published at a time.
    func published(at time: Timestamp) -> Int {
        Self.firstParts + Int(max(0, time.nanoseconds - began.nanoseconds) / 1_000_000_000)
    }

    var published: Int { published(at: time.wallNow) }

    // MARK: Contents

    static func playlistURL(_ rendition: Int) -> String { "\(site)/\(rendition)/index.m3u8" }
    static func partURL(_ rendition: Int, _ part: Int) -> String {
        "\(site)/\(rendition)/\(part / partsOfSegment).\(part % partsOfSegment).mp4"
    }
    static func segmentURL(_ rendition: Int, _ segment: Int) -> String { "\(site)/\(rendition)/\(segment).mp4" }

    /// The bytes of a part or a segment.
    static func content(of url: String) -> [UInt8] { Array(String(repeating: "\(url)\n", count: 40).utf8) }

    private func playlist(_ rendition: Int, _ published: Int) -> String {
        let per = Self.partsOfSegment
        let first = max(0, published / per - Self.window)
        var text = "#EXTM3U\n#EXT-X-TARGETDURATION:\(Self.targetSeconds)\n#EXT-X-MEDIA-SEQUENCE:\(first)\n"
        for part in first * per..<published {
            text += "#EXT-X-PART:DURATION=1,URI=\"/\(rendition)/\(part / per).\(part % per).mp4\"\n"
            if part % per == per - 1 { text += "#EXTINF:4,\n\(part / per).mp4\n" }
        }
        return text + "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"/\(rendition)/\(published / per).\(published % per).mp4\"\n"
    }

    private func mpd(_ parts: Int) -> String {
        "<MPD type=\"dynamic\" minimumUpdatePeriod=\"PT4S\"><Location>\(Self.site)/dash/manifest.mpd</Location>"
            + "<Period><AdaptationSet><SegmentTemplate media=\"/dash/$Number$.m4s\"/></AdaptationSet></Period><!--\(parts)--></MPD>"
    }

    // MARK: Transport

    func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        let answer = LaneTransfer(receiver, lane)
        let parts = Self.neededParts(request.url)
        let isHeld = state.withLock { state in
            state.asked += 1
            guard parts > published, state.fault == nil else { return false }
            state.held.append(Held(answer: answer, url: request.url, parts: parts))
            return true
        }
        if !isHeld { begin(answer, request.url) }
        return answer
    }

    func close() { lane.shutdown() }

    /// Begins the answers whose content exists by now, or all of them during a failure.
    func release() {
        let published = published
        let due = state.withLock { state in
            let isDue: (Held) -> Bool = { [fault = state.fault] in $0.parts <= published || fault != nil }
            defer { state.held.removeAll(where: isDue) }
            return state.held.filter(isDue)
        }
        for held in due { begin(held.answer, held.url) }
    }

    /// The number of parts that an answer waits for.
    private static func neededParts(_ url: String) -> Int {
        func value(_ name: String) -> Int? {
            url.split { "?&".contains($0) }.first { $0.hasPrefix("\(name)=") }.flatMap { Int($0.dropFirst(name.count + 1)) }
        }
        if let sequence = value("_HLS_msn") { return sequence * partsOfSegment + (value("_HLS_part") ?? partsOfSegment - 1) + 1 }
        let numbers = url.split(separator: "/").last?.split(separator: ".") ?? []
        guard numbers.count == 3, let segment = Int(numbers[0]), let part = Int(numbers[1]) else { return 0 }
        return segment * partsOfSegment + part + 1
    }

    private func begin(_ answer: LaneTransfer, _ url: String) {
        let fault = fault
        let (status, type, body) = content(url, isLost: fault != nil)
        lane.post {
            switch fault {
            case nil: answer.send(Self.head(status, type, body), body)
            case .unreachable: answer.end(.failed(.unreachable("the origin is away")))
            case .refused: answer.send(Self.head(503, "text/plain", Array("busy".utf8)), Array("busy".utf8))
            }
        }
    }

    private static func head(_ status: Int, _ type: String, _ body: [UInt8]) -> ResponseHead {
        ResponseHead(status: status, fields: ["Content-Type": type, "Content-Length": String(body.count)])
    }

    /// - Parameter isLost: Whether the answer does not arrive.
    private func content(_ url: String, isLost: Bool) -> (status: Int, type: String, body: [UInt8]) {
        let name = url.prefix { $0 != "?" }.split(separator: "/").dropFirst(2)
        let published = published
        switch (name.first, name.last) {
        case ("dash", "manifest.mpd"):
            let parts = published / Self.partsOfSegment * Self.partsOfSegment
            let isUnchanged = state.withLock { state in
                defer { if !isLost { state.lastMPD = parts } }
                return state.lastMPD == parts
            }
            return isUnchanged ? (204, "application/dash+xml", []) : (200, "application/dash+xml", Array(mpd(parts).utf8))
        case ("dash", "patch.mpp"):
            let operation = "<replace sel=\"/MPD/@publishTime\">\(published)</replace>"
            let patch = "<Patch xmlns=\"urn:mpeg:dash:schema:mpd-patch:2020\">\(operation)</Patch>"
            return (200, "application/dash-patch+xml", Array(patch.utf8))
        case (let rendition?, "index.m3u8"):
            return (200, "application/vnd.apple.mpegurl", Array(playlist(Int(rendition) ?? 0, published).utf8))
        default: return (200, "video/mp4", Self.content(of: url))
        }
    }
}

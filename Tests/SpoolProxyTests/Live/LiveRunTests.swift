import Spool
import SpoolCore
import SpoolProxy
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Live streams run through the door on virtual time, for many target durations and with failures of
/// the origin.
@Suite(.timeLimit(.minutes(20))) struct LiveRunTests {
    /// The target durations of a run. At night two runs have ten thousand together, each within the
    /// time limit of a debug build.
    private static var targetDurations: Int { Seeds.isNightly ? 5_000 : 60 }
    private static var seeds: [UInt64] { Seeds.isNightly ? [22, 23] : [22] }
    private static let renditions = 0..<3

    @Test(arguments: seeds)
    func `three renditions with low latency and a DASH stream run without a stall of the cache's own`(seed: UInt64) throws {
        let time = ManualTime()
        let origin = LiveTransport(time)
        let world = try ProxyWorld(time: time, transport: origin, configuration: { $0.limits.quotaBytes = 4 << 20 })
        defer { world.stop() }
        let run = try Run(world, origin, time, seed: seed)
        for tick in 0..<Self.targetDurations * LiveTransport.partsOfSegment {
            let complaint = try run.tick(tick)
            try #require(complaint == nil, "part \(tick): \(complaint ?? "")")
        }
    }

    /// The players of one run.
    private final class Run {
        private let world: ProxyWorld, origin: LiveTransport, time: ManualTime
        private let reloads: [ProxyClient], hints: [ProxyClient], other: ProxyClient
        private var random: SeededRandomNumbers

        init(_ world: ProxyWorld, _ origin: LiveTransport, _ time: ManualTime, seed: UInt64) throws {
            (self.world, self.origin, self.time) = (world, origin, time)
            random = SeededRandomNumbers(seed: seed)
            reloads = try renditions.map { _ in try world.connect() }
            hints = try renditions.map { _ in try world.connect() }
            other = try world.connect()
            for rendition in renditions { _ = try other.get(Self.target(LiveTransport.playlistURL(rendition))) }
        }

        private static func target(_ url: String) -> String { "/" + url.replacing("://", with: "/") }

        /// Lets one part be published, and returns a complaint about an answer.
        func tick(_ tick: Int) throws -> String? {
            let next = origin.published
            for rendition in renditions { ask(rendition, next) }
            world.wait("six answers are held back", until: { origin.heldCount == 2 * renditions.count })
            // While all of them wait, media go on.
            let done = LiveTransport.segmentURL(tick % renditions.count, next / LiveTransport.partsOfSegment - 1)
            guard try other.get(Self.target(done)).body == LiveTransport.content(of: done) else { return "\(done) came differently" }

            origin.fault = random.below(16) == 0 ? LiveTransport.Fault.allCases[random.below(2)] : nil
            time.advance(by: .seconds(1))
            origin.release()
            if origin.fault != nil { return try fail() }
            for rendition in renditions {
                if let complaint = try takeAnswers(rendition, next) { return complaint }
            }
            return try judgeManifests(tick)
        }

        private func ask(_ rendition: Int, _ part: Int) {
            let (segment, index) = (part / LiveTransport.partsOfSegment, part % LiveTransport.partsOfSegment)
            reloads[rendition].ask(Self.target(LiveTransport.playlistURL(rendition)) + "?_HLS_msn=\(segment)&_HLS_part=\(index)")
            hints[rendition].ask(Self.target(LiveTransport.partURL(rendition, part)))
        }

        private func takeAnswers(_ rendition: Int, _ part: Int) throws -> String? {
            let playlist = try reloads[rendition].answer()
            let url = LiveTransport.partURL(rendition, part)
            let name = url.dropFirst(LiveTransport.site.count)
            guard playlist.status == 200, playlist.text.contains("#EXT-X-PART:DURATION=1,URI=\"/https/live.example\(name)\"") else {
                return "the reload answered \(playlist.status) without \(name): \(playlist.text)"
            }
            let hinted = try hints[rendition].answer()
            return hinted.body == LiveTransport.content(of: url) ? nil : "\(url) answered \(hinted.status)"
        }

        /// Takes the answers of a time at which the origin fails, and asks for the lost parts again.
        private func fail() throws -> String? {
            for client in reloads + hints {
                let answer = try client.answer()
                guard answer.status >= 500 else { return "the origin failed, and the answer was \(answer.status)" }
            }
            origin.fault = nil
            for rendition in renditions {
                let url = LiveTransport.partURL(rendition, origin.published - 1)
                let answer = try other.get(Self.target(url))
                guard answer.body == LiveTransport.content(of: url) else { return "\(url) answered \(answer.status) after the failure" }
            }
            return nil
        }

        /// Checks that no manifest is older than its rules allow.
        private func judgeManifests(_ tick: Int) throws -> String? {
            let rendition = tick % renditions.count
            let playlist = try other.get(Self.target(LiveTransport.playlistURL(rendition)))
            let half = Nanoseconds.seconds(LiveTransport.targetSeconds) / 2
            let oldest = origin.published(at: Timestamp(nanoseconds: time.wallNow.nanoseconds - half))
            guard playlist.status == 200, playlist.shows(part: oldest - 1) else {
                return "the playlist is older than half a target duration: \(playlist.text)"
            }
            let mpd = try other.get(Self.target("\(LiveTransport.site)/dash/manifest.mpd"))
            let period = Nanoseconds.seconds(4)
            let shown = mpd.text.split(separator: "<!--").last.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
            let before = origin.published(at: Timestamp(nanoseconds: time.wallNow.nanoseconds - period))
            guard mpd.status == 200, shown + LiveTransport.partsOfSegment > before else {
                return "the MPD is older than its update period: \(mpd.status) \(mpd.text)"
            }
            let patch = try other.get(Self.target("\(LiveTransport.site)/dash/patch.mpp?have=\(tick)"))
            return patch.text.contains(">\(origin.published)<") ? nil : "the patch is not of now: \(patch.text)"
        }
    }
}

extension ProxyClient.Answer {
    /// Whether the playlist has a part, or a later one.
    fileprivate func shows(part: Int) -> Bool {
        let names = text.split(separator: "\n").filter { $0.hasPrefix("#EXT-X-PART:") }
        let last = names.last?.split(separator: "/").last?.split(separator: ".") ?? []
        guard last.count == 3, let segment = Int(last[0]), let index = Int(last[1]) else { return false }
        return segment * LiveTransport.partsOfSegment + index >= part
    }
}

import Spool
import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// Players that choose a variant by the rate at which its segments come.
@Suite struct StreamPacingTests {
    /// 100 000 bytes a second of media in the low variant, five times as many in the high one. The
    /// link carries the low one twice.
    private static let linkBytesPerSecond: Int64 = 200_000
    private static let segments = 12

    private static func url(_ variant: SwitchingPlayer.Variant, _ segment: Int) -> String {
        "http://origin.test/\(variant.rawValue)\(segment).m4s"
    }

    private static func world(_ seed: UInt64, paces: Bool) throws -> World {
        var plan = World.Plan()
        plan.configure = { $0.fetching.pacesStreams = paces }
        let world = try World(seed: seed, plan: plan)
        world.origin.follow { _, _ in .slow(latency: .milliseconds(20), bytesPerSecond: linkBytesPerSecond) }
        for segment in 0..<segments {
            for variant in SwitchingPlayer.Variant.allCases {
                world.serve(
                    VirtualResource(
                        url: url(variant, segment), seed: UInt64(segment + 1),
                        length: variant.bytesPerSecond * SwitchingPlayer.segmentSeconds))
            }
        }
        return world
    }

    /// Plays a stream whose low variant is stored, and returns the variants that the player chose.
    private static func replay(_ seed: UInt64, paces: Bool) throws -> [SwitchingPlayer.Variant] {
        let world = try world(seed, paces: paces)
        defer { world.shutdown() }
        let first = SwitchingPlayer(world, only: .low)
        first.play(segments)
        try #require(world.simulator.run { first.isOver })
        let second = SwitchingPlayer(world, only: nil)
        second.play(segments)
        try #require(world.simulator.run { second.isOver })
        return second.chosen
    }

    @Test func `with the option on, a player does not switch to a variant that the link cannot carry`() throws {
        for seed in Seeds.list(count: 20) {
            let chosen = try Self.replay(seed, paces: true)
            #expect(chosen == Array(repeating: .low, count: Self.segments), "SPOOL_SEED=\(seed)")
        }
    }

    @Test func `without the option, stored segments make the player switch up`() throws {
        #expect(try Self.replay(1, paces: false).contains(.high))
    }
}

/// A player as those of HTTP streams are: it loads one segment after the other, and takes the highest
/// variant that needs less than four fifths of the rate so far.
private final class SwitchingPlayer: @unchecked Sendable {
    // Sendable for the simulator's jobs, all of which run on the test's thread.
    enum Variant: String, CaseIterable {
        case low, high

        var bytesPerSecond: Int64 { self == .low ? 100_000 : 500_000 }
    }

    static let segmentSeconds: Int64 = 4

    private(set) var chosen: [Variant] = []
    private(set) var isOver = false
    private let world: World
    private let only: Variant?
    private let mailbox: any Mailbox
    private var left = 0
    private var rate: Double?
    private var reader: SessionReader?
    private var began = MonotonicInstant(nanoseconds: 0)
    private var received = 0

    init(_ world: World, only: Variant?) {
        self.world = world
        self.only = only
        mailbox = world.simulator.mailbox("player")
    }

    func play(_ segments: Int) {
        left = segments
        mailbox.post { self.begin() }
    }

    private func begin() {
        guard left > 0 else { return isOver = true }
        let fits = rate.map { $0 * 0.8 >= Double(Variant.high.bytesPerSecond) } ?? false
        let variant = only ?? (fits ? .high : .low)
        let url = "http://origin.test/\(variant.rawValue)\(chosen.count).m4s"
        chosen.append(variant)
        (left, began, received) = (left - 1, world.simulator.now, 0)
        var options = ReadOptions()
        options.isPaced = true
        do {
            reader = try world.cache.sessionReader(
                for: url, start: 0, end: nil, wantsBytes: true, options: options, wake: { self.mailbox.post { self.look() } })
        } catch { Issue.record(error) }
        look()
    }

    private func look() {
        guard let reader else { return }
        switch reader.prepare() {
        case .wait: return
        case .failed(let error): Issue.record(error)
        case .ready: reader.markTold()
        }
        while true {
            switch reader.next(max: 65_536) {
            case .file(_, let range): took(Int(range.count), reader)
            case .memory(let bytes, _): took(bytes.count, reader)
            case .wait: return
            case .end: return end(reader)
            case .failed(let error):
                Issue.record(error)
                return
            }
        }
    }

    private func took(_ count: Int, _ reader: SessionReader) {
        received += count
        reader.advance(by: count, fromOrigin: false)
    }

    private func end(_ reader: SessionReader) {
        let seconds = max(Double(world.simulator.now - began) / 1e9, 1e-6)
        let sample = Double(received) / seconds
        rate = rate.map { $0 * 0.5 + sample * 0.5 } ?? sample
        self.reader = nil
        reader.leave()
        // Whatever arrived is stored before the next play.
        mailbox.post { self.begin() }
    }
}

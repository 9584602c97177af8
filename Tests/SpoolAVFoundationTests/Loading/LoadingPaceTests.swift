import SpoolAVFoundation
import SpoolCore
import Testing

/// How far delivery runs ahead of a player that gives no feedback.
@Suite struct LoadingPaceTests {
    private static let start = MonotonicInstant(nanoseconds: 0)
    private static let feed = LoadingFeedID(rawValue: 1)

    /// A machine with one request for the whole of a file of 1 GiB.
    private static func playing(_ limits: LoadingLimits = LoadingLimits()) -> LoadingRequestStateMachine {
        var machine = LoadingRequestStateMachine(limits: limits)
        _ = machine.requested(LoadingAsk(wantsInformation: true, bytes: .init(start: 0, end: nil)), now: start)
        _ = machine.discovered(length: 1 << 30, now: start)
        return machine
    }

    /// Takes all bytes that the machine allows until `end`, from an origin that is never the
    /// bottleneck.
    ///
    /// - Returns: The number of bytes.
    private static func drain(_ machine: inout LoadingRequestStateMachine, from: MonotonicInstant, until end: MonotonicInstant) -> Int64 {
        var now = from
        var taken: Int64 = 0
        while now <= end {
            switch machine.turn(of: feed, now: now) {
            case .read(let max):
                #expect(max > 0 && max <= machine.limits.pieceBytes)
                taken += Int64(max)
                _ = machine.delivered(feed, count: max, now: now)
            case .rest(let until):
                #expect(until > now)
                now = until
            case .over:
                return taken
            }
        }
        return taken
    }

    @Test func `an abandoned request gets the run-ahead and then the floor rate`() {
        var machine = Self.playing()
        let limits = machine.limits
        #expect(Self.drain(&machine, from: Self.start, until: Self.start) >= limits.runAheadBytes - Int64(limits.slowPieceBytes))
        let seconds: Int64 = 60
        let more = Self.drain(&machine, from: Self.start, until: Self.start + .seconds(seconds))
        let floor = limits.floorBytesPerSecond * seconds
        #expect(more <= floor + Int64(limits.slowPieceBytes) && more >= floor - Int64(limits.slowPieceBytes))
    }

    @Test func `an item that left its player gets a small piece before its request would end`() {
        var machine = Self.playing()
        _ = Self.drain(&machine, from: Self.start, until: Self.start)
        machine.prioritized(.parked)
        let turn = machine.turn(of: Self.feed, now: Self.start)
        guard case .rest(let until) = turn else { return unexpected(turn) }
        #expect(until - Self.start < machine.limits.patience)
        let hour = Self.drain(&machine, from: Self.start, until: Self.start + .seconds(3600))
        #expect(hour <= 60 * Int64(machine.limits.slowPieceBytes))
    }

    @Test func `media of a high rate runs ahead by seconds, within the bound`() {
        var machine = Self.playing()
        machine.mediaRateLearnt(bytesPerSecond: 7_500_000)
        let ahead = Self.drain(&machine, from: Self.start, until: Self.start)
        #expect(ahead > machine.limits.runAheadBytes && ahead <= machine.limits.longestRunAheadBytes)
    }

    @Test func `the assets of a process share one bound`() {
        var machine = Self.playing()
        machine.shared(amongAssets: 8)
        #expect(Self.drain(&machine, from: Self.start, until: Self.start) <= machine.limits.processBytes / 8)
    }

    @Test func `delivery never stops, and pieces follow each other at the floor rate at least`() {
        var machine = Self.playing()
        var now = Self.start
        _ = Self.drain(&machine, from: now, until: now)
        for _ in 0..<100 {
            let turn = machine.turn(of: Self.feed, now: now)
            guard case .rest(let until) = turn else { return unexpected(turn) }
            #expect(until - now <= .seconds(1) * Int64(machine.limits.slowPieceBytes) / machine.limits.floorBytesPerSecond + 1)
            now = until
            let next = machine.turn(of: Self.feed, now: now)
            guard case .read(let max) = next else { return unexpected(next) }
            #expect(max >= machine.limits.slowPieceBytes)
            _ = machine.delivered(Self.feed, count: max, now: now)
        }
    }

    @Test func `an item that plays faster than the floor raises it to twice its own rate`() {
        var machine = Self.playing()
        machine.mediaRateLearnt(bytesPerSecond: 5 << 20)
        #expect(machine.floorBytesPerSecond == 10 << 20)
        // A duration of zero would give any rate, so extreme rates are ignored.
        machine.mediaRateLearnt(bytesPerSecond: .max)
        machine.mediaRateLearnt(bytesPerSecond: -1)
        #expect(machine.floorBytesPerSecond == 10 << 20)
        machine.mediaRateLearnt(bytesPerSecond: 40_000)
        #expect(machine.floorBytesPerSecond == machine.limits.floorBytesPerSecond)
    }

    @Test(arguments: [(LoadingPriority.upcoming, 4 << 20), (.yielding, 64 << 10), (.playing, 32 << 20)])
    func `a later item of a queue gets a smaller run-ahead`(priority: LoadingPriority, bytes: Int64) {
        var machine = Self.playing()
        machine.prioritized(priority)
        let taken = Self.drain(&machine, from: Self.start, until: Self.start)
        #expect(taken <= bytes && taken > bytes - Int64(machine.limits.slowPieceBytes))
    }

    @Test func `an item that begins to play gets the rest of the run-ahead at once`() {
        var machine = Self.playing()
        machine.prioritized(.upcoming)
        let before = Self.drain(&machine, from: Self.start, until: Self.start)
        machine.prioritized(.playing)
        let after = Self.drain(&machine, from: Self.start, until: Self.start)
        #expect(before + after > machine.limits.runAheadBytes - Int64(machine.limits.slowPieceBytes))
    }

    @Test func `a new request begins with its own run-ahead`() {
        var machine = Self.playing()
        _ = Self.drain(&machine, from: Self.start, until: Self.start)
        _ = machine.requested(LoadingAsk(wantsInformation: false, bytes: .init(start: 1 << 29, end: nil)), now: Self.start)
        #expect(machine.turn(of: LoadingFeedID(rawValue: 2), now: Self.start) == .read(max: machine.limits.pieceBytes))
    }
}

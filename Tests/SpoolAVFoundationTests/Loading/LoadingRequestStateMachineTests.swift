import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import Testing

/// The rules for loading requests as a table of events and actions.
@Suite struct LoadingRequestStateMachineTests {
    private static let start = MonotonicInstant(nanoseconds: 1_000_000_000)
    private static let probe = LoadingAsk(wantsInformation: true, bytes: .init(start: 0, end: 2))
    private static let offline = LoadingFailure(CacheError(.originUnreachable, "no route"))
    private static let gone = LoadingFailure(CacheError(.originStatus, "404", status: 404))
    private static let first = LoadingRequestID(rawValue: 1)
    private static let feed = LoadingFeedID(rawValue: 1)

    private static func bytes(_ start: Int64, _ end: Int64?) -> LoadingAsk {
        LoadingAsk(wantsInformation: false, bytes: .init(start: start, end: end))
    }

    /// A machine with a discovered resource of `length` bytes and no requests.
    private static func known(length: Int64, limits: LoadingLimits = LoadingLimits()) -> LoadingRequestStateMachine {
        var machine = LoadingRequestStateMachine(limits: limits)
        _ = machine.requested(LoadingAsk(wantsInformation: true, bytes: nil), now: start)
        #expect(machine.discovered(length: length, now: start) == [.inform(first), .finish(first)])
        return machine
    }

    // MARK: Asks

    @Test(
        arguments: [
            (0, 2, false, 0, 2), (65_536, 10, false, 65_536, 65_546), (0, 100, true, 0, nil), (5, Int.max, false, 5, nil),
            (Int64.max - 1, 7, false, Int64.max - 1, nil), (-3, 4, false, 0, 4), (7, -1, false, 7, 7),
        ] as [(Int64, Int, Bool, Int64, Int64?)])
    func `the numbers of a data request become a range`(offset: Int64, length: Int, toEnd: Bool, start: Int64, end: Int64?) {
        #expect(LoadingAsk.Bytes(offset: offset, length: length, toEnd: toEnd) == LoadingAsk.Bytes(start: start, end: end))
    }

    // MARK: Information

    @Test func `the first request starts the discovery, and information comes before bytes`() {
        var machine = LoadingRequestStateMachine()
        let (id, actions) = machine.requested(Self.probe, now: Self.start)
        #expect(actions == [.discover])
        #expect(machine.discovered(length: 1000, now: Self.start) == [.inform(id), .open(Self.feed, start: 0, end: 2)])
        #expect(machine.turn(of: Self.feed, now: Self.start) == .read(max: 2))
        #expect(machine.delivered(Self.feed, count: 2, now: Self.start) == [.finish(id), .close(Self.feed)])
        #expect(machine.requests.isEmpty && machine.feeds.isEmpty)
    }

    @Test func `requests that come during the discovery wait for it, and each is informed once`() {
        var machine = LoadingRequestStateMachine()
        _ = machine.requested(Self.probe, now: Self.start)
        let (second, none) = machine.requested(Self.probe, now: Self.start)
        #expect(none == [])
        // Two identical probes at once, as iOS 16 sends them: one reader serves both.
        #expect(
            machine.discovered(length: 10, now: Self.start) == [.inform(Self.first), .inform(second), .open(Self.feed, start: 0, end: 2)])
        #expect(machine.requests(of: Self.feed) == [Self.first, second])
        #expect(machine.delivered(Self.feed, count: 2, now: Self.start) == [.finish(Self.first), .finish(second), .close(Self.feed)])
        let (third, actions) = machine.requested(Self.probe, now: Self.start)
        #expect(actions == [.inform(third), .open(LoadingFeedID(rawValue: 2), start: 0, end: 2)])
    }

    @Test func `a request without either part is finished at once`() {
        var machine = LoadingRequestStateMachine()
        let (id, actions) = machine.requested(LoadingAsk(wantsInformation: false, bytes: nil), now: Self.start)
        #expect(actions == [.finish(id)])
        #expect(machine.phase == .unknown)
    }

    @Test func `a failed discovery ends the waiting requests, and the next request tries again`() {
        var machine = LoadingRequestStateMachine()
        _ = machine.requested(Self.probe, now: Self.start)
        #expect(machine.discoveryFailed(Self.gone, now: Self.start) == [.fail(Self.first, Self.gone)])
        let (_, actions) = machine.requested(Self.probe, now: Self.start)
        #expect(actions == [.discover])
    }

    @Test func `a discovery without network is retried twice, then fails the waiting requests`() {
        var machine = LoadingRequestStateMachine()
        _ = machine.requested(Self.probe, now: Self.start)
        var now = Self.start
        for pause in [Nanoseconds.seconds(1), .seconds(2)] {
            #expect(machine.discoveryFailed(Self.offline, now: now) == [])
            // A request that arrives meanwhile waits with the others.
            let (other, none) = machine.requested(Self.probe, now: now)
            #expect(none == [] && machine.cancelled(other) == [])
            #expect(machine.nextDeadline == now + pause && machine.timePassed(now: now + (pause - 1)) == [])
            now = now + pause
            #expect(machine.timePassed(now: now) == [.discover] && machine.timePassed(now: now) == [])
        }
        #expect(machine.discoveryFailed(Self.offline, now: now) == [.fail(Self.first, Self.offline)])
        #expect(machine.nextDeadline == nil && machine.phase == .unknown)
    }

    @Test func `a waiting discovery restarts when the network is back, if a request still waits`() {
        var machine = LoadingRequestStateMachine()
        let (id, _) = machine.requested(Self.probe, now: Self.start)
        _ = machine.discoveryFailed(Self.offline, now: Self.start)
        #expect(machine.triedAgain(now: Self.start) == [.discover])
        _ = machine.discoveryFailed(Self.offline, now: Self.start)
        #expect(machine.cancelled(id) == [])
        #expect(machine.triedAgain(now: Self.start) == [] && machine.phase == .unknown)
    }

    @Test func `a fallback sends the request and all later ones to the original`() {
        var machine = LoadingRequestStateMachine()
        _ = machine.requested(Self.probe, now: Self.start)
        #expect(machine.fellBack(.unknownLength) == [.redirect(Self.first, .unknownLength)])
        let (second, actions) = machine.requested(Self.probe, now: Self.start)
        #expect(actions == [.redirect(second, .unknownLength)])
    }

    @Test func `a fallback after the information has no effect`() {
        var machine = Self.known(length: 10)
        #expect(machine.fellBack(.playlist) == [])
        #expect(machine.phase == .known(length: 10))
    }

    // MARK: Bytes

    @Test func `a request to the end ends at the resource's length, whatever length it states`() {
        var machine = Self.known(length: 1000)
        let ask = LoadingAsk(wantsInformation: false, bytes: .init(offset: 100, length: 5, toEnd: true))
        let (_, actions) = machine.requested(ask, now: Self.start)
        #expect(actions == [.open(Self.feed, start: 100, end: 1000)])
    }

    @Test func `a request beyond the end gets the remaining bytes and its finish`() {
        var machine = Self.known(length: 1000)
        let (id, actions) = machine.requested(Self.bytes(990, 2000), now: Self.start)
        #expect(actions == [.open(Self.feed, start: 990, end: 1000)])
        #expect(machine.delivered(Self.feed, count: 10, now: Self.start) == [.finish(id), .close(Self.feed)])
    }

    @Test(arguments: [1000, 1001, Int64.max]) func `a request at or after the end is finished without a byte`(offset: Int64) {
        var machine = Self.known(length: 1000)
        let (id, actions) = machine.requested(Self.bytes(offset, nil), now: Self.start)
        #expect(actions == [.finish(id)])
    }

    @Test func `the current offset moves with each piece, and only the last piece finishes the request`() {
        var machine = Self.known(length: 1 << 20)
        let (id, _) = machine.requested(Self.bytes(0, nil), now: Self.start)
        #expect(machine.delivered(Self.feed, count: 1000, now: Self.start) == [])
        #expect(machine.requests.first?.currentOffset == 1000)
        #expect(machine.delivered(Self.feed, count: (1 << 20) - 1000, now: Self.start) == [.finish(id), .close(Self.feed)])
    }

    @Test func `a request shares the reader of an identical one at the same byte, and otherwise gets its own`() {
        var machine = Self.known(length: 1000)
        let (a, _) = machine.requested(Self.bytes(0, nil), now: Self.start)
        let (b, none) = machine.requested(Self.bytes(0, nil), now: Self.start)
        #expect(none == [] && machine.requests(of: Self.feed) == [a, b])
        _ = machine.delivered(Self.feed, count: 10, now: Self.start)
        let (_, actions) = machine.requested(Self.bytes(0, nil), now: Self.start)
        #expect(actions == [.open(LoadingFeedID(rawValue: 2), start: 0, end: 1000)])
    }

    @Test func `cancelling one of two requests with a shared reader leaves the other its bytes`() {
        var machine = Self.known(length: 1000)
        let (a, _) = machine.requested(Self.bytes(0, nil), now: Self.start)
        let (b, _) = machine.requested(Self.bytes(0, nil), now: Self.start)
        #expect(machine.cancelled(a) == [])
        #expect(machine.requests(of: Self.feed) == [b])
        #expect(machine.cancelled(b) == [.close(Self.feed)])
        #expect(machine.cancelled(b) == [])
    }

    // MARK: Failures

    @Test func `a reader that ends early is reopened at its offset, and the request does not finish`() {
        var machine = Self.known(length: 1000)
        _ = machine.requested(Self.bytes(0, nil), now: Self.start)
        _ = machine.delivered(Self.feed, count: 400, now: Self.start)
        #expect(machine.ended(Self.feed, now: Self.start) == [.close(Self.feed)])
        let later = Self.start + machine.limits.retryDelay
        #expect(machine.turn(of: Self.feed, now: Self.start) == .rest(until: later))
        #expect(machine.nextDeadline == later)
        #expect(machine.timePassed(now: later) == [.open(Self.feed, start: 400, end: 1000)])
    }

    @Test func `pauses between readers grow to a bound and start again after a byte`() {
        var machine = Self.known(length: 1000)
        _ = machine.requested(Self.bytes(0, nil), now: Self.start)
        var now = Self.start
        var delays: [Nanoseconds] = []
        for _ in 0..<5 {
            #expect(machine.failed(Self.feed, Self.offline, now: now) == [.close(Self.feed)])
            delays.append((machine.nextDeadline ?? now) - now)
            now = machine.nextDeadline ?? now
            _ = machine.timePassed(now: now)
        }
        #expect(delays.map { $0 / 1_000_000_000 } == [1, 2, 4, 8, 8])
        _ = machine.delivered(Self.feed, count: 1, now: now)
        _ = machine.failed(Self.feed, Self.offline, now: now)
        #expect(machine.nextDeadline == now + .seconds(1))
    }

    @Test func `retries end within the patience, with the reader's own failure`() {
        var machine = Self.known(length: 1000)
        let (id, _) = machine.requested(Self.bytes(0, nil), now: Self.start)
        var now = Self.start
        // Pauses of 1, 2, 4 and then 8 seconds fit fifteen times into the patience.
        for _ in 0..<50 {
            let actions = machine.failed(Self.feed, Self.offline, now: now)
            if actions != [.close(Self.feed)] {
                #expect(actions == [.fail(id, Self.offline), .close(Self.feed)])
                #expect(now - Self.start < machine.limits.patience && machine.limits.patience < .seconds(120))
                return
            }
            now = machine.nextDeadline ?? now
            _ = machine.timePassed(now: now)
        }
        Issue.record("the machine never gave up")
    }

    @Test func `a permanent failure ends the request at once`() {
        var machine = Self.known(length: 1000)
        let (id, _) = machine.requested(Self.bytes(0, nil), now: Self.start)
        let changed = LoadingFailure(CacheError(.representationChanged, "changed"))
        #expect(machine.failed(Self.feed, changed, now: Self.start) == [.fail(id, changed), .close(Self.feed)])
    }

    @Test func `a request without an answer ends before the player gives up`() {
        var machine = LoadingRequestStateMachine()
        let (id, _) = machine.requested(Self.probe, now: Self.start)
        let deadline = Self.start + machine.limits.patience
        #expect(machine.nextDeadline == deadline)
        #expect(machine.timePassed(now: deadline + (-1)) == [])
        let actions = machine.timePassed(now: deadline)
        guard case .fail(id, let failure) = actions.first, actions.count == 1 else { return unexpected("\(actions)") }
        #expect(failure.error.code == .originTimeout)
        #expect(machine.phase == .unknown)
    }

    @Test func `a resting reader is opened at once when the network is back`() {
        var machine = Self.known(length: 1000)
        _ = machine.requested(Self.bytes(0, nil), now: Self.start)
        _ = machine.failed(Self.feed, Self.offline, now: Self.start)
        #expect(machine.triedAgain(now: Self.start) == [.open(Self.feed, start: 0, end: 1000)])
        #expect(machine.triedAgain(now: Self.start) == [])
    }

    @Test func `with too many requests, the oldest one ends`() {
        var limits = LoadingLimits()
        limits.openRequests = 2
        var machine = Self.known(length: 1000, limits: limits)
        let (oldest, _) = machine.requested(Self.bytes(0, nil), now: Self.start)
        _ = machine.requested(Self.bytes(1, nil), now: Self.start)
        let (_, actions) = machine.requested(Self.bytes(2, nil), now: Self.start)
        guard case .fail(oldest, _) = actions.first else { return unexpected("\(actions)") }
        #expect(actions.dropFirst() == [.close(Self.feed), .open(LoadingFeedID(rawValue: 3), start: 2, end: 1000)])
    }

    @Test func `releasing the asset ends every request, and later ones at once`() {
        var machine = Self.known(length: 1000)
        let (id, _) = machine.requested(Self.bytes(0, nil), now: Self.start)
        #expect(machine.end(.released) == [.fail(id, .released), .close(Self.feed)])
        let (late, actions) = machine.requested(Self.probe, now: Self.start)
        #expect(actions == [.fail(late, .released)])
        #expect(machine.nextDeadline == nil)
    }
}

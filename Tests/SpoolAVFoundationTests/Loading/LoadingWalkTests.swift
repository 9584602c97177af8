import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Random walks over the machine. For every order of events, each request gets its bytes in order
/// and exactly one end.
@Suite struct LoadingWalkTests {
    @Test(.timeLimit(.minutes(20)))
    func `every request ends once, in order, with all its bytes or an error`() {
        for seed in Seeds.list(count: 300) {
            guard LoadingWalk.run(seed, records: false).violation != nil else { continue }
            // The same walk again, with its trail.
            let walk = LoadingWalk.run(seed, records: true)
            if let violation = walk.violation {
                Issue.record(
                    "\(violation)\nreplay: SPOOL_SEED=\(seed) swift test --filter LoadingWalkTests\n\(walk.trail.joined(separator: "\n"))")
                return
            }
        }
    }
}

/// Stands in for the shell: carries out actions and checks each against the contract of
/// AVFoundation.
private struct LoadingWalk {
    private struct Open {
        let ask: LoadingAsk
        var offset: Int64
        var isInformed: Bool
    }

    private let random: SeededRandom
    private var machine: LoadingRequestStateMachine
    private var now = MonotonicInstant(nanoseconds: 0)
    private var length: Int64
    private var open: [LoadingRequestID: Open] = [:]
    private var readers: [LoadingFeedID: (position: Int64, end: Int64)] = [:]
    private var owesDiscovery = false
    private(set) var trail: [String] = []
    private(set) var violation: String?

    private let records: Bool

    init(seed: UInt64, records: Bool) {
        self.records = records
        random = SeededRandom(seed: seed)
        var limits = LoadingLimits()
        limits.pieceBytes = 64
        limits.slowPieceBytes = 8
        limits.runAheadBytes = 200
        limits.upcomingRunAheadBytes = 40
        limits.floorBytesPerSecond = 16
        limits.openRequests = 6
        machine = LoadingRequestStateMachine(limits: limits)
        length = Int64(1 + random.next(below: 600))
    }

    /// Runs a whole walk. Recording its trail takes most of the time.
    static func run(_ seed: UInt64, records: Bool) -> LoadingWalk {
        var walk = LoadingWalk(seed: seed, records: records)
        for _ in 0..<200 where walk.violation == nil { walk.event() }
        walk.settle()
        return walk
    }

    private func number(_ range: ClosedRange<Int64>) -> Int64 {
        range.lowerBound + Int64(random.next(below: UInt64(range.upperBound - range.lowerBound + 1)))
    }

    private mutating func fail(_ words: String) { violation = violation ?? words }

    // MARK: Events

    mutating func event() {
        switch number(0...13) {
        case 0...2: request()
        case 3: cancel()
        case 4: answerDiscovery()
        case 5...8: read()
        case 9: pass(.milliseconds(number(1...3000)))
        case 10: machine.prioritized([.playing, .upcoming, .yielding][Int(number(0...2))])
        case 11: breakReader()
        case 12: apply(machine.triedAgain(now: now), "tried again")
        default: if number(0...30) == 0 { apply(machine.failAll(.released), "called off") }
        }
    }

    /// Lets every request come to its end: the origin answers, and time passes.
    mutating func settle() {
        // Each turn brings a byte or passes time. The floor rate bounds the number of turns.
        for _ in 0..<20_000 where violation == nil && !open.isEmpty {
            if owesDiscovery { apply(machine.discovered(length: length, now: now), "discovered") }
            for id in readers.keys.sorted() { readOnce(id) }
            pass(.milliseconds(200))
        }
        if !open.isEmpty { fail("requests never end: \(open.keys.sorted())") }
        if !readers.isEmpty { fail("readers stay: \(readers)") }
    }

    private mutating func request() {
        let lower = number(0...length + 20)
        let upper: Int64? = number(0...2) == 0 ? nil : lower + number(0...length)
        let bytes: LoadingAsk.Bytes? = number(0...9) == 0 ? nil : .init(start: lower, end: upper)
        let ask = LoadingAsk(wantsInformation: number(0...2) == 0, bytes: bytes)
        let (id, actions) = machine.requested(ask, now: now)
        open[id] = Open(ask: ask, offset: bytes?.start ?? 0, isInformed: !ask.wantsInformation)
        apply(actions, "request \(id.rawValue)")
    }

    private mutating func cancel() {
        guard let id = open.keys.sorted().randomElement(using: random) else { return }
        open[id] = nil
        apply(machine.cancelled(id), "cancel \(id.rawValue)")
    }

    private mutating func answerDiscovery() {
        guard owesDiscovery else { return }
        owesDiscovery = false
        if number(0...4) == 0 {
            apply(machine.discoveryFailed(LoadingFailure(CacheError(.originStatus, "503", status: 503)), now: now), "discovery failed")
        } else {
            apply(machine.discovered(length: length, now: now), "discovered \(length)")
        }
    }

    private mutating func read() {
        if let id = readers.keys.sorted().randomElement(using: random) { readOnce(id) }
    }

    private mutating func readOnce(_ id: LoadingFeedID) {
        guard let reader = readers[id], case .read(let max) = machine.turn(of: id, now: now) else { return }
        let count = number(1...Int64(max))
        guard reader.position + count <= reader.end else { return fail("feed \(id.rawValue) may read beyond \(reader.end)") }
        readers[id]?.position += count
        for request in machine.requests(of: id) { hand(reader.position, count, to: request) }
        apply(machine.delivered(id, count: Int(count), now: now), "read \(count) of \(id.rawValue)")
    }

    private mutating func hand(_ position: Int64, _ count: Int64, to id: LoadingRequestID) {
        guard let request = open[id] else { return fail("bytes for request \(id.rawValue), which is over") }
        if request.offset != position { fail("bytes at \(position) for request \(id.rawValue) at \(request.offset)") }
        if !request.isInformed { fail("bytes before information for request \(id.rawValue)") }
        if let end = request.ask.bytes?.end, position + count > end { fail("more than asked for request \(id.rawValue)") }
        open[id]?.offset += count
    }

    private mutating func breakReader() {
        guard let id = readers.keys.sorted().randomElement(using: random) else { return }
        let codes: [CacheError.Code] = [.originUnreachable, .originTimeout, .removed, .representationChanged]
        let code = codes[Int(number(0...3))]
        apply(machine.failed(id, LoadingFailure(CacheError(code, "broken")), now: now), "\(id.rawValue) broke: \(code)")
    }

    private mutating func pass(_ time: Nanoseconds) {
        now = now + time
        apply(machine.timePassed(now: now), "time \(now.nanoseconds / 1_000_000) ms")
    }

    // MARK: Actions

    private mutating func apply(_ actions: [LoadingAction], _ words: String) {
        if records { trail.append("\(words) -> \(actions)") }
        for action in actions { apply(action) }
        for found in machine.violations { fail(found) }
    }

    private mutating func apply(_ action: LoadingAction) {
        switch action {
        case .discover: owesDiscovery = true
        case .inform(let id):
            if open[id]?.isInformed != false { fail("request \(id.rawValue) is informed twice, or over") }
            open[id]?.isInformed = true
        case .open(let id, let start, let end):
            if readers[id] != nil { fail("feed \(id.rawValue) is opened twice") }
            readers[id] = (start, end)
        case .close(let id):
            readers[id] = nil
        case .finish(let id):
            guard let request = open.removeValue(forKey: id) else { return fail("request \(id.rawValue) ends twice") }
            if !request.isInformed { fail("request \(id.rawValue) ends uninformed") }
            guard let bytes = request.ask.bytes else { return }
            if request.offset < min(bytes.end ?? length, length) { fail("request \(id.rawValue) is cut short at \(request.offset)") }
        case .fail(let id, _):
            if open.removeValue(forKey: id) == nil { fail("request \(id.rawValue) ends twice") }
        case .redirect: fail("redirected without a fallback")
        }
    }
}

extension Array {
    fileprivate func randomElement(using random: SeededRandom) -> Element? {
        isEmpty ? nil : self[Int(random.next(below: UInt64(count)))]
    }
}

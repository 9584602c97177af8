import SpoolCore
import Testing

/// Drives one session by hand in place of its shell: sends events, records actions, and checks the
/// invariants after each event.
///
/// The bytes have offsets but no content here; the random walk compares contents.
final class SessionProbe {
    var machine: SessionStateMachine
    var now = MonotonicInstant(nanoseconds: 0)
    /// The wall clock runs with the monotonic clock, starting 1000 s after 1970.
    var wallNow: Timestamp { Timestamp(nanoseconds: .seconds(1000) + now.nanoseconds) }
    var actions: [SessionAction] = []
    /// Whether a transfer that stops has no byte left to offer, so that it ends at once.
    var stopsAtOnce = true
    private var generations: Int64 = 0

    static let etag: HTTPFields = ["ETag": "\"v1\""]

    init(_ change: (inout SessionLimits) -> Void = { _ in }, rules changeRules: (inout StoringRules) -> Void = { _ in }) {
        var limits = SessionLimits()
        // Most tests are about one long response. `SessionWindowTests` is about windows.
        limits.provenBytes = 0
        // `SessionGapTests` are about the question before a gap.
        limits.gapPatience = 0
        change(&limits)
        var rules = StoringRules()
        changeRules(&rules)
        machine = SessionStateMachine(limits: limits, rules: rules)
    }

    // MARK: Results

    /// The origin requests so far, in order.
    var starts: [OriginAsk] { actions.compactMap { if case .start(_, let ask) = $0 { ask } else { nil } } }
    var startedIDs: [FetchID] { actions.compactMap { if case .start(let id, _) = $0 { id } else { nil } } }
    /// The fetches that were ended before their transfer was, those included whose arrived bytes
    /// are taken first.
    var cancelled: [FetchID] {
        actions.compactMap {
            switch $0 {
            case .cancel(let id), .stop(let id): id
            default: nil
            }
        }
    }
    var stopped: [FetchID] { actions.compactMap { if case .stop(let id) = $0 { id } else { nil } } }
    var prioritized: [FetchID] { actions.compactMap { if case .prioritize(let id) = $0 { id } else { nil } } }
    var resumed: [FetchID] { actions.compactMap { if case .resume(let id) = $0 { id } else { nil } } }
    var woken: [ReaderID] { actions.compactMap { if case .wake(let id) = $0 { id } else { nil } } }
    var verifications: [ByteRange] { actions.compactMap { if case .verify(let range, _) = $0 { range } else { nil } } }
    var discards: [ByteRangeSet] { actions.compactMap { if case .discard(let ranges, _) = $0 { ranges } else { nil } } }
    var timers: [MonotonicInstant] { actions.compactMap { if case .setTimer(let at) = $0 { at } else { nil } } }
    var changes: [GenerationID] { actions.compactMap { if case .versionChanged(_, let to) = $0 { to } else { nil } } }
    var passing: [NotStoredReason] { actions.compactMap { if case .passing(let reason) = $0 { reason } else { nil } } }
    var failures: [OriginError] { actions.compactMap { if case .ended(_, let error?) = $0 { error } else { nil } } }

    func forgetActions() { actions = [] }

    var stored: [ByteRange] { machine.version?.stored.ranges ?? [] }
    func fetch(_ id: FetchID) -> FetchState? { machine.fetches.first { $0.id == id } }
    func failure(_ id: ReaderID) -> ReadFailure? { machine.readers.first { $0.id == id }?.failure }

    @discardableResult
    private func take(_ new: [SessionAction], _ location: SourceLocation) -> [SessionAction] {
        actions += new
        #expect(machine.violations == [], sourceLocation: location)
        guard stopsAtOnce else { return new }
        for case .stop(let id) in new { take(machine.finished(id, error: .truncated(afterBytes: 0), now: now), location) }
        return new
    }

    // MARK: Readers

    /// Opens the session with these stored bytes, as one version with the strong tag of `etag`.
    func open(
        length: Int64?, stored: [ClosedRange<Int64>] = [], isVerified: Bool = true, fields: HTTPFields = SessionProbe.etag,
        location: SourceLocation = #_sourceLocation
    ) {
        if machine.phase == .new { _ = join(0, 0) }
        generations += 1
        let representation = Representation(
            length: length, validator: Validator(fields: fields), fields: fields, requestTime: Timestamp(seconds: 0),
            responseTime: Timestamp(seconds: 0))
        let spans = ByteRangeSet(stored.map { ByteRange(lower: $0.lowerBound, upper: $0.upperBound + 1) })
        take(
            machine.opened(
                (GenerationID(rawValue: generations), representation, spans), unverified: isVerified ? ByteRangeSet() : spans,
                passReason: nil, now: now),
            location)
        if let first = machine.readers.first, first.end == 0 { leave(first.id) }
    }

    /// Opens the session with an index that has no entry for the resource.
    func openEmpty(location: SourceLocation = #_sourceLocation) {
        take(machine.opened(nil, passReason: nil, now: now), location)
    }

    func join(
        _ start: Int64, _ end: Int64? = nil, policy: FetchPolicy = .whilePlaying, onlyStored: Bool = false, rules: UseRules = UseRules(),
        wantsBytes: Bool = true, endsSoon: Bool = false, takesAnyStatus: Bool = false, suffix: Int64? = nil,
        location: SourceLocation = #_sourceLocation
    ) -> ReaderID {
        var rules = rules
        if onlyStored { rules.mode = .onlyStored }
        var request = ReaderRequest(start: start, end: end, wantsBytes: wantsBytes, policy: policy, rules: rules)
        (request.endsSoon, request.takesAnyStatus, request.suffix) = (endsSoon, takesAnyStatus, suffix)
        let (id, new) = machine.readerJoined(request)
        take(new, location)
        return id
    }

    @discardableResult
    func step(_ id: ReaderID, max: Int64 = 1 << 20, location: SourceLocation = #_sourceLocation) -> SessionStep {
        let (step, new) = machine.step(id, max: max, now: now, wallNow: wallNow)
        take(new, location)
        return step
    }

    func prepare(
        _ id: ReaderID, withFirstByte: Bool = false, location: SourceLocation = #_sourceLocation
    ) -> SessionPreparation {
        let (preparation, new) = machine.prepare(id, withFirstByte: withFirstByte, now: now, wallNow: wallNow)
        take(new, location)
        return preparation
    }

    func advance(_ id: ReaderID, by count: Int64, location: SourceLocation = #_sourceLocation) {
        take(machine.readerAdvanced(id, by: count, now: now), location)
    }

    /// Reads the available bytes, at most `limit`, and returns their number.
    @discardableResult
    func read(_ id: ReaderID, upTo limit: Int64 = .max, location: SourceLocation = #_sourceLocation) -> Int64 {
        var count: Int64 = 0
        while count < limit {
            switch step(id, max: limit - count, location: location) {
            case .stored(let range), .memory(_, let range):
                advance(id, by: range.count, location: location)
                count += range.count
            case .wait, .end, .failed:
                return count
            }
        }
        return count
    }

    func move(_ id: ReaderID, to start: Int64, end: Int64? = nil, location: SourceLocation = #_sourceLocation) {
        take(machine.readerMoved(id, to: start, end: end, now: now), location)
    }

    func leave(_ id: ReaderID, explicitly: Bool = false, location: SourceLocation = #_sourceLocation) {
        take(machine.readerLeft(id, explicitly: explicitly, now: now), location)
    }

    func withdraw(_ id: ReaderID, location: SourceLocation = #_sourceLocation) {
        take(machine.readerWithdrew(id, now: now), location)
    }

    // MARK: The origin

    func head(
        _ id: FetchID, _ status: Int, _ fields: HTTPFields, endsByClose: Bool = false, location: SourceLocation = #_sourceLocation
    ) {
        generations += 1
        var head = ResponseHead(status: status, fields: fields)
        head.endsByClose = endsByClose
        let new = machine.headReceived(
            id, head, requestTime: wallNow, responseTime: wallNow,
            newGeneration: GenerationID(rawValue: generations), passReason: nil, now: now)
        take(new, location)
    }

    /// Receives a 206 with `[lower, upper)` of `total`.
    func partial(
        _ id: FetchID, _ lower: Int64, _ upper: Int64, total: Int64?, fields: HTTPFields = SessionProbe.etag,
        location: SourceLocation = #_sourceLocation
    ) {
        var fields = fields
        fields["Content-Range"] = "bytes \(lower)-\(upper - 1)/\(total.map(String.init) ?? "*")"
        head(id, 206, fields, location: location)
    }

    /// Receives a 200 with the whole resource.
    func full(
        _ id: FetchID, length: Int64?, fields: HTTPFields = SessionProbe.etag, endsByClose: Bool = false,
        location: SourceLocation = #_sourceLocation
    ) {
        var fields = fields
        if let length { fields["Content-Length"] = String(length) }
        head(id, 200, fields, endsByClose: endsByClose, location: location)
    }

    /// Offers `count` body bytes in chunks, each as its own batch, until the session refuses one.
    /// Returns how many bytes were kept or dropped.
    @discardableResult
    func body(_ id: FetchID, _ count: Int64, chunk: Int64 = 65_536, location: SourceLocation = #_sourceLocation) -> Int64 {
        var taken: Int64 = 0
        while taken < count {
            let size = min(chunk, count - taken)
            var cursor: Int64 = 0
            while cursor < size {
                switch machine.intake(id, available: Int(size - cursor), isFirst: cursor == 0) {
                case .keep(_, let count): cursor += Int64(count)
                case .drop(let count): cursor += Int64(count)
                case .pause, .enough: return taken + cursor
                }
            }
            taken += size
            take(machine.batchEnded(id, now: now), location)
        }
        return taken
    }

    /// Receives a refusal that another connection of the cache caused.
    func refuseBesideOwn(_ id: FetchID, location: SourceLocation = #_sourceLocation) {
        let error = OriginError.status(ResponseHead(status: 403, fields: [:]))
        take(machine.refusedBesideOwn(id, error, now: now), location)
    }

    func finish(_ id: FetchID, _ error: OriginError? = nil, location: SourceLocation = #_sourceLocation) {
        take(machine.finished(id, error: error, now: now), location)
    }

    // MARK: The store and time

    /// Confirms that the disk has all bytes that the fetch has in memory.
    func store(_ id: FetchID, location: SourceLocation = #_sourceLocation) {
        guard let fetch = fetch(id), let generation = fetch.generation, let range = ByteRange(fetch.released, fetch.front) else { return }
        take(machine.wrote(range, of: generation, by: id, remaining: .max, now: now), location)
    }

    func storeFails(location: SourceLocation = #_sourceLocation) {
        guard let generation = machine.version?.generation else { return }
        take(machine.storeFailed(generation, .storeTrouble("full"), now: now), location)
    }

    func lose(_ range: ClosedRange<Int64>, location: SourceLocation = #_sourceLocation) {
        guard let generation = machine.version?.generation else { return }
        take(machine.lost(ByteRange(lower: range.lowerBound, upper: range.upperBound + 1), of: generation, now: now), location)
    }

    /// Reports that stored bytes were compared with their checksums.
    func verified(_ range: ClosedRange<Int64>, damaged: [ClosedRange<Int64>] = [], location: SourceLocation = #_sourceLocation) {
        guard let generation = machine.version?.generation else { return }
        func set(_ ranges: [ClosedRange<Int64>]) -> ByteRangeSet {
            ByteRangeSet(ranges.map { ByteRange(lower: $0.lowerBound, upper: $0.upperBound + 1) })
        }
        take(machine.verified(set([range]), of: generation, damaged: set(damaged), now: now), location)
    }

    func pass(_ duration: Nanoseconds, location: SourceLocation = #_sourceLocation) {
        now = now + duration
        take(machine.timePassed(now: now), location)
    }

    func end(_ failure: ReadFailure, location: SourceLocation = #_sourceLocation) {
        take(machine.end(failure), location)
    }
}

extension SessionProbe {
    /// Whether a reader behind the end asks the origin.
    func claimsEndQuestion() -> Bool { machine.claimEndQuestion(now: now) != nil }
}

extension OriginAsk {
    init(_ lower: Int64, _ upper: Int64?, ifRange: String? = nil, isWindow: Bool = false) {
        self.init(lower: lower, upper: upper, ifRange: ifRange)
        self.isWindow = isWindow
    }
}

extension ByteRange {
    init(_ range: Range<Int64>, _: Void = ()) {
        self.init(lower: range.lowerBound, upper: range.upperBound)
    }
}

let MiB: Int64 = 1 << 20

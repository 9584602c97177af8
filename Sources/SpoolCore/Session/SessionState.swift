/// The state of one session: its readers, its fetches and its version, and the changes that keep
/// the three consistent.
///
/// `SessionStateMachine` routes events to it, and events that bring much (`ReceivedHead`,
/// `FetchEnd`, `OfferedBody`, `HitRequest`) change it. `FetchPlanner`, `SourceChoice`
/// and `ReaderView` decide by it and change nothing.
struct SessionState: Sendable {
    /// The bounds of this session's decisions.
    let limits: SessionLimits
    /// The stage of the session's life cycle.
    var phase = SessionPhase.new
    /// The version that is served now, and its confirmations by the origin.
    var ledger: VersionLedger
    /// The bodies beside the current version, while readers read them (`BodiesApart`).
    var bodies: [SessionVersion] = []
    /// The readers, in the order in which they came.
    var readers: [ReaderState] = []
    /// The fetches, in the order in which they were started.
    var fetches: [FetchState] = []
    /// The bytes that a fetch policy still asks for after its reader has left.
    var goal: ByteRange?
    /// Whether a request changed the resource at the origin while the index was being read.
    var owesInvalidation = false
    /// The present play.
    var play = PlayRecord()
    /// The pauses between failed requests.
    var backOff = BackOff()
    /// The experience with the origin.
    var origin = OriginRecord()
    private var lastReader: UInt64 = 0
    private var lastFetch: UInt64 = 0

    init(limits: SessionLimits, rules: StoringRules) {
        self.limits = limits
        ledger = VersionLedger(rules: rules)
    }

    /// The representation that is served now; nil until the index or the origin supplies one.
    var version: SessionVersion? { ledger.version }

    mutating func makeReaderID() -> ReaderID {
        lastReader += 1
        return ReaderID(rawValue: lastReader)
    }

    mutating func makeFetchID() -> FetchID {
        lastFetch += 1
        return FetchID(rawValue: lastFetch)
    }

    // MARK: Looking

    /// The index of the reader in `readers`, which are in the order in which they came.
    /// - Complexity: O(log *n*) in the number of readers.
    func index(of id: ReaderID) -> Int? {
        var (low, high) = (0, readers.count)
        while low < high {
            let middle = (low + high) / 2
            if readers[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < readers.count && readers[low].id == id ? low : nil
    }

    /// The reader with this identity, or nil if it has left.
    func reader(_ id: ReaderID) -> ReaderState? { index(of: id).map { readers[$0] } }

    /// The index of the fetch in `fetches`, or nil if it is over.
    func index(of id: FetchID) -> Int? { fetches.firstIndex { $0.id == id } }

    /// The bytes that the reader will need soon.
    /// - Returns: nil if it needs none.
    func window(of reader: ReaderState) -> ByteRange? { reader.window(in: body(of: reader), limits) }

    /// The body that the reader reads, or would read now; nil before it is known.
    func body(of reader: ReaderState) -> SessionVersion? {
        switch reader.source {
        case .undecided, .version: ledger.version
        case .awaited: nil
        case .body(let generation), .replaced(let generation): bodies.first { $0.generation == generation }
        }
    }

    /// The body with this generation: one beside the current version, or that version.
    func version(of generation: GenerationID) -> SessionVersion? {
        bodies.first { $0.generation == generation } ?? version.flatMap { $0.generation == generation ? $0 : nil }
    }

    /// Changes the body with this generation: one beside the current version, or that version.
    /// - Returns: whether there is one.
    @discardableResult
    mutating func change(_ generation: GenerationID, _ change: (inout SessionVersion) -> Void) -> Bool {
        if let index = bodies.firstIndex(where: { $0.generation == generation }) {
            change(&bodies[index])
            return true
        }
        guard var version, version.generation == generation else { return false }
        // The ledger gives its reference up, so that the change copies nothing.
        ledger.version = nil
        change(&version)
        ledger.version = version
        return true
    }

    /// Moves the readers of last bytes whose response is known to the first of these bytes.
    ///
    /// Each look at a reader's window or wait begins with this, so no event that brings a response
    /// has to consider such readers.
    mutating func placeSuffixes() {
        for index in readers.indices where readers[index].suffix != nil { readers[index].placeSuffix(in: body(of: readers[index])) }
    }

    // MARK: Waking

    /// Ends the wait of each reader that can go on, and returns the actions that wake them.
    mutating func wakeReaders() -> [SessionAction] {
        guard readers.contains(where: { $0.waitsFor != .nothing }) else { return [] }
        placeSuffixes()
        var actions: [SessionAction] = []
        for index in readers.indices where ReaderView.hasSomething(for: readers[index], self) {
            if ReaderView.awaitsFirstByte(readers[index], self) {
                readers[index].waitsFor = .bytes
                continue
            }
            readers[index].waitsFor = .nothing
            actions.append(.wake(readers[index].id))
        }
        return actions
    }

    // MARK: Failing

    /// Fails the readers of stored bytes only that wait at a gap.
    mutating func failOnlyStored() -> [SessionAction] {
        for index in readers.indices
        where readers[index].onlyStored && !readers[index].isApart && readers[index].failure == nil && readers[index].waitsFor != .nothing {
            if !readers[index].waitsForVerification(in: version) { readers[index].failure = .notStored }
        }
        return wakeReaders()
    }

    /// Fails the readers at or beyond `offset` that depend on a request.
    mutating func failReaders(from offset: Int64, _ error: OriginError) {
        for index in readers.indices where readers[index].dependsOnRequest(from: offset, in: version) {
            readers[index].failure = .origin(error)
        }
    }

    /// Pauses after a failed request, and gives up the goal if the origin has failed too often.
    mutating func backOff(after error: OriginError, now: MonotonicInstant) {
        if backOff.failed(error, limits, now: now) { goal = nil }
    }

    // MARK: Ending fetches

    /// Cancels the fetches that match. Bytes that they have brought stay.
    mutating func cancelFetches(where matches: (FetchState) -> Bool) -> [SessionAction] {
        endFetches(fetches.filter { !$0.isDraining && matches($0) }.map(\.id))
    }

    /// Ends the leases of these fetches. The bytes in memory drain to the store, or to the readers
    /// of a relay.
    mutating func endFetches(_ ids: [FetchID]) -> [SessionAction] {
        for index in fetches.indices where ids.contains(fetches[index].id) { fetches[index].drain() }
        fetches.removeAll { $0.isDrained }
        return ids.flatMap { [SessionAction.cancel($0), .ended($0, nil)] } + releaseRelays()
    }

    /// Releases the memory of each relay below its slowest attached reader.
    mutating func releaseRelays() -> [SessionAction] {
        var actions: [SessionAction] = []
        for index in fetches.indices where fetches[index].isRelay {
            let lowest = FetchPlanner.lowestAttached(to: fetches[index], self)
            guard lowest > fetches[index].released else { continue }
            fetches[index].released = lowest
            fetches[index].blocking = .none
            actions.append(.release(fetches[index].id, below: lowest))
        }
        fetches.removeAll { $0.isDrained }
        return actions
    }
}

/// The life cycle of a session.
package enum SessionPhase: Hashable, Sendable {
    /// No reader has come yet.
    case new
    /// The index is being read.
    case opening
    /// The machine plans fetches and serves readers.
    case ready
    /// The resource was removed or the cache closed: readers fail, and no fetch starts.
    case ended(ReadFailure)
}

import SpoolCore
import SpoolStore
import SpoolSystem

/// Keeps the stored bytes within the limits: makes room before bytes are written, in the order of
/// the eviction policy.
///
/// Resources that are not in use go first, one after the other, each from its end to its beginning.
/// Then go bytes of resources in use that no reader needs soon. Pinned resources, and bytes that a
/// reader is about to read, never go. When that does not free enough, the write is refused and its
/// bytes are passed on without being stored.
///
/// `reserve`, `written`, `landed`, `abandon`, `allocation` and `isDiskShort` may be called on any
/// thread. Everything else runs on the index lane.
final class Evictor: Sendable {
    /// A search frees more than it needs, so that the next writes find room: the quota divided by
    /// this …
    static let slackDivisor: Int64 = 32
    /// … and at most this many bytes.
    static let slackLimit: Int64 = 32 << 20

    struct State {
        var ledger: RoomLedger<Writer>
        /// The bytes of files that readers use after the index has forgotten them.
        var unnamed: [GenerationID: Int64] = [:]
        /// The first waiting request waits until a write has landed.
        var isPostponed = false
        /// The bytes that the store occupied at the first look. Nil before that look, and where the
        /// quota alone counts.
        var presentBytes: Int64?
        /// A search for room is queued on the index lane, or runs there.
        var isServing = false
        var hooks = Hooks()
        /// Generations whose files can't be punched.
        var solid: Set<GenerationID> = []
        /// The bytes that a killed process may have left beside the index. Nil before the first
        /// request for room, and once everything is counted.
        var uncountedBytes: Int64?
        /// The time until which writes wait while files are counted. Nil before the first such
        /// write.
        var countingDeadline: MonotonicInstant?
        /// Whether files are being counted for waiting writes.
        var isCounting = false
        /// Whether waiting requests are answered by the job that counts the files.
        var isHeld = false
    }

    /// The writer of a request for room.
    struct Writer: Sendable {
        /// Called on the index lane with whether there is room.
        var answer: @Sendable (Bool) -> Void
        /// The session of the resource, if the resource does not fit into the quota.
        var oversized: ResourceSession?
        /// Whether no bytes of resources in use are evicted for the request.
        var isModest: Bool
    }

    /// The calls that the evictor makes into its cache. Set once, when the cache is made.
    struct Hooks: Sendable {
        /// Ends the session of a resource if it is idle, and returns false if it is in use.
        var release: @Sendable (ResourceKey) -> Bool = { _ in false }
        /// Enters all written bytes into the index, so that they may be evicted.
        var commitAll: @Sendable () -> Void = {}
        /// Returns the session of a resource.
        var session: @Sendable (ResourceKey) -> ResourceSession? = { _ in nil }
    }

    let environment: CacheEnvironment
    let store: any ResourceStore
    let live: LiveLimits
    var limits: StorageLimits { live.current }
    let pins: TemporaryPins
    let downloads: DownloadKeys
    let committer: Committer
    let record: @Sendable (CacheEvent) -> Void
    /// The moment at which the store was opened, by both clocks.
    let opened: (wall: Timestamp, at: MonotonicInstant)
    let state: Locked<State>

    init(
        environment: CacheEnvironment, store: any ResourceStore, limits: LiveLimits, pins: TemporaryPins,
        downloads: DownloadKeys, committer: Committer, record: @escaping @Sendable (CacheEvent) -> Void
    ) {
        self.environment = environment
        self.store = store
        live = limits
        self.pins = pins
        self.downloads = downloads
        self.committer = committer
        self.record = record
        opened = (environment.time.wallNow, environment.time.now)
        let first = limits.current
        state = Locked(State(ledger: RoomLedger<Writer>(quotaBytes: first.quotaBytes, minimumFreeBytes: first.minimumFreeBytes)))
    }

    func connect(_ hooks: Hooks) { state.withLock { $0.hooks = hooks } }

    var hooks: Hooks { state.withLock { $0.hooks } }

    // MARK: Reserving

    /// Returns the most bytes that a write of `range` can add to the size of the files, in whole
    /// units of the disk.
    func allocation(of range: ByteRange) -> Int64 {
        let unit = store.allocationBytes
        // No range is longer than `ByteRange.maximumOffset`, so the sum fits.
        return (range.upperBound + unit - 1) / unit * unit - range.lowerBound / unit * unit
    }

    /// Asks for room for a write.
    ///
    /// - Parameters:
    ///   - session: The session of the resource that the bytes belong to, or nil if no session
    ///     writes them.
    ///   - length: The length of the resource, or nil if it is not known.
    ///   - isModest: Whether no bytes of resources in use are evicted for it.
    ///   - answer: Called on the index lane with whether there is room, if this method returns nil.
    /// - Returns: True if there is room, or nil if it has to be made first.
    func reserve(
        _ bytes: Int64, of session: ResourceSession? = nil, length: Int64? = nil, isModest: Bool = false,
        _ answer: @escaping @Sendable (Bool) -> Void
    ) -> Bool? {
        // Downloads have an allowance of their own, which the list of downloads checks.
        let isDownload = session.map { downloads.contains($0.key) } ?? false
        let isOversized = !isDownload && (length ?? 0) > (limits.quotaBytes ?? .max)
        let (isGranted, mustServe) = state.withLock { state -> (Bool?, Bool) in
            guard state.ledger.isLimited else {
                state.ledger.grantUnlimited(bytes)
                return (true, false)
            }
            let writer = Writer(answer: answer, oversized: isOversized ? session : nil, isModest: isModest)
            if state.ledger.ask(bytes, ignoresQuota: isDownload, for: writer) { return (true, false) }
            defer { state.isServing = true }
            return (nil, !state.isServing)
        }
        if mustServe { environment.indexLane.post { [self] in serve() } }
        return isGranted
    }

    /// Whether the last refusal was because too little of the disk is free, and not because of the
    /// quota.
    var isDiskShort: Bool { state.withLock { $0.ledger.isDiskShort } }

    /// Notes that the write of `bytes` that were reserved is over. A call of `landed()` follows.
    func written(_ bytes: Int64) {
        state.withLock { $0.ledger.written(bytes) }
    }

    /// Notes that a write of a session is over and that the session has entered it. Goes on with a
    /// request that waited for this.
    func landed() {
        let mustServe = state.withLock { exchange(&$0.isPostponed, with: false) }
        if mustServe { environment.indexLane.post { [self] in serve() } }
    }

    /// Takes reserved bytes out of the ledger after they were entered into the index or dropped.
    /// Runs on the index lane.
    func settle(_ bytes: Int64) {
        state.withLock { $0.ledger.settled(bytes) }
        do throws(StoreError) { try refreshUsage() } catch { note(error) }
    }

    /// Takes reserved bytes out of the ledger because their version is gone. Callable from any
    /// thread.
    func abandon(_ bytes: Int64) {
        guard bytes > 0 else { return }
        state.withLock { $0.ledger.settled(bytes) }
    }

    /// Returns the quota in effect: the size of the store at the first look, if that is more and
    /// `keepsPresentSize` is set.
    func quota() throws(StoreError) -> Int64? {
        guard let quota = limits.quotaBytes, limits.keepsPresentSize else { return limits.quotaBytes }
        if let present = state.withLock({ $0.presentBytes }) { return max(quota, present) }
        let present = try countedBytes()
        state.withLock { state in
            state.presentBytes = present
            state.ledger.setQuota(max(quota, present))
        }
        return max(quota, present)
    }

    /// Returns the bytes that count towards the quota: those of all resources but downloads.
    func countedBytes() throws(StoreError) -> Int64 {
        let all = try store.totalSizeBytes()
        return (downloads.isEmpty ? all : max(0, all - (try store.downloadBytes()))) + (try unnamedBytes())
    }

    /// Counts the bytes of a file that readers use after the index has forgotten it, or counts them
    /// no more if `bytes` is nil. Callable from any thread.
    func setUnnamed(_ bytes: Int64?, of generation: GenerationID) {
        state.withLock { $0.unnamed[generation] = bytes }
    }

    /// Returns the bytes of such files, but not of those that the index still has.
    private func unnamedBytes() throws(StoreError) -> Int64 {
        let unnamed = state.withLock { $0.unnamed }
        var all: Int64 = 0
        for (generation, bytes) in unnamed where try store.namedBytes(of: generation).isEmpty { all = all.addingSaturated(bytes) }
        return all
    }

    /// Whether `bytes` can be stored without an eviction. Runs on the index lane.
    func hasSpareRoom(for bytes: Int64) -> Bool {
        do throws(StoreError) { return try spareRoom().bytes ?? .max >= bytes } catch { note(error) }
        return false
    }

    /// Returns the room that is left without an eviction. Runs on the index lane.
    func spareRoom() throws(StoreError) -> SpareRoom {
        try refreshUsage()
        var room = SpareRoom(bytes: state.withLock { $0.ledger.spareBytes })
        if let maximum = limits.maximumCount { room.count = max(0, maximum - max(0, try store.count() - downloads.count)) }
        return room
    }

    func refreshUsage() throws(StoreError) {
        let quota = try quota()
        var occupied = try countedBytes()
        occupied += uncounted(beside: occupied, quota)
        var free: Int64?
        if limits.minimumFreeBytes != nil {
            do throws(StoreError) { free = try store.freeBytes() } catch { note(error) }
        }
        state.withLock { $0.ledger.looked(occupiedBytes: occupied, freeBytes: free) }
    }

    func note(_ error: StoreError) {
        if error.isTrouble { record(.storeTrouble("room: \(error)")) }
    }

    var slackBytes: Int64 { min(Self.slackLimit, (limits.quotaBytes ?? .max) / Self.slackDivisor) }

    /// Takes over limits that have changed, and evicts what is beyond them. Callable on any thread.
    func limitsChanged() {
        let limits = limits
        state.withLock { state in
            state.ledger.setLimits(quotaBytes: limits.quotaBytes, minimumFreeBytes: limits.minimumFreeBytes)
            state.presentBytes = nil
        }
        environment.indexLane.post { [self] in
            if store.isWritable { enforce() }
        }
    }

    /// Drops what was measured of the store, because another process may have written to it. Runs
    /// on the index lane.
    func forget() {
        state.withLock { state in
            state.ledger.forget()
            state.uncountedBytes = nil
            state.countingDeadline = nil
        }
    }
}

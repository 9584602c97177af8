public import SpoolCore
import SpoolStore
import SpoolSystem

/// Fetches the beginning of a resource before a player asks for it.
///
/// A preload shares its origin requests with the readers of the same resource, and fetches no
/// stored bytes. It yields to players: see <doc:Preloading>. Releasing the object cancels it, and
/// bytes that arrived stay stored. Safe to use from any thread.
public final class Preload: Sendable {
    /// The key of the resource.
    public let key: ResourceKey

    struct State {
        var reader: SessionReader?
        var plan: PreloadPlan?
        /// The range that is being read, and whether its bytes are examined.
        var target: ByteRange?
        var isExamined = false
        var position: Int64 = 0
        /// The stored bytes when the preload began.
        var before = ByteRangeSet()
        /// Whether the stored bytes are known.
        var isBegun = false
        var isPaused = false
        var isYielding = false
        var yield = PreloadYield()
        var looks = 0
        var isConfirming = false
        var result: Result<PreloadResult, CacheError>?
        var waiting: [CheckedContinuation<Result<PreloadResult, CacheError>, Never>] = []
        var listeners: [AsyncStream<PreloadProgress>.Continuation] = []

        var isHeld: Bool { isPaused || isYielding }
    }

    /// The number of chunks that one job takes.
    private static let chunksAtOnce = 64
    /// The largest chunk, in bytes.
    private static let chunkBytes = 256 << 10
    /// The first range, until the length is known.
    private static let firstBytes: Int64 = 16 << 10
    /// The number of checks for the last bytes, which may still be on their way to the disk, and
    /// the time between two checks.
    private static let maximumLooks = 100
    private static let lookInterval: Nanoseconds = .milliseconds(100)

    private let cache: MediaCache
    private let url: String
    private let amount: PreloadAmount
    private let options: ReadOptions
    /// Whether another process stores the bytes, so that they are not looked for here.
    private let isStoredElsewhere: Bool
    private let mailbox: any Mailbox
    private let state = Locked(State())

    init(
        cache: MediaCache, url: String, key: ResourceKey, amount: PreloadAmount, options: ReadOptions, isStoredElsewhere: Bool
    ) {
        self.cache = cache
        self.url = url
        self.key = key
        self.amount = amount
        self.options = options
        self.isStoredElsewhere = isStoredElsewhere
        mailbox = cache.environment.dataLanes[0]
    }

    deinit {
        let (reader, listeners) = state.withLock { ($0.reader, $0.listeners) }
        reader?.leave(explicitly: true)
        for listener in listeners { listener.finish() }
    }

    // MARK: Control

    /// The progress from now on, newest first if the consumer is slow. Ends with the preload.
    public var progress: AsyncStream<PreloadProgress> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let (isOver, progress) = state.withLock { state in
                if state.result == nil { state.listeners.append(continuation) }
                return (state.result != nil, state.plan?.progress)
            }
            if let progress { continuation.yield(progress) }
            if isOver { continuation.finish() }
        }
    }

    /// Waits until the planned bytes are stored. Cancelling the waiting task cancels the preload.
    ///
    /// - Throws: The error that prevents it: those of ``ByteReader``; `.noRoom` when the store has no
    ///   room for the bytes; `.notStored` for a resource that must not be stored; `.cancelled` after
    ///   `cancel()`.
    @discardableResult
    public func result() async throws(CacheError) -> PreloadResult {
        try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known = state.withLock { state in
                    if state.result == nil { state.waiting.append(continuation) }
                    return state.result
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            cancel()
        }.get()
    }

    /// Stops the preload. Bytes that arrived stay stored.
    public func cancel() { end(.failure(CacheError(.cancelled, "the preload was cancelled", key: key))) }

    /// Pauses the preload, and with it its origin requests, until `resume()`.
    public func pause() { mailbox.post { [weak self] in self?.setHeld { $0.isPaused = true } } }

    /// Ends a pause.
    public func resume() { mailbox.post { [weak self] in self?.setHeld { $0.isPaused = false } } }

    // MARK: Beginning

    /// Looks up the stored bytes, and then opens the reader, unless a player waits for bytes.
    func begin() {
        cache.status(of: key) { [weak self, mailbox] found in
            mailbox.post { [weak self] in self?.begin(found) }
        }
    }

    private func begin(_ found: Result<ResourceStatus?, CacheError>) {
        switch found {
        case .failure(let error): end(.failure(error))
        case .success(let status):
            state.withLock { state in
                state.before = status?.stored ?? ByteRangeSet()
                state.isBegun = true
            }
            watchPlayers()
            open()
        }
    }

    /// Opens the reader if there is none, and nothing holds the preload.
    private func open() {
        guard state.withLock({ $0.isBegun && !$0.isHeld && $0.reader == nil && $0.result == nil }) else { return }
        do throws(CacheError) {
            let reader = try cache.sessionReader(
                for: url, key: key, start: 0, end: firstEnd, wantsBytes: true, options: options,
                wake: { [weak self, mailbox] in mailbox.post { [weak self] in self?.readAvailable() } })
            let isOver = state.withLock { state in
                if state.result == nil { state.reader = reader }
                return state.result != nil
            }
            if isOver { reader.leave(explicitly: true) } else { readAvailable() }
        } catch {
            end(.failure(error))
        }
    }

    /// The end of the first range, until the length is known; nil for the end of the resource.
    private var firstEnd: Int64? {
        switch amount {
        case .bytes(let count): max(0, min(count, ByteRange.maximumOffset))
        case .seconds: Self.firstBytes
        case .whole: nil
        }
    }

    // MARK: Yielding

    /// Looks at the players at once, and then at intervals until the preload ends.
    private func watchPlayers() {
        guard state.withLock({ $0.result == nil }) else { return }
        let players = cache.engine.players(besideHost: cache.engine.liveSession(of: key)?.host)
        let now = cache.environment.time.now
        setHeld { $0.isYielding = !$0.yield.mayRun(beside: players, now: now) }
        _ = cache.environment.time.after(PreloadYield.interval, on: mailbox) { [weak self] in self?.watchPlayers() }
    }

    /// Changes the state, and lets the reader go or continues it when that changes `isHeld`.
    private func setHeld(_ change: (inout State) -> Void) {
        let (before, after, reader, position, end) = state.withLock { state in
            let before = state.isHeld
            change(&state)
            return (before, state.isHeld, state.reader, state.position, state.target?.upperBound)
        }
        guard before != after else { return }
        guard let reader else { return open() }
        // A reader with an empty range needs no bytes, so its fetch pauses at once.
        if let end { reader.seek(to: position, end: after ? position : end) }
        if !after { readAvailable() }
    }

    // MARK: Reading

    /// Takes the bytes that are available. Runs on the mailbox.
    private func readAvailable() {
        for _ in 0..<Self.chunksAtOnce {
            guard let reader = state.withLock({ $0.result == nil && !$0.isHeld && !$0.isConfirming ? $0.reader : nil }) else { return }
            guard state.withLock({ $0.plan != nil }) || describe(reader) else { return }
            switch reader.next(max: Self.chunkBytes) {
            case .file(let file, let range): take(file, range, reader)
            case .memory(let memory, let keepAlive):
                take(memory.count, withExtendedLifetime(keepAlive) { isExamined ? [UInt8](memory) : [] })
                reader.advance(by: memory.count, fromOrigin: true)
            case .wait: return
            case .end:
                endRange()
                moveOn(reader)
            case .failed(let error): return end(.failure(error))
            }
        }
        if let reason = missingRoom { return end(.failure(reason)) }
        publish()
        mailbox.post { [weak self] in self?.readAvailable() }
    }

    private var isExamined: Bool { state.withLock { $0.isExamined } }

    /// Reads the length of the resource, and makes the plan.
    ///
    /// - Returns: Whether there is a plan now.
    private func describe(_ reader: SessionReader) -> Bool {
        switch reader.prepare() {
        case .wait: return false
        case .failed(let error):
            end(.failure(error))
            return false
        case .ready(_, let representation):
            reader.markTold()
            state.withLock { $0.plan = PreloadPlan(amount, length: representation.length) }
            moveOn(reader)
            return state.withLock { $0.result == nil && !$0.isConfirming }
        }
    }

    private func take(_ file: any StoredBytes, _ range: ByteRange, _ reader: SessionReader) {
        guard isExamined else {
            take(Int(range.count), [])
            return reader.advance(by: Int(range.count), fromOrigin: false)
        }
        guard let bytes = reader.read(range, of: file) else { return }
        take(bytes.count, bytes)
        reader.advance(by: bytes.count, fromOrigin: false)
    }

    private func take(_ count: Int, _ bytes: [UInt8]) {
        state.withLock { state in
            if state.isExamined { state.plan?.received(bytes, at: state.position) }
            if let range = ByteRange(state.position, state.position + Int64(count)) { state.plan?.passed(range) }
            state.position += Int64(count)
        }
    }

    /// Ends the resource if it has ended inside the range.
    private func endRange() {
        state.withLock { state in
            guard let target = state.target, state.position < target.upperBound else { return }
            state.plan?.ended(at: state.position)
        }
    }

    /// Moves the reader to the next range.
    private func moveOn(_ reader: SessionReader) {
        publish()
        let target = state.withLock { state -> ByteRange? in
            guard case .read(let range, let isExamined)? = state.plan?.next() else { return nil }
            (state.target, state.isExamined, state.position) = (range, isExamined, range.lowerBound)
            return range
        }
        if let target { return reader.seek(to: target.lowerBound, end: target.upperBound) }
        state.withLock { $0.isConfirming = true }
        confirm()
    }

    private func publish() {
        let (listeners, progress) = state.withLock { ($0.listeners, $0.plan?.progress) }
        guard let progress else { return }
        for listener in listeners { listener.yield(progress) }
    }

    // MARK: Ending

    /// The error of a resource that is not stored for want of room, or nil.
    private var missingRoom: CacheError? {
        switch cache.engine.liveSession(of: key)?.liveStatus.passReason {
        case .quotaReached?: CacheError(.noRoom, "\(url) was not preloaded: \(NotStoredReason.quotaReached)", key: key)
        case .diskReserved?: CacheError(.noRoom, "\(url) was not preloaded: \(NotStoredReason.diskReserved)", key: key)
        default: nil
        }
    }

    /// Checks that the planned bytes are stored, after all of them were available.
    private func confirm() {
        let (planned, looks, isOver) = state.withLock { state in
            state.looks += 1
            return (state.plan?.planned ?? ByteRangeSet(), state.looks, state.result != nil)
        }
        guard !isOver else { return }
        let stored = cache.storedNow(of: key) ?? ByteRangeSet()
        if isStoredElsewhere || planned.subtracting(stored).isEmpty { return end(.success(summary(planned))) }
        if let reason = missingRoom { return end(.failure(reason)) }
        guard looks < Self.maximumLooks else {
            let reason = cache.engine.liveSession(of: key)?.liveStatus.passReason.map { ": \($0)" } ?? ""
            return end(.failure(CacheError(.notStored, "\(url) was fetched, and is not stored\(reason)", key: key)))
        }
        _ = cache.environment.time.after(Self.lookInterval, on: mailbox) { [weak self] in self?.confirm() }
    }

    private func summary(_ planned: ByteRangeSet) -> PreloadResult {
        state.withLock { state in
            let stored = planned.intersection(state.before).totalBytes
            return PreloadResult(
                key: key, fetchedBytes: planned.totalBytes - stored, storedBytes: stored, bytesReason: state.plan?.bytesReason)
        }
    }

    private func end(_ result: Result<PreloadResult, CacheError>) {
        let (reader, waiting, listeners) = state.withLock { state in
            if state.result == nil { state.result = result }
            defer { (state.reader, state.waiting, state.listeners) = (nil, [], []) }
            return (state.reader, state.waiting, state.listeners)
        }
        reader?.leave(explicitly: true)
        for listener in listeners { listener.finish() }
        // Callers wait only before the first result, so this is the first.
        for continuation in waiting { continuation.resume(returning: result) }
    }
}

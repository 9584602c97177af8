import SpoolCore
import SpoolStore
import SpoolSystem

// One cache and several processes: becoming the writer, letting go while suspended, looking for what nothing names.

extension MediaCache {
    /// How often a cache that only reads tries to become the one that writes: at a gap, this long after the last try. A try is two system
    /// calls.
    static let writerRetryInterval: Nanoseconds = .seconds(1)
    /// How long the search for orphans waits after the opening, for those who came to read.
    static let sweepDelay: Nanoseconds = .seconds(2)
    /// The pause between two steps of that search.
    static let sweepInterval: Nanoseconds = .milliseconds(50)
    /// Directories, or generations, that one step looks at: some hundred microseconds.
    static let sweepBatch = 16

    // MARK: Becoming the writer

    /// A fetch begins. Where another process has the store, it may be gone by now.
    func gapMet() {
        startReadingKeys()
        guard !store.isWritable, !configuration.isReadOnly else { return }
        let now = environment.time.now
        let isDue = lastWriterTry.withLock { last in
            if let last, now - last < Self.writerRetryInterval { return false }
            last = now
            return true
        }
        guard isDue else { return }
        environment.indexLane.post { [self] in
            do throws(StoreError) {
                guard try store.becomeWriter() else { return }
            } catch {
                // Closed or suspended meanwhile is no trouble.
                if error != .closed && error != .suspended { record(.storeTrouble("taking over the store: \(error)")) }
                return
            }
            record(.becameWriter)
            evictor.forget()
            // Sessions that began as readers go on so; who comes when they are idle gets one that stores.
            sessions.withLock { $0.makeStale() }
            startSweeping()
        }
    }

    // MARK: Others that look

    /// Enters what was received up to now into the index, where other processes see it; calls back on the index lane.
    package func enterReceived(_ done: @escaping @Sendable (Result<Void, CacheError>) -> Void) {
        if isClosed { return done(.failure(CacheError(.closed, "the cache is closed"))) }
        afterWrites { [self] in
            onIndexLane(nil, done) { [self] () throws(StoreError) in enterWritten() }
        }
    }

    /// On the index lane.
    private func enterWritten() {
        for session in sessions.withLock({ $0.all }) { session.enterWritten(isEnforcing: true) }
    }

    // MARK: Suspension

    /// Makes everything durable and lets go of every lock on the store, for a process that the system is about to suspend.
    ///
    /// A process that is suspended with a lock on a file in a shared container is ended by its system (on Apple's, 0xdead10cc). Until
    /// `resume` nothing is read from or written to the store: readers that go on are served from the origin.
    package func suspend(_ done: @escaping @Sendable (Result<Void, CacheError>) -> Void) {
        if isClosed { return done(.failure(CacheError(.closed, "the cache is closed"))) }
        afterWrites { [self] in
            environment.indexLane.post { [self] in
                enterWritten()
                committer.whenSettled { [self] in
                    committer.writeTouches()
                    do throws(StoreError) {
                        try store.suspend()
                        done(.success(()))
                    } catch { done(.failure(CacheError(error, key: nil))) }
                }
            }
        }
    }

    /// Takes the locks again that `suspend` let go of.
    ///
    /// Where another process wrote meanwhile, nothing that was known of what is stored holds any more: readers go on from the origin, and
    /// who comes later finds what is stored now. When the other process still has the store, this cache reads only, until it is gone.
    package func resume(_ done: @escaping @Sendable (Result<Void, CacheError>) -> Void) {
        onIndexLane(nil, done) { [self] () throws(StoreError) in
            if try !store.resume() {
                for session in sessions.withLock({ $0.all }) { session.loseEverything() }
            }
            evictor.forget()
            sessions.withLock { $0.makeStale() }
        }
    }

    // MARK: Age and count

    /// How often what is too old is looked for, at most and at least.
    static let ageCheckIntervals: ClosedRange<Nanoseconds> = .seconds(60)...(.seconds(3600))

    /// Takes out what is too old or too much: soon after the opening, and what became too old from time to time.
    func startEnforcing() {
        guard configuration.limits.maximumAge != nil || configuration.limits.maximumCount != nil else { return }
        enforceLimits(after: Self.sweepDelay)
    }

    private func enforceLimits(after delay: Nanoseconds) {
        _ = environment.time.after(delay, on: environment.indexLane) { [weak self] in
            guard let self, !isClosed else { return }
            if store.isWritable { evictor.enforce() }
            guard let age = configuration.limits.maximumAge else { return }
            let eighth = Nanoseconds(clamping: age.components.seconds / 8).multipliedReportingOverflow(by: 1_000_000_000)
            let bounds = Self.ageCheckIntervals
            enforceLimits(after: eighth.overflow ? bounds.upperBound : min(max(eighth.partialValue, bounds.lowerBound), bounds.upperBound))
        }
    }

    // MARK: Keys

    /// How many keys are read at a time: a look-up waits no longer for it than for a commit.
    private static let keyBatch = 2048
    /// The pause between two batches.
    private static let keyInterval: Nanoseconds = .milliseconds(10)

    /// Reads which keys are stored, once: what is asked for and certainly is not need not be looked up. Begins with the first fetch, since who
    /// plays what is stored has no use for it, and it takes 0.6 µs of CPU a key.
    private func startReadingKeys() {
        let isFirst = keysAreRead.withLock { areRead in
            defer { areRead = true }
            return !areRead
        }
        guard isFirst else { return }
        environment.indexLane.post { [weak self] in self?.readKeys() }
    }

    private func readKeys() {
        do throws(StoreError) {
            guard try !store.readKeys(limit: Self.keyBatch) else { return }
            _ = environment.time.after(Self.keyInterval, on: environment.indexLane) { [weak self] in self?.readKeys() }
        } catch {
            if error != .closed && error != .suspended { record(.storeTrouble("keys: \(error)")) }
        }
    }

    // MARK: Orphans

    /// Looks for files and rows that nothing names, in the background and slowly, if the last run may have left some.
    func startSweeping() {
        guard store.owesSweep else { return }
        sweep(after: Self.sweepDelay)
    }

    private func sweep(after delay: Nanoseconds) {
        _ = environment.time.after(delay, on: environment.indexLane) { [weak self] in
            guard let self else { return }
            do throws(StoreError) {
                let isOver = try store.sweepOrphans(limit: Self.sweepBatch)
                if isOver { evictor.enforceQuota() } else { sweep(after: Self.sweepInterval) }
            } catch {
                if error != .closed && error != .suspended { record(.storeTrouble("orphans: \(error)")) }
            }
        }
    }
}

import SpoolCore
import SpoolStore
import SpoolSystem

// One cache and several processes: becoming the writer, releasing the store while suspended,
// sweeping orphans.

extension Engine {
    /// The shortest time between two tries of a reading cache to become the writer.
    static let writerRetryInterval: Nanoseconds = .seconds(1)
    /// The time that the search for orphans waits after the opening, so that it does not delay the
    /// first readers.
    static let sweepDelay: Nanoseconds = .seconds(2)
    /// The pause between two steps of that search.
    static let sweepInterval: Nanoseconds = .milliseconds(50)

    // MARK: Becoming the writer

    /// Starts to read the keys, and tries to become the writer. Called when a fetch begins: the
    /// process that had the store may have ended by then.
    func gapMet() {
        startReadingKeys()
        tryToBecomeWriter()
    }

    /// Tries to become the writer, unless the last try was just now.
    func tryToBecomeWriter() {
        guard !store.isWritable, !configuration.storage.isReadOnly else { return }
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
                return failed("taking over the store", error)
            }
            record(.becameWriter)
            evictor.forget()
            downloads.storeChanged()
            // Sessions that began as readers stay readers. Once they are idle, the next reader gets
            // a session that stores.
            sessions.withLock { $0.makeStale() }
            startSweeping()
        }
    }

    // MARK: Others that look

    /// Enters all received bytes into the index, where other processes see them. Calls `done` on
    /// the index lane.
    func enterReceived(_ done: @escaping Completion<Void>) {
        if isClosed { return done(.failure(CacheError(.closed, "the cache is closed"))) }
        afterWrites { [self] in
            onIndexLane(nil, done) { [self] () throws(StoreError) in enterWritten() }
        }
    }

    /// Enters all received bytes into the index. Runs on the index lane.
    private func enterWritten() {
        for session in sessions.withLock({ $0.all }) { session.writes.enterWritten(isEnforcing: true) }
    }

    // MARK: Suspension

    /// Makes everything durable and releases every lock on the store, for a process that the system
    /// is about to suspend.
    ///
    /// A system ends a process that it suspends while the process holds a lock on a file in a
    /// shared container (on Apple's systems with 0xdead10cc). Until `resume` nothing is read from
    /// or written to the store, and readers get their bytes from the origin. The unfinished block
    /// of a running fetch is stored as well. Then the fetch pauses, unless a reader waits for its
    /// bytes: those pass through. Preloads wait. A `resume` before the end drops the suspension.
    func suspend(_ done: @escaping Completion<Void>) {
        let resumes = suspension.withLock { suspension in
            suspension.isWanted = true
            return suspension.resumes
        }
        let isWanted: @Sendable () -> Bool = { [suspension] in suspension.withLock { $0 == (true, resumes) } }
        // A resume lets the fetches go on in the same lane, so the later one of both calls counts.
        let hold: @Sendable () throws(StoreError) -> Void = { [self] in
            guard isWanted() else { return }
            preloads.hold()
            for session in sessions.withLock({ $0.all }) { session.writes.suspend() }
        }
        onIndexLane(nil, hold, failed: { done(.failure($0)) }) { [self] in suspendStore(if: isWanted, done) }
    }

    /// Makes everything durable, and releases the locks on the store if that is still wanted then.
    private func suspendStore(if isWanted: @escaping @Sendable () -> Bool, _ done: @escaping Completion<Void>) {
        afterWrites { [self] in
            environment.indexLane.post { [self] in
                enterWritten()
                committer.whenSettled { [self] in
                    committer.writeTouches()
                    keepCounts(isLast: true)
                    guard isWanted() else { return done(.success(())) }
                    do throws(StoreError) {
                        try store.suspend()
                        done(.success(()))
                    } catch {
                        // The store may have released its locks before it failed.
                        resume { _ in done(.failure(CacheError(error, key: nil))) }
                    }
                }
            }
        }
    }

    /// Lets the fetches go on that the suspension held, unless another one is on its way.
    private func resumeFetches() {
        guard !suspension.withLock({ $0.isWanted }) else { return }
        for session in sessions.withLock({ $0.all }) { session.writes.resume() }
        preloads.release()
    }

    /// Takes the locks again that `suspend` released.
    ///
    /// If another process wrote meanwhile, the state of all sessions is dropped: current readers go
    /// on from the origin, and later ones find what is stored now. If the other process still has
    /// the store, this cache only reads it until that process is gone.
    func resume(_ done: @escaping Completion<Void>) {
        suspension.withLock { $0 = (false, $0.resumes + 1) }
        onIndexLane(nil, done) { [self] () throws(StoreError) in
            defer { resumeFetches() }
            if try !store.resume() {
                for session in sessions.withLock({ $0.all }) { session.loseEverything() }
                downloads.storeChanged()
            }
            evictor.forget()
            sessions.withLock { $0.makeStale() }
        }
    }

    // MARK: Keys

    /// The number of keys that are read at once. A look-up waits no longer for that than for a
    /// commit.
    private static let keyBatch = 2048
    /// The pause between two batches.
    private static let keyInterval: Nanoseconds = .milliseconds(10)

    /// Reads the keys of all stored resources, once. With them, a resource that is certainly not
    /// stored needs no look-up.
    ///
    /// The reading begins with the first fetch, because reading stored bytes alone gains nothing
    /// from it, and takes 0.6 µs of CPU for each key.
    private func startReadingKeys() {
        let isFirst = keysAreRead.withLock { !exchange(&$0, with: true) }
        guard isFirst else { return }
        environment.indexLane.post { [weak self] in self?.readKeys() }
    }

    private func readKeys() {
        do throws(StoreError) {
            guard try !store.readKeys(limit: Self.keyBatch) else { return }
            _ = environment.time.after(Self.keyInterval, on: environment.indexLane) { [weak self] in self?.readKeys() }
        } catch {
            failed("keys", error)
        }
    }

    // MARK: Orphans

    /// Searches for files and rows that the index does not name, slowly and in the background, if
    /// the last run may have left some.
    func startSweeping() {
        guard store.owesSweep else { return }
        sweep(after: Self.sweepDelay)
    }

    private func sweep(after delay: Nanoseconds) {
        _ = environment.time.after(delay, on: environment.indexLane) { [weak self] in
            guard let self else { return }
            do throws(StoreError) {
                let isOver = try store.sweepOrphans(limit: Evictor.sweepBatch)
                if isOver { evictor.enforceQuota() } else { sweep(after: Self.sweepInterval) }
            } catch {
                failed("orphans", error)
            }
        }
    }
}

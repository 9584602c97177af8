import SpoolCore
import SpoolStore
import SpoolSystem

// Another key for a store, or the first one: the index at once, then one resource after the other,
// while readers go on.

extension Engine {
    /// The time that a round waits for the readers of the resources that it skipped.
    private static let roundInterval: Nanoseconds = .seconds(1)

    /// The state of the rotation of a cache.
    struct RotationState: Sendable {
        var isRunning = false
        /// Starts the next round.
        var waiting: (@Sendable () -> Void)?
    }

    /// A rotation that runs.
    private struct Rotation: Sendable {
        let store: SQLiteStore
        let encryption: EncryptionOptions
        let algorithm: CipherAlgorithm?
        let isCancelled: @Sendable () -> Bool
        let tell: @Sendable (KeyRotationProgress) -> Void
        let done: Completion<Void>
        var progress = KeyRotationProgress()
        /// The generation at which the round has arrived.
        var last: GenerationID?
        var passedOver = 0
        /// Whether another key has to follow after this one.
        var comesAgain = false

        func fail(_ error: CacheError) { done(.failure(error)) }
    }

    /// Gives the store another key, or its first one. Calls `progress` and `done` on a lane.
    func rotateKey(
        to encryption: EncryptionOptions, algorithm: CipherAlgorithm?, isCancelled: @escaping @Sendable () -> Bool,
        progress: @escaping @Sendable (KeyRotationProgress) -> Void, _ done: @escaping Completion<Void>
    ) {
        guard let store = store as? SQLiteStore else { return done(.failure(CacheError(StoreError.key(.notEncrypted), key: nil))) }
        do throws(CacheError) { try configuration.permitEncryption() } catch { return done(.failure(error)) }
        let isFirst = rotationState.withLock { !exchange(&$0.isRunning, with: true) }
        guard isFirst else { return done(.failure(CacheError(.storeLocked, "the store is getting another key already"))) }
        let rotation = Rotation(
            store: store, encryption: encryption, algorithm: algorithm, isCancelled: isCancelled, tell: progress,
            done: { [rotationState] result in
                rotationState.withLock { $0.isRunning = false }
                done(result)
            })
        begin(rotation)
    }

    private func begin(_ rotation: Rotation) {
        let store = rotation.store
        onIndexLane(
            nil,
            { () throws(StoreError) in
                let start = try store.rotation.begin(to: rotation.encryption, algorithm: rotation.algorithm)
                return (start, try store.rotation.backlog())
            }, failed: rotation.fail
        ) { [self] start, backlog in
            var rotation = rotation
            rotation.comesAgain = start == .isUnfinished
            rotation.last = nil
            rotation.progress.totalBytes = rotation.progress.resealedBytes + backlog.bytes
            rotation.progress.totalResources = rotation.progress.resealedResources + backlog.resources
            rotation.tell(rotation.progress)
            nextResource(rotation)
        }
    }

    // MARK: Resources

    /// Takes the next resource, or ends the round.
    private func nextResource(_ rotation: Rotation) {
        let store = rotation.store
        guard !rotation.isCancelled() else { return rotation.done(.failure(Self.rotationStopped)) }
        onIndexLane(
            nil,
            { [self] () throws(StoreError) -> (generation: GenerationID, copy: ResealedCopy?)? in
                guard let resource = try store.rotation.next(after: rotation.last) else { return nil }
                return (resource.generation, isHeld(resource.key) ? nil : try store.rotation.reseal(resource))
            }, failed: rotation.fail
        ) { [self] next in
            guard let next else { return endRound(rotation) }
            var rotation = rotation
            rotation.last = next.generation
            guard let copy = next.copy else {
                rotation.passedOver += 1
                return nextResource(rotation)
            }
            fill(copy, copy.resource.spans, rotation)
        }
    }

    /// Returns whether a resource has readers or bytes on their way to the disk. Ends an idle
    /// session, so the next reader finds what is stored then.
    func isUsed(_ key: ResourceKey) -> Bool {
        guard let session = liveSession(of: key) else { return false }
        guard session.endIfIdle() else { return true }
        sessions.withLock { $0.remove(session) }
        return false
    }

    /// Whether the file of a resource has to stay: a session uses it, or an app has its path
    /// (`CompleteFile`).
    private func isHeld(_ key: ResourceKey) -> Bool { isUsed(key) || temporaryPins.contains(key) }

    /// Copies stored bytes, one run at a time.
    private func fill(_ copy: ResealedCopy, _ spans: ByteRangeSet, _ rotation: Rotation) {
        let (resource, lane) = (copy.resource, environment.dataLane(for: copy.generation))
        StoredRuns(engine: self, key: resource.key, generation: resource.generation, lane: lane).walk(
            spans, (copy: copy, rotation: rotation, isSecondLook: false),
            cancellation: { rotation.isCancelled() ? Self.rotationStopped : nil }
        ) { [self] run, state in
            let damaged: ByteRangeSet
            do throws(StoreError) { damaged = try state.copy.copy(run.range, run.pieces) } catch {
                abandon(state.copy, state.rotation, CacheError(error, key: resource.key))
                return .stop
            }
            // An eviction may have taken the bytes after the look at the index.
            state.isSecondLook = !state.isSecondLook && !damaged.isEmpty
            if state.isSecondLook { return .again }
            state.rotation.progress.resealedBytes += run.range.count
            state.rotation.tell(state.rotation.progress)
            guard !damaged.isEmpty else { return .next }
            record(.damageFound(resource.key, bytes: damaged.totalBytes))
            return .discard(damaged)
        } done: { [self] result in
            switch result {
            case .failure(let error): abandon(copy, rotation, error)
            case .success(let end): finish(end.copy, end.rotation)
            }
        }
    }

    /// Makes the complete copy durable, and then puts it in the place of the old file.
    private func finish(_ copy: ResealedCopy, _ rotation: Rotation) {
        let store = rotation.store
        environment.dataLane(for: copy.generation).post { [self] in
            do throws(StoreError) { try copy.synchronize() } catch {
                return abandon(copy, rotation, CacheError(error, key: copy.resource.key))
            }
            onIndexLane(
                copy.resource.key,
                { [self] () throws(StoreError) -> KeyRotation.ResealOutcome? in
                    isHeld(copy.resource.key) ? nil : try store.rotation.enter(copy)
                }, failed: { [self] in abandon(copy, rotation, $0) }
            ) { [self] outcome in
                var rotation = rotation
                switch outcome {
                case .replaced?:
                    rotation.progress.resealedResources += 1
                    rotation.tell(rotation.progress)
                    nextResource(rotation)
                case .grew(let missing)?: fill(copy, missing, rotation)
                case .isGone?: abandon(copy, rotation, nil)
                case nil:
                    // A reader came meanwhile.
                    rotation.passedOver += 1
                    abandon(copy, rotation, nil)
                }
            }
        }
    }

    /// Deletes the copy. Then ends the rotation with `error`, or goes on if there is none.
    private func abandon(_ copy: ResealedCopy, _ rotation: Rotation, _ error: CacheError?) {
        let end: Completion<Void> = { [self] _ in
            if let error { return rotation.done(.failure(error)) }
            nextResource(rotation)
        }
        // If the cache is closed, the next opening finds the file.
        onIndexLane(nil, end) { () throws(StoreError) in
            rotation.store.drop(copy.generation, key: copy.resource.key, fileExtension: copy.resource.fileExtension)
        }
    }

    // MARK: Ends

    private func endRound(_ rotation: Rotation) {
        let store = rotation.store
        onIndexLane(
            nil,
            { [self] () throws(StoreError) -> Bool in
                // Bytes that are not in the index yet may be sealed with the old key, too.
                let isBusy = sessions.withLock { $0.all }.contains { session in
                    session.generation.map(store.rotation.isSealedByPreviousKey) == true && isUsed(session.key)
                }
                guard !isBusy else { return false }
                return try store.rotation.finish()
            }, failed: rotation.fail
        ) { [self] isFinished in
            var rotation = rotation
            if isFinished { return rotation.comesAgain ? begin(rotation) : rotation.done(.success(())) }
            rotation.progress.waitingResources = rotation.passedOver
            rotation.tell(rotation.progress)
            rotation.passedOver = 0
            rotation.last = nil
            let next = rotation
            rotationState.withLock { $0.waiting = { [self] in nextResource(next) } }
            _ = environment.time.after(Self.roundInterval, on: environment.indexLane) { [weak self] in self?.resumeRotation() }
            if isClosed { resumeRotation() }
        }
    }

    /// Ends the wait of a rotation for its next round. Called after the interval, on cancellation,
    /// and when the cache closes, because its lanes and timers end then.
    func resumeRotation() {
        let waiting = rotationState.withLock { $0.waiting.take() }
        waiting?()
    }

    private static let rotationStopped = CacheError(
        .closed, "stopped before all files had the new key; the store opens with the new key, and the same call continues")
}

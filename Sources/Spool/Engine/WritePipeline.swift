import SpoolCore
import SpoolStore
import SpoolSystem

/// The path of received bytes of one session: tail, pool buffer, lane, file, index.
///
/// A view of the session that costs nothing. Methods with a state and effects run under the lock of
/// the session; the others take it themselves.
struct WritePipeline {
    typealias State = ResourceSession.State
    typealias Effect = ResourceSession.Effect

    let session: ResourceSession

    /// The size of a block. A buffer outside the pool ends with its block.
    private static let blockBytes = Int(Piece.blockBytes)

    // MARK: Memory

    /// Returns whether `count` bytes can be kept now, where `count` is one block at most.
    ///
    /// A fetch begins outside the pool, unless too many bytes outside the pool wait for the disk.
    /// Without a free pool buffer it goes on in its tail. The tail is one block. It fills while the
    /// block before it is on its way to the disk, or while the buffer before it holds less than the
    /// lane takes. So fetches that hold all the buffers, such as relays whose readers have stopped,
    /// slow the others down but stop none.
    func makeRoom(_ count: Int, in intake: FetchIntake, _ state: inout State, _ effects: inout [Effect]) -> Bool {
        guard let last = intake.buffers.last else { return session.shared.backlog.hasRoom || isRelay(intake, state) }
        if !last.isHandedOver, last.room >= count { return true }
        if session.shared.pool.hasFree { return true }
        // Others wait for a buffer. This fetch sends its bytes to the disk, which frees its buffer.
        handOverWholeBlocks(of: intake, &state, &effects)
        if last.isPooled { return !last.isHandedOver && last.count < Self.blockBytes }
        return intake.buffers.count == 1
    }

    /// Copies bytes that the machine accepted into buffers.
    func keep(_ bytes: UnsafeRawBufferPointer, at offset: Int64, _ intake: FetchIntake, _ state: inout State, _ effects: inout [Effect]) {
        var cursor = 0
        while cursor < bytes.count {
            let position = offset + Int64(cursor)
            let buffer = openBuffer(at: position, intake, &state, &effects)
            cursor += buffer.append(UnsafeRawBufferPointer(rebasing: bytes[cursor...]))
        }
    }

    /// Gives a full buffer to the lane of the generation at the end of a batch. Readers are woken
    /// first, so the lane does not take the core from them.
    func handOverFullBuffer(of intake: FetchIntake, _ state: inout State, _ effects: inout [Effect]) {
        guard let last = intake.buffers.last, last.room == 0 else { return }
        handOver(last, of: intake, &state, &effects)
    }

    private func openBuffer(at offset: Int64, _ intake: FetchIntake, _ state: inout State, _ effects: inout [Effect]) -> ReceiveBuffer {
        if let last = intake.buffers.last, !last.isHandedOver {
            if last.end == offset, last.room > 0 { return last }
            // Bytes in between were dropped, so this buffer grows no more.
            handOver(last, of: intake, &state, &effects)
        }
        let buffer: ReceiveBuffer
        let toBlockEnd = Self.blockBytes - Int(offset % Piece.blockBytes)
        // The first bytes of a fetch, and a block that was begun, stay outside the pool, so a slow
        // fetch never holds a pool buffer.
        if !intake.buffers.isEmpty, toBlockEnd == Self.blockBytes, let pooled = session.shared.pool.take() {
            // Full pool buffers end at the same offsets of a file, wherever its fetches began, so
            // they are written as large blocks.
            buffer = ReceiveBuffer(
                start: offset, pooled: pooled, capacity: session.shared.segmentBytes - Int(offset % Int64(session.shared.segmentBytes)))
        } else {
            // A resource of a few kilobytes takes the memory of its bytes and not of a block:
            // hundreds of images may load at once. The response's own end counts: the version may
            // have another length than a response that belongs to one reader.
            let toEnd = state.machine.fetch(intake.id)?.servedEnd.map { Int(clamping: $0 - offset) } ?? toBlockEnd
            buffer = ReceiveBuffer(start: offset, capacity: toEnd > 0 ? min(toBlockEnd, toEnd) : toBlockEnd)
        }
        buffer.isBeginning = intake.buffers.isEmpty
        intake.buffers.append(buffer)
        return buffer
    }

    /// Removes buffers from the memory of a fetch. Resumes the fetch if it was paused for lack of
    /// memory.
    func freeBuffers(_ buffers: [ReceiveBuffer], of intake: FetchIntake, _ effects: inout [Effect]) {
        guard !buffers.isEmpty else { return }
        intake.buffers.removeAll { buffer in buffers.contains { $0 === buffer } }
        effects.append(.free(buffers))
        guard intake.isStarved else { return }
        intake.isStarved = false
        session.fetching.resume(intake, &effects)
    }

    // MARK: Handing over

    /// Gives a buffer with bytes to the lane of the generation.
    private func handOver(_ buffer: ReceiveBuffer, of intake: FetchIntake, _ state: inout State, _ effects: inout [Effect]) {
        guard !buffer.isHandedOver, buffer.count > 0, !isRelay(intake, state), let generation = intake.generation else { return }
        // The bytes of a retired version are dropped.
        guard state.machine.version?.generation == generation else { return }
        buffer.isHandedOver = true
        if !buffer.isPooled { session.shared.backlog.enter(buffer.capacity) }
        state.writesUnderWay += 1
        effects.append(.write(buffer, generation, intake))
    }

    /// Gives the whole blocks of the growing buffer to the lane, and keeps the rest as the tail.
    func handOverWholeBlocks(of intake: FetchIntake, _ state: inout State, _ effects: inout [Effect]) {
        guard let last = intake.buffers.last, last.isPooled, !last.isHandedOver, !isRelay(intake, state) else { return }
        let whole = last.count - Int(last.end % Piece.blockBytes)
        guard whole > 0 else { return }
        if whole < last.count {
            let tail = ReceiveBuffer(start: last.start + Int64(whole), capacity: Self.blockBytes)
            _ = last.allBytes.dropFirst(whole).withBytes { tail.append($0) }
            last.cut(to: whole)
            intake.buffers.append(tail)
        }
        handOver(last, of: intake, &state, &effects)
    }

    /// Gives everything in memory to the lane, because the fetch is over.
    func handOverRest(of intake: FetchIntake, _ state: inout State, _ effects: inout [Effect]) {
        for buffer in intake.buffers { handOver(buffer, of: intake, &state, &effects) }
    }

    /// Gives everything in memory to the lane, the unfinished blocks included, because the store is
    /// about to be suspended. From now on a fetch takes bytes only for a reader that waits.
    func suspend() {
        session.run { state, effects in
            state.isStoreSuspended = true
            for intake in state.intakes.values.sorted(by: { $0.id < $1.id }) { handOverRest(of: intake, &state, &effects) }
        }
    }

    /// Lets the fetches go on that the suspension of the store held.
    func resume() {
        session.run { state, effects in
            guard state.isStoreSuspended else { return }
            state.isStoreSuspended = false
            for intake in state.intakes.values.sorted(by: { $0.id < $1.id }) where intake.refusal == nil && !intake.isFinished {
                session.fetching.resume(intake, &effects)
            }
        }
    }

    private func isRelay(_ intake: FetchIntake, _ state: State) -> Bool {
        !state.machine.stores(intake.id)
    }

    // MARK: On the lane

    private struct Written {
        var file: any DataFile
        var pieces: [Piece]
    }

    /// The reason why a write did not happen.
    private struct WriteFailure: Error {
        var reason: NotStoredReason
        /// The error of the store, if the disk or the index is at fault.
        var trouble: StoreError?
    }

    /// Asks for room, then writes the bytes.
    func write(_ buffer: ReceiveBuffer, _ generation: GenerationID, _ intake: FetchIntake) {
        let lane = session.shared.environment.dataLane(for: generation)
        let job: @Sendable () -> Void = { [self] in
            let bytes = ByteRange(buffer.start, buffer.end).map(session.shared.evictor.allocation) ?? 0
            let (length, isModest) = session.state.withLock { state in
                // A preload takes no room from what plays.
                (state.machine.version?.representation.length, !state.demands.isEmpty && state.demand.priority < .playing)
            }
            let isGranted = session.shared.evictor.reserve(bytes, of: session, length: length, isModest: isModest) { [self] isGranted in
                if isGranted { session.state.withLock { $0.grantedBytes += bytes } }
                lane.post { [self] in write(buffer, generation, intake, promised: isGranted ? bytes : nil) }
            }
            guard let isGranted else { return }
            if isGranted { session.state.withLock { $0.grantedBytes += bytes } }
            write(buffer, generation, intake, promised: isGranted ? bytes : nil)
        }
        // A reader waits for the beginning. Later buffers go at once, because each waiting buffer
        // is memory.
        if buffer.isBeginning { session.shared.environment.postBehindReaders(lane, job) } else { lane.post(job) }
    }

    private func write(_ buffer: ReceiveBuffer, _ generation: GenerationID, _ intake: FetchIntake, promised: Int64?) {
        guard let promised else {
            let reason: NotStoredReason = session.shared.evictor.isDiskShort ? .diskReserved : .quotaReached
            return written(buffer, generation, intake, .failure(WriteFailure(reason: reason)), promised: 0)
        }
        let result: Result<Written?, WriteFailure>
        do throws(StoreError) {
            // Nothing more is written to a released file; readers have the bytes from memory.
            guard session.state.withLock({ $0.releasedGeneration != generation }) else { throw .readOnly }
            let file = try dataFile(of: generation)
            let pieces = try buffer.allBytes.withBytes { bytes throws(StoreError) in try file?.write(bytes, at: buffer.start) }
            result = .success(file.map { Written(file: $0, pieces: pieces ?? []) })
        } catch {
            // An origin may name a length that no file of this disk can have. Such an error is no
            // fault of the disk.
            result = .failure(
                error == .tooLarge
                    ? WriteFailure(reason: .fileTooLarge) : WriteFailure(reason: .storeTrouble("\(error)"), trouble: error))
        }
        session.shared.evictor.written(promised)
        written(buffer, generation, intake, result, promised: promised)
    }

    /// Returns the file to write to, or nil if the generation is retired, because opening would
    /// create its file again.
    private func dataFile(of generation: GenerationID) throws(StoreError) -> (any DataFile)? {
        let (file, newExtension) = session.state.withLock { state -> ((any DataFile)?, String?) in
            guard let version = state.machine.version, version.generation == generation else { return (state.file(of: generation), nil) }
            if let file = state.file, state.fileGeneration == generation { return (file, nil) }
            let newExtension = fileExtension(url: session.url, contentType: version.representation.contentType)
            state.uncommittedFiles[generation] = newExtension
            return (nil, newExtension)
        }
        guard let newExtension else { return file }
        return try session.shared.store.dataFile(of: generation, key: session.key, fileExtension: newExtension)
    }

    private func written(
        _ buffer: ReceiveBuffer, _ generation: GenerationID, _ intake: FetchIntake, _ result: Result<Written?, WriteFailure>,
        promised: Int64
    ) {
        if !buffer.isPooled { session.shared.backlog.leave(buffer.capacity) }
        var unused = promised
        var isFirstFailure = false
        let mustCommit = session.run { state, effects -> Bool in
            state.writesUnderWay -= 1
            state.grantedBytes -= promised
            let isCurrent = state.machine.version?.generation == generation
            guard isCurrent || state.machine.body(apart: generation) != nil, let range = ByteRange(buffer.start, buffer.end) else {
                // The version was retired, and no reader goes on with it.
                freeBuffers([buffer], of: intake, &effects)
                return false
            }
            switch result {
            case .success(let written?):
                freeBuffers([buffer], of: intake, &effects)
                if isCurrent {
                    state.file = written.file
                    state.fileGeneration = generation
                    for piece in written.pieces { state.noteDirty(piece, now: session.now) }
                    // The bytes of a download do not count towards the quota, entered or not.
                    if !state.machine.holdsBack {
                        state.promisedBytes += promised
                        unused = 0
                    }
                }
                let remaining = intake.buffers.first?.start ?? .max
                session.apply(
                    state.machine.wrote(range, of: generation, by: intake.id, remaining: remaining, now: session.now), &state, &effects)
                guard isCurrent else {
                    session.pastFiles.keep(generation, written.file, &state, &effects)
                    return false
                }
                setTick(&state, &effects)
                return state.pace.isDue(now: session.now) || (state.writesUnderWay == 0 && intake.isFinished)
            case .success(nil):
                buffer.isHandedOver = false
                return false
            case .failure(let failure):
                // The bytes stay in memory, from where their readers take them.
                buffer.isHandedOver = false
                guard isCurrent else { return false }
                isFirstFailure = state.machine.version?.passReason == nil
                state.owesRelease = true
                session.apply(state.machine.storeFailed(generation, failure.reason, now: session.now), &state, &effects)
                return true
            }
        }
        session.shared.evictor.abandon(unused)
        session.shared.evictor.landed()
        if case .failure(let failure) = result {
            session.shared.makeStale(session.key)
            // Several failed writes of one fetch count as one failure.
            if isFirstFailure, let error = failure.trouble { session.shared.storeFailed(error) }
        }
        if mustCommit { commit() }
    }

    // MARK: Committing

    /// Sets the timer that brings the bytes in memory to file and index within a second.
    func setTick(_ state: inout State, _ effects: inout [Effect]) {
        guard !state.tickIsSet else { return }
        guard !state.dirty.isEmpty || state.owesCommit || state.intakes.values.contains(where: { $0.buffers.last?.isPooled == true })
        else { return }
        state.tickIsSet = true
        effects.append(
            .call { [self] in
                // A session with unwritten bytes is busy, so the table keeps it. A session that was
                // released has nothing left to do.
                _ = session.shared.environment.time.after(Committer.commitInterval, on: session.shared.environment.control) {
                    [weak session] in session?.writes.tick()
                }
            })
    }

    private func tick() {
        session.run { state, effects in
            state.tickIsSet = false
            for intake in state.intakes.values.sorted(by: { $0.id < $1.id }) { handOverWholeBlocks(of: intake, &state, &effects) }
        }
        commit()
    }

    /// Enters written bytes into the index, unless more bytes are on their way to the disk: then
    /// the last of those writes does it.
    func commitUnlessWriting() {
        if session.state.withLock({ $0.writesUnderWay == 0 || !$0.dirty.isEmpty }) { commit() }
    }

    /// Enters written bytes into the index.
    func commit() {
        if queueCommit() { postQueuedChanges() }
    }

    /// Makes the queued changes of the index.
    func postQueuedChanges() {
        session.shared.environment.indexLane.post { [self] in makeQueuedChanges(isEnforcing: true) }
    }

    /// Enters written bytes into the index, together with commits that are queued and not yet
    /// entered. Runs on the index lane.
    func enterWritten(isEnforcing: Bool) {
        queueCommit()
        makeQueuedChanges(isEnforcing: isEnforcing)
    }

    /// Calls `done` once nothing is on its way to file or index, and no fetch takes what has arrived
    /// already. Only for a session that has ended: in others, more may come.
    func whenWritten(_ done: @escaping @Sendable () -> Void) {
        session.run { state, _ in state.whenWritten = done }
    }

    /// Queues a commit of the written bytes.
    ///
    /// - Returns: False if there is nothing to enter.
    @discardableResult
    func queueCommit() -> Bool {
        session.run { state, effects in
            // Bytes that were lost after their write leave room that was promised for them.
            let isOwed = !state.dirty.isEmpty || state.promisedBytes > 0
            guard let version = state.machine.version, !state.machine.holdsBack, isOwed || state.owesCommit else {
                return false
            }
            guard version.passReason == nil || isOwed else {
                state.owesCommit = false
                return false
            }
            state.machine.tookPlace()
            let commit = StoreCommit(
                key: session.key, url: session.url, generation: version.generation, representation: version.representation,
                fileExtension: fileExtension(url: session.url, contentType: version.representation.contentType),
                pieces: state.dirty, time: session.shared.environment.time.wallNow)
            state.changes.append(.commit(commit, promisedBytes: state.promisedBytes))
            session.shared.backlog.enter()
            state.dirty = []
            state.pace.taken()
            state.promisedBytes = 0
            state.owesCommit = false
            state.writesUnderWay += 1
            return true
        }
    }

    /// Makes the queued changes of the index in their order, unless an earlier job has done so. Runs
    /// on the index lane.
    func makeQueuedChanges(isEnforcing: Bool) {
        while let next = session.state.withLock({ $0.changes.first }) {
            switch next {
            case .commit(let commit, let promised): enter(commit, promised, isEnforcing: isEnforcing)
            case .discard(let ranges, let generation, let done):
                session.state.withLock { _ = $0.changes.removeFirst() }
                done(takeOut(ranges, of: generation))
            }
        }
    }

    private func takeOut(_ ranges: ByteRangeSet, of generation: GenerationID) -> Bool {
        guard session.shared.store.isWritable else { return false }
        do throws(StoreError) { try session.shared.store.discard(ranges, of: generation) } catch {
            session.shared.record(.storeTrouble("discard: \(error)"))
            return false
        }
        return true
    }

    /// Enters the first queued change, a commit.
    ///
    /// A removal that was decided meanwhile runs before this job on the lane, so the commit does
    /// not bring back what the removal took out.
    private func enter(_ commit: StoreCommit, _ promised: Int64, isEnforcing: Bool) {
        let isWanted = session.state.withLock { $0.machine.phase != .ended(.removed) }
        let error = isWanted ? session.shared.committer.enter(commit) : nil
        defer { session.shared.backlog.leave() }
        session.run { state, effects in
            state.changes.removeFirst()
            state.writesUnderWay -= 1
            guard let error else {
                if isWanted { state.uncommittedFiles[commit.generation] = nil }
                return
            }
            if error.isTrouble { effects.append(.event(.storeTrouble("commit: \(error)"))) }
            state.owesRelease = true
            session.apply(
                state.machine.storeFailed(commit.generation, .storeTrouble("\(error)"), now: session.now), &state, &effects)
        }
        session.shared.evictor.settle(promised)
        guard isWanted else { return }
        if let error {
            session.shared.makeStale(session.key)
            return session.shared.storeFailed(error)
        }
        if isEnforcing { session.shared.evictor.enforce(sparing: session.key) }
        session.shared.committer.entered(commit)
    }
}

extension ResourceSession.State {
    /// Appends a written piece, joined with the last one where that is possible. Fewer pieces make
    /// fewer rows.
    mutating func noteDirty(_ piece: Piece, now: MonotonicInstant) {
        pace.came(piece.range.count, now: now)
        if dirty.isEmpty || !dirty[dirty.count - 1].join(piece) { dirty.append(piece) }
    }
}

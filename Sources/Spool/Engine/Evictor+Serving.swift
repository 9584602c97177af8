import SpoolCore
import SpoolStore
import SpoolSystem

// Answers the writes that wait for room, one after the other. Everything runs on the index lane.

extension Evictor {
    /// Answers the requests that wait now. Requests that come meanwhile are served after other jobs
    /// of the lane.
    func serve() {
        guard !mustCountFirst() else { return state.withLock { $0.isHeld = true } }
        committer.writeTouches()
        for _ in 0..<state.withLock({ $0.ledger.waiting.count }) {
            // The first request stays at the head of the queue, and the queue is served from there
            // again.
            guard let isGranted = hasRoomForFirst() else { return }
            let request = state.withLock { $0.ledger.answerFirst(isGranted: isGranted) }
            request?.writer.answer(isGranted)
        }
        let isOver = state.withLock { state in
            state.isServing = !state.ledger.waiting.isEmpty
            return !state.isServing
        }
        if !isOver { environment.indexLane.post { [self] in serve() } }
    }

    /// Returns whether there is room for the first waiting request, after eviction if needed, or
    /// nil if it waits for a write to land.
    func hasRoomForFirst() -> Bool? {
        do throws(StoreError) {
            try refreshUsage()
            let (missing, isDiskShort, uncommitted) = state.withLock {
                ($0.ledger.shortageBytes, $0.ledger.isDiskShort, $0.ledger.promisedBytes)
            }
            if missing <= 0 { return true }
            // Another program fills the disk: even an empty store would leave too little room.
            // Evict nothing.
            if isDiskShort { guard try missing <= countedBytes() + uncommitted else { return false } }
            guard let first = state.withLock({ $0.ledger.waiting.first }) else { return true }
            let cause: EvictionCause = isDiskShort ? .minimumFreeDisk : .quota
            if let session = first.writer.oversized {
                guard try makeRoom(for: first.bytes, ofOversized: session, cause) else { return nil }
            } else {
                try evict(missing, slack: slackBytes, fromUsed: !first.writer.isModest, cause)
            }
            try refreshUsage()
            if state.withLock({ $0.ledger.shortageBytes }) <= 0 { return true }
            return try hasRoomAfterWrites()
        } catch {
            note(error)
            return false
        }
    }

    /// Returns whether there is room once every byte counts once. A written byte counts in its file
    /// and as promised, until the index has it.
    ///
    /// - Returns: Nil while writes are under way. `landed()` then goes on.
    private func hasRoomAfterWrites() throws(StoreError) -> Bool? {
        hooks.commitAll()
        try refreshUsage()
        return state.withLock { state in
            if state.ledger.shortageBytes <= 0 { return true }
            state.isPostponed = state.ledger.hasWritesUnderWay
            return state.isPostponed ? nil : false
        }
    }

    /// A resource that is larger than the quota may push other resources out for half of the quota
    /// (the quota divided by this). The other half stays theirs, because only a window around its
    /// readers is kept of it, whatever it pushes out.
    static let oversizedShare: Int64 = 2

    /// Makes room for a write of a resource that does not fit into the quota. Beyond its share,
    /// only this resource gives bytes.
    ///
    /// - Returns: False if a write of its own has to land first. Before that, its size and the
    ///   bytes that it can give are unknown. `landed()` then goes on.
    func makeRoom(
        for bytes: Int64, ofOversized session: ResourceSession, _ cause: EvictionCause
    ) throws(StoreError) -> Bool {
        // Set before the check: a write that lands after the check finds this flag and posts the
        // next turn.
        state.withLock { $0.isPostponed = true }
        if session.hasWritesInHand { return false }
        let mustGoOn = state.withLock { exchange(&$0.isPostponed, with: false) }
        guard mustGoOn else { return false }
        hooks.commitAll()
        try refreshUsage()
        let missing = state.withLock { $0.ledger.shortageBytes }
        guard missing > 0 else { return true }
        let (own, length) = session.state.withLock { state in
            (state.machine.version?.stored.totalBytes ?? 0, state.machine.version?.representation.length)
        }
        // A pin protects the bytes that the resource has, whatever its size is.
        var isPinned = pins.contains(session.key)
        if !isPinned { isPinned = try store.lookup(session.key)?.isPinned == true }
        let share = isPinned ? .max : (limits.quotaBytes ?? .max) / Self.oversizedShare
        if own + bytes <= share {
            try evict(missing, slack: min(slackBytes, share - own - bytes), cause)
            return true
        }
        let slack = min(slackBytes, Self.usedSlackLimit)
        let kept = ByteRangeSet([head].compactMap(\.self))
        let freed = try evict(from: session, missing + slack, length: length, keeping: kept, cause)
        // With a small quota the resource may have only its beginning and the bytes at its readers.
        // Then the others give bytes all the same.
        if freed < missing { try evict(missing - freed, slack: slack, cause) }
        return true
    }
}

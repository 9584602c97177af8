/// The present play of a resource whose origin demands checks (`CachePolicy.explicit`): when it
/// began, and whether the origin was asked for it.
///
/// A play has many requests, and costs one question. It begins with a reader of the first byte
/// after a short pause without readers, and with any reader after a long one.
struct PlayRecord: Hashable, Sendable {
    /// The pause after which a reader of the first byte begins a play: a player that seeks or
    /// changes its connection comes back sooner.
    private static let shortPause = Nanoseconds.seconds(2)
    /// The pause after which every reader begins a play.
    private static let longPause = Nanoseconds.seconds(600)

    /// The time at which the last reader left; nil while none has.
    private var quietSince: MonotonicInstant?
    /// The number of confirmations of the version when the play began.
    private var confirmationsBefore: UInt64 = 0
    /// Whether the play goes on without an answer, because the origin took too long or failed.
    private var hasGivenUp = false

    /// Notes that the last reader has left.
    mutating func readersLeft(now: MonotonicInstant) { quietSince = now }

    /// Notes that the origin gave no answer in time.
    mutating func giveUp() { hasGivenUp = true }

    /// Counts a reader to a play.
    ///
    /// - Parameters:
    ///   - isFirstByte: whether the reader begins with the first byte.
    ///   - isAlone: whether no other reader is present.
    ///   - confirmations: the number of confirmations of the version so far.
    /// - Returns: whether the origin has confirmed the version for this play, or will not in time.
    mutating func isSettled(isFirstByte: Bool, isAlone: Bool, confirmations: UInt64, now: MonotonicInstant) -> Bool {
        if isAlone, begins(isFirstByte: isFirstByte, hasVersionOfNow: confirmations > 0, now: now) {
            (confirmationsBefore, hasGivenUp, quietSince) = (confirmations, false, nil)
        }
        return hasGivenUp || confirmations > confirmationsBefore
    }

    private func begins(isFirstByte: Bool, hasVersionOfNow: Bool, now: MonotonicInstant) -> Bool {
        guard let quietSince else { return !hasVersionOfNow }
        let pause = now - quietSince
        return pause >= Self.longPause || (isFirstByte && pause >= Self.shortPause)
    }
}

// MARK: Questions

extension PlayRecord {
    /// The permitted use of the version by a reader whose request selects it.
    static func use(
        of version: SessionVersion, by reader: ReaderState, _ session: inout SessionState, wallNow: Timestamp, now: MonotonicInstant
    ) -> UseRules.Use {
        let representation = version.representation
        // A body that still runs, without an end and a tag, is a live stream: a new listener gets
        // it as of now.
        if representation.length == nil, !version.isCombinable, representation.isContent,
            reader.rules.policy != .storeEverything, !reader.onlyStored
        {
            return .revalidate
        }
        let isManifest = reader.rules.isManifest || representation.isPlaylist
        if reader.rules.policy == .explicit, session.ledger.isFinishedDownload, !isManifest { return .use }
        let use = reader.rules.use(of: representation, now: wallNow)
        guard use == .confirmForPlay else { return use }
        let isAlone = !session.readers.contains { $0.id != reader.id && $0.failure == nil }
        let isSettled = session.play.isSettled(
            isFirstByte: reader.beginsAtZero, isAlone: isAlone, confirmations: session.ledger.confirmations, now: now)
        return isSettled ? .use : use
    }

    /// Lets readers that have waited long enough for the origin go on with the stored version. The
    /// request goes on, and its result counts for later readers.
    static func endQuestions(_ session: inout SessionState, now: MonotonicInstant) -> [SessionAction] {
        var actions: [SessionAction] = []
        for index in session.readers.indices {
            let reader = session.readers[index]
            guard reader.mayDoWithoutOrigin, now.reaches(reader.questionEnds), reader.failure == nil else { continue }
            session.trust(index)
            if actions.isEmpty { actions.append(.usedUnvalidated(.timeout("the stored bytes serve meanwhile"))) }
        }
        if !actions.isEmpty { session.play.giveUp() }
        return actions
    }
}

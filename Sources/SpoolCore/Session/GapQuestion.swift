/// The question whether the origin still has the version, for a reader whose range has a gap.
///
/// Without it, a file that changed would be cut at its first gap, because bytes of two versions never
/// mix. So the gap is requested before the consumer commits to the version: a response of another
/// version then replaces it in time, and a part of the same version goes on to bring the gap.
enum GapQuestion {
    /// Whether the reader waits for an answer before it uses the version.
    static func isDue(for reader: ReaderState, _ session: SessionState, now: MonotonicInstant) -> Bool {
        guard session.limits.gapPatience > 0, reader.questionEnds == nil, reader.wantsBytes, reader.suffix == nil, !reader.onlyStored,
            !reader.storesNothing, session.backOff.mayTry(now: now),
            let version = session.version, let gap = gap(of: reader, version)
        else { return false }
        if isFar(gap, from: reader, session) { return version.confirmation == 0 }
        return !session.fetches.contains { !$0.isOwn && $0.isReceiving && ($0.leases(gap) || $0.remembers(gap)) }
    }

    /// Whether the gap of a waiting reader is so far ahead that its bytes would come too early. A
    /// conditional request asks in place of them.
    static func isFar(for reader: ReaderState, _ session: SessionState, now: MonotonicInstant) -> Bool {
        guard reader.validation == .awaitsGap, session.backOff.mayTry(now: now),
            let gap = session.version.flatMap({ gap(of: reader, $0) })
        else { return false }
        return isFar(gap, from: reader, session)
    }

    /// The request for the gap of the first reader that waits; nil while another request waits for
    /// its head, or during back-off.
    static func request(_ session: SessionState, now: MonotonicInstant) -> FetchPlanner.Request? {
        guard let version = session.version, session.backOff.mayTry(now: now), !isAnswerComing(session) else { return nil }
        for reader in session.readers where reader.validation == .awaitsGap && reader.failure == nil {
            guard !session.ledger.isSettled(for: reader), let gap = gap(of: reader, version), !isFar(gap, from: reader, session),
                !session.fetches.contains(where: { !$0.isOwn && ($0.leases(gap) || $0.remembers(gap)) })
            else { continue }
            return FetchPlanner.Request(lower: gap, upper: reader.fetchEnd, reader: reader)
        }
        return nil
    }

    /// Lets readers go on without an answer: all of them if no request waits for its head, and
    /// those that have waited long enough.
    static func end(_ session: inout SessionState, now: MonotonicInstant) -> [SessionAction] {
        let isComing = isAnswerComing(session)
        for index in session.readers.indices where session.readers[index].validation == .awaitsGap {
            if !isComing || now.reaches(session.readers[index].questionEnds) { session.readers[index].validation = .unchecked }
        }
        return session.wakeReaders()
    }

    /// Whether a request about the version waits for its head.
    private static func isAnswerComing(_ session: SessionState) -> Bool {
        session.fetches.contains { !$0.isOwn && $0.isRequested }
    }

    /// The first byte of the reader's range that is not stored. Nil if there is none, or if the
    /// version is not stored or not combinable.
    ///
    /// A version may begin to pass through while a reader waits, for example when the disk is full.
    /// A response then serves readers at its first byte only. One for the gap would end at once and
    /// start again, without end.
    private static func gap(of reader: ReaderState, _ version: SessionVersion) -> Int64? {
        guard version.isCombinable, version.passReason == nil else { return nil }
        let end = min(reader.end ?? .max, version.representation.length ?? .max)
        return ByteRange(reader.position, end).flatMap { version.stored.firstGap(in: $0)?.lowerBound }
    }

    private static func isFar(_ gap: Int64, from reader: ReaderState, _ session: SessionState) -> Bool {
        gap - reader.position >= session.limits.readAheadBytes
    }
}

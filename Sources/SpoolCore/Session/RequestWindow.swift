/// The bytes that one request asks for on behalf of a player, and the moment of the next request.
///
/// An origin goes on sending until a cancel reaches it, so a cancelled transfer loses the bytes in
/// flight and in the buffers of both kernels. A request that ends by itself loses none. Therefore
/// the first request for a reader asks for a window of 1 MiB, and the next for a few KiB, which tell
/// whether the reader goes on: most that leave after a window have left when those arrive. The
/// third asks for everything.
///
/// Each of them follows when the one before has arrived, over its connection. A second connection
/// beside the first would take packets from it, and begin slowly itself. So a sequential reader
/// waits two round trips more. Where those are long, everything is requested while the last bytes of
/// the window arrive.
///
/// Windows need a version whose responses can be combined, an origin that honours ranges, and bytes
/// that are stored. Everything else is requested in one response.
enum RequestWindow {
    /// The end of the window that begins at the lower end of `gap`.
    /// - Parameter upper: the end of the gap; nil for the end of the resource.
    /// - Returns: nil if the request asks for the gap as a whole.
    static func end(of gap: FetchPlanner.Request, upTo upper: Int64?, _ session: SessionState) -> Int64? {
        let window = playerWindow(of: gap, upTo: upper, session)
        // The bound of the transport holds for every request, but not where one response has to
        // bring everything.
        guard let requestBytes = session.limits.requestBytes, session.version?.isCombinable != false else { return window }
        let bound = gap.lower.addingSaturated(gap.reader.map { grown(requestBytes, for: $0, at: gap.lower, session) } ?? requestBytes)
        return bound.isBelow(window ?? upper) ? bound : window
    }

    /// The bound of the transport for a reader: as many bytes as it has taken in a row. So a reader
    /// that leaves wastes no more than it used, a seek begins with a short request, and a whole
    /// film takes few.
    private static func grown(_ bytes: Int64, for reader: ReaderState, at offset: Int64, _ session: SessionState) -> Int64 {
        max(bytes, min(takenBytes(of: reader, before: offset), session.limits.longestRequestBytes))
    }

    private static func playerWindow(of gap: FetchPlanner.Request, upTo upper: Int64?, _ session: SessionState) -> Int64? {
        guard let reader = gap.reader, let upper, gap.stores, isUsed(for: reader, session),
            FetchPlanner.mayStore(session, from: gap.lower)
        else { return nil }
        // A client that names a near end takes all of its range.
        if let end = reader.end, end - gap.lower <= session.limits.readAheadBytes { return nil }
        let limits = session.limits, taken = takenBytes(of: reader, before: gap.lower)
        guard taken < limits.provenBytes else { return nil }
        let bytes = taken < limits.firstWindowBytes ? limits.firstWindowBytes : limits.provenBytes - limits.firstWindowBytes
        let end = gap.lower.addingSaturated(bytes)
        // A short rest is not worth a request of its own.
        return end.addingSaturated(bytes / 2) < upper ? end : nil
    }

    /// Whether requests for this reader ask for windows.
    static func isUsed(for reader: ReaderState, _ session: SessionState) -> Bool {
        guard let version = session.version, version.isCombinable, !version.refusesRanges, !session.origin.omitsEnd else { return false }
        let limits = session.limits
        let proven = session.origin.answersSlowly(limits) ? min(limits.firstWindowBytes / 2, limits.provenBytes) : limits.provenBytes
        return reader.policy == .whilePlaying && reader.takenInARow < proven
    }

    /// Whether the gap at `offset` may be requested before a reader comes to it, for which requests
    /// ask for windows.
    ///
    /// It may if it follows stored bytes, but not while a window arrives. Everything is requested
    /// only for a reader that has taken a whole window.
    static func mayAsk(aheadOf reader: ReaderState, at offset: Int64, _ session: SessionState) -> Bool {
        let limits = session.limits
        guard offset - reader.position <= limits.firstWindowBytes / 2,
            !session.fetches.contains(where: { $0.isWindow && !$0.isRelay && $0.upper == offset })
        else { return false }
        return takenBytes(of: reader, before: offset) < limits.provenBytes || reader.takenInARow >= limits.firstWindowBytes
    }

    /// Whether the next window may be requested beside this fetch: its own last bytes are on their
    /// way.
    static func isEnding(_ fetch: FetchState, _ session: SessionState) -> Bool {
        guard fetch.isReceiving, fetch.isWindow, let upper = fetch.upper else { return false }
        return upper - fetch.front <= session.origin.leadBytes(session.limits)
    }

    /// The bytes that a reader has taken in a row when it comes to `offset`.
    private static func takenBytes(of reader: ReaderState, before offset: Int64) -> Int64 {
        reader.takenInARow.addingSaturated(max(0, offset - reader.position))
    }

    /// Whether a window that no reader needs now arrives to its end.
    ///
    /// It does if a cancel would lose as many bytes. It also does if another reader takes the
    /// resource in a row, and is on its way to these bytes: it would have them sent once more.
    static func isFinishing(_ fetch: FetchState, _ session: SessionState) -> Bool {
        guard fetch.isWindow, !fetch.isRelay, !fetch.isOwn, !fetch.isValidation, let upper = fetch.upper else { return false }
        let rest = upper - fetch.front
        if fetch.isReceiving {
            guard fetch.servedEnd == upper else { return false }
            if rest <= session.origin.lostBytes(session.limits) { return true }
        }
        return rest <= session.limits.firstWindowBytes
            && session.readers.contains { isOnItsWay($0, to: ByteRange(fetch.front, upper), session.limits) }
    }

    /// Whether the reader has taken a first window in a row, and its range contains these bytes.
    private static func isOnItsWay(_ reader: ReaderState, to bytes: ByteRange?, _ limits: SessionLimits) -> Bool {
        guard let bytes, reader.failure == nil, reader.wantsBytes, !reader.onlyStored, !reader.isApart else { return false }
        return reader.takenInARow >= limits.firstWindowBytes && reader.position <= bytes.lowerBound
            && bytes.upperBound <= reader.end ?? .max
    }
}

/// The bytes that one request asks for on behalf of a player, and the moment of the next request.
///
/// An origin goes on sending until a cancel reaches it, so a cancelled transfer loses the bytes in
/// flight and in the buffers of both kernels. A request that ends by itself loses none. Therefore
/// the first requests for a reader ask for short windows, and the next for four times the bytes that
/// the reader has taken in a row. After `SessionLimits.provenBytes` the request is open-ended. The
/// next window is requested before the last byte of the running one arrives, so a sequential reader
/// waits once, at its beginning.
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
        let bound = gap.lower.addingClamped(requestBytes)
        return bound.isBelow(window ?? upper) ? bound : window
    }

    private static func playerWindow(of gap: FetchPlanner.Request, upTo upper: Int64?, _ session: SessionState) -> Int64? {
        guard let reader = gap.reader, let upper, gap.stores, isUsed(for: reader, session),
            FetchPlanner.mayStore(session, from: gap.lower)
        else { return nil }
        // A client that names a near end takes all of its range.
        if let end = reader.end, end - gap.lower <= session.limits.readAheadBytes { return nil }
        let first = session.limits.firstWindowBytes
        let bytes = reader.takenInARow <= first ? first : 4 * min(reader.takenInARow, session.limits.provenBytes)
        let end = gap.lower.addingClamped(bytes)
        // A short rest is not worth a request of its own.
        return end.addingClamped(bytes / 2) < upper ? end : nil
    }

    /// Whether requests for this reader ask for windows.
    static func isUsed(for reader: ReaderState, _ session: SessionState) -> Bool {
        guard let version = session.version, version.isCombinable, !version.refusesRanges, !session.origin.omitsEnd else { return false }
        return reader.policy == .whilePlaying && reader.takenInARow < session.limits.provenBytes
    }

    /// The number of bytes between a reader and the end of what it has or will get, at which the
    /// next window is requested.
    ///
    /// A fast or a distant origin would have the second window requested with the first. A reader
    /// that just began has to take half of its window first.
    static func lead(of reader: ReaderState, _ session: SessionState) -> Int64 {
        let quarter = reader.takenInARow / 4, limits = session.limits
        return min(max(session.origin.leadBytes(limits), quarter), max(limits.firstWindowBytes / 2, quarter), limits.readAheadBytes / 2)
    }

    /// Whether the next window may be requested beside this fetch: its own last bytes are on their
    /// way.
    static func isEnding(_ fetch: FetchState, _ session: SessionState) -> Bool {
        guard fetch.isReceiving, fetch.isWindow, let upper = fetch.upper else { return false }
        return upper - fetch.front <= session.origin.leadBytes(session.limits)
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

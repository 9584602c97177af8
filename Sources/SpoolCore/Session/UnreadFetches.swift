/// The fetches that no reader follows: those that were started ahead of their readers, and those
/// whose readers have taken nothing for a round trip.
///
/// The bytes of such a fetch wait in the kernel if it pauses, and are lost if its reader leaves. So
/// its transfer has the urgency of a preload, and with it a small receive window, before it pauses.
enum UnreadFetches {
    /// Notes that a reader waits for bytes of a fetch, or takes them.
    static func read(by reader: ReaderID, in session: inout SessionState, now: MonotonicInstant) -> [SessionAction] {
        guard !session.fetches.isEmpty, let position = session.index(of: reader).map({ session.readers[$0].position }),
            let index = session.fetches.firstIndex(where: { $0.isOpen && has($0, position) })
        else { return [] }
        session.fetches[index].readAt = now
        guard session.fetches[index].isUnread else { return [] }
        session.fetches[index].isUnread = false
        return [.prioritize(session.fetches[index].id)]
    }

    /// Notes that bytes of a fetch came, and whether a reader still follows it.
    static func bytesCame(_ id: FetchID, in session: inout SessionState, now: MonotonicInstant) -> [SessionAction] {
        guard let index = session.index(of: id), case let fetch = session.fetches[index], !fetch.isUnread else { return [] }
        // The bytes that came may be those for which a reader waits.
        let isAwaited = session.readers.contains { $0.waitsFor != .nothing && $0.draws(from: fetch) && has(fetch, $0.position) }
        if isAwaited { session.fetches[index].readAt = now }
        guard now - session.fetches[index].readAt > session.origin.roundTrip else { return [] }
        session.fetches[index].isUnread = true
        return [.prioritize(fetch.id)]
    }

    /// Whether a fetch brings the byte at `offset`, or has brought it.
    private static func has(_ fetch: FetchState, _ offset: Int64) -> Bool { fetch.start <= offset && offset.isBelow(fetch.upper) }
}

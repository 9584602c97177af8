package import SpoolCore
package import SpoolStore
import SpoolSystem

/// A reader of bytes that are stored, verified and usable without asking the origin, created in one
/// step. It has joined, its version is fixed, and it holds its first bytes.
///
/// The door ends it once, with `leave(after:)` or `reader(after:wake:)`.
package struct StoredHit: Sendable {
    fileprivate let session: ResourceSession
    fileprivate let id: ReaderID
    /// The whole range to answer.
    package let range: ByteRange
    /// The length of the resource in bytes.
    package let length: Int64
    /// The file with the first bytes.
    package let file: any DataFile
    /// The descriptor of the file; the hit keeps it open.
    package let descriptor: OpenDescriptor
    /// The first bytes of `range`, which may be sent before the session is asked again.
    package let stored: ByteRange
    /// The version of the resource, and the state of its metadata. A door may reuse what it made of
    /// them while this value is equal.
    package let version: HitVersion
    /// The time of the hit.
    package let time: Timestamp
    /// The URL of its request, if it is not the one of the last answer.
    fileprivate let otherURL: MediaURL?
}

/// A generation, and a number that grows with each change of its metadata within one session. The
/// next session of the resource counts anew.
package struct HitVersion: Hashable, Sendable {
    /// The number of the session in its cache.
    package var session: UInt64
    /// The generation of the version.
    package var generation: GenerationID
    /// The number of changes of the metadata in this session.
    package var revision: UInt64
}

extension ResourceSession {
    /// Whether the session was taken out of the table or has ended.
    var isDetached: Bool {
        state.withLock { state in
            if case .ended = state.machine.phase { return true }
            return state.isDetached
        }
    }

    /// Marks the session as detached if it is idle, so that no link leads to it any more.
    ///
    /// - Returns: Whether the session was idle.
    func detachIfIdle() -> Bool {
        state.withLock { state in
            guard state.isIdle() else { return false }
            state.isDetached = true
            return true
        }
    }

    func hit(_ spec: RangeHeader.Spec?, url: MediaURL, policy: CachePolicy, max: Int64) -> StoredHit? {
        let wallNow = wallNow
        let hit = state.withLock { state -> StoredHit? in
            guard !state.isDetached, let file = state.file, let descriptor = file.descriptor else { return nil }
            let isSameURL = state.lastAsk.request.names(url)
            // A gap is fetched with the fields that belong to the URL. A session that was opened
            // again learns them from a longer path.
            let mayFetch = state.lastAsk.client.map { isSameURL || $0.fields.origin == url.origin } ?? false
            guard
                let hit = state.machine.hit(
                    spec, policy: policy, isShared: shared.configuration.freshness.isShared,
                    fetchPolicy: shared.configuration.fetching.policy, max: max, mayFetch: mayFetch, fields: requestFields,
                    wallNow: wallNow)
            else { return nil }
            state.claims += 1
            return StoredHit(
                session: self, id: hit.reader, range: hit.range, length: hit.length, file: file, descriptor: descriptor,
                stored: hit.stored, version: HitVersion(session: number, generation: hit.generation, revision: hit.revision),
                time: wallNow, otherURL: isSameURL ? nil : url)
        }
        guard let hit else { return nil }
        shared.recordReader(key, hit.range.lowerBound, hit.range.upperBound)
        return hit
    }
}

extension StoredHit {
    /// The representation and its version, or nil if another version has taken its place.
    package var current: (representation: Representation, version: HitVersion)? {
        session.state.withLock { state in
            guard let version = state.machine.version, state.machine.toldVersion(of: id) == version.generation else { return nil }
            return (
                version.representation,
                HitVersion(session: session.number, generation: version.generation, revision: version.revision)
            )
        }
    }

    /// Returns a reader for the rest, after `count` stored bytes were sent.
    ///
    /// - Parameter wake: Called, from any thread, when a `.wait` of the reader is over.
    package func reader(after count: Int, wake: @escaping @Sendable () -> Void) -> SessionReader {
        session.shared.counters.add { $0.readers += 1 }
        session.run { state, effects in
            state.claims -= 1
            state.wakes[id] = wake
            let ask = otherURL.map(state.lastAsk.to) ?? state.lastAsk
            state.asks[id] = ask
            session.fetching.setDemand(FetchDemand(.playing, access: ask.access), of: id, &state, &effects)
        }
        let reader = SessionReader(session: session, id: id)
        reader.advance(by: count, fromOrigin: false)
        return reader
    }

    /// Ends the hit after the consumer took `count` stored bytes.
    package func leave(after count: Int) {
        var effects: [ResourceSession.Effect] = []
        let isIdle = session.state.withLock { state in
            state.claims -= 1
            let actions = state.machine.hitLeft(id, after: Int64(count), now: session.now)
            if !actions.isEmpty { session.apply(actions, &state, &effects) }
            return state.isIdle()
        }
        session.shared.committer.touch(session.access, at: time)
        session.shared.counters.add { counters in
            counters.readers += 1
            counters.bytesFromStore += Int64(count)
        }
        if isIdle { session.shared.sessionIdle(session) }
        if !effects.isEmpty { session.perform(effects) }
    }
}

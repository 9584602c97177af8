package import SpoolCore
package import SpoolStore
import SpoolSystem

/// A reader of bytes that are stored, verified and usable without asking the origin, created in one
/// step. It has joined, its version is fixed, and it holds its first bytes.
///
/// The door ends it once, with `leave(after:)` or `reader(after:wake:)`.
package struct StoredHit: Sendable {
    fileprivate let session: ResourceSession
    /// The bytes, and the reader of the session that holds them.
    package let found: Found
    /// The time of the hit.
    package let time: Timestamp

    /// The bytes that a session finds under its lock.
    package struct Found: Sendable {
        /// The reader with its ranges. `stored` may be sent before the session is asked again.
        package let hit: SessionHit
        /// The file with the first bytes.
        package let file: any DataFile
        /// The descriptor of the file; the hit keeps it open.
        package let descriptor: OpenDescriptor
        /// The URL of the request, if it is not the one of the last answer.
        fileprivate let otherURL: CopyOnWrite<MediaURL>?
    }

    /// The version of the resource, and the state of its metadata. A door may reuse what it made of
    /// them while this value is equal.
    package var version: HitVersion {
        HitVersion(session: session.number, generation: found.hit.generation, revision: found.hit.revision)
    }
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

    /// Adds a reader for stored bytes, if they can be sent at once. The hit takes over the caller's
    /// reference to the session, because another one costs as much as a lock.
    consuming func hit(_ spec: RangeHeader.Spec?, url: MediaURL, policy: CachePolicy, max: Int64) -> StoredHit? {
        let wallNow = wallNow
        let found = state.withLock { state -> StoredHit.Found? in
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
            return StoredHit.Found(hit: hit, file: file, descriptor: descriptor, otherURL: isSameURL ? nil : CopyOnWrite(url))
        }
        guard let found else { return nil }
        shared.recordReader(key, found.hit.range.lowerBound, found.hit.range.upperBound)
        return StoredHit(session: self, found: found, time: wallNow)
    }
}

extension StoredHit {
    /// The representation and its version, or nil if another version has taken its place.
    package var current: (representation: Representation, version: HitVersion)? {
        session.state.withLock { state in
            let told = state.machine.toldVersion(of: found.hit.reader)
            guard let version = state.machine.version, told == version.generation else { return nil }
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
        let id = found.hit.reader
        session.shared.counters.add { $0.readers += 1 }
        session.run { state, effects in
            state.claims -= 1
            state.wakes[id] = wake
            let ask = found.otherURL.map { state.lastAsk.to($0.value) } ?? state.lastAsk
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
            let actions = state.machine.hitLeft(found.hit.reader, after: Int64(count), now: session.now)
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

package import SpoolCore
package import SpoolStore
import SpoolSystem

/// What is stored, verified and to be used unasked, handed out in one step: a reader that has joined, was told of its version and holds
/// its first bytes. `SessionReader.leave(after:)` ends it.
package struct StoredHit: Sendable {
    package let reader: SessionReader
    /// All that is to be answered.
    package let range: ByteRange
    /// The number of bytes of the resource.
    package let length: Int64
    /// The file with the first bytes, and how many of them may be sent before the reader is asked.
    package let file: any DataFile
    package let stored: ByteRange
    /// Which representation this is, and which state of what is known of it: what a door made of it holds while both stay the same.
    package let version: HitVersion
}

/// A generation, and how often what is known of it has changed.
package struct HitVersion: Hashable, Sendable {
    package var generation: GenerationID
    package var revision: UInt32
}

/// The way to a resource's session that a door keeps from one request to the next, so that a hit needs no look-up.
package struct SessionLink: Sendable {
    fileprivate weak var session: ResourceSession?

    package init() {}
}

extension MediaCache {
    /// A reader of bytes that can be sent at once; nil when anything has to be waited for, fetched or decided first, which `sessionReader`
    /// does.
    ///
    /// - Parameters:
    ///   - spec: the range that is asked for; nil for the whole.
    ///   - policy: what `policy(for:_:)` said for the URL.
    ///   - max: how many bytes will be sent before the reader is asked for more.
    package func hit(
        _ link: inout SessionLink, key: ResourceKey, url: String, spec: RangeHeader.Spec?, policy: CachePolicy, max: Int64
    ) -> StoredHit? {
        guard configuration.contentTransform == nil else { return nil }
        if let session = link.session {
            if let hit = session.hit(spec, url: url, policy: policy, max: max) { return hit }
            guard session.isDetached else { return nil }
        }
        link.session = sessions.withLock { $0.peek(key) }
        return link.session?.hit(spec, url: url, policy: policy, max: max)
    }

    /// By which policy a resource is read: a playlist that its origin serves as text is one all the same.
    package func policy(for url: String, _ asked: CachePolicy?) -> CachePolicy {
        configuration.policy(for: url, asked)
    }
}

extension Configuration {
    func policy(for url: String, _ asked: CachePolicy?) -> CachePolicy {
        let policy = asked ?? cachePolicy
        return policy == .preferStored && playlistExtensions.contains(pathExtension(url: url)) ? .standard : policy
    }
}

extension ResourceSession {
    /// Whether it was taken out of the table, or is about to be: it has ended.
    var isDetached: Bool {
        state.withLock { state in
            if case .ended = state.machine.phase { return true }
            return state.isDetached
        }
    }

    /// Nobody may come to it by a link any more, if nobody uses it now.
    func detachIfIdle() -> Bool {
        state.withLock { state in
            guard state.isIdle else { return false }
            state.isDetached = true
            return true
        }
    }

    fileprivate func hit(_ spec: RangeHeader.Spec?, url: String, policy: CachePolicy, max: Int64) -> StoredHit? {
        let wallNow = wallNow
        let found = state.withLock { state -> (SessionStateMachine.Hit, any DataFile)? in
            guard !state.isDetached, let file = state.file, file.descriptor != nil,
                let hit = state.machine.hit(
                    spec, policy: policy, isShared: shared.configuration.isShared, fetchPolicy: shared.configuration.fetchPolicy, max: max,
                    wallNow: wallNow)
            else { return nil }
            // The newest reader says how the origin is asked, should there be need of it.
            state.request.url = url
            state.wakes[hit.reader] = Self.wakesNobody
            return (hit, file)
        }
        guard let (hit, file) = found else { return nil }
        shared.counters.add { $0.readers += 1 }
        shared.record(.readerJoined(key, start: hit.range.lowerBound, end: hit.range.upperBound))
        return StoredHit(
            reader: SessionReader(session: self, id: hit.reader), range: hit.range, length: hit.length, file: file, stored: hit.stored,
            version: HitVersion(generation: hit.generation, revision: hit.revision))
    }

    /// What a reader wakes that has not waited yet.
    private static let wakesNobody: @Sendable () -> Void = {}
}

extension SessionReader {
    /// The representation of a hit, and its state; nil when another version has taken its place.
    package var current: (representation: Representation, version: HitVersion)? {
        session.state.withLock { state in
            guard let version = state.machine.version, state.machine.toldVersion(of: id) == version.generation else { return nil }
            return (version.representation, HitVersion(generation: version.generation, revision: version.revision))
        }
    }

    /// What to call from now on when a `.wait` is over; for a hit, before it is first asked for more.
    package func onWake(_ wake: @escaping @Sendable () -> Void) {
        session.run { state, effects in
            guard state.wakes[id] != nil else { return }
            state.wakes[id] = wake
            session.prioritize(id, .playing, &state, &effects)
        }
    }

    /// The consumer of a hit has taken `count` stored bytes since the last `advance`, and has gone. Idempotent.
    package func leave(after count: Int) {
        var effects: [ResourceSession.Effect] = []
        let (wasThere, isIdle) = session.state.withLock { state in
            guard state.wakes.removeValue(forKey: id) != nil else { return (false, false) }
            let actions = state.machine.hitLeft(id, after: Int64(count), now: session.now)
            if !actions.isEmpty { session.apply(actions, &state, &effects) }
            if state.priorities[id] != nil { session.prioritize(id, nil, &state, &effects) }
            return (true, state.isIdle)
        }
        guard wasThere else { return }
        session.shared.committer.touch(key)
        session.shared.counters.add { $0.bytesFromStore += Int64(count) }
        if isIdle { session.shared.sessionIdle(session) }
        session.perform(effects)
    }
}

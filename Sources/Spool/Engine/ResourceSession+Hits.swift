package import SpoolCore
package import SpoolStore
import SpoolSystem

/// What is stored, verified and to be used unasked, handed out in one step: a reader that has joined, was told of its version and holds
/// its first bytes.
///
/// One of `leave(after:)` and `reader(after:wake:)` ends it, once.
package struct StoredHit: Sendable {
    fileprivate let session: ResourceSession
    fileprivate let id: ReaderID
    /// All that is to be answered.
    package let range: ByteRange
    /// The number of bytes of the resource.
    package let length: Int64
    /// The file with the first bytes, its descriptor, and how many of them may be sent before the session is asked.
    package let file: any DataFile
    package let descriptor: OpenDescriptor
    package let stored: ByteRange
    /// Which representation this is, and which state of what is known of it: what a door made of it holds while both stay the same.
    package let version: HitVersion
}

/// A generation, and how often what is known of it has changed in one session: the next session of the resource counts anew.
package struct HitVersion: Hashable, Sendable {
    package var session: UInt64
    package var generation: GenerationID
    package var revision: UInt64
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
        let hit = state.withLock { state -> StoredHit? in
            guard !state.isDetached, let file = state.file, let descriptor = file.descriptor,
                let hit = state.machine.hit(
                    spec, policy: policy, isShared: shared.configuration.isShared, fetchPolicy: shared.configuration.fetchPolicy, max: max,
                    wallNow: wallNow)
            else { return nil }
            // The newest reader says how the origin is asked, should there be need of it.
            if state.request.url != url { state.request.url = url }
            state.claims += 1
            return StoredHit(
                session: self, id: hit.reader, range: hit.range, length: hit.length, file: file, descriptor: descriptor,
                stored: hit.stored, version: HitVersion(session: number, generation: hit.generation, revision: hit.revision))
        }
        guard let hit else { return nil }
        shared.counters.add { $0.readers += 1 }
        shared.record(.readerJoined(key, start: hit.range.lowerBound, end: hit.range.upperBound))
        return hit
    }
}

extension StoredHit {
    /// The representation, and its state; nil when another version has taken its place.
    package var current: (representation: Representation, version: HitVersion)? {
        session.state.withLock { state in
            guard let version = state.machine.version, state.machine.toldVersion(of: id) == version.generation else { return nil }
            return (
                version.representation,
                HitVersion(session: session.number, generation: version.generation, revision: version.revision)
            )
        }
    }

    /// The reader for what follows, after `count` stored bytes went out; `wake` is called when a `.wait` of its is over.
    package func reader(after count: Int, wake: @escaping @Sendable () -> Void) -> SessionReader {
        session.run { state, effects in
            state.claims -= 1
            state.wakes[id] = wake
            session.prioritize(id, .playing, &state, &effects)
        }
        let reader = SessionReader(session: session, id: id)
        reader.advance(by: count, fromOrigin: false)
        return reader
    }

    /// The consumer has taken `count` stored bytes, and has gone.
    package func leave(after count: Int) {
        var effects: [ResourceSession.Effect] = []
        let isIdle = session.state.withLock { state in
            state.claims -= 1
            let actions = state.machine.hitLeft(id, after: Int64(count), now: session.now)
            if !actions.isEmpty { session.apply(actions, &state, &effects) }
            return state.isIdle
        }
        session.shared.committer.touch(session.accessTime)
        session.shared.counters.add { $0.bytesFromStore += Int64(count) }
        if isIdle { session.shared.sessionIdle(session) }
        if !effects.isEmpty { session.perform(effects) }
    }
}

public import SpoolCore
package import SpoolStore
import SpoolSystem

/// What is known and stored of one resource.
public struct ResourceStatus: Hashable, Sendable {
    public var key: ResourceKey
    /// The URL that it was asked by.
    public var url: String
    public var representation: Representation
    /// The bytes that are stored.
    public var stored: ByteRangeSet
    /// When it was last used, as far as the index knows.
    public var lastAccess: Timestamp?
    /// Whether it is kept from eviction (`MediaCache.pin(_:)`).
    public var isPinned: Bool
    /// Readers and fetches that are at it now.
    public var readers: Int
    public var fetches: Int
    /// Why its bytes are passed on and not stored, in words, where a cache that is at it found a reason; nil where they are stored, and
    /// where nobody asked for it since the cache was opened.
    public var notStoredBecause: String?

    /// Whether every byte is stored.
    public var isComplete: Bool {
        guard let length = representation.length else { return false }
        return length == 0 || stored.totalBytes == length
    }

    package init?(stored: StoredResource?, live: Live?) {
        guard let key = stored?.key ?? live?.key, let representation = live?.representation ?? stored?.representation else { return nil }
        self.key = key
        // Stores of earlier versions have user information in their URLs.
        url = stored?.url.withoutUserinfo ?? live?.url ?? key.string
        self.representation = representation
        self.stored = live?.stored ?? stored?.spans ?? ByteRangeSet()
        lastAccess = stored?.lastAccess
        isPinned = stored?.isPinned ?? false
        readers = live?.readers ?? 0
        fetches = live?.fetches ?? 0
        notStoredBecause = live?.passReason?.description
    }

    /// What the session says, which is newer than the index.
    package struct Live: Sendable {
        var key: ResourceKey
        var url: String
        var representation: Representation?
        var stored: ByteRangeSet?
        var readers: Int
        var fetches: Int
        var passReason: PassReason?
    }
}

extension ResourceSession {
    var liveStatus: ResourceStatus.Live {
        state.withLock { state in
            ResourceStatus.Live(
                key: key, url: url, representation: state.machine.version?.representation, stored: state.machine.version?.stored,
                readers: state.machine.readers.count, fetches: state.machine.fetches.count,
                passReason: state.machine.version?.passReason)
        }
    }

    var isIdle: Bool { state.withLock { $0.isIdle } }

    /// The version that its readers get, once one is known.
    var generation: GenerationID? { state.withLock { $0.machine.version?.generation } }

    func reader(
        url: String, start: Int64, end: Int64?, options: ReadOptions, wantsBytes: Bool, wake: @escaping @Sendable () -> Void
    ) -> SessionReader {
        adoptRequest(url: url, options)
        shared.counters.add { $0.readers += 1 }
        shared.committer.touch(accessTime)
        shared.record(.readerJoined(key, start: start, end: end))
        return SessionReader(
            session: self, start: start, end: end, policy: options.fetchPolicy ?? shared.configuration.fetchPolicy,
            rules: rules(of: options), site: options.site, wantsBytes: wantsBytes, endsSoon: options.endsSoon,
            priority: options.priority,
            transform: options.contentTransform ?? shared.configuration.contentTransform, wake: wake)
    }

    /// The rules by which a reader with these options uses what is stored.
    private func rules(of options: ReadOptions) -> UseRules {
        UseRules(
            policy: shared.configuration.policy(for: url, options.cachePolicy), mode: options.mode, isShared: shared.configuration.isShared,
            request: options.request)
    }

    /// The newest reader says how the origin is asked: its URL has the signature that is still good, its fields the token.
    private func adoptRequest(url: String, _ options: ReadOptions) {
        guard options.mode != .onlyStored else { return }
        state.withLock { state in
            state.request.url = url
            if !options.requestFields.lines.isEmpty {
                state.request.fields = requestFields
                for field in options.requestFields.lines { state.request.fields[field.name] = nil }
                state.request.fields.lines += options.requestFields.lines
            }
            if let access = options.access { state.request.access = access }
            state.machine.willAsk(with: state.request.fields, isAuthorized: url.userinfo != nil)
        }
    }
}

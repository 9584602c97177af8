public import SpoolCore
package import SpoolStore
import SpoolSystem

/// The metadata and the stored bytes of one resource, at one moment.
public struct ResourceStatus: Hashable, Sendable {
    /// The key of the resource.
    public var key: ResourceKey
    /// The URL of the resource, without user information.
    public var url: String
    /// The version that the cache has, with its length, type and validator.
    public var representation: Representation
    /// The bytes that are stored.
    public var stored: ByteRangeSet
    /// The time of the last use in the index, which may be a little behind. Nil if the index has no
    /// entry.
    public var lastAccess: Timestamp?
    /// Whether the resource is protected from eviction (`MediaCache.pin(_:)`).
    public var isPinned: Bool
    /// The number of its current readers.
    public var readers: Int
    /// The number of its current fetches.
    public var fetches: Int
    /// The reason why bytes of the resource are passed on and not stored. Nil if they are stored,
    /// or if the cache has had no reader of the resource recently.
    public var notStoredBecause: String?

    /// Whether every byte is stored. False while the length is not known.
    public var isComplete: Bool {
        guard let length = representation.length else { return false }
        return length == 0 || stored.totalBytes == length
    }

    /// Creates the status from the index and the session, or returns nil if neither has the
    /// representation.
    package init?(stored: StoredResource?, live: Live?) {
        guard let key = stored?.key ?? live?.key, let representation = live?.representation ?? stored?.representation else { return nil }
        self.key = key
        // Stores of earlier versions contain URLs with user information.
        url = stored?.url.withoutUserinfo ?? live?.url ?? key.string
        self.representation = representation
        self.stored = live?.stored ?? stored?.spans ?? ByteRangeSet()
        lastAccess = stored?.lastAccess
        isPinned = stored?.isPinned ?? false
        readers = live?.readers ?? 0
        fetches = live?.fetches ?? 0
        notStoredBecause = live?.passReason?.description
    }

    /// The state of the session, which is newer than the index.
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

    /// Returns the rules by which a reader with these options uses stored bytes.
    private func rules(of options: ReadOptions) -> UseRules {
        UseRules(
            policy: shared.configuration.policy(for: url, options.cachePolicy), mode: options.mode, isShared: shared.configuration.isShared,
            request: options.request)
    }

    /// Adopts the request of the newest reader: its URL has the signature that is still valid, and
    /// its fields have the token.
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

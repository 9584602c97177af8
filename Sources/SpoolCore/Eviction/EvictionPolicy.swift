/// Says in which order resources go when room is needed.
///
/// A value without clock, disk or lock: what it answers follows from what it is asked. What is in use or pinned is not among the
/// candidates. How much goes is not the policy's affair: the cache takes from the first of them, then from the next, until there is room.
///
/// Ships with ``LeastRecentlyUsed``, ``LargestFirst`` and ``KeepHeads``.
public protocol EvictionPolicy: Sendable {
    /// The candidates in the order in which they go; one that is left out stays until the cache asks again.
    ///
    /// - Parameters:
    ///   - candidates: longest unused first, those unused equally long in an order that stays the same; at most ``EvictionCandidate/pageCount``
    ///     at a time. When they are not enough, the next ones follow.
    ///   - now: the moment of the question.
    func order(_ candidates: [EvictionCandidate], now: Timestamp) -> [EvictionCandidate]

    /// Bytes at the beginning of each resource that stay until nothing else is left to take; 0 for none.
    var keptHeadBytes: Int64 { get }
}

extension EvictionPolicy {
    public var keptHeadBytes: Int64 { 0 }
}

/// A resource that may go.
public struct EvictionCandidate: Hashable, Sendable {
    public var key: ResourceKey
    /// What it occupies on disk.
    public var allocatedBytes: Int64
    /// The number of bytes that it has, stored or not; nil while it is not known.
    public var length: Int64?
    public var lastAccess: Timestamp

    public init(key: ResourceKey, allocatedBytes: Int64, length: Int64?, lastAccess: Timestamp) {
        self.key = key
        self.allocatedBytes = allocatedBytes
        self.length = length
        self.lastAccess = lastAccess
    }

    /// How many candidates a policy is shown at a time. 256 are enough to choose from, and little to read from the index.
    public static let pageCount = 256
}

/// What was unused longest goes first: the default.
public struct LeastRecentlyUsed: EvictionPolicy {
    public init() {}

    public func order(_ candidates: [EvictionCandidate], now: Timestamp) -> [EvictionCandidate] { candidates }
}

/// Of what was unused long, that which frees most goes first: size times idle time.
///
/// Keeps more resources than ``LeastRecentlyUsed`` where films and songs share a cache: one film makes room for hundreds of songs.
public struct LargestFirst: EvictionPolicy {
    public init() {}

    public func order(_ candidates: [EvictionCandidate], now: Timestamp) -> [EvictionCandidate] {
        // The position breaks ties, so that equal weights go in the order of their last use.
        candidates.enumerated()
            .sorted { a, b in
                let (weightA, weightB) = (Self.weight(a.element, now), Self.weight(b.element, now))
                return weightA == weightB ? a.offset < b.offset : weightA > weightB
            }
            .map(\.element)
    }

    /// A second at least, so that of what is used just now the larger goes first.
    private static func weight(_ candidate: EvictionCandidate, _ now: Timestamp) -> Double {
        let idleSeconds = max(1, Double(now.nanoseconds) - Double(candidate.lastAccess.nanoseconds)) / 1e9
        return Double(candidate.allocatedBytes) * max(1, idleSeconds)
    }
}

/// The beginnings of all resources stay as long as anything else can go, so that whatever is opened starts at once.
///
/// For feeds and catalogues, where much is begun and little is finished.
public struct KeepHeads: EvictionPolicy {
    public let keptHeadBytes: Int64
    private let base: any EvictionPolicy

    /// - Parameters:
    ///   - bytes: how much of each beginning stays. 1 MiB: the first seconds of most media.
    ///   - base: the order in which resources lose what follows, and in the end their heads.
    public init(bytes: Int64 = 1 << 20, otherwise base: any EvictionPolicy = LeastRecentlyUsed()) {
        precondition(bytes > 0, "KeepHeads keeps \(bytes) bytes; give at least 1")
        keptHeadBytes = bytes
        self.base = base
    }

    public func order(_ candidates: [EvictionCandidate], now: Timestamp) -> [EvictionCandidate] {
        base.order(candidates, now: now)
    }
}

/// Decides the order in which resources are evicted when room is needed.
///
/// A policy is a value without clock, disk or lock: its result depends only on its arguments.
/// Resources in use and pinned resources are not among the candidates. The policy does not decide
/// how much is evicted: the cache takes bytes from the first candidate, then from the next, until
/// there is enough room.
///
/// Spool includes ``LeastRecentlyUsed``, ``LargestFirst`` and ``KeepHeads``.
public protocol EvictionPolicy: Sendable {
    /// Returns the candidates in the order of their eviction. A candidate that is left out stays
    /// until the next call.
    ///
    /// - Parameters:
    ///   - candidates: the candidates, longest unused first. Candidates with equal times have a
    ///     stable order. There are at most ``EvictionCandidate/pageCount`` at a time; when they are
    ///     not enough, another call passes the next ones.
    ///   - now: the time of the call.
    func order(_ candidates: [EvictionCandidate], now: Timestamp) -> [EvictionCandidate]

    /// The number of bytes at the beginning of each resource that are evicted only when nothing
    /// else is left; 0 for none.
    var keptHeadBytes: Int64 { get }
}

extension EvictionPolicy {
    /// Zero: no part of a resource is spared.
    public var keptHeadBytes: Int64 { 0 }
}

/// A resource that may be evicted.
public struct EvictionCandidate: Hashable, Sendable {
    /// The key of the resource.
    public var key: ResourceKey
    /// The number of bytes that it occupies on disk.
    public var allocatedBytes: Int64
    /// The number of bytes that it has, stored or not; nil while that is not known.
    public var length: Int64?
    /// The time of its last use.
    public var lastAccess: Timestamp

    /// Creates a candidate.
    public init(key: ResourceKey, allocatedBytes: Int64, length: Int64?, lastAccess: Timestamp) {
        self.key = key
        self.allocatedBytes = allocatedBytes
        self.length = length
        self.lastAccess = lastAccess
    }

    /// The most candidates in one call of a policy. 256 are enough to choose from and cheap to read
    /// from the index.
    public static let pageCount = 256
}

/// Evicts the longest unused resources first. The default.
public struct LeastRecentlyUsed: EvictionPolicy {
    /// Creates the policy.
    public init() {}

    /// Returns the candidates in the given order.
    public func order(_ candidates: [EvictionCandidate], now: Timestamp) -> [EvictionCandidate] { candidates }
}

/// Evicts resources by size times idle time, largest first.
///
/// Where films and songs share a cache, this keeps more resources than ``LeastRecentlyUsed``:
/// evicting one film makes room for hundreds of songs.
public struct LargestFirst: EvictionPolicy {
    /// Creates the policy.
    public init() {}

    /// Returns the candidates by descending size times idle time.
    public func order(_ candidates: [EvictionCandidate], now: Timestamp) -> [EvictionCandidate] {
        // The position breaks ties, so that equal weights keep the order of their last use.
        candidates.enumerated()
            .sorted { a, b in
                let (weightA, weightB) = (Self.weight(a.element, now), Self.weight(b.element, now))
                return weightA == weightB ? a.offset < b.offset : weightA > weightB
            }
            .map(\.element)
    }

    /// Size times idle time. The idle time counts as at least one second, so that among resources
    /// in recent use the larger goes first.
    private static func weight(_ candidate: EvictionCandidate, _ now: Timestamp) -> Double {
        let idleSeconds = max(1, Double(now.nanoseconds) - Double(candidate.lastAccess.nanoseconds)) / 1e9
        return Double(candidate.allocatedBytes) * max(1, idleSeconds)
    }
}

/// Keeps the beginning of every resource as long as anything else can be evicted, so that playback
/// of each starts at once.
///
/// Suits feeds and catalogues, where users begin many resources and finish few.
public struct KeepHeads: EvictionPolicy {
    /// The number of bytes that stay at the beginning of each resource.
    public let keptHeadBytes: Int64
    private let base: any EvictionPolicy

    /// Creates the policy.
    ///
    /// - Parameters:
    ///   - bytes: the number of bytes that stay at the beginning of each resource. The default of 1
    ///     MiB has the first seconds of most media.
    ///   - base: the policy that orders the candidates. In the end it also orders the eviction of
    ///     their beginnings.
    public init(bytes: Int64 = 1 << 20, otherwise base: any EvictionPolicy = LeastRecentlyUsed()) {
        precondition(bytes > 0, "KeepHeads keeps \(bytes) bytes; give at least 1")
        keptHeadBytes = bytes
        self.base = base
    }

    /// Returns the candidates in the order of the base policy.
    public func order(_ candidates: [EvictionCandidate], now: Timestamp) -> [EvictionCandidate] {
        base.order(candidates, now: now)
    }
}

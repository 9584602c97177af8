public import SpoolCore

/// The limits on stored bytes, and the policy that chooses what is evicted.
///
/// Nil means unlimited. A limit of 0 is refused, because nothing could be stored. All limits hold
/// at the same time, and none of them evicts pinned resources.
public struct StorageLimits: Sendable {
    /// The most bytes that stored media may occupy on disk, in allocated blocks; at least 1. The
    /// index is not included. The cache makes room before each write.
    ///
    /// The default is 8 GiB (8 589 934 592 bytes): some weeks of music or a dozen films. That is
    /// little beside the storage of a phone or a server.
    public var quotaBytes: Int64? = 8 << 30
    /// The time after which an unused resource is removed; more than zero. Nil, the default, means
    /// unlimited. The cache checks soon after it is opened, after commits, and every eighth of this
    /// time, but at least every hour and at most every minute.
    public var maximumAge: Duration?
    /// The most resources in the store; at least 1. Nil, the default, means unlimited. The cache
    /// checks soon after it is opened, and after commits.
    public var maximumCount: Int?
    /// The bytes that stay free on the disk of the store; at least 1. Below that, the cache evicts,
    /// or stores nothing. The default is 256 MiB, because systems fail with less. Nil means
    /// unlimited.
    public var minimumFreeBytes: Int64? = 256 << 20
    /// The order in which resources are evicted. The default evicts the least recently used first.
    public var policy: any EvictionPolicy = LeastRecentlyUsed()

    /// Whether the quota grows to the size of the store at its opening, if that is more than
    /// `quotaBytes`. For programs without a given quota, on a store that another program fills.
    package var keepsPresentSize = false

    /// Creates the default limits.
    public init() {}

    /// Throws an error about the first value that is out of bounds.
    func validate() throws(CacheError) {
        func check(_ name: String, _ value: Int64?) throws(CacheError) {
            guard let value else { return }
            try Configuration.require(value >= 1, "\(name) is \(value), which is too small; give at least 1, or nil for no limit")
        }
        if let maximumAge {
            try Configuration.require(
                maximumAge > .zero,
                "limits.maximumAge is \(maximumAge), which is too short; give more than 0 seconds, or nil for no limit")
        }
        try check("limits.quotaBytes", quotaBytes)
        try check("limits.maximumCount", maximumCount.map(Int64.init))
        try check("limits.minimumFreeBytes", minimumFreeBytes)
    }
}

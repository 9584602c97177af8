public import SpoolCore

/// How much a cache keeps, and what goes when that is reached.
///
/// A limit of nil is none; 0 is refused, as nothing could be stored. Limits hold at the same time, and pinned resources are never
/// evicted by any of them.
public struct StorageLimits: Sendable {
    /// The most bytes that stored media may occupy on disk (allocated blocks; the index is reported beside it).
    ///
    /// 8 GiB (8 589 934 592 bytes): some weeks of music or a dozen films, and little beside what a phone or a server has.
    public var quotaBytes: Int64? = 8 << 30
    /// What nobody used for so long goes.
    public var maximumAge: Duration?
    /// The most resources.
    public var maximumCount: Int?
    /// What is left to others on the disk of the store: below it room is made, or nothing stored. 256 MiB: with less, systems fail.
    public var minimumFreeBytes: Int64? = 256 << 20
    /// What goes first.
    public var policy: any EvictionPolicy = LeastRecentlyUsed()

    /// Whether what is stored when the store is opened stays, although it is more than `quotaBytes`: then its size is the quota. For
    /// programs that were given no quota, on a store that another program fills.
    package var keepsPresentSize = false

    public init() {}

    /// The complaint about a value that makes no sense, or nil.
    func complaint() -> String? {
        func check(_ name: String, _ value: Int64?) -> String? {
            guard let value, value < 1 else { return nil }
            return "\(name) is \(value), which allows nothing; give at least 1, or nil for no limit"
        }
        if let maximumAge, maximumAge <= .zero {
            return "limits.maximumAge is \(maximumAge), which allows nothing; give more than 0 seconds, or nil for no limit"
        }
        return check("limits.quotaBytes", quotaBytes) ?? check("limits.maximumCount", maximumCount.map(Int64.init))
            ?? check("limits.minimumFreeBytes", minimumFreeBytes)
    }
}

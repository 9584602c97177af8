/// The conditions under which the requests of a cache may run, by their purpose.
///
/// ```swift
/// var policy = NetworkPolicy()
/// policy.downloads.allowsExpensive = false       // downloads and later items wait for Wi-Fi
/// policy.downloads.allowsLowPowerMode = false
/// cache.networkPolicy = policy                   // applies to running requests at once
/// cache.networkPolicy.isOffline = true           // only stored bytes from now on
/// ```
///
/// Stored bytes play under all conditions. `ReadOptions.access` and the options of an asset replace
/// the policy for one reader.
public struct NetworkPolicy: Hashable, Sendable {
    /// The conditions for readers that play.
    public var playback = NetworkAccess()
    /// The conditions for later items, preloads and downloads.
    public var downloads = NetworkAccess()
    /// How long a reader that plays waits for a refused request before it fails with
    /// `CacheError.Code.networkRefused`; between 1 millisecond and 1 hour. The default is 60
    /// seconds. Other readers wait without a limit.
    public var patience = Duration.seconds(60)
    /// Whether every request is refused, whatever the options of a reader permit ("offline mode").
    /// The default is false.
    ///
    /// Stored bytes play as before. A reader that plays and needs other bytes fails at once with
    /// `CacheError.Code.networkRefused`. Preloads and downloads wait until this is false again.
    public var isOffline = false

    /// Creates a policy that permits every request.
    public init() {}

    /// How long a reader that plays waits for a refused request.
    package var waitForPermission: Duration { isOffline ? .milliseconds(1) : patience }

    /// The conditions for readers of a priority.
    func access(for priority: ReadPriority) -> NetworkAccess { priority == .playing ? playback : downloads }
}

/// The urgency of one fetch, and the conditions that its readers accept.
///
/// A fetch serves all readers of its resource, so it may run if one of them permits it.
package struct FetchDemand: Hashable, Sendable {
    /// The priority of the most urgent reader.
    package private(set) var priority: ReadPriority
    /// The access that the readers with one of their own permit together; nil if none has one.
    private var ownAccess: NetworkAccess?
    /// The priority of the most urgent reader to which the policy of the cache applies; nil if
    /// there is none.
    private var policyPriority: ReadPriority?
    /// Whether a reader waits for bytes now. A request that only reads ahead keeps to the limit of
    /// its host.
    package var isAwaited = true
    /// Whether the resource has readers. Its fetches linger otherwise, for those that come back.
    private var hasReaders = true

    /// The demand of one reader.
    ///
    /// - Parameter access: The reader's own access, or nil if the policy of the cache applies.
    package init(_ priority: ReadPriority, access: NetworkAccess? = nil) {
        self.priority = priority
        ownAccess = access
        policyPriority = access == nil ? priority : nil
    }

    /// The demand of a resource with these readers. Without any, it is the least urgent one.
    package init(of readers: some Collection<FetchDemand>) {
        guard var union = readers.first else {
            self.init(.prefetch)
            hasReaders = false
            return
        }
        for reader in readers.dropFirst() { union.formUnion(reader) }
        self = union
    }

    private mutating func formUnion(_ other: FetchDemand) {
        priority = max(priority, other.priority)
        if let access = other.ownAccess { ownAccess = ownAccess?.union(access) ?? access }
        if let priority = other.policyPriority { policyPriority = policyPriority.map { max($0, priority) } ?? priority }
    }

    /// Whether a fetch with this demand pauses for players. One that lingers has mostly served a
    /// player, which is about to come back.
    package var yieldsToPlayers: Bool { hasReaders && priority < .playing }

    /// Whether all readers are preloads and downloads.
    var isPrefetch: Bool { hasReaders && priority == .prefetch }

    /// Returns the demand of the same reader with another priority.
    package func with(_ priority: ReadPriority) -> FetchDemand { FetchDemand(priority, access: ownAccess) }

    /// Returns what the readers permit under a policy.
    func access(under policy: NetworkPolicy) -> NetworkAccess {
        guard let policyPriority else { return ownAccess ?? policy.downloads }
        let access = policy.access(for: policyPriority)
        return ownAccess?.union(access) ?? access
    }
}

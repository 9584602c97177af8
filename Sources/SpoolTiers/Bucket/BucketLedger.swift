package import SpoolCore

/// The facts about a bucket that one process remembers. All tables are bounded, and the oldest
/// entry goes first. A forgotten fact costs a request or a later upload, and nothing else.
package struct BucketLedger: Sendable {
    /// Versions that the origin sent to requests without credentials: their strong tags.
    private var open = RecentTable<ResourceKey, String>(limit: Self.limit)
    /// Versions that the bucket has: their strong tags.
    private var stored = RecentTable<ResourceKey, String>(limit: Self.limit)
    /// Resources without an object, and the time until which this counts.
    private var missing = RecentTable<ResourceKey, MonotonicInstant>(limit: Self.limit)
    /// Resources whose object is damaged. The next upload replaces it.
    private var damaged = RecentTable<ResourceKey, Bool>(limit: Self.limit)
    private var manifests = RecentTable<ResourceKey, BucketManifest>(limit: Self.manifestLimit)

    /// The most entries of a table.
    private static let limit = 4096
    /// The most manifests in memory. That of a film of 1 GiB has 128 KiB.
    private static let manifestLimit = 32
    /// The time for which a missing object is not asked for again.
    package static let missingTime: Nanoseconds = .seconds(60)

    /// Creates an empty ledger.
    package init() {}

    // MARK: Reading

    /// Whether a request asks the bucket, and the description of the object if it is known.
    package enum Lookup: Equatable, Sendable {
        case known(BucketManifest)
        case ask
        case skip
    }

    /// Returns what is known of the object of a resource.
    package func lookup(_ key: ResourceKey, now: MonotonicInstant) -> Lookup {
        if let until = missing[key], now < until { return .skip }
        return manifests[key].map { .known($0) } ?? .ask
    }

    /// Notes the description of an object.
    package mutating func found(_ manifest: BucketManifest) {
        missing[manifest.key] = nil
        manifests[manifest.key] = manifest
        stored[manifest.key] = manifest.tag
    }

    /// Notes the fields with which the origin has confirmed the version of an object.
    package mutating func confirmed(_ key: ResourceKey, _ fields: HTTPFields) { manifests[key]?.fields = fields }

    /// Notes that there is no object, or that it can't be used now.
    package mutating func unusable(_ key: ResourceKey, isDamaged: Bool, now: MonotonicInstant) {
        manifests[key] = nil
        stored[key] = nil
        missing[key] = now + Self.missingTime
        if isDamaged { damaged[key] = true }
    }

    // MARK: Storing

    /// Notes that everybody may have a version.
    ///
    /// - Returns: Whether it may have to be uploaded.
    package mutating func opened(_ key: ResourceKey, tag: String) -> Bool {
        if open[key] != tag { open[key] = tag }
        return stored[key] != tag
    }

    /// Notes that the origin sent a response that not everybody may have.
    package mutating func closed(_ key: ResourceKey) { open[key] = nil }

    /// Whether everybody may have the version with this tag, and the bucket may lack it.
    package func wantsUpload(_ key: ResourceKey, tag: String) -> Bool { open[key] == tag && stored[key] != tag }

    /// Whether a version of the resource may have to be uploaded once it is complete.
    package func mayWantUpload(_ key: ResourceKey) -> Bool { open[key].map { stored[key] != $0 } == true }

    /// Whether the object has to be replaced, whatever its version is.
    package func isDamaged(_ key: ResourceKey) -> Bool { damaged[key] == true }

    /// Notes that the bucket has a version now.
    package mutating func uploaded(_ key: ResourceKey, tag: String) {
        stored[key] = tag
        missing[key] = nil
        damaged[key] = nil
        if manifests[key]?.tag != tag { manifests[key] = nil }
    }
}

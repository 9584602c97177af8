public import SpoolCore
package import SpoolManifests

/// The settings of a cache, in sections. Every bound has a unit, a default and a reason.
///
/// A cache copies its configuration when it is opened. Later changes to the value have no effect on
/// that cache.
///
/// ```swift
/// var configuration = Configuration()
/// configuration.storage.directory = "/var/cache/films"
/// configuration.limits.quotaBytes = 50 << 30
/// configuration.fetching.readAheadBytes = 8 << 20
/// ```
public struct Configuration: Sendable {
    /// Where the store is, and how it is opened.
    public var storage = Storage()
    /// The limits on stored bytes, and the policy that evicts when a limit is reached.
    public var limits = StorageLimits()
    /// How far ahead the cache fetches, with how many requests and how much memory.
    public var fetching = Fetching()
    /// Which responses are stored, when they are used, and what distinguishes them.
    public var freshness = Freshness()
    /// The requests to origins, and the transport that sends them.
    public var network = Network()
    /// Encryption, file protection and the addresses that names may lead to.
    public var security = Security()
    /// Changes the bytes on their way from the store to every reader without a transform of its
    /// own. Nil returns them as the origin sent them.
    public var contentTransform: (any ContentTransform)?
    /// The part of the app's users whose players use the cache. Nil stands for all users.
    public var rollout: Rollout?
    /// The formats of manifests that are read besides HLS. `SpoolDASH` adds its own.
    package var manifestFormats: [any ManifestFormat] = []
    /// The sinks that receive every event. They are called on any thread.
    public var events: [any EventSink] = []
    /// The sink for log lines. Nil writes no log.
    public var log: (any LogSink)?

    /// Creates a configuration with the defaults.
    public init() {}

    /// Throws an error about the first value that is out of bounds.
    func validate() throws(CacheError) {
        try fetching.validate()
        try limits.validate()
        try network.validate()
        try storage.validate()
        if security.encryption != nil { try permitEncryption() }
    }

    /// Throws an error if a tier would hold resources of an encrypted store unencrypted.
    func permitEncryption() throws(CacheError) {
        try Configuration.require(
            !network.tiers.contains(where: \.holdsClearBytes),
            "an encrypted store has no bucket, because a bucket holds resources unencrypted; leave one of the two out")
    }

    /// Throws an error if a value is out of bounds.
    ///
    /// - Parameter message: The name of the value, the value, and what to give instead.
    static func require(_ isInBounds: Bool, _ message: @autoclosure () -> String) throws(CacheError) {
        guard isInBounds else { throw CacheError(.configuration, message()) }
    }
}

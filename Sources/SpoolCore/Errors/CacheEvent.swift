/// An event in a cache, for logs, metrics and tests.
///
/// A later version may add cases. Outside this package, a `switch` needs `@unknown default` or
/// `default`.
#if compiler(>=6.3)
@nonexhaustive
#endif
public enum CacheEvent: Sendable {
    /// A reader of `[start, end)` came; `end` is nil for the end of the resource.
    case readerJoined(ResourceKey, start: Int64, end: Int64?)
    /// An origin request for `[lower, upper)` was made; `upper` is nil for an open range.
    case fetchStarted(ResourceKey, lower: Int64, upper: Int64?)
    /// An origin request ended after `bytes` body bytes. The reason is nil if it did not fail.
    case fetchEnded(ResourceKey, bytes: Int64, reason: String?)
    /// The transport measured an origin request that is over. `retries` is the number of failed
    /// requests in a row before it.
    case fetchMeasured(ResourceKey, TransferTimings, retries: Int)
    /// Bytes were entered into the index.
    case bytesCommitted(ResourceKey, bytes: Int64)
    /// Another version replaced the one that was stored or read.
    case representationReplaced(ResourceKey, from: GenerationID, to: GenerationID)
    /// Bytes are passed on without being stored, for this reason.
    case degradedToPassthrough(ResourceKey, reason: String)
    /// Stored bytes differ from their checksums. They are removed from the index and will be
    /// fetched again when a reader needs them.
    case damageFound(ResourceKey, bytes: Int64)
    /// Stored bytes were served although the origin could not confirm them, for this reason.
    case usedUnvalidated(ResourceKey, reason: String)
    /// The network policy does not permit a fetch, for this reason. The fetch waits until it does.
    case networkRefused(ResourceKey, reason: String)
    /// A fetch that waited for the network policy goes on.
    case networkPermitted(ResourceKey)
    /// The origin no longer has the resource, and the cache has removed it.
    case gone(ResourceKey, GenerationID)
    /// A resource, or a part of it, was removed to keep a limit of the store.
    case evicted(ResourceKey, bytes: Int64, because: EvictionCause)
    /// A resource was removed by command.
    case removed(ResourceKey)
    /// The process that had the store for writing is gone. This process stores from now on.
    case becameWriter
    /// The store failed repeatedly. For this time fetched bytes are passed on and not stored;
    /// stored bytes remain readable.
    case storeRests(seconds: Int64)
    /// Players load originals by themselves from now on, or come through the cache again.
    case bypassChanged(isBypassed: Bool, reason: String)
    /// An event of a server that is asked before the origin.
    case tier(any TierEvent)
    /// The store repaired something when it was opened, or a call to it failed.
    case storeTrouble(String)
}

/// The limit of a store for which a resource was evicted.
///
/// A later version may add cases. Outside this package, a `switch` needs `@unknown default` or
/// `default`.
#if compiler(>=6.3)
@nonexhaustive
#endif
public enum EvictionCause: Hashable, Sendable, CustomStringConvertible {
    /// The stored bytes reach the quota.
    case quota
    /// Less of the disk is free than the store leaves to others.
    case minimumFreeDisk
    /// The resource was not used for the longest time that is allowed.
    case maximumAge
    /// There are more resources than are allowed.
    case maximumCount

    /// The limit in words for people.
    public var description: String {
        switch self {
        case .quota: "the quota is reached"
        case .minimumFreeDisk: "the disk has too little free space"
        case .maximumAge: "it was not used for longer than the maximum age"
        case .maximumCount: "the store has more resources than the maximum count"
        }
    }
}

/// A receiver of events.
public protocol EventSink: Sendable {
    /// Records an event. Called from any thread, and never under a lock. Must not block.
    func record(_ event: CacheEvent)
    /// Whether the sink needs `readerJoined`, which comes with every request. True by default. The
    /// cache reads it once, when it is created. Where nothing needs these events, it makes none,
    /// and requests cost less. A sink that does not need them gets them all the same while another
    /// sink, a stream or a log does.
    var recordsReaders: Bool { get }
}

extension EventSink {
    /// True.
    public var recordsReaders: Bool { true }
}

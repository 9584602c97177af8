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
    /// A resource was removed to make room.
    case evicted(ResourceKey, bytes: Int64)
    /// A resource was removed by command.
    case removed(ResourceKey)
    /// The process that had the store for writing is gone. This process stores from now on.
    case becameWriter
    /// The store failed repeatedly. For this time fetched bytes are passed on and not stored;
    /// stored bytes remain readable.
    case storeRests(seconds: Int64)
    /// The store repaired something when it was opened, or a call to it failed.
    case storeTrouble(String)
}

/// A receiver of events.
public protocol EventSink: Sendable {
    /// Records an event. Called from any thread, and never under a lock. Must not block.
    func record(_ event: CacheEvent)
}

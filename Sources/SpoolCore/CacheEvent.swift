/// Something that happened in a cache, for logs, metrics and tests.
public enum CacheEvent: Sendable {
    /// A reader came. `storedBytes` of what it may want are stored.
    case readerJoined(ResourceKey, start: Int64, end: Int64?)
    /// An origin request was made for `[lower, upper)`; upper nil for an open range.
    case fetchStarted(ResourceKey, lower: Int64, upper: Int64?)
    /// An origin request is over, having brought `bytes`.
    case fetchEnded(ResourceKey, bytes: Int64, reason: String?)
    /// Bytes were entered into the index.
    case bytesCommitted(ResourceKey, bytes: Int64)
    /// The origin has another version than the one that was stored or read.
    case representationReplaced(ResourceKey, from: GenerationID, to: GenerationID)
    /// Bytes are passed on without being stored, and why.
    case degradedToPassthrough(ResourceKey, reason: String)
    /// Stored bytes are not what was written; they are out of the index, and fetched again when they are wanted.
    case damageFound(ResourceKey, bytes: Int64)
    /// What is stored was served although the origin could not say whether it is current, and why it could not.
    case usedUnvalidated(ResourceKey, reason: String)
    /// The origin has the resource no more, and so has the cache.
    case gone(ResourceKey, GenerationID)
    /// A resource was removed to make room.
    case evicted(ResourceKey, bytes: Int64)
    /// A resource was removed by command.
    case removed(ResourceKey)
    /// The process that had the store is gone: this one stores from now on.
    case becameWriter
    /// The store failed again and again: for so long what is fetched is passed on and not stored. What is stored is read all the while.
    case storeRests(seconds: Int64)
    /// The store mended something when it was opened, or a call to it failed.
    case storeTrouble(String)
}

/// Takes events; called from any thread, outside every lock. Must not block.
public protocol EventSink: Sendable {
    func record(_ event: CacheEvent)
}

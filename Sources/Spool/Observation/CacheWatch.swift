import SpoolCore

/// Takes the events of a cache for the person who runs it, and some more that are no events.
///
/// Its methods are called on any thread, outside every lock. A plain hit calls none of them.
package protocol CacheWatch: EventSink {
    /// A fetch or a download pauses. Pauses for a player are short and frequent.
    func paused(_ key: ResourceKey, because reason: String)

    /// An attempt of a download ended.
    func downloadFailed(_ key: ResourceKey, because reason: String)
}

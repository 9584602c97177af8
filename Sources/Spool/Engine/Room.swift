package import SpoolCore

/// The room of a store, and what decides which resources give it. Callable on any thread.
package struct Room: Sendable {
    let engine: Engine

    /// Takes the playlists that a multivariant playlist names, so that eviction treats them as one
    /// presentation.
    package func named(_ playlists: PartKeys, by presentation: ResourceKey) {
        engine.committer.parts.withLock { $0.named(playlists, by: presentation) }
    }

    /// Takes the parts of a media playlist.
    package func listed(_ parts: PartKeys, in playlist: ResourceKey, isLive: Bool) {
        engine.committer.unlisted(engine.committer.parts.withLock { $0.listed(parts, in: playlist, isLive: isLive) })
    }

    /// The bytes that are promised to writes and not in the index. They are 0 when nothing is on
    /// its way to a file.
    package var promisedBytes: Int64 { engine.evictor.state.withLock { $0.ledger.promisedBytes } }
}

package import SpoolCore
import SpoolSystem

/// What an asset tells about its loading, from any thread.
package final class LoaderReport: Sendable {
    private struct State {
        var lastError: CacheError?
        /// What was stored when the asset began, and what it got since: whoever asks for it again costs no origin a byte.
        var known = ByteRangeSet()
        var bytesFromCache: Int64 = 0
        var bytesFromOrigin: Int64 = 0
    }

    private let state = Locked(State())

    package init() {}

    /// The last trouble, also where the loader went on.
    package var lastError: CacheError? { state.withLock { $0.lastError } }

    func note(_ error: CacheError) { state.withLock { $0.lastError = error } }

    /// The asset begins to load, and so much is stored.
    func begins(with stored: ByteRangeSet) { state.withLock { $0.known.formUnion(stored) } }

    /// These bytes were handed to the player.
    func delivered(_ range: ByteRange) {
        state.withLock { state in
            let cached = state.known.intersection(range).totalBytes
            state.known.insert(range)
            state.bytesFromCache += cached
            state.bytesFromOrigin += range.count - cached
        }
    }

    /// Bytes that were handed to the player, by whether they were fetched for it.
    package var bytes: (fromCache: Int64, fromOrigin: Int64) { state.withLock { ($0.bytesFromCache, $0.bytesFromOrigin) } }
}

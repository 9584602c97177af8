import Foundation
package import SpoolCore
import SpoolSystem

/// The error and the byte counts of an asset's loading, readable from any thread.
package final class LoaderReport: Sendable {
    private struct State {
        var lastError: CacheError?
        var freshURL: URL?
        var isAtProxy = false
        var playsOriginal = false
        /// The bytes that were stored when the asset began, and those it got since. A repeated
        /// request for them costs the origin no byte.
        var known = ByteRangeSet()
        var bytesFromCache: Int64 = 0
        var bytesFromOrigin: Int64 = 0
    }

    private let state = Locked(State())
    private let duration = Locked<(isWanted: Bool, ask: (@Sendable () -> Void)?)>((false, nil))

    /// Creates an empty report.
    package init() {}

    /// Sets the closure that finds out the duration of the media.
    func onDurationWanted(_ ask: @escaping @Sendable () -> Void) { duration.withLock { $0.ask = ask } }

    /// Asks for the duration of the media, once.
    func wantsDuration() {
        let ask = duration.withLock { exchange(&$0.isWanted, with: true) ? nil : $0.ask }
        ask?()
    }

    /// The last error, also when the loader continued after it.
    package var lastError: CacheError? { state.withLock { $0.lastError } }

    /// The last fresh URL of the resource, or nil.
    var freshURL: URL? { state.withLock { $0.freshURL } }

    func renewed(_ url: URL) { state.withLock { $0.freshURL = url } }

    /// Whether the loader serves the player, which was not redirected.
    var isServing: Bool { state.withLock { !$0.isAtProxy && !$0.playsOriginal } }
    /// Whether the player was redirected to the original.
    var playsOriginal: Bool { state.withLock { $0.playsOriginal } }

    func redirected(toProxy: Bool) { state.withLock { ($0.isAtProxy, $0.playsOriginal) = (toProxy, !toProxy) } }

    func note(_ error: CacheError) { state.withLock { $0.lastError = error } }

    /// Records an error, unless the last one has the same code.
    ///
    /// - Returns: Whether it was recorded.
    func noteOnce(_ error: CacheError) -> Bool {
        state.withLock { state in
            guard state.lastError?.code != error.code else { return false }
            state.lastError = error
            return true
        }
    }

    /// Records the stored bytes at the beginning of loading.
    func begins(with stored: ByteRangeSet) { state.withLock { $0.known.formUnion(stored) } }

    /// The number of different bytes that were stored at the beginning or delivered since.
    var knownBytes: Int64 { state.withLock { $0.known.totalBytes } }

    /// Counts bytes that were delivered to the player.
    func delivered(_ range: ByteRange) {
        state.withLock { state in
            let cached = state.known.intersection(range).totalBytes
            state.known.insert(range)
            state.bytesFromCache += cached
            state.bytesFromOrigin += range.count - cached
        }
    }

    /// The bytes that were delivered to the player: those that were stored before, and those that
    /// were fetched.
    package var bytes: (fromCache: Int64, fromOrigin: Int64) { state.withLock { ($0.bytesFromCache, $0.bytesFromOrigin) } }
}

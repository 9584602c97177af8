import SpoolCore
import SpoolSystem

/// The time of the last use of one resource, in memory until it is entered into the index.
///
/// A use after the first since the last `take()` costs one look at the clock and one lock. The
/// first one also queues this record in the committer.
final class AccessRecorder: Sendable {
    let key: ResourceKey
    private let state = Locked(State())

    private struct State {
        var time = Timestamp(seconds: 0)
        /// Whether there was a use since the last `take()`.
        var isUsed = false
    }

    init(_ key: ResourceKey) { self.key = key }

    /// Stores the time of a use.
    ///
    /// - Returns: Whether this is the first use since the last `take()`.
    func isFirstUse(at time: Timestamp) -> Bool {
        state.withLock { state in
            state.time = time
            return !exchange(&state.isUsed, with: true)
        }
    }

    /// Returns the time of the newest use, and begins anew.
    func take() -> Timestamp {
        state.withLock { state in
            state.isUsed = false
            return state.time
        }
    }
}

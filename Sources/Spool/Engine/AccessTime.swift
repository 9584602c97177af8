import SpoolCore
import SpoolSystem

/// When a resource was last used, until the index knows it. A use after the first costs one look at the clock.
final class AccessTime: Sendable {
    let key: ResourceKey
    private let state = Locked(State())

    private struct State {
        var time = Timestamp(seconds: 0)
        /// There was a use that was not taken.
        var isUsed = false
    }

    init(_ key: ResourceKey) { self.key = key }

    /// Notes a use; whether it is the first since the last `take`.
    func isFirstUse(at time: Timestamp) -> Bool {
        state.withLock { state in
            state.time = time
            defer { state.isUsed = true }
            return !state.isUsed
        }
    }

    /// The newest use.
    func take() -> Timestamp {
        state.withLock { state in
            state.isUsed = false
            return state.time
        }
    }
}

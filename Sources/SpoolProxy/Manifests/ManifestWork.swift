import SpoolCore
import SpoolSystem

/// The work on one version of a manifest, and those who wait for its result. Safe to use from any
/// thread.
final class ManifestWork: Sendable {
    private struct State {
        var result: ManifestMemo.Result?
        var waiting: [@Sendable () -> Void] = []
    }

    private let state: Locked<State>

    /// Creates work with its result, or work that has just begun.
    init(_ result: ManifestMemo.Result? = nil) {
        state = Locked(State(result: result))
    }

    /// The result, or nil while there is none.
    var result: ManifestMemo.Result? { state.withLock { $0.result } }

    /// Calls `wake`, on any thread, once there is a result.
    func onEnd(_ wake: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            if state.result == nil { state.waiting.append(wake) }
            return state.result != nil
        }
        if isOver { wake() }
    }

    /// Sets the result. Called once.
    func end(_ result: ManifestMemo.Result) {
        let waiting = state.withLock { state in
            state.result = result
            return exchange(&state.waiting, with: [])
        }
        for wake in waiting { wake() }
    }
}

import SpoolSystem

/// The reasons for which a preload reads nothing, although its caller has not paused it.
enum PreloadHold {
    /// The store is suspended, and would take no byte.
    case suspension
    /// The system fetches the bytes.
    case system
}

/// A preload, as the engine below it sees it.
protocol EnginePreload: AnyObject, Sendable {
    /// Stops reading, with the bytes that arrived, until the hold is released. Callable on any
    /// thread.
    func hold(_ hold: PreloadHold)
    /// Ends a hold. Bytes that were stored are read again, and not fetched. Callable on any thread.
    func release(_ hold: PreloadHold)
}

/// The preloads of a cache that are not over. A suspension of the store holds them.
final class RunningPreloads: Sendable {
    private struct Member {
        weak var preload: (any EnginePreload)?
    }

    private struct State {
        var isHeld = false
        var members: [ObjectIdentifier: Member] = [:]
    }

    private let state = Locked(State())

    /// Enters a preload that begins, and holds it while the store is suspended.
    func enter(_ preload: any EnginePreload) {
        let isHeld = state.withLock { state in
            state.members[ObjectIdentifier(preload)] = Member(preload: preload)
            return state.isHeld
        }
        if isHeld { preload.hold(.suspension) }
    }

    /// Takes out a preload that is over or released.
    func leave(_ preload: ObjectIdentifier) { state.withLock { $0.members[preload] = nil } }

    /// Holds all preloads, and those that begin, until `release`. Callable on any thread.
    func hold() { for preload in change(isHeld: true) { preload.hold(.suspension) } }

    /// Lets the preloads go on. Callable on any thread.
    func release() { for preload in change(isHeld: false) { preload.release(.suspension) } }

    private func change(isHeld: Bool) -> [any EnginePreload] {
        state.withLock { state in
            state.isHeld = isHeld
            return state.members.values.compactMap(\.preload)
        }
    }
}

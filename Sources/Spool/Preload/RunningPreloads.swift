import SpoolSystem

/// The reasons for which a preload reads nothing, although its caller has not paused it.
package enum PreloadHold {
    /// The store is suspended, and would take no byte.
    case suspension
    /// The system fetches the bytes.
    case system
}

/// A preload, as the engine below it sees it.
package protocol EnginePreload: AnyObject, Sendable {
    /// Stops reading, with the bytes that arrived, until the hold is released. Callable on any
    /// thread.
    func hold(_ hold: PreloadHold)
    /// Ends a hold. Bytes that were stored are read again, and not fetched. Callable on any thread.
    func release(_ hold: PreloadHold)
}

/// The preloads of a cache that are not over. A suspension of the store holds them.
package final class RunningPreloads: Sendable {
    private struct Member {
        weak var preload: (any EnginePreload)?
    }

    private struct State {
        var isHeld = false
        var members: [ObjectIdentifier: Member] = [:]
    }

    private let state = Locked(State())

    /// Creates a list without preloads, which holds none.
    package init() {}

    /// Enters a preload that begins, and holds it while the store is suspended.
    package func enter(_ preload: any EnginePreload) {
        state.withLock { $0.members[ObjectIdentifier(preload)] = Member(preload: preload) }
        settle(preload)
    }

    /// Takes out a preload that is over or released.
    func leave(_ preload: ObjectIdentifier) { state.withLock { $0.members[preload] = nil } }

    /// Holds all preloads, and those that begin, until `release`. Callable on any thread.
    package func hold() { change(isHeld: true) }

    /// Lets the preloads go on. Callable on any thread.
    package func release() { change(isHeld: false) }

    private func change(isHeld: Bool) {
        let preloads = state.withLock { state in
            state.isHeld = isHeld
            return state.members.values.compactMap(\.preload)
        }
        for preload in preloads { settle(preload) }
    }

    /// Holds or releases a preload until that is what the cache needs. Calls of two threads may
    /// overtake each other, and the last one of them looks after both.
    private func settle(_ preload: any EnginePreload) {
        var settled: Bool?
        while true {
            let isHeld = state.withLock { $0.isHeld }
            if isHeld == settled { return }
            if isHeld { preload.hold(.suspension) } else { preload.release(.suspension) }
            settled = isHeld
        }
    }
}

package import SpoolOrigin
import SpoolSystem

/// The bounds on the networks that the clients of a cache's doors can reach. Doors open and close.
/// The bounds of all open doors hold for every request of the cache, because readers of one
/// resource share its requests.
package final class OriginBounds: Sendable {
    private struct State {
        var next = 0
        var reaches: [Int: OriginReach] = [:]
    }

    private let state = Locked(State())

    init() {}

    /// Bounds requests from now on, until `lift` is called with the returned number.
    package func set(_ reach: OriginReach) -> Int {
        state.withLock { state in
            state.next += 1
            if !reach.isUnbounded { state.reaches[state.next] = reach }
            return state.next
        }
    }

    /// Removes the bound with this number.
    package func lift(_ number: Int) {
        state.withLock { $0.reaches[number] = nil }
    }

    /// The bounds of all open doors.
    package var current: [OriginReach] {
        state.withLock { state in state.reaches.sorted { $0.key < $1.key }.map(\.value) }
    }
}

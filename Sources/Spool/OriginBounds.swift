package import SpoolOrigin
import SpoolSystem

/// How far the clients of a cache's doors get. Doors come and go; what every open one says holds for the requests of the cache, since
/// readers of one resource share its requests.
package final class OriginBounds: Sendable {
    private struct State {
        var next = 0
        var reaches: [Int: OriginReach] = [:]
    }

    private let state = Locked(State())

    init() {}

    /// Bounds requests from now on, until `lift` is called with the number that comes back.
    package func set(_ reach: OriginReach) -> Int {
        state.withLock { state in
            state.next += 1
            if !reach.isUnbounded { state.reaches[state.next] = reach }
            return state.next
        }
    }

    package func lift(_ number: Int) {
        state.withLock { $0.reaches[number] = nil }
    }

    var current: [OriginReach] {
        state.withLock { state in state.reaches.sorted { $0.key < $1.key }.map(\.value) }
    }
}

import SpoolCore
import SpoolSystem

/// A value that one thread changes and another waits for. Blocking tests use it instead of
/// sleeping.
///
/// It is not for engine code, whose threads do not wait for each other.
package final class Awaited<State>: Sendable {
    private let monitor: Monitor<State>

    /// The longest time of a wait, in seconds. It only ends a hang: a thread that one test waits
    /// for may be delayed for minutes by the computations of all other tests.
    package static var hangSeconds: Int { 600 }

    /// Creates a value.
    package init(_ state: sending State) { monitor = Monitor(state) }

    /// Changes the value and wakes all waiting threads.
    package func change<R>(_ body: (inout State) -> R) -> R { monitor.change(body) }

    /// The value now.
    package var value: State { monitor.withLock { $0 } }

    /// Waits until `condition` holds.
    ///
    /// - Returns: False if it did not hold within `hangSeconds`.
    package func wait(until condition: (State) -> Bool) -> Bool {
        let deadline = EventLoop.monotonicNow() + .seconds(Int64(Self.hangSeconds))
        return monitor.wait { state in
            if condition(state) { return .done(true) }
            let left = deadline - EventLoop.monotonicNow()
            return left > 0 ? .time(left) : .done(false)
        }
    }
}

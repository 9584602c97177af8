import SpoolSystem

/// The timer that removes resources which are too old or too many.
///
/// It fires soon after a start, and then from time to time for resources that become too old later.
final class AgeTimer: Sendable {
    /// The number of starts. An earlier start ends with the next one.
    private let starts = Locked(0)

    /// The shortest and the longest time between two checks.
    private static let intervals: ClosedRange<Nanoseconds> = .seconds(60)...(.seconds(3600))

    /// Starts the timer anew, with the limits of this moment.
    func start(for engine: Engine) {
        let number = starts.withLock { number in
            number += 1
            return number
        }
        let limits = engine.limits.current
        guard limits.maximumAge != nil || limits.maximumCount != nil else { return }
        check(engine, after: Engine.sweepDelay, number)
    }

    /// - Parameter number: The number of this start.
    private func check(_ engine: Engine, after delay: Nanoseconds, _ number: Int) {
        _ = engine.environment.time.after(delay, on: engine.environment.indexLane) { [self, weak engine] in
            guard let engine, !engine.isClosed, starts.withLock({ $0 == number }) else { return }
            if engine.store.isWritable { engine.evictor.enforce() }
            guard let age = engine.limits.current.maximumAge else { return }
            let eighth = Nanoseconds(saturating: age) / 8
            check(engine, after: min(max(eighth, Self.intervals.lowerBound), Self.intervals.upperBound), number)
        }
    }
}

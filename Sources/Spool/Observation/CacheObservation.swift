public import SpoolCore
import SpoolSystem

/// The events and the statistics of a cache as sequences.
///
/// ```swift
/// for await event in cache.observation.events {
///     if case .evicted(let key, let bytes, _) = event { print("\(bytes) bytes of \(key) left") }
/// }
/// ```
public struct CacheObservation: Sendable {
    private let engine: Engine

    init(engine: Engine) { self.engine = engine }

    /// The events from now on, until the cache is closed.
    ///
    /// Each access returns a stream of its own. A consumer that falls behind by more than 1000
    /// events loses the oldest of them.
    public var events: AsyncStream<CacheEvent> { engine.feed.stream() }

    /// Returns a stream of the statistics: now, and at each change, until the cache is closed.
    ///
    /// A slow consumer gets the newest statistics only.
    /// - Parameter interval: The least time between two values. Less than a tenth of a second
    ///   counts as a tenth.
    public func statistics(every interval: Duration = .seconds(1)) -> AsyncStream<Statistics> {
        let nanoseconds = max(Self.leastInterval, Nanoseconds(saturating: interval))
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let poll = StatisticsPoll(engine: engine, interval: nanoseconds, continuation: continuation)
            continuation.onTermination = { _ in poll.end() }
            poll.look()
        }
    }

    private static let leastInterval: Nanoseconds = .milliseconds(100)
}

extension MediaCache {
    /// The events and the statistics of this cache as sequences.
    public var observation: CacheObservation { CacheObservation(engine: engine) }
}

/// Compares the statistics of a cache with the last ones, at an interval.
private final class StatisticsPoll: Sendable {
    private weak let engine: Engine?
    private let interval: Nanoseconds
    private let continuation: AsyncStream<Statistics>.Continuation
    private let state = Locked<(last: Statistics?, isOver: Bool)>((nil, false))

    init(engine: Engine, interval: Nanoseconds, continuation: AsyncStream<Statistics>.Continuation) {
        self.engine = engine
        self.interval = interval
        self.continuation = continuation
    }

    func end() { state.withLock { $0.isOver = true } }

    /// Yields the statistics if they changed, and looks again after the interval.
    func look() {
        guard let engine, !engine.isClosed else { return continuation.finish() }
        let statistics = engine.statistics
        let (isNew, isOver) = state.withLock { (exchange(&$0.last, with: statistics) != statistics, $0.isOver) }
        guard !isOver else { return }
        if isNew { continuation.yield(statistics) }
        _ = engine.environment.time.after(interval, on: engine.environment.control) { self.look() }
    }
}

package import Spool
import SpoolCore
package import SpoolStore
import SpoolSystem

/// Adds the counts of an open cache to the history in its store.
///
/// The store gets them with access times and durable points, at most once in `interval`, and when
/// the cache is closed or suspended. A process that is killed loses those since then: about a
/// minute. A process that only reads the store keeps none.
package final class HistoryKeeper: CountsKeeper {
    /// The shortest time between two writes.
    package static let interval: Nanoseconds = .seconds(60)

    private struct State {
        /// The counts that the history in the store has.
        var kept = Statistics()
        var lastTime: MonotonicInstant?
        /// The history in the store, or nil if another process may have changed it.
        var known: StatisticsHistory?
    }

    private let environment: CacheEnvironment
    private let store: any ResourceStore
    private let state = Locked(State())

    /// Returns the history of a cache. The first call begins to keep it.
    @discardableResult package static func of(_ cache: MediaCache) -> HistoryKeeper {
        keeper(of: cache) { HistoryKeeper(environment: cache.environment, store: cache.store) }
    }

    private init(environment: CacheEnvironment, store: any ResourceStore) {
        self.environment = environment
        self.store = store
    }

    /// Writes the growth of the counts. Runs on the index lane.
    ///
    /// - Parameter isLast: Whether the next call may never come, so that this one is not too early.
    /// - Throws: The error of the store. The growth is written by the next call then.
    package func keep(_ counts: Statistics, isLast: Bool) throws(StoreError) {
        guard store.isWritable else { return }
        defer { if isLast { state.withLock { $0.known = nil } } }
        let now = environment.time.now
        let (kept, lastTime) = state.withLock { ($0.kept, $0.lastTime) }
        guard isLast || lastTime.map({ now - $0 >= Self.interval }) ?? true else { return }
        let growth = counts.growth(since: kept)
        guard growth.isSomething else { return }
        state.withLock { $0.lastTime = now }
        var history = try stored()
        history.add(growth, on: today)
        try store.setHistory(history.text)
        state.withLock { ($0.kept, $0.known) = (counts, history) }
    }

    /// Begins a new history after `counts`. Runs on the index lane.
    package func forget(_ counts: Statistics) { state.withLock { ($0.kept, $0.known) = (counts, nil) } }

    /// Returns the counts by day, with those that are not written yet. Runs on the index lane.
    func days(with counts: Statistics) throws(StoreError) -> [DayStatistics] {
        var history = try stored()
        let growth = counts.growth(since: state.withLock { $0.kept })
        if growth.isSomething { history.add(growth, on: today) }
        return history.days
    }

    /// Returns the history in the store. Only the writer changes it, so the writer reads it once.
    private func stored() throws(StoreError) -> StatisticsHistory {
        if let known = state.withLock({ $0.known }) { return known }
        let history = StatisticsHistory(try store.history() ?? "")
        if store.isWritable { state.withLock { $0.known = history } }
        return history
    }

    private var today: String { environment.time.wallNow.dateInUTC }
}

extension Statistics {
    /// Whether a count is not zero.
    fileprivate var isSomething: Bool {
        Self.counts.contains { self[keyPath: $0.place] != 0 } || (sentByOriginsBytes ?? 0) != 0
    }
}

extension HistoryKeeper {
    /// Returns the counts of a cache by day, the oldest first, with those of the open cache up to
    /// now.
    ///
    /// The store keeps the last 400 days with traffic. It takes up the counts about once a
    /// minute, and when the cache is closed or suspended. A process that is killed loses those
    /// since then, and one that only reads the store does not add its own.
    ///
    /// - Throws: `.store`, `.closed`.
    package static func days(of cache: MediaCache) async throws(CacheError) -> [DayStatistics] {
        try await cache.onIndexLane { () throws(StoreError) in try of(cache).days(with: cache.statistics) }
    }
}

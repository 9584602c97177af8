public import SpoolCore

// Closures in the place of a sink of one's own.

extension Configuration {
    /// Adds a closure that receives every event of the cache.
    ///
    /// ```swift
    /// configuration.onEvent { event in
    ///     if case .evicted(let key, _, let cause) = event { print("\(key): \(cause)") }
    /// }
    /// ```
    ///
    /// - Parameter body: Called on any thread, outside every lock. Must not block.
    public mutating func onEvent(_ body: @escaping @Sendable (CacheEvent) -> Void) {
        events.append(ClosureEventSink(body: body))
    }

    /// Sends log lines to a closure, in place of an earlier `log`.
    ///
    /// ```swift
    /// configuration.onLog(atLeast: .notice) { level, message in print("\(level): \(message)") }
    /// ```
    ///
    /// - Parameters:
    ///   - level: The lowest level that the closure receives.
    ///   - body: Called on any thread, outside every lock. Must not block.
    public mutating func onLog(
        atLeast level: LogLevel = .info, _ body: @escaping @Sendable (_ level: LogLevel, _ message: String) -> Void
    ) {
        log = ClosureLogSink(level: level, body: body)
    }
}

/// An event sink that calls a closure.
private struct ClosureEventSink: EventSink {
    let body: @Sendable (CacheEvent) -> Void

    func record(_ event: CacheEvent) { body(event) }
}

/// A log sink that calls a closure.
private struct ClosureLogSink: LogSink {
    let level: LogLevel
    let body: @Sendable (LogLevel, String) -> Void

    func log(_ level: LogLevel, _ message: String) { body(level, message) }
}

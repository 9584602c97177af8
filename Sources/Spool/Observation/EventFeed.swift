import SpoolCore
import SpoolSystem

/// Passes the events of a cache on to streams and to a watch.
final class EventFeed: CacheWatch {
    /// The most events that wait for one slow consumer. Older ones are dropped.
    static let maximumWaiting = 1000

    private struct State {
        var streams: [Int: AsyncStream<CacheEvent>.Continuation] = [:]
        var next = 0
        var isOver = false
    }

    /// The watch, or nil without one.
    let watch = Locked<(any CacheWatch)?>(nil)
    private let state = Locked(State())
    /// The number of streams. Every event looks at it, and most find none.
    private let streamCount = SharedNumber(0)

    func record(_ event: CacheEvent) {
        watch.withLock { $0 }?.record(event)
        guard hasStreams else { return }
        for stream in state.withLock({ Array($0.streams.values) }) { stream.yield(event) }
    }

    func paused(_ key: ResourceKey, because reason: String) { watch.withLock { $0 }?.paused(key, because: reason) }

    func downloadFailed(_ key: ResourceKey, because reason: String) { watch.withLock { $0 }?.downloadFailed(key, because: reason) }

    /// Whether anything takes the events of readers.
    var hasStreams: Bool { streamCount.value > 0 }

    /// Returns a stream of the events from now on.
    func stream() -> AsyncStream<CacheEvent> {
        AsyncStream(bufferingPolicy: .bufferingNewest(Self.maximumWaiting)) { continuation in
            let number = change { state -> Int? in
                guard !state.isOver else { return nil }
                state.next += 1
                state.streams[state.next] = continuation
                return state.next
            }
            guard let number else { return continuation.finish() }
            continuation.onTermination = { [weak self] _ in self?.leave(number) }
        }
    }

    /// Ends every stream.
    func finish() {
        let streams = change { state in
            state.isOver = true
            defer { state.streams = [:] }
            return state.streams.values
        }
        for stream in streams { stream.finish() }
    }

    private func leave(_ number: Int) { change { _ = $0.streams.removeValue(forKey: number) } }

    /// Changes the streams, and counts them.
    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            defer { streamCount.value = Int64(state.streams.count) }
            return body(&state)
        }
    }
}

import SpoolCore
import SpoolSystem

/// Passes the events of a cache on to streams, and to the notices for a page.
final class EventFeed: EventSink {
    /// The most events that wait for one slow consumer. Older ones are dropped.
    static let maximumWaiting = 1000

    private struct State {
        var streams: [Int: AsyncStream<CacheEvent>.Continuation] = [:] {
            didSet { count.value = Int64(streams.count) }
        }
        /// The number of streams, for readers without the lock.
        let count = SharedNumber(0)
        var next = 0
        var isOver = false
    }

    /// The notices for a page.
    let notices: NoticeBoard
    private let state: Locked<State>
    private let count: SharedNumber

    init(time: any TimeSource) {
        notices = NoticeBoard(time: time)
        let start = State()
        count = start.count
        state = Locked(start)
    }

    func record(_ event: CacheEvent) {
        notices.record(event)
        for stream in state.withLock({ $0.streams.isEmpty ? [] : Array($0.streams.values) }) { stream.yield(event) }
    }

    /// Whether anything takes events, except for notices.
    var hasStreams: Bool { count.value > 0 }

    /// Returns a stream of the events from now on.
    func stream() -> AsyncStream<CacheEvent> {
        AsyncStream(bufferingPolicy: .bufferingNewest(Self.maximumWaiting)) { continuation in
            let number = state.withLock { state -> Int? in
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
        let streams = state.withLock { state in
            state.isOver = true
            defer { state.streams = [:] }
            return state.streams.values
        }
        for stream in streams { stream.finish() }
    }

    private func leave(_ number: Int) { state.withLock { _ = $0.streams.removeValue(forKey: number) } }
}

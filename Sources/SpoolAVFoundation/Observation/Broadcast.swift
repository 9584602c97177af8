import SpoolSystem

/// A value that many follow: each gets the newest, and is told when it changes.
package final class Broadcast<Value: Equatable & Sendable>: Sendable {
    private struct State {
        var value: Value
        var isOver = false
        var followers: [(number: Int, tell: @Sendable (Value) -> Void, end: @Sendable () -> Void)] = []
        var next = 0
    }

    private let state: Locked<State>
    /// Called when the first follower comes and when the last one goes.
    private let onInterest: @Sendable (Bool) -> Void

    package init(_ value: Value, onInterest: @escaping @Sendable (Bool) -> Void = { _ in }) {
        state = Locked(State(value: value))
        self.onInterest = onInterest
    }

    package var value: Value { state.withLock { $0.value } }

    /// Tells everyone, unless it is what they know already.
    package func send(_ value: Value) {
        let followers = state.withLock { state -> [@Sendable (Value) -> Void] in
            guard value != state.value, !state.isOver else { return [] }
            state.value = value
            return state.followers.map(\.tell)
        }
        for tell in followers { tell(value) }
    }

    /// Nothing follows any more.
    package func finish() {
        let ends = state.withLock { state in
            defer { state.followers = [] }
            state.isOver = true
            return state.followers.map(\.end)
        }
        for end in ends { end() }
    }

    /// Tells the value of now, then each that comes. `end` is called once when nothing more comes.
    package func follow(_ tell: @escaping @Sendable (Value) -> Void, end: @escaping @Sendable () -> Void = {}) -> Subscription {
        let (number, value, isFirst) = state.withLock { state -> (Int?, Value, Bool) in
            guard !state.isOver else { return (nil, state.value, false) }
            state.next += 1
            state.followers.append((state.next, tell, end))
            return (state.next, state.value, state.followers.count == 1)
        }
        tell(value)
        guard let number else {
            end()
            return Subscription {}
        }
        if isFirst { onInterest(true) }
        return Subscription { [weak self] in self?.leave(number) }
    }

    private func leave(_ number: Int) {
        let wasLast = state.withLock { state in
            let before = state.followers.count
            state.followers.removeAll { $0.number == number }
            return before > 0 && state.followers.isEmpty
        }
        if wasLast { onInterest(false) }
    }

    /// The value of now and each that comes, for `for await`. A consumer that is slow gets the newest only.
    package func stream() -> AsyncStream<Value> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let subscription = follow({ continuation.yield($0) }, end: { continuation.finish() })
            continuation.onTermination = { _ in subscription.cancel() }
        }
    }

    /// Ends when it is cancelled; letting go of it does not end it.
    package struct Subscription: Sendable {
        private let onCancel: @Sendable () -> Void

        fileprivate init(_ onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

        package func cancel() { onCancel() }
    }
}

import SpoolSystem

/// A value with followers. Each follower gets the current value, and each change of it.
package final class Broadcast<Value: Equatable & Sendable>: Sendable {
    private struct State {
        var value: Value
        var version = 0
        var isOver = false
        var followers: [(number: Int, tell: @Sendable (Value) -> Void, end: @Sendable () -> Void)] = []
        var next = 0
    }

    private let state: Locked<State>
    /// Called when the first follower arrives and when the last one leaves.
    private let onInterest: @Sendable (Bool) -> Void

    /// Creates a broadcast with a value.
    package init(_ value: Value, onInterest: @escaping @Sendable (Bool) -> Void = { _ in }) {
        state = Locked(State(value: value))
        self.onInterest = onInterest
    }

    /// The current value.
    package var value: Value { state.withLock { $0.value } }

    /// Sets the value and passes it to the followers, unless it is unchanged.
    package func send(_ value: Value) {
        let (version, followers) = state.withLock { state -> (Int, [@Sendable (Value) -> Void]) in
            guard value != state.value, !state.isOver else { return (state.version, []) }
            state.value = value
            state.version += 1
            return (state.version, state.followers.map(\.tell))
        }
        tell(value, version, followers)
    }

    /// Passes a value to followers, and the present one after it if a later value has overtaken it.
    private func tell(_ value: Value, _ version: Int, _ followers: [@Sendable (Value) -> Void]) {
        var (value, version) = (value, version)
        while !followers.isEmpty {
            for tell in followers { tell(value) }
            let (present, latest) = state.withLock { ($0.value, $0.version) }
            guard latest != version else { return }
            (value, version) = (present, latest)
        }
    }

    /// Ends the broadcast and all its followers.
    package func finish() {
        let ends = state.withLock { state in
            defer { state.followers = [] }
            state.isOver = true
            return state.followers.map(\.end)
        }
        for end in ends { end() }
    }

    /// Passes the current value and each later one to `tell`. Calls `end` once after the last one.
    package func follow(_ tell: @escaping @Sendable (Value) -> Void, end: @escaping @Sendable () -> Void = {}) -> Subscription {
        let (number, value, version, isFirst) = state.withLock { state -> (Int?, Value, Int, Bool) in
            guard !state.isOver else { return (nil, state.value, state.version, false) }
            state.next += 1
            state.followers.append((state.next, tell, end))
            return (state.next, state.value, state.version, state.followers.count == 1)
        }
        self.tell(value, version, [tell])
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

    /// Returns a stream of the current value and each later one. A slow consumer gets the newest
    /// value only.
    package func stream() -> AsyncStream<Value> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let subscription = follow({ continuation.yield($0) }, end: { continuation.finish() })
            continuation.onTermination = { _ in subscription.cancel() }
        }
    }

    /// The registration of a follower. It ends with `cancel`, and releasing it does not end it.
    package struct Subscription: Sendable {
        private let onCancel: @Sendable () -> Void

        fileprivate init(_ onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

        /// Ends the registration.
        package func cancel() { onCancel() }
    }
}

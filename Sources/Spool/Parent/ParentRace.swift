package import SpoolOrigin

/// One request that the parent gets first, and the origin when the parent does not serve it in
/// time.
///
/// The first answer wins. A pure state machine: `ParentTransport` starts and cancels the attempts.
package struct ParentRace: Sendable {
    /// The receivers of the request.
    package enum Attempt: Hashable, Sendable { case parent, origin }

    private enum State: Equatable {
        /// The parent was asked. → racing, originOnly, answered, over
        case parentOnly
        /// Both were asked. → parentLast, originOnly, answered, over
        case racing
        /// Both were asked, and the origin failed with this end. → answered, over
        case parentLast(TransferEnd)
        /// The parent failed or refused, and the origin was asked. → answered, over
        case originOnly
        /// The head of this attempt went to the receiver. → over
        case answered(Attempt)
        /// The receiver got the end.
        case over
    }

    /// The consequences of an event.
    package struct Step: Equatable, Sendable {
        /// Whether the receiver gets the head.
        package var isPassed = false
        /// The end that the receiver gets.
        package var end: TransferEnd?
        /// Whether a request to the origin starts.
        package var startsOrigin = false
        /// The attempt that is not needed any more.
        package var cancels: Attempt?
        /// Whether the event shows that the parent does not serve.
        package var blamesParent = false
    }

    private var state = State.parentOnly
    private var isCancelled = false

    /// Creates the race of a request that the parent gets now.
    package init() {}

    /// The attempt whose answer the receiver gets, once it is decided.
    package var winner: Attempt? { if case .answered(let attempt) = state { attempt } else { nil } }
    /// Whether the receiver got the end.
    package var isOver: Bool { state == .over }

    /// Whether an attempt that has just started is of use.
    package func wants(_ attempt: Attempt) -> Bool { !isCancelled && isRunning(attempt) }

    // MARK: Events

    /// The parent has not begun its answer in time.
    package mutating func parentIsLate() -> Step {
        guard state == .parentOnly, !isCancelled else { return Step() }
        state = .racing
        return Step(startsOrigin: true)
    }

    /// The reader has left.
    package mutating func cancel() { isCancelled = true }

    /// An attempt has the head of its response. `verdict` is the parent's judgement of its own.
    package mutating func headReceived(_ attempt: Attempt, _ verdict: ParentProxy.Verdict = .answer) -> Step {
        guard wants(attempt), winner == nil else { return Step() }
        switch (state, attempt) {
        case (.parentOnly, .parent) where verdict != .answer:
            state = .originOnly
            return Step(startsOrigin: true, cancels: .parent, blamesParent: verdict == .refusal)
        case (.racing, .parent) where verdict != .answer:
            state = .originOnly
            return Step(cancels: .parent, blamesParent: verdict == .refusal)
        case (.racing, _):
            state = .answered(attempt)
            // A parent that is slower than the origin is of no use.
            return Step(isPassed: true, cancels: attempt == .parent ? .origin : .parent, blamesParent: attempt == .origin)
        case (.parentLast(let end), _) where verdict != .answer:
            state = .over
            return Step(end: end, cancels: .parent, blamesParent: verdict == .refusal)
        default:
            state = .answered(attempt)
            return Step(isPassed: true)
        }
    }

    /// An attempt is over.
    package mutating func finished(_ attempt: Attempt, _ end: TransferEnd) -> Step {
        let hasFailed = if case .failed = end { true } else { false }
        guard isRunning(attempt) else { return Step() }
        switch (state, attempt) {
        case (.parentOnly, .parent) where hasFailed && !isCancelled:
            state = .originOnly
            return Step(startsOrigin: true, blamesParent: true)
        case (.racing, .parent) where !isCancelled:
            state = .originOnly
            return Step(blamesParent: hasFailed)
        case (.racing, .origin) where !isCancelled:
            state = .parentLast(end)
            return Step()
        case (.parentLast(let endOfOrigin), _):
            state = .over
            return Step(end: isCancelled ? end : endOfOrigin, blamesParent: hasFailed && !isCancelled)
        default:
            // Of a cancelled request, the first end counts.
            state = .over
            return Step(end: end, blamesParent: hasFailed && attempt == .parent && !isCancelled)
        }
    }

    /// Whether the end of an attempt is still to come, as far as it matters.
    private func isRunning(_ attempt: Attempt) -> Bool {
        switch state {
        case .parentOnly, .parentLast: attempt == .parent
        case .racing: true
        case .originOnly: attempt == .origin
        case .answered(let winner): attempt == winner
        case .over: false
        }
    }
}

package import SpoolCore

/// Starts the request of an attempt.
package typealias AttemptStart = @Sendable (any TransferReceiver) -> any Transfer

/// The rules of a request that may be sent more than once: which response is the answer.
///
/// A policy is a value without threads. `AttemptedTransfer` sends the requests, calls the policy
/// for each event under its lock, and acts on the step that the policy returns. Attempts have the
/// numbers from 0 on, in the order in which they start.
package protocol AttemptPolicy: Sendable {
    /// The response of an attempt has begun, and no response is the answer yet.
    ///
    /// - Parameter others: The other attempts whose responses may become the answer.
    mutating func headReceived(_ head: ResponseHead, of attempt: Int, others: Set<Int>) -> AttemptStep

    /// An attempt has ended without the answer, and the request is not cancelled.
    mutating func ended(_ end: TransferEnd, of attempt: Int, others: Set<Int>) -> AttemptStep

    /// The response of an attempt was the answer, and has ended. Not called after a cancel.
    ///
    /// - Returns: A call to make outside the lock, or nil.
    func answerEnded(_ end: TransferEnd, of attempt: Int) -> (@Sendable () -> Void)?

    /// No response became the answer in the time that the owner of the request set.
    mutating func answerIsLate() -> AttemptStep

    /// Whether the interim responses of an attempt are about the answer. True by default.
    func passesInterim(of attempt: Int) -> Bool
}

extension AttemptPolicy {
    package func answerEnded(_ end: TransferEnd, of attempt: Int) -> (@Sendable () -> Void)? { nil }

    package mutating func answerIsLate() -> AttemptStep { .wait }
    package func passesInterim(of attempt: Int) -> Bool { true }
}

/// The consequence of an event of one attempt.
package struct AttemptStep: Sendable {
    package enum Decision: Sendable {
        /// Nothing changes.
        case wait
        /// The response is the answer, with this head. The other attempts are cancelled.
        case pass(ResponseHead)
        /// Another attempt starts. The others go on.
        case start(AttemptStart)
        /// The attempt does not count any more, and another one starts in its place.
        ///
        /// With `drains`, the rest of its response is read up to a bound, so that its connection
        /// can be used again. Otherwise it is cancelled.
        case replace(AttemptStart, drains: Bool)
        /// The attempt does not count any more, and is cancelled.
        case drop
        /// The request is over.
        case finish(TransferEnd)
    }

    package var decision: Decision
    /// Whether the receiver is told that its answer is late.
    package var reportsLateness: Bool
    /// Runs outside the lock, before the decision takes effect.
    package var effect: (@Sendable () -> Void)?

    /// Creates a step.
    package init(_ decision: Decision, reportsLateness: Bool = false, effect: (@Sendable () -> Void)? = nil) {
        self.decision = decision
        self.reportsLateness = reportsLateness
        self.effect = effect
    }

    /// Nothing changes.
    package static let wait = AttemptStep(.wait)

    /// Sends another request in the place of the attempt, which is cancelled.
    package static func replace(effect: (@Sendable () -> Void)? = nil, _ start: @escaping AttemptStart) -> AttemptStep {
        AttemptStep(.replace(start, drains: false), effect: effect)
    }
}

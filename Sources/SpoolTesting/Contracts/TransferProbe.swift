package import SpoolCore
import SpoolLibc
package import SpoolOrigin

/// A receiver that checks the rules of every transfer, and lets a test wait for its calls.
package final class TransferProbe: TransferReceiver {
    /// The calls so far.
    package struct Seen: Sendable {
        /// The head, once it came.
        package var head: ResponseHead?
        /// The number of body bytes that were taken.
        package var bytes: Int64 = 0
        /// The number of offers of body bytes, taken or not.
        package var offers = 0
        /// The number of answers that paused the body.
        package var pauses = 0
        /// The number of calls of `batchEnded`.
        package var batches = 0
        /// The measurements, once they came.
        package var timings: TransferTimings?
        /// The end, once it came.
        package var end: TransferEnd?
        /// The rules that were broken, each once.
        package var violations: [String] = []
        /// The transfer, once `start` has returned it.
        package var transfer: (any Transfer)?

        mutating func complain(_ text: String) {
            if !violations.contains(text) { violations.append(text) }
        }
    }

    /// Returns the answer to body bytes, by their offset in the body. Called outside any lock.
    package typealias Reaction = @Sendable (TransferProbe, Int64) -> BodyAnswer

    private let content: OriginContent?
    private let firstOffset: Int64
    private let whenHeadCame: @Sendable (TransferProbe) -> Void
    private let reaction: Reaction
    private let isPatient: Bool
    private let seen = Awaited(Seen())
    private let starter = Awaited<pthread_t?>(nil)

    /// The most bytes of one call.
    private static let maxChunkBytes = 65_536

    /// Creates a receiver.
    ///
    /// - Parameters:
    ///   - content: The expected content, or nil to skip the comparison.
    ///   - firstOffset: The offset in `content` at which the body begins.
    ///   - whenHeadCame: Called inside `headReceived`, outside any lock.
    ///   - isPatient: Whether it goes on waiting for a silent body.
    ///   - reaction: Returns the answers to body bytes.
    package init(
        _ content: OriginContent? = nil, from firstOffset: Int64 = 0, isPatient: Bool = false,
        whenHeadCame: @escaping @Sendable (TransferProbe) -> Void = { _ in }, reaction: @escaping Reaction = { _, _ in .taken }
    ) {
        self.whenHeadCame = whenHeadCame
        self.content = content
        self.firstOffset = firstOffset
        self.reaction = reaction
        self.isPatient = isPatient
    }

    // MARK: For the test

    /// Starts a request with this receiver. Called once.
    package func start(_ request: OriginRequest, on transport: any Transport) {
        starter.change { $0 = pthread_self() }
        let transfer = transport.start(request, receiver: self)
        starter.change { $0 = nil }
        seen.change { $0.transfer = transfer }
    }

    /// The calls so far.
    package var value: Seen { seen.value }

    /// Waits until `condition` holds, and returns false after a hang.
    package func wait(until condition: (Seen) -> Bool) -> Bool { seen.wait(until: condition) }

    /// Waits for the end of the transfer, and returns nil after a hang.
    package func waitForEnd() -> TransferEnd? {
        _ = seen.wait { $0.end != nil }
        return seen.value.end
    }

    /// The transfer. A callback may ask for it before `start` has returned to the test, and waits
    /// then.
    package var transfer: (any Transfer)? {
        _ = seen.wait { $0.transfer != nil }
        return seen.value.transfer
    }

    // MARK: TransferReceiver

    /// Notes the head, and calls the test.
    package func headReceived(_ head: ResponseHead) {
        note("headReceived") { seen in
            if seen.head != nil { seen.complain("a second head") }
            seen.head = head
        }
        whenHeadCame(self)
    }

    /// Compares the bytes with the content, and answers with the reaction.
    package func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
        let offset = seen.value.bytes
        let difference = content?.firstDifference(in: bytes, at: firstOffset + offset)
        note("bodyReceived") { seen in
            seen.offers += 1
            if seen.head == nil { seen.complain("a body before the head") }
            if bytes.isEmpty { seen.complain("a call without bytes") }
            if bytes.count > Self.maxChunkBytes { seen.complain("\(bytes.count) bytes in one call") }
            if let difference { seen.complain("a wrong byte at \(offset + Int64(difference)) of the body") }
        }
        let answer = reaction(self, offset)
        seen.change { seen in
            switch answer {
            case .taken, .enough: seen.bytes += Int64(bytes.count)
            case .pause: seen.pauses += 1
            }
        }
        return answer
    }

    /// Ends the transfer unless the test is patient.
    package func bodyIsQuiet(for time: Duration) -> Bool {
        note("bodyIsQuiet") { _ in }
        return !isPatient
    }

    /// Notes the end of a batch.
    package func batchEnded() {
        note("batchEnded") { $0.batches += 1 }
    }

    /// Notes the measurements.
    package func measured(_ timings: TransferTimings) {
        note("measured") { seen in
            if seen.timings != nil { seen.complain("second measurements") }
            seen.timings = timings
        }
    }

    /// Notes the end of the transfer.
    package func finished(_ end: TransferEnd) {
        note("finished") { $0.end = end }
    }

    private func note(_ call: String, _ body: (inout Seen) -> Void) {
        let isInline = starter.value.map { pthread_equal($0, pthread_self()) != 0 } == true
        seen.change { seen in
            if let end = seen.end { seen.complain("\(call) after finished(\(end))") }
            if isInline { seen.complain("\(call) inside start") }
            body(&seen)
        }
    }
}

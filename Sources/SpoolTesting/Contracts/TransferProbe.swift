package import SpoolCore
package import SpoolOrigin

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A receiver that checks whatever holds for every transfer, and lets a test wait for what it has seen.
package final class TransferProbe: TransferReceiver {
    /// What came so far.
    package struct Seen: Sendable {
        package var head: ResponseHead?
        /// Body bytes that were taken.
        package var bytes: Int64 = 0
        /// How often the body was offered, taken or not.
        package var offers = 0
        package var pauses = 0
        package var batches = 0
        package var end: TransferEnd?
        /// Rules that were broken; each once.
        package var complaints: [String] = []
        package var transfer: (any Transfer)?

        mutating func complain(_ text: String) {
            if !complaints.contains(text) { complaints.append(text) }
        }
    }

    /// What to answer to body bytes, by their offset in the body; called outside any lock.
    package typealias Reaction = @Sendable (TransferProbe, Int64) -> BodyAnswer

    private let content: OriginContent?
    private let firstOffset: Int64
    private let whenHeadCame: @Sendable (TransferProbe) -> Void
    private let reaction: Reaction
    private let seen = Awaited(Seen())
    private let starter = Awaited<pthread_t?>(nil)

    /// The most bytes of one call.
    private static let maxChunkBytes = 65_536

    /// - Parameters:
    ///   - content: what the body must be; nil does not look.
    ///   - firstOffset: where in `content` the body begins.
    ///   - whenHeadCame: called inside `headReceived`, outside any lock.
    package init(
        _ content: OriginContent? = nil, from firstOffset: Int64 = 0, whenHeadCame: @escaping @Sendable (TransferProbe) -> Void = { _ in },
        reaction: @escaping Reaction = { _, _ in .taken }
    ) {
        self.whenHeadCame = whenHeadCame
        self.content = content
        self.firstOffset = firstOffset
        self.reaction = reaction
    }

    // MARK: For the test

    /// Starts a request with this receiver. Once.
    package func start(_ request: OriginRequest, on transport: any Transport) {
        starter.change { $0 = pthread_self() }
        let transfer = transport.start(request, receiver: self)
        starter.change { $0 = nil }
        seen.change { $0.transfer = transfer }
    }

    package var value: Seen { seen.value }

    /// Waits for something to happen; false after a hang.
    package func wait(until condition: (Seen) -> Bool) -> Bool { seen.wait(until: condition) }

    /// Waits for the end of the transfer; nil after a hang.
    package func waitForEnd() -> TransferEnd? {
        _ = seen.wait { $0.end != nil }
        return seen.value.end
    }

    /// The transfer; a callback may ask before `start` has returned to the test.
    package var transfer: (any Transfer)? {
        _ = seen.wait { $0.transfer != nil }
        return seen.value.transfer
    }

    // MARK: TransferReceiver

    package func headReceived(_ head: ResponseHead) {
        note("headReceived") { seen in
            if seen.head != nil { seen.complain("a second head") }
            seen.head = head
        }
        whenHeadCame(self)
    }

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

    package func batchEnded() {
        note("batchEnded") { $0.batches += 1 }
    }

    package func finished(_ end: TransferEnd) {
        note("finished") { $0.end = end }
    }

    private func note(_ call: String, _ body: (inout Seen) -> Void) {
        let isInline = starter.value.map { pthread_equal($0, pthread_self()) != 0 } ?? false
        seen.change { seen in
            if let end = seen.end { seen.complain("\(call) after finished(\(end))") }
            if isInline { seen.complain("\(call) inside start") }
            body(&seen)
        }
    }
}

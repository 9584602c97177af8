package import SpoolCore
package import SpoolOrigin
internal import SpoolSystem

/// A receiver that notes its calls in words.
package final class WordReceiver: TransferReceiver {
    private let state = Locked([String]())

    /// Creates a receiver without words.
    package init() {}

    /// The calls so far, in order.
    package var words: [String] { state.withLock { $0 } }

    private func note(_ word: String) { state.withLock { $0.append(word) } }

    package func interimReceived(_ head: ResponseHead) { note(String(head.status)) }
    package func answerIsLate() { note("late") }
    package func headReceived(_ head: ResponseHead) { note(String(head.status)) }
    package func batchEnded() { note("batch") }
    package func measured(_ timings: TransferTimings) { note("measured \(timings.receivedBytes)") }

    package func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
        note("bytes")
        return .taken
    }

    package func finished(_ end: TransferEnd) {
        switch end {
        case .complete: note("complete")
        case .failed: note("failed")
        case .cancelled: note("cancelled")
        }
    }
}

package import SpoolCore
package import SpoolOrigin

/// Receives the head of an answer and the beginning of its body.
package final class AnswerReceiver: TransferReceiver, @unchecked Sendable {
    // Safe to share: only the callbacks use the state, and they come one at a time.
    private let done: @Sendable (Result<(head: ResponseHead, body: [UInt8]), OriginError>) -> Void
    private var head: ResponseHead?
    private var body: [UInt8] = []

    /// The most bytes of a body that are kept. The document of an error has some hundreds.
    private static let bodyLimit = 16 << 10

    /// Creates a receiver, which calls `done` once.
    package init(_ done: @escaping @Sendable (Result<(head: ResponseHead, body: [UInt8]), OriginError>) -> Void) { self.done = done }

    package func headReceived(_ head: ResponseHead) { self.head = head }

    package func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
        body += bytes.prefix(Self.bodyLimit - body.count)
        return body.count < Self.bodyLimit ? .taken : .enough
    }

    package func batchEnded() {}

    package func finished(_ end: TransferEnd) {
        if case .failed(let error) = end { return done(.failure(error)) }
        guard let head else { return done(.failure(.malformed("it has no head"))) }
        done(.success((head, body)))
    }
}

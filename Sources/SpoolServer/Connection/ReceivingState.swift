/// The state of the requests that a connection receives.
struct ReceivingState {
    /// The part of a request that the next bytes belong to.
    enum Expected {
        /// A head, or the rest of one. → skippedBody
        case head
        /// The body of a request whose handler gets no body. The request is dispatched after it.
        /// → head
        case skippedBody(of: RequestHead, bytesLeft: Int)
    }

    var parser: RequestParser
    private(set) var expected = Expected.head
    /// The bytes that were received and not consumed.
    var input: [UInt8] = []
    /// The number of those bytes that the server's count includes.
    private var countedInput = 0
    /// Whether the deadline of the present head runs.
    var isHeadTimed = false
    /// Whether the call stack holds `Connection.consume`, which continues by itself when a response
    /// is complete.
    var isConsuming = false
    /// Whether a later turn of the loop goes on with `input`. Each event in between would add one.
    var isContinuing = false
    /// Whether the client closed its sending side.
    var isHalfClosed = false

    init(limits: RequestLimits) {
        parser = RequestParser(limits: limits)
    }

    /// Whether nothing of a request has arrived.
    var isIdle: Bool { input.isEmpty && !isHeadTimed && !isSkipping }

    /// Whether a part of a request has arrived.
    var isInsideRequest: Bool { !input.isEmpty || isSkipping }

    /// Whether complete requests may be left in `input`.
    var hasMoreRequests: Bool { !input.isEmpty && !parser.isInsideHead && !isSkipping }

    private var isSkipping: Bool {
        if case .skippedBody = expected { true } else { false }
    }

    // MARK: Bodies that no handler gets

    /// Begins to skip the body of a request.
    mutating func beginSkipping(_ bytes: Int, of head: RequestHead) {
        expected = .skippedBody(of: head, bytesLeft: bytes)
    }

    /// Skips bytes of the body, if the next bytes belong to one.
    ///
    /// - Returns: The number of skipped bytes, and the request when its body has ended. Nil when
    ///   the next bytes belong to a head.
    mutating func skip(available: Int) -> (count: Int, request: RequestHead?)? {
        guard case .skippedBody(let head, let bytesLeft) = expected else { return nil }
        let count = min(available, bytesLeft)
        guard count < bytesLeft else {
            expected = .head
            return (count, head)
        }
        expected = .skippedBody(of: head, bytesLeft: bytesLeft - count)
        return (count, nil)
    }

    // MARK: Input

    /// Takes the bytes that earlier calls left.
    mutating func takeInput() -> [UInt8] {
        var bytes: [UInt8] = []
        swap(&bytes, &input)
        return bytes
    }

    /// Returns the change of the number of held bytes since the last call.
    mutating func takeInputChange() -> Int {
        defer { countedInput = input.count }
        return input.count - countedInput
    }
}

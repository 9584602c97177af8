/// How the end of a body is marked, and how much of the body is left to send.
enum BodyFraming {
    /// There is no body, or all of it is in the connection's output.
    case none
    case known(remaining: Int64)
    /// `chunkRemaining` are the bytes of the present chunk that were announced and not yet sent.
    /// `isFirst` holds until the first chunk is announced.
    case chunked(chunkRemaining: Int, isFirst: Bool)
    /// The end of the connection ends the body.
    case untilClose

    init(_ length: ResponseFraming.Length) {
        self =
            switch length {
            case .known(let count): .known(remaining: count)
            case .chunked: .chunked(chunkRemaining: 0, isFirst: true)
            case .untilClose: .untilClose
            case .none: .none
            }
    }

    /// Whether all bytes of a body of known length are sent.
    var isSent: Bool {
        if case .known(remaining: 0) = self { true } else { false }
    }

    var isChunked: Bool {
        if case .chunked = self { true } else { false }
    }

    /// Whether a normal close of the connection would look like the end of the body.
    var needsReset: Bool {
        if case .untilClose = self { true } else { false }
    }

    /// The bytes of a body of known length that are left, or nil for any other body.
    var remaining: Int64? {
        if case .known(let remaining) = self { remaining } else { nil }
    }

    /// Returns the number of bytes to ask from the source, at most `limit`.
    func demand(_ limit: Int) -> Int {
        switch self {
        case .known(let remaining): Int(min(Int64(limit), remaining))
        case .chunked(let chunkRemaining, _) where chunkRemaining > 0: min(limit, chunkRemaining)
        case .none, .chunked, .untilClose: limit
        }
    }

    /// Announces a chunk of `count` bytes. Returns the line before it, or nil when the body is not
    /// chunked or a chunk is not finished.
    mutating func announce(_ count: Int) -> [UInt8]? {
        guard case .chunked(chunkRemaining: 0, let isFirst) = self else { return nil }
        self = .chunked(chunkRemaining: count, isFirst: false)
        return ChunkedCoding.prefix(count, isFirst: isFirst)
    }

    /// Counts body bytes that were sent.
    mutating func sent(_ count: Int) {
        switch self {
        case .known(let remaining): self = .known(remaining: remaining - Int64(count))
        case .chunked(let chunkRemaining, let isFirst): self = .chunked(chunkRemaining: chunkRemaining - count, isFirst: isFirst)
        case .none, .untilClose: break
        }
    }

    /// The reason why the source may not end now, or nil when it may.
    var missingAtEnd: String? {
        switch self {
        case .known(let remaining) where remaining > 0: "the body's source ended \(remaining) bytes too early"
        case .chunked(let chunkRemaining, _) where chunkRemaining > 0: "the body's source ended inside a chunk"
        case .none, .known, .chunked, .untilClose: nil
        }
    }

    /// The bytes that end the body, or nil when none do.
    var endOfBody: [UInt8]? {
        if case .chunked(_, let isFirst) = self { ChunkedCoding.end(isFirst: isFirst) } else { nil }
    }
}

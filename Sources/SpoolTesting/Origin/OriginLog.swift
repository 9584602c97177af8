public import SpoolCore
public import SpoolOrigin
internal import SpoolSystem

/// The requests to a test origin and its responses. Readable at any time, from any thread.
public final class OriginLog: Sendable {
    /// One request.
    public struct Entry: Hashable, Sendable {
        /// The number of the request, counted from 0 in the order of arrival.
        public var ordinal: Int
        /// The time of its arrival.
        public var time: Timestamp
        /// The request.
        public var request: OriginRequest
        /// The body of the request, as far as it came.
        public var body: [UInt8] = []
        /// The status of the response, if there is one.
        public var status: Int?
        /// The fields of the response.
        public var answer = HTTPFields()
        /// The number of body bytes that were sent.
        public var handedOverBytes: Int64 = 0
        /// Whether the request is over, with or without success.
        public var isOver = false

        /// The value of `Range`.
        public var range: String? { request.fields["Range"] }
        /// The value of `If-Range`.
        public var ifRange: String? { request.fields["If-Range"] }
    }

    /// The bytes that were sent of one resource, as far as receivers took them.
    ///
    /// A receiver that needs no more bytes takes the beginning of the last chunk, and drops the
    /// rest. `BodyAnswer.enough` does not say where the rest begins. Bytes of such a chunk count
    /// once if no other transfer sent them, and are no duplicates of the bytes of another transfer.
    public struct HandedOver: Hashable, Sendable {
        /// The number of body bytes in all.
        public var bytes: Int64 = 0
        /// The number of bytes that were sent before, of the same version.
        public var duplicateBytes: Int64 = 0
        /// The ranges that were sent of each version, by the seed of its content.
        public var ranges: [UInt64: ByteRangeSet] = [:]
        /// The parts of `ranges` that only the last chunk of an ended transfer had.
        private var lastChunks: [UInt64: ByteRangeSet] = [:]
    }

    private struct State {
        var entries: [Entry] = []
        var handedOver: [String: HandedOver] = [:]
    }

    private let state = Locked(State())

    /// Creates an empty log.
    public init() {}

    /// The requests in the order of their arrival.
    public var entries: [Entry] { state.withLock { $0.entries } }

    /// The bytes that were sent, by URL.
    public var handedOver: [String: HandedOver] { state.withLock { $0.handedOver } }

    /// Returns the bytes that were sent of the resource at `url`.
    public func handedOver(_ url: String) -> HandedOver { state.withLock { $0.handedOver[url] ?? HandedOver() } }

    // MARK: What origins report

    func requested(_ request: OriginRequest, at time: Timestamp) -> Int {
        state.withLock { state in
            state.entries.append(Entry(ordinal: state.entries.count, time: time, request: request))
            return state.entries.count - 1
        }
    }

    func received(_ body: [UInt8], _ ordinal: Int) {
        state.withLock { $0.entries[ordinal].body = body }
    }

    func answered(_ ordinal: Int, _ head: ResponseHead) {
        state.withLock { state in
            state.entries[ordinal].status = head.status
            state.entries[ordinal].answer = head.fields
        }
    }

    func over(_ ordinal: Int) {
        state.withLock { $0.entries[ordinal].isOver = true }
    }

    /// Notes that `count` bytes of `body`, from `offset` on, were sent.
    ///
    /// - Parameter isLastChunk: Whether the receiver ended the transfer, and may have taken only
    ///   the beginning of these bytes.
    func handedOver(_ ordinal: Int, _ body: OriginBody, at offset: Int64, count: Int64, isLastChunk: Bool = false) {
        guard count > 0 else { return }
        state.withLock { state in
            state.entries[ordinal].handedOverBytes += count
            let url = state.entries[ordinal].request.url
            state.handedOver[url, default: HandedOver()].add(body, at: offset, count: count, isLastChunk: isLastChunk)
        }
    }
}

extension OriginLog.HandedOver {
    fileprivate mutating func add(_ body: OriginBody, at offset: Int64, count: Int64, isLastChunk: Bool) {
        guard case .content(let content, let from, _) = body, let range = ByteRange(from + offset, from + offset + count) else {
            bytes += count
            return
        }
        let sent = ranges[content.seed] ?? ByteRangeSet(), earlier = lastChunks[content.seed] ?? ByteRangeSet()
        ranges[content.seed, default: ByteRangeSet()].insert(range)
        let new = sent.gaps(in: range)
        if isLastChunk {
            bytes += new.reduce(0) { $0 + $1.count }
            lastChunks[content.seed, default: ByteRangeSet()].formUnion(ByteRangeSet(new))
        } else {
            let counted = range.count - earlier.gaps(in: range).reduce(0) { $0 + $1.count }
            bytes += range.count - counted
            duplicateBytes += range.count - counted - new.reduce(0) { $0 + $1.count }
            lastChunks[content.seed]?.remove(range)
        }
    }
}

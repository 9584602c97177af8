package import SpoolCore
package import SpoolOrigin
internal import SpoolSystem

/// The requests to a test origin and its responses. Readable at any time, from any thread.
package final class OriginLog: Sendable {
    /// One request.
    package struct Entry: Hashable, Sendable {
        /// The number of the request, counted from 0 in the order of arrival.
        package var ordinal: Int
        /// The time of its arrival.
        package var time: Timestamp
        /// The request.
        package var request: OriginRequest
        /// The body of the request, as far as it came.
        package var body: [UInt8] = []
        /// The status of the response, or nil if there is none.
        package var status: Int?
        /// The fields of the response.
        package var answer = HTTPFields()
        /// The number of body bytes that were sent.
        package var handedOverBytes: Int64 = 0
        /// Whether the request is over, with or without success.
        package var isOver = false

        /// The value of `Range`.
        package var range: String? { request.fields["Range"] }
        /// The value of `If-Range`.
        package var ifRange: String? { request.fields["If-Range"] }
    }

    /// The bytes that were sent of one resource.
    package struct HandedOver: Hashable, Sendable {
        /// The number of body bytes in all.
        package var bytes: Int64 = 0
        /// The number of bytes that were sent before, of the same version.
        package var duplicateBytes: Int64 = 0
        /// The ranges that were sent of each version, by the seed of its content.
        package var ranges: [UInt64: ByteRangeSet] = [:]
    }

    private struct State {
        var entries: [Entry] = []
        var handedOver: [String: HandedOver] = [:]
    }

    private let state = Locked(State())

    /// Creates an empty log.
    package init() {}

    /// The requests in the order of their arrival.
    package var entries: [Entry] { state.withLock { $0.entries } }

    /// The bytes that were sent, by URL.
    package var handedOver: [String: HandedOver] { state.withLock { $0.handedOver } }

    /// Returns the bytes that were sent of the resource at `url`.
    package func handedOver(_ url: String) -> HandedOver { state.withLock { $0.handedOver[url] ?? HandedOver() } }

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
    func handedOver(_ ordinal: Int, _ body: OriginBody, at offset: Int64, count: Int64) {
        guard count > 0 else { return }
        state.withLock { state in
            state.entries[ordinal].handedOverBytes += count
            let url = state.entries[ordinal].request.url
            state.handedOver[url, default: HandedOver()].add(body, at: offset, count: count)
        }
    }
}

extension OriginLog.HandedOver {
    fileprivate mutating func add(_ body: OriginBody, at offset: Int64, count: Int64) {
        bytes += count
        guard case .content(let content, let from, _) = body, let range = ByteRange(from + offset, from + offset + count) else { return }
        let gaps = ranges[content.seed]?.gaps(in: range) ?? [range]
        duplicateBytes += range.count - gaps.reduce(0) { $0 + $1.count }
        ranges[content.seed, default: ByteRangeSet()].insert(range)
    }
}

package import SpoolCore
package import SpoolOrigin
internal import SpoolSystem

/// What a test origin was asked and what it gave; safe to read at any time.
package final class OriginLog: Sendable {
    /// One request.
    package struct Entry: Hashable, Sendable {
        /// Counted from 0 in the order of arrival.
        package var ordinal: Int
        package var time: Timestamp
        package var request: OriginRequest
        /// The request's body, as far as it came.
        package var body: [UInt8] = []
        /// The status of the answer; nil when there was none, yet or at all.
        package var status: Int?
        /// The fields of the answer.
        package var answer = HTTPFields()
        /// Body bytes that were handed over.
        package var handedOverBytes: Int64 = 0
        /// Whether the request is over, one way or the other.
        package var isOver = false

        package var range: String? { request.fields["Range"] }
        package var ifRange: String? { request.fields["If-Range"] }
    }

    /// What went out of one resource.
    package struct HandedOver: Hashable, Sendable {
        /// Body bytes in all.
        package var bytes: Int64 = 0
        /// Bytes that had gone out before, of the same version.
        package var duplicateBytes: Int64 = 0
        /// Which bytes of each version, by the seed of its content.
        package var ranges: [UInt64: ByteRangeSet] = [:]
    }

    private struct State {
        var entries: [Entry] = []
        var handedOver: [String: HandedOver] = [:]
    }

    private let state = Locked(State())

    package init() {}

    /// The requests in the order in which they came.
    package var entries: [Entry] { state.withLock { $0.entries } }

    /// What went out, by URL.
    package var handedOver: [String: HandedOver] { state.withLock { $0.handedOver } }

    /// What went out of the resource at `url`.
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

    /// `count` bytes of `body`, from `offset` of it on, went out.
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

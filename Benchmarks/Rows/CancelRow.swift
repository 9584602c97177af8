import Spool
import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTesting

/// The time from an explicit cancel until the origin connection is free, in this process.
///
/// - By the transport alone: until it reports the end of the transfer, after which the next
///   transfer may take its place, and until the origin notices the closed connection. A third of
///   the transfers runs at full speed, a third is paused, a third has no answer yet.
/// - By a reader of the cache (`ByteReader.cancel`), until the origin notices.
///
/// The row counts bytes that the cache stored after the call of `cancel` returned. With the
/// transport alone, up to 16 KiB may be on their way at that moment, which the cache refuses. They
/// are counted separately.
struct CancelRow: Row {
    let name = "cancel"

    private static let rounds = 10
    private static let samplesARound = 150
    /// The last byte of the body at which a transfer is cancelled.
    private static let latestByte: Int64 = 2 << 20
    /// The smallest read-ahead, so that little of each resource is stored.
    private static let readAheadBytes: Int64 = 256 << 10

    func run(on bench: Workbench) throws -> [Measure] {
        var word = Measure("transport-p99", "µs", bound: 1000), seen = Measure("transport-origin-p99", "µs", bound: 1000),
            reader = Measure("reader-origin-p99", "µs", bound: 1000), after = Measure("after", "bytes", bound: 0),
            onTheWay = Measure("transport-after", "bytes")
        let origin = try EndlessOrigin()
        defer { origin.close() }
        let transport = CurlTransport()
        defer { transport.close() }
        var configuration = Configuration()
        configuration.storage.directory = bench.newDirectory()
        configuration.fetching.readAheadBytes = Self.readAheadBytes
        let cache = try MediaCache(configuration: configuration)
        defer { blocking { await cache.close() } }
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            var random = SplitMix(seed: UInt64(round))
            var words: [UInt64] = [], ends: [UInt64] = [], readerEnds: [UInt64] = [], late: Int64 = 0, lateOfReader: Int64 = 0
            for index in 0..<Self.samplesARound {
                let moment = Moment(index: index, byte: Int64.random(in: 1...Self.latestByte, using: &random))
                let sample = try Self.cancel(moment, transport, origin)
                words.append(sample.word)
                ends.append(sample.end)
                late += sample.bytesAfter
                let ofReader = try Self.cancelReader("\(round)-\(index)", cache, origin)
                readerEnds.append(ofReader.end)
                lateOfReader += ofReader.bytesAfter
            }
            guard round > 0 else { continue }
            word.add(Double(words.percentile(0.99)) / 1000, of: ours)
            seen.add(Double(ends.percentile(0.99)) / 1000, of: ours)
            reader.add(Double(readerEnds.percentile(0.99)) / 1000, of: ours)
            after.add(Double(lateOfReader), of: ours)
            onTheWay.add(Double(late), of: ours)
        }
        return [word, seen, reader, after, onTheWay]
    }

    /// The moment at which a transfer is cancelled.
    private enum Moment {
        /// This byte has arrived, and the body goes on.
        case running(byte: Int64)
        /// The receiver paused at this byte.
        case paused(byte: Int64)
        /// The origin has the request and does not answer.
        case silent

        init(index: Int, byte: Int64) {
            self = index % 3 == 0 ? .running(byte: byte) : index % 3 == 1 ? .paused(byte: byte) : .silent
        }
    }

    private static func cancel(
        _ moment: Moment, _ transport: CurlTransport, _ origin: EndlessOrigin
    ) throws -> (word: UInt64, end: UInt64, bytesAfter: Int64) {
        let before = origin.value
        let receiver: CancelledReceiver
        let isThere: Bool
        let transfer: any Transfer
        switch moment {
        case .running(let byte):
            receiver = CancelledReceiver(pausesAt: nil)
            transfer = transport.start(request("running", origin), receiver: receiver)
            isThere = receiver.wait { $0.bytes >= byte }
        case .paused(let byte):
            receiver = CancelledReceiver(pausesAt: byte)
            transfer = transport.start(request("paused", origin), receiver: receiver)
            isThere = receiver.wait { $0.isPaused }
        case .silent:
            receiver = CancelledReceiver(pausesAt: nil)
            transfer = transport.start(request("silent", origin), receiver: receiver)
            isThere = origin.wait { $0.requests > before.requests }
        }
        guard isThere else { throw BenchmarkError("the transfer does not begin") }
        let start = nanoseconds()
        transfer.cancel()
        receiver.cancelReturned()
        guard receiver.wait(until: { $0.finishedAt != nil }), let word = receiver.value.finishedAt,
            origin.wait(until: { $0.ends > before.ends })
        else { throw BenchmarkError("the transfer does not end") }
        return (word - start, origin.value.endedAt - start, receiver.value.bytesAfter)
    }

    private static func request(_ path: String, _ origin: EndlessOrigin) -> OriginRequest {
        OriginRequest(url: "http://127.0.0.1:\(origin.port)/\(path)", fields: [:])
    }

    /// Returns the nanoseconds from the call until the origin notices the end, and the bytes that
    /// the cache stored meanwhile.
    private static func cancelReader(
        _ name: String, _ cache: MediaCache, _ origin: EndlessOrigin
    ) throws -> (end: UInt64, bytesAfter: Int64) {
        let before = origin.value
        let reader = try cache.reader(for: "http://127.0.0.1:\(origin.port)/film?n=\(name)")
        let hasBytes = blocking { () async -> Bool in
            do { return try await reader.read(at: 0, count: 65_536).count == 65_536 } catch { return false }
        }
        guard hasBytes else { throw BenchmarkError("the reader got no bytes") }
        let start = nanoseconds()
        reader.cancel()
        let taken = cache.statistics.fetchedBytes
        guard origin.wait(until: { $0.ends > before.ends }) else { throw BenchmarkError("the reader's fetch does not end") }
        return (origin.value.endedAt - start, cache.statistics.fetchedBytes - taken)
    }
}

/// Takes a body and notes the events.
private final class CancelledReceiver: TransferReceiver {
    struct Seen {
        var bytes: Int64 = 0
        var isPaused = false
        var isCancelled = false
        /// The bytes that arrived after the call of `cancel` returned.
        var bytesAfter: Int64 = 0
        /// The time at which the transport reported the end, in nanoseconds of the monotonic clock.
        var finishedAt: UInt64?
    }

    private let pausesAt: Int64?
    private let seen = Awaited(Seen())

    init(pausesAt: Int64?) {
        self.pausesAt = pausesAt
    }

    var value: Seen { seen.value }

    func wait(until condition: (Seen) -> Bool) -> Bool { seen.wait(until: condition) }

    func cancelReturned() {
        seen.change { $0.isCancelled = true }
    }

    func headReceived(_ head: ResponseHead) {}

    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
        let pausesAt = self.pausesAt
        return seen.change { seen in
            if seen.isCancelled { seen.bytesAfter += Int64(bytes.count) }
            if let pausesAt, seen.bytes >= pausesAt {
                seen.isPaused = true
                return .pause
            }
            seen.bytes += Int64(bytes.count)
            return .taken
        }
    }

    func batchEnded() {}

    func finished(_ end: TransferEnd) {
        let now = nanoseconds()
        seen.change { $0.finishedAt = now }
    }
}

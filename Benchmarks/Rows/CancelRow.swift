import Spool
import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTesting

/// From an explicit cancel to the origin connection being free, in this process.
///
/// - By the transport alone: to its word that the transfer is over, after which it has no connection for it and the next one may take its
///   place, and to the moment when the origin sees that the connection is gone. A third of the transfers is running at full speed, a third
///   paused, a third has no answer yet.
/// - By a reader of the cache (`ByteReader.cancel`), to what the origin sees.
///
/// Bytes that the cache took in after the call of `cancel` had returned are counted. By the transport alone a piece may be on its way at that
/// moment, 16 KiB at most, which the cache refuses: those are counted apart.
struct CancelRow: Row {
    let name = "cancel"

    private static let rounds = 10
    private static let samplesARound = 150
    /// Where in the body a transfer is cancelled at the latest.
    private static let latestByte: Int64 = 2 << 20
    /// The least: so little is stored of each resource.
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
        configuration.directory = bench.newDirectory()
        configuration.readAheadBytes = Self.readAheadBytes
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

    /// When a transfer is cancelled.
    private enum Moment {
        /// This byte has come, and the body goes on.
        case running(byte: Int64)
        /// This byte was refused.
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

    /// Nanoseconds from the call to the moment when the origin sees the end, and what the cache took in meanwhile.
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

/// Takes a body and notes what comes when.
private final class CancelledReceiver: TransferReceiver {
    struct Seen {
        var bytes: Int64 = 0
        var isPaused = false
        var isCancelled = false
        /// What came although the call of `cancel` had returned.
        var bytesAfter: Int64 = 0
        /// When the transport said that it is over, in nanoseconds of the monotonic clock.
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

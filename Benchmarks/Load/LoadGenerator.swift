import Glibc

/// What a load did.
struct LoadResult {
    var wallNanoseconds: UInt64 = 0
    /// CPU of the generator itself, which shares the machine with the programs under test.
    var ownCPUNanoseconds: UInt64 = 0
    var bytes: Int64 = 0
    var times: [ResponseTimes] = []
}

/// Sends GETs over keep-alive connections and reads the answers, on one thread.
///
/// Each connection has one request on its way and sends the next when the answer is complete.
/// Every answer's status and length are checked, and the bytes of those that the request marks.
final class LoadGenerator {
    private let connections: [LoadConnection]
    private let readiness: Readiness
    private let buffer: UnsafeMutableRawBufferPointer

    /// Bytes that one `recv` may take.
    static let bufferBytes = 256 * 1024
    /// Bytes that one `recv` may drop.
    static let droppedBytes = 16 << 20
    /// A load in which nothing arrives for so long is given up.
    static let silenceMilliseconds: Int32 = 30_000

    /// Opens the connections, before any clock starts; `receiveBufferBytes` limits what the kernel takes for us unread.
    init(port: UInt16, connections count: Int, receiveBufferBytes: Int32? = nil) throws {
        readiness = try Readiness()
        connections = try (0..<count).map { _ in try LoadConnection(port: port, receiveBufferBytes: receiveBufferBytes) }
        for (index, connection) in connections.enumerated() {
            try readiness.add(connection.descriptor, token: index)
        }
        buffer = .allocate(byteCount: Self.bufferBytes, alignment: 4096)
    }

    deinit {
        buffer.deallocate()
    }

    /// Sends `count` requests, as the connections become free, and waits for all answers.
    ///
    /// - Parameter pauseMicroseconds: how long it does nothing before each request; with one connection.
    func run(
        count: Int, source: SourceFile, pauseMicroseconds: UInt32 = 0, request: (Int) -> LoadRequest
    ) throws -> LoadResult {
        var result = LoadResult()
        result.times.reserveCapacity(count)
        var started = 0
        func beginNext(_ connection: LoadConnection) throws {
            guard started < count else { return }
            let next = request(started)
            started += 1
            result.bytes += Int64(next.expected.count)
            if pauseMicroseconds > 0 { usleep(pauseMicroseconds) }
            try connection.begin(next)
        }

        let cpu = ownCPUNanoseconds(), start = nanoseconds()
        for connection in connections { try beginNext(connection) }
        while result.times.count < count {
            let ready = try readiness.wait(milliseconds: Self.silenceMilliseconds) { token in
                let connection = connections[token]
                guard let times = try connection.receive(into: buffer, source: source) else { return }
                result.times.append(times)
                try beginNext(connection)
            }
            if ready == 0 { throw BenchmarkError("no byte for \(Self.silenceMilliseconds / 1000) s after \(result.times.count) answers") }
        }
        result.wallNanoseconds = nanoseconds() - start
        result.ownCPUNanoseconds = ownCPUNanoseconds() - cpu
        return result
    }
}

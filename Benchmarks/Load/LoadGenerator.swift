import SpoolLibc

/// The results of a load.
struct LoadResult {
    var wallNanoseconds: UInt64 = 0
    /// The CPU time of the generator itself, which shares the machine with the programs under test.
    var ownCPUNanoseconds: UInt64 = 0
    var bytes: Int64 = 0
    var times: [ResponseTimes] = []
}

/// Sends GETs over keep-alive connections and reads the answers, on one thread.
///
/// Each connection has one open request, and sends the next when the answer is complete. The status
/// and length of every answer are checked, and the bytes of marked ones.
final class LoadGenerator {
    private let connections: [LoadConnection]
    private let readiness: Readiness
    private let buffer: UnsafeMutableRawBufferPointer

    /// The largest number of bytes that one `recv` reads.
    static let bufferBytes = 256 * 1024
    /// The largest number of bytes that one `recv` drops.
    static let droppedBytes = 16 << 20
    /// The longest silence. A load is given up after it.
    static let silenceMilliseconds: Int32 = 30_000

    /// Opens the connections, before any clock starts. `receiveBufferBytes` limits the unread bytes
    /// that the kernel accepts.
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

    /// Sends `count` requests as the connections become free, and waits for all answers.
    ///
    /// - Parameter pauseMicroseconds: The pause before each request, for one connection.
    func run(
        count: Int, source: SourceFile, pauseMicroseconds: UInt32 = 0, request: (Int) -> LoadRequest
    ) throws -> LoadResult {
        var result = LoadResult()
        result.times.reserveCapacity(count)
        var started = 0
        func beginNext(_ connection: LoadConnection) throws {
            guard started < count, !connection.hasLeft else { return }
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

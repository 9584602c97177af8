import SpoolCore
import SpoolLibc
import SpoolOrigin
import SpoolSystem
import SpoolTesting

/// A response of 1 GiB that the transport reads into memory, in this process, compared with a loop
/// that reads the same bytes from a plain socket.
///
/// The measure is the sum over this process and the origin, because on loopback CPU time moves from
/// one to the other. Neither copies the bytes: libcurl passes its buffer on, the loop has its own.
struct DownloadRow: Row {
    let name = "download"
    let ours = "transport"
    private static let plain = "socket"

    private static let rounds = 10
    /// 64 KiB costs the loop the same.
    private static let plainBufferBytes = 256 * 1024

    func run(on bench: Workbench) throws -> [Measure] {
        var all = Measure("cpu", "s/GiB"), own = Measure("cpu-own", "s/GiB"), wall = Measure("wall", "s/GiB")
        let origin = try bench.origin(), source = try bench.media()
        let transport = CurlTransport()
        defer { transport.close() }
        let gibibytes = Double(source.size) / Double(Workbench.gibibyte)
        for round in 0...(bench.options.rounds ?? Self.rounds) {
            let checked = round == 0 ? source : nil
            for isOurs in round % 2 == 0 ? [true, false] : [false, true] {
                let usage = origin.usage, used = usage.cpuNanoseconds, cpu = ownCPUNanoseconds(), start = nanoseconds()
                let bytes =
                    isOurs
                    ? try Self.download(by: transport, port: origin.port, source.name, comparedWith: checked)
                    : try Self.download(port: origin.port, source.name, comparedWith: checked)
                let end = nanoseconds(), spent = ownCPUNanoseconds() - cpu, originSpent = usage.cpuNanoseconds - used
                guard bytes == source.size else { throw BenchmarkError("\(bytes) of \(source.size) bytes came") }
                guard round > 0 else { continue }
                let program = isOurs ? ours : Self.plain
                all.add(Double(spent + originSpent) / 1e9 / gibibytes, of: program)
                own.add(Double(spent) / 1e9 / gibibytes, of: program)
                wall.add(Double(end - start) / 1e9 / gibibytes, of: program)
            }
        }
        return [all, own, wall]
    }

    private static func download(
        by transport: CurlTransport, port: UInt16, _ path: String, comparedWith source: SourceFile?
    ) throws -> Int64 {
        let taker = BodyTaker(comparedWith: source)
        _ = transport.start(OriginRequest(url: "http://127.0.0.1:\(port)/\(path)", fields: [:]), receiver: taker)
        return try taker.wait()
    }

    /// The same by a blocking socket. It opens a new connection, which costs little beside a GiB.
    private static func download(port: UInt16, _ path: String, comparedWith source: SourceFile?) throws -> Int64 {
        let descriptor = try connectLoopback(port: port)
        defer { close(descriptor) }
        guard fcntl(descriptor, F_SETFL, 0) == 0 else { throw BenchmarkError.system("fcntl") }
        try sendRequest(Array("GET /\(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n".utf8), on: descriptor)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: plainBufferBytes, alignment: 4096)
        defer { buffer.deallocate() }
        var length: Int64?, taken: Int64 = 0
        while length == nil || taken < length ?? 0 {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { throw BenchmarkError.system("recv") }
            var bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            if length == nil {
                // nginx sends a head in one piece.
                guard let head = try LoadResponseHead(bytes) else { throw BenchmarkError("a head in pieces") }
                length = head.contentLength
                bytes = UnsafeRawBufferPointer(rebasing: bytes[head.byteCount...])
            }
            if let source, let start = bytes.baseAddress, !source.matches(start, count: bytes.count, at: taken) {
                throw BenchmarkError("wrong bytes at or after \(taken)")
            }
            taken += Int64(bytes.count)
        }
        return taken
    }
}

/// Takes a body, and compares it with the source if there is one.
private final class BodyTaker: TransferReceiver, @unchecked Sendable {
    // Safe to share: `end` is locked; `source` is constant and only read; `taken` belongs to the
    // transport's thread until `end` is set.
    private let source: SourceFile?
    private var taken: Int64 = 0
    private let end = Awaited<Result<Int64, BenchmarkError>?>(nil)

    init(comparedWith source: SourceFile?) {
        self.source = source
    }

    /// Waits for the end, and returns the number of bytes.
    func wait() throws -> Int64 {
        guard end.wait(until: { $0 != nil }), let result = end.value else { throw BenchmarkError("the download does not end") }
        return try result.get()
    }

    func headReceived(_ head: ResponseHead) {}

    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
        if let source, let start = bytes.baseAddress, !source.matches(start, count: bytes.count, at: taken) {
            let place = taken
            end.change { $0 = $0 ?? .failure(BenchmarkError("wrong bytes at or after \(place)")) }
        }
        taken += Int64(bytes.count)
        return .taken
    }

    func batchEnded() {}

    func finished(_ end: TransferEnd) {
        let result: Result<Int64, BenchmarkError> =
            end == .complete ? .success(taken) : .failure(BenchmarkError("the download ended: \(end)"))
        self.end.change { $0 = $0 ?? result }
    }
}

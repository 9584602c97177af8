import SpoolLibc
import SpoolSystem
import SpoolTesting

/// An origin in this process that notices when a connection is closed: one connection at a time,
/// one request on each.
///
/// A path that contains `silent` is not answered. Any other is answered with a media resource that
/// is sent as fast as the other side reads it.
final class EndlessOrigin: Sendable {
    /// The events so far.
    struct Seen {
        /// The number of requests.
        var requests = 0
        /// The number of connections that the other side closed, and the time of the last close, in
        /// nanoseconds of the monotonic clock.
        var ends = 0
        var endedAt: UInt64 = 0
    }

    let port: UInt16
    private let seen = Awaited(Seen())
    private let listener: Int32
    private let thread: SystemThread

    private static let headLimitBytes = 16 * 1024
    private static let chunkBytes = 256 * 1024
    private static let length: Int64 = 1 << 30
    private static let head = Array(
        """
        HTTP/1.1 206 Partial Content\r\nContent-Type: video/mp4\r\nContent-Length: \(length)\r\n\
        Content-Range: bytes 0-\(length - 1)/\(length)\r\nETag: "endless"\r\nCache-Control: max-age=3600\r\n\r\n
        """.utf8)

    init() throws {
        let (listener, port) = try listenOnLoopback()
        self.listener = listener
        self.port = port
        let seen = self.seen
        thread = SystemThread(name: "endless-origin") { Self.serve(listener, seen) }
    }

    /// Closes the origin. All connections have to be over.
    func close() {
        shutdown(listener, Int32(SHUT_RDWR))
        thread.join()
        Glibc.close(listener)
    }

    var value: Seen { seen.value }

    /// Waits for a condition.
    ///
    /// - Returns: False after a time that only a hang takes.
    func wait(until condition: (Seen) -> Bool) -> Bool { seen.wait(until: condition) }

    private static func serve(_ listener: Int32, _ seen: Awaited<Seen>) {
        let chunk = [UInt8](repeating: 1, count: chunkBytes)
        while true {
            let descriptor = accept(listener, nil, nil)
            guard descriptor >= 0 else { return }
            if let request = readHead(descriptor) {
                seen.change { $0.requests += 1 }
                if !request.contains("silent"), send(descriptor, head, head.count, Int32(MSG_NOSIGNAL)) == head.count {
                    // Blocks while the other side reads nothing, and fails as soon as it has
                    // closed.
                    while send(descriptor, chunk, chunk.count, Int32(MSG_NOSIGNAL)) > 0 {}
                } else {
                    var byte: UInt8 = 0
                    while recv(descriptor, &byte, 1, 0) > 0 {}
                }
            }
            let now = nanoseconds()
            seen.change { seen in
                seen.ends += 1
                seen.endedAt = now
            }
            Glibc.close(descriptor)
        }
    }

    /// Reads up to the empty line.
    ///
    /// - Returns: The head, or nil if the connection ends before it.
    private static func readHead(_ descriptor: Int32) -> String? {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while bytes.count < headLimitBytes {
            let count = recv(descriptor, &part, part.count, 0)
            guard count > 0 else { return nil }
            bytes += part[..<count]
            if bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) { return String(decoding: bytes, as: UTF8.self) }
        }
        return nil
    }
}

import SpoolLibc

/// A player that takes bytes at the rate of its media, with a buffer of some seconds.
struct PacedPlay {
    /// The results of one part.
    struct Result {
        /// The nanoseconds from the request to the first byte.
        var firstByte: UInt64 = 0
        /// The nanoseconds in which the player had nothing to show.
        var stalled: UInt64 = 0
        /// The nanoseconds from the request to the last byte.
        var elapsed: UInt64 = 0
    }

    /// The bytes of media in a second: 24 Mbit/s.
    static let bytesPerSecond: Int64 = 3 << 20
    /// The bytes that the player buffers at most: two seconds.
    private static let bufferBytes = 2 * bytesPerSecond
    /// The bytes with which it begins, and goes on after a stall: half a second.
    private static let startBytes = bytesPerSecond / 2
    private static let receiveBufferBytes: Int32 = 64 * 1024
    private static let silenceNanoseconds: UInt64 = 30_000_000_000

    let target: String
    let source: SourceFile

    /// Plays `bytes` bytes from `offset` on, by an open-ended range as players do.
    ///
    /// - Parameter turn: Called about every millisecond.
    func part(port: UInt16, offset: Int64, bytes: Int64, turn: () throws -> Void) throws -> Result {
        let connection = try LoadConnection(port: port, receiveBufferBytes: Self.receiveBufferBytes)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 4096)
        defer { buffer.deallocate() }
        let range = offset..<source.size, start = nanoseconds()
        try connection.begin(
            LoadRequest(target: target, range: range, expected: range, isChecked: true, isOpenEnded: true, takenBytes: bytes))
        var result = Result()
        /// The bytes that were shown, and the time up to which they count. Nil while nothing is shown.
        var shown: Int64 = 0, showing: UInt64?, waiting: UInt64?
        while true {
            try turn()
            let now = nanoseconds()
            guard now - start < Self.silenceNanoseconds else { throw BenchmarkError("\(target): the play does not end") }
            if let since = showing {
                shown += Int64(now - since) * Self.bytesPerSecond / 1_000_000_000
                showing = now
                if shown >= connection.receivedBytes {
                    (shown, showing, waiting) = (connection.receivedBytes, nil, now)
                }
            } else if connection.receivedBytes - shown >= Self.startBytes {
                if let waiting { result.stalled += now - waiting }
                (showing, waiting) = (now, nil)
            }
            while connection.receivedBytes - shown < Self.bufferBytes {
                let before = connection.receivedBytes
                if let times = try connection.receive(into: buffer, source: source) {
                    (result.firstByte, result.elapsed) = (times.firstByte, times.complete)
                    if let waiting { result.stalled += nanoseconds() - waiting }
                    return result
                }
                if connection.receivedBytes == before { break }
            }
        }
    }
}

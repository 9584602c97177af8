import SpoolCore

/// The state of the response that a connection is sending.
struct SendingState {
    /// Framing and small bodies: the bytes to send before the source is asked.
    var output: [UInt8] = []
    var outputSent = 0
    /// The source of the body, or nil when there is none, or no longer.
    var source: (any BodySource)?
    /// The body bytes that were promised and not yet sent, or nil for an unknown length.
    var remaining: Int64?
    var isChunked = false
    /// The bytes of the present chunk that were announced and not yet sent.
    var chunkRemaining = 0
    var isFirstChunk = true
    /// The range that a lane is bringing into memory.
    var warming: FileChunk?
    /// A serial number for the read-aheads of a connection, which separates a late one from the
    /// present one.
    var warmingSerial = 0

    /// The request that is answered without an exchange, because it matches an earlier one.
    var repeated: RepeatedRequest?
    /// When the request's head was complete, if an access log needs it.
    var began: MonotonicInstant?
    var status: Int?
    var keepAlive = false
    var isUntilClose = false
    /// The body bytes of the source that were sent, or the size of the body in `output`.
    var bodyBytes: Int64 = 0
    /// The size of the present turn: the bytes sent, with those from memory counted twice.
    var turnBytes: Int64 = 0
    /// Whether the body is in `output`, behind the head.
    var isOutputBody = false
    /// The reason why the server answers without the handler.
    var refusal: RequestRefusal?
    var drainedBytes = 0

    /// A range of an open file.
    struct FileChunk {
        var descriptor: Int32
        var offset: Int64
        var count: Int
        var keepAlive: AnyObject

        /// The smallest page size of the supported systems, in bytes.
        static var pageBytes: Int { 4096 }

        /// The number of pages that the range touches.
        var pages: Int {
            let last = offset + Int64(count) - 1
            return Int(last / Int64(Self.pageBytes) - offset / Int64(Self.pageBytes)) + 1
        }

        /// Returns the first bytes of the range, at most `limit`.
        func prefix(_ limit: Int) -> FileChunk {
            FileChunk(descriptor: descriptor, offset: offset, count: min(count, limit), keepAlive: keepAlive)
        }
    }

    var isOutputSent: Bool { outputSent == output.count }

    /// The body bytes that were sent.
    var sentBodyBytes: Int64 {
        isOutputBody ? max(0, bodyBytes - Int64(output.count - outputSent)) : bodyBytes
    }

    /// Returns the number of bytes to ask from the source, at most `limit`.
    func demand(_ limit: Int) -> Int {
        var demand = limit
        if let remaining { demand = Int(min(Int64(demand), remaining)) }
        if chunkRemaining > 0 { demand = min(demand, chunkRemaining) }
        return demand
    }

    /// Counts body bytes that were sent.
    mutating func sent(_ count: Int) {
        bodyBytes += Int64(count)
        if let left = remaining { remaining = left - Int64(count) }
        if isChunked { chunkRemaining -= count }
    }

    /// Replaces the output after all of it was sent.
    mutating func setOutput(_ bytes: [UInt8]) {
        output = bytes
        outputSent = 0
    }
}

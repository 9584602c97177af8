import SpoolCore

/// What a connection knows about the answer that it sends.
struct SendingState {
    /// Framing and small bodies: bytes to send before the source is asked.
    var output: [UInt8] = []
    var outputSent = 0
    /// Where the body comes from; nil when there is none, or no longer.
    var source: (any BodySource)?
    /// Body bytes that were promised and not sent; nil when no length was told.
    var remaining: Int64?
    var isChunked = false
    /// Bytes of the present chunk that were announced and not sent.
    var chunkRemaining = 0
    var isFirstChunk = true
    /// What is being brought into memory.
    var warming: FileChunk?
    /// Counts the read-aheads of a connection, so that a late one is told from the present one.
    var warmingSerial = 0

    /// The request that is answered without an exchange, since it is like an earlier one.
    var repeated: RepeatedRequest?
    /// When the request's head had come, where anyone wants to know.
    var began: MonotonicInstant?
    var status: Int?
    var keepAlive = false
    var isUntilClose = false
    /// Body bytes of the source that went out, or the body's bytes in `output`.
    var bodyBytes: Int64 = 0
    /// What turns are measured by: these bytes, those of memory counted twice.
    var turnBytes: Int64 = 0
    /// The body is in `output`, behind the head.
    var isOutputBody = false
    /// Why the server answers by itself.
    var refusal: RequestRefusal?
    var drainedBytes = 0

    /// A range of an open file.
    struct FileChunk {
        var descriptor: Int32
        var offset: Int64
        var count: Int
        var keepAlive: AnyObject

        /// The smallest page of the systems that this runs on.
        static var pageBytes: Int { 4096 }

        /// How many pages the range touches.
        var pages: Int {
            let last = offset + Int64(count) - 1
            return Int(last / Int64(Self.pageBytes) - offset / Int64(Self.pageBytes)) + 1
        }

        /// Its first bytes, `limit` at most.
        func prefix(_ limit: Int) -> FileChunk {
            FileChunk(descriptor: descriptor, offset: offset, count: min(count, limit), keepAlive: keepAlive)
        }
    }

    var isOutputSent: Bool { outputSent == output.count }

    /// Body bytes that went out.
    var sentBodyBytes: Int64 {
        isOutputBody ? max(0, bodyBytes - Int64(output.count - outputSent)) : bodyBytes
    }

    /// The most bytes to ask from the source, `limit` at most.
    func demand(_ limit: Int) -> Int {
        var demand = limit
        if let remaining { demand = Int(min(Int64(demand), remaining)) }
        if chunkRemaining > 0 { demand = min(demand, chunkRemaining) }
        return demand
    }

    /// Body bytes went out.
    mutating func sent(_ count: Int) {
        bodyBytes += Int64(count)
        if let left = remaining { remaining = left - Int64(count) }
        if isChunked { chunkRemaining -= count }
    }

    /// Replaces the output, which was sent.
    mutating func setOutput(_ bytes: [UInt8]) {
        output = bytes
        outputSent = 0
    }
}

package import SpoolCore

#if os(Linux)
import CZlib
#else
import zlib
#endif

/// The content codings gzip (RFC 1952) and deflate (RFC 1950), for documents in memory.
///
/// Some servers send a playlist in this coding unasked, or with the name of another one. Transports
/// decode only answers to requests that asked for a coding.
package enum Gzip {
    /// The most bytes that one step decodes.
    private static let stepBytes = 64 << 10
    /// The largest window, with the head and trailer of gzip or of zlib (`inflateInit2` in zlib's
    /// manual).
    private static let windowBits: Int32 = 15 + 32

    /// Whether the bytes begin as the coding does.
    package static func begins(_ bytes: some RandomAccessCollection<UInt8>) -> Bool { isGzip(bytes) || isDeflate(bytes) }

    private static func isGzip(_ bytes: some RandomAccessCollection<UInt8>) -> Bool { bytes.starts(with: [0x1F, 0x8B, 0x08]) }

    /// Whether the head has the largest window, which encoders use, and its check is right (RFC 1950
    /// §2.2).
    private static func isDeflate(_ bytes: some RandomAccessCollection<UInt8>) -> Bool {
        guard bytes.first == 0x78, let flags = bytes.dropFirst().first else { return false }
        return (0x7800 | Int(flags)).isMultiple(of: 31)
    }

    /// Returns the decoded bytes of a document.
    ///
    /// - Parameter maxBytes: The most bytes of the result, so that a small document can't fill the
    ///   memory.
    /// - Throws: `ParseError` for damaged bytes, and for a result beyond the bound.
    /// - Complexity: O(*n* + *m*), *m* being the bytes of the result.
    package static func decoded(_ bytes: [UInt8], maxBytes: Int) throws(ParseError) -> [UInt8] {
        var stream = z_stream()
        guard inflateInit2_(&stream, windowBits, zlibVersion(), Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw ParseError(offset: 0, limit: "memory for gzip")
        }
        defer { inflateEnd(&stream) }
        return try bytes.withUnsafeBufferPointer { input throws(ParseError) in
            // The interface of C is not const, and no function writes there.
            stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            stream.avail_in = UInt32(clamping: input.count)
            return try decoded(&stream, input, maxBytes: maxBytes)
        }
    }

    private static func decoded(
        _ stream: inout z_stream, _ input: UnsafeBufferPointer<UInt8>, maxBytes: Int
    ) throws(ParseError) -> [UInt8] {
        var output: [UInt8] = []
        while true {
            // One byte more than the bound shows that a result is beyond it.
            let status = step(&stream, into: &output, max: min(stepBytes, maxBytes - output.count + 1))
            let position = input.count - Int(stream.avail_in)
            guard output.count <= maxBytes else {
                throw ParseError(offset: position, limit: "at most \(maxBytes) bytes behind gzip")
            }
            // A step without progress ends a document that was cut.
            guard status == Z_OK || status == Z_STREAM_END else { throw ParseError(offset: position, expected: "bytes in gzip") }
            if status == Z_STREAM_END {
                guard isGzip(input[position...]), inflateReset(&stream) == Z_OK else { return output }
            }
        }
    }

    /// Decodes up to `max` bytes, and appends them to `output`.
    private static func step(_ stream: inout z_stream, into output: inout [UInt8], max: Int) -> Int32 {
        let count = output.count
        output += repeatElement(0, count: max)
        let status = output.withUnsafeMutableBufferPointer { room in
            stream.next_out = room.baseAddress.map { $0 + count }
            stream.avail_out = UInt32(clamping: max)
            return inflate(&stream, Z_NO_FLUSH)
        }
        output.removeLast(Int(stream.avail_out))
        return status
    }
}

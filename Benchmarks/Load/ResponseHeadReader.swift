import Glibc

/// The status and the length of one response, read off its raw bytes.
struct LoadResponseHead {
    let status: Int
    let contentLength: Int64
    /// Bytes from the first of the status line to the last of the empty line.
    let byteCount: Int

    /// A longer head is an error.
    static let limitBytes = 16 * 1024

    /// Reads a head off the beginning of `bytes`; nil while the empty line has not arrived.
    ///
    /// The generator speaks to servers that it started itself: a response without Content-Length is an error here.
    init?(_ bytes: UnsafeRawBufferPointer) throws {
        guard let end = Self.end(of: bytes) else {
            if bytes.count > Self.limitBytes { throw BenchmarkError("a response head is longer than \(Self.limitBytes) bytes") }
            return nil
        }
        let text = String(decoding: bytes[..<end], as: UTF8.self)
        let lines = text.split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else {
            throw BenchmarkError("not a response: \(text.prefix(80))")
        }
        guard let length = Self.contentLength(lines.dropFirst()) else {
            throw BenchmarkError("a response without Content-Length: \(text)")
        }
        self.status = status
        contentLength = length
        byteCount = end
    }

    private static func end(of bytes: UnsafeRawBufferPointer) -> Int? {
        var index = 3
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "\n"), bytes[index - 1] == UInt8(ascii: "\r"), bytes[index - 2] == UInt8(ascii: "\n") {
                return index + 1
            }
            index += 1
        }
        return nil
    }

    private static func contentLength(_ lines: ArraySlice<Substring>) -> Int64? {
        for line in lines where line.lowercased().hasPrefix("content-length:") {
            return Int64(line.dropFirst("content-length:".count).drop { $0 == " " })
        }
        return nil
    }
}

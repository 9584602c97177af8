/// The status and the length of one response, parsed from its raw bytes.
///
/// It makes no strings, because a load of small answers would measure them.
struct LoadResponseHead {
    let status: Int
    let contentLength: Int64
    /// The number of bytes up to the end of the empty line.
    let byteCount: Int

    /// The largest size of a head. A longer one is an error.
    static let limitBytes = 16 * 1024

    private static let statusLine = Array("HTTP/1.1 ".utf8)
    private static let lengthField = Array("content-length:".utf8)

    /// Parses a head at the start of `bytes`, or returns nil while the empty line has not arrived.
    ///
    /// The generator talks only to servers that it started. A response without Content-Length is an
    /// error here.
    init?(_ bytes: UnsafeRawBufferPointer) throws {
        guard let end = Self.end(of: bytes) else {
            if bytes.count > Self.limitBytes { throw BenchmarkError("a response head is longer than \(Self.limitBytes) bytes") }
            return nil
        }
        let head = UnsafeRawBufferPointer(rebasing: bytes[..<end])
        guard Self.hasPrefix(head, Self.statusLine), let status = Self.number(head, from: Self.statusLine.count) else {
            throw BenchmarkError("not a response: \(String(decoding: head.prefix(80), as: UTF8.self))")
        }
        guard let length = Self.contentLength(head) else {
            throw BenchmarkError("a response without Content-Length: \(String(decoding: head, as: UTF8.self))")
        }
        self.status = Int(status)
        contentLength = length
        byteCount = end
    }

    /// Returns the offset after the empty line.
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

    private static func contentLength(_ head: UnsafeRawBufferPointer) -> Int64? {
        for index in head.indices where head[index] == UInt8(ascii: "\n") {
            let line = UnsafeRawBufferPointer(rebasing: head[(index + 1)...])
            guard hasPrefix(line, lengthField) else { continue }
            let spaces = line.dropFirst(lengthField.count).prefix { $0 == UInt8(ascii: " ") }.count
            return number(line, from: lengthField.count + spaces)
        }
        return nil
    }

    /// Whether `bytes` begin with `prefix`, in any case.
    private static func hasPrefix(_ bytes: UnsafeRawBufferPointer, _ prefix: [UInt8]) -> Bool {
        guard bytes.count >= prefix.count else { return false }
        for index in prefix.indices where bytes[index] != prefix[index] {
            guard UInt8(ascii: "A")...UInt8(ascii: "Z") ~= bytes[index], bytes[index] | 0x20 == prefix[index] else { return false }
        }
        return true
    }

    /// Returns the number at `start`, or nil if there are no digits or too many.
    private static func number(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int64? {
        var value: Int64 = 0, index = start
        while index < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[index] {
            let (product, overflows) = value.multipliedReportingOverflow(by: 10)
            guard !overflows else { return nil }
            value = product &+ Int64(bytes[index] - UInt8(ascii: "0"))
            index += 1
        }
        return index > start && value >= 0 ? value : nil
    }
}

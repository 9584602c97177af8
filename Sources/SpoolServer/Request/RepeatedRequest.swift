import SpoolCore
import SpoolLibc

/// The last request that a connection answered, against which the next one is matched without its
/// range.
///
/// A match is enough to answer the next request. It differs from this one in the digits of the
/// range only, and digits cannot change line ends or field names. So the parser would produce the
/// same head with another range, and the handler would see the same other fields. Belongs to the
/// loop's thread.
final class RepeatedRequest {
    let head: RequestHead
    let responder: any RangeResponder
    /// The longest head that is matched, in bytes. A longer one goes to the parser, which enforces
    /// the limit.
    private let mostBytes: Int
    /// The head up to the first position of the range, and the rest behind the last position.
    /// `start` is the whole head when there is no range.
    private let start: [UInt8]
    private let end: [UInt8]?

    /// The largest number of digits of a position. Longer ones go to the parser.
    private static let mostDigits = 18

    /// Creates the match for `head`, or nil when the range has another form than `bytes=first-last`
    /// or `bytes=first-`, or the request has a body.
    init?(_ head: RequestHead, _ responder: any RangeResponder, limits: RequestLimits) {
        guard head.contentLength == 0 else { return nil }
        let parts = head.withRangeValue { bytes, value -> (start: [UInt8], end: [UInt8]?)? in
            guard let value else { return (Array(bytes), nil) }
            let unit = value.lowerBound..<min(value.lowerBound + 6, value.upperBound)
            guard Grammar.matches(UnsafeRawBufferPointer(rebasing: bytes[unit]), "bytes=") else { return nil }
            var position = unit.upperBound
            guard Self.spec(UnsafeRawBufferPointer(rebasing: bytes[..<value.upperBound]), &position) != nil, position == value.upperBound
            else { return nil }
            return (Array(bytes[..<unit.upperBound]), Array(bytes[value.upperBound...]))
        }
        guard let parts else { return nil }
        self.head = head
        self.responder = responder
        mostBytes = limits.fieldBytes
        (start, end) = parts
    }

    /// Matches the beginning of `input` against the head.
    ///
    /// - Returns: The range of the new request (nil when there is none, as before) and the number
    ///   of bytes of its head, or nil when the head differs.
    func match(_ input: UnsafeRawBufferPointer) -> (spec: RangeHeader.Spec?, count: Int)? {
        guard Self.has(input, start, at: 0) else { return nil }
        guard let end else { return (nil, start.count) }
        var position = start.count
        guard let spec = Self.spec(input, &position), Self.has(input, end, at: position), position + end.count <= mostBytes else {
            return nil
        }
        return (spec, position + end.count)
    }

    private static func has(_ input: UnsafeRawBufferPointer, _ part: [UInt8], at offset: Int) -> Bool {
        guard let base = input.baseAddress, input.count - offset >= part.count else { return false }
        return part.withUnsafeBytes { memcmp(base + offset, $0.baseAddress ?? base, part.count) == 0 }
    }

    /// Reads `first-last` or `first-`. Returns nil for any other text, and for a last position
    /// before the first.
    private static func spec(_ input: UnsafeRawBufferPointer, _ position: inout Int) -> RangeHeader.Spec? {
        guard let first = number(input, &position), position < input.count, input[position] == UInt8(ascii: "-") else { return nil }
        position += 1
        guard position < input.count, Grammar.isDigit(input[position]) else { return .from(first: first) }
        guard let last = number(input, &position), first <= last else { return nil }
        return .bounded(first: first, last: last)
    }

    private static func number(_ input: UnsafeRawBufferPointer, _ position: inout Int) -> Int64? {
        let start = position, end = min(input.count, start + mostDigits)
        var number: Int64 = 0
        while position < end {
            // The bytes of the digits become 0 to 9, and all others more.
            let digit = input[position] ^ UInt8(ascii: "0")
            guard digit < 10 else { return position > start ? number : nil }
            number = number * 10 + Int64(digit)
            position += 1
        }
        guard position < input.count else { return position > start ? number : nil }
        return Grammar.isDigit(input[position]) ? nil : number
    }
}

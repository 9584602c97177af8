#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif
import SpoolCore

/// The request that a connection answered last, to know the next one by when it is the same but for its range.
///
/// Why that is enough to answer it: what such a request has instead of the old range is digits, which move no line's end and no field's name.
/// So the parser would read it as it read the first, and the handler would hear the same words. Belongs to the loop's thread.
final class RepeatedRequest {
    let head: RequestHead
    let responder: any RangeResponder
    /// A longer head is the parser's, which knows what is too long.
    private let mostBytes: Int
    /// The head up to the first position of the range, and from behind the last one; the first is the whole head where there is no range.
    private let start: [UInt8]
    private let end: [UInt8]?

    /// Positions with more digits are the parser's.
    private static let mostDigits = 18

    /// Nil when the range is not of the form that is looked for, `bytes=first-last` or `bytes=first-`, or the request has a body.
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

    /// What `input` begins with, when that is the same head with another range or with none as before, and how many bytes it takes.
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

    /// Reads `first-last` or `first-`; nil for anything else, as for a last position before the first.
    private static func spec(_ input: UnsafeRawBufferPointer, _ position: inout Int) -> RangeHeader.Spec? {
        guard let first = number(input, &position), position < input.count, input[position] == UInt8(ascii: "-") else { return nil }
        position += 1
        guard position < input.count, Grammar.isDigit(input[position]) else { return .from(first: first) }
        guard let last = number(input, &position), first <= last else { return nil }
        return .bounded(first: first, last: last)
    }

    private static func number(_ input: UnsafeRawBufferPointer, _ position: inout Int) -> Int64? {
        let start = position
        var number: Int64 = 0
        while position < input.count, Grammar.isDigit(input[position]) {
            guard position - start < mostDigits else { return nil }
            number = number * 10 + Int64(input[position] - UInt8(ascii: "0"))
            position += 1
        }
        return position > start ? number : nil
    }
}

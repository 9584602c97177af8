/// The field `Content-Range` in bytes (RFC 9110 §14.4).
package enum ContentRange: Hashable, Sendable {
    /// `bytes first-last/length`, with `*` as the length while the origin has not determined it
    /// (206).
    ///
    /// A last position beyond `ByteRange.maximumOffset` is clamped to that bound, and the length is
    /// `.beyondBound`.
    case part(ByteRange, length: StatedLength)
    /// `bytes */length`: the requested range has no byte (416).
    case unsatisfied(length: StatedLength)

    /// Reads a field value.
    ///
    /// - Throws: `ParseError` for another unit, a syntax error, a last position before the first, a
    ///   length that does not reach the last position, and a first position at or beyond
    ///   `ByteRange.maximumOffset`. Bytes of such a response must not be combined with others.
    package init(_ value: String) throws(ParseError) {
        var scanner = ByteScanner(value)
        scanner.skipWhitespace()
        // Some servers copy the equals sign of `Range`.
        guard scanner.take(word: "bytes"), scanner.take(.equals) || scanner.next?.isWhitespace == true else {
            throw scanner.failure("the unit bytes and a space")
        }
        scanner.skipWhitespace()
        self = scanner.take(.asterisk) ? try Self.unsatisfied(&scanner) : try Self.part(&scanner)
        scanner.skipWhitespace()
        guard scanner.isAtEnd else { throw scanner.failure("the end") }
    }

    private static func unsatisfied(_ scanner: inout ByteScanner) throws(ParseError) -> ContentRange {
        guard scanner.take(.slash) else { throw scanner.failure("a slash") }
        guard let length = scanner.saturatingNumber() else { throw scanner.failure("a length") }
        return .unsatisfied(length: StatedLength(length))
    }

    private static func part(_ scanner: inout ByteScanner) throws(ParseError) -> ContentRange {
        guard let first = scanner.saturatingNumber() else { throw scanner.failure("a first position or an asterisk") }
        guard first < ByteRange.maximumOffset else { throw scanner.failure("a first position below \(ByteRange.maximumOffset)") }
        guard scanner.take(.minus) else { throw scanner.failure("a minus") }
        guard let last = scanner.saturatingNumber() else { throw scanner.failure("a last position") }
        guard let range = ByteRange(first: first, last: last) else {
            throw scanner.failure("a last position not before the first")
        }
        guard scanner.take(.slash) else { throw scanner.failure("a slash") }
        let unstated: StatedLength = last < ByteRange.maximumOffset ? .unknown : .beyondBound
        if scanner.take(.asterisk) { return .part(range, length: unstated) }
        guard let length = scanner.saturatingNumber() else { throw scanner.failure("a length or an asterisk") }
        // Numbers beyond `Int64` are equal here. It does not matter any more which of two is
        // larger.
        guard length > last || length == .max else {
            // Some servers write the length in place of the last position.
            guard length == last, let shorter = ByteRange(range.lowerBound, length) else {
                throw scanner.failure("a length beyond the last position")
            }
            return .part(shorter, length: StatedLength(length))
        }
        return .part(range, length: StatedLength(length))
    }

    /// Returns the part that a response names, or nil if it has no such field.
    /// - Throws: `ParseError` as `init(_:)` does, and if lines of the field differ.
    package static func parse(_ fields: HTTPFields) throws(ParseError) -> ContentRange? {
        switch fields.single(.contentRange) {
        case .absent: return nil
        case .one(let value): return try ContentRange(value)
        case .conflicting: throw ParseError(offset: 0, expected: "one Content-Range, not several that differ")
        }
    }

    /// The field value to send.
    package var fieldValue: String {
        switch self {
        case .part(let range, let length): "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length.text)"
        case .unsatisfied(let length): "bytes */\(length.text)"
        }
    }
}

extension StatedLength {
    /// The length as `Content-Range` writes it. A length beyond the bound is written as another
    /// number beyond it.
    fileprivate var text: String {
        switch self {
        case .unknown: "*"
        case .bytes(let count): String(count)
        case .beyondBound: String(Int64.max)
        }
    }
}

/// The field `Content-Range` in bytes (RFC 9110 §14.4).
package enum ContentRange: Hashable, Sendable {
    /// `bytes first-last/length`, or `/*` while the origin does not know the length (206).
    case part(ByteRange, length: Int64?)
    /// `bytes */length`: no part could be given (416).
    case unsatisfied(length: Int64)

    /// Reads a field value.
    ///
    /// - Throws: `ParseError` for another unit, a syntax error, a last position before the first,
    ///   a length that does not reach the last position, and numbers beyond `Int64`.
    ///   Bytes of such a response must not be combined with others.
    package init(_ value: String) throws(ParseError) {
        var scanner = ByteScanner(value)
        scanner.skipWhitespace()
        guard scanner.take(word: "bytes"), scanner.next?.isWhitespace == true else {
            throw scanner.failure("the unit bytes and a space")
        }
        scanner.skipWhitespace()
        self = scanner.take(.asterisk) ? try Self.unsatisfied(&scanner) : try Self.part(&scanner)
        scanner.skipWhitespace()
        guard scanner.isAtEnd else { throw scanner.failure("the end") }
    }

    private static func unsatisfied(_ scanner: inout ByteScanner) throws(ParseError) -> ContentRange {
        guard scanner.take(.slash) else { throw scanner.failure("a slash") }
        guard let length = scanner.number() else { throw scanner.failure("a length") }
        return .unsatisfied(length: length)
    }

    private static func part(_ scanner: inout ByteScanner) throws(ParseError) -> ContentRange {
        guard let first = scanner.number() else { throw scanner.failure("a first position or an asterisk") }
        guard scanner.take(.minus) else { throw scanner.failure("a minus") }
        // `last + 1` must be expressible.
        guard let last = scanner.number(), last < .max else { throw scanner.failure("a last position") }
        guard let range = ByteRange(first, last + 1) else { throw scanner.failure("a last position not before the first") }
        guard scanner.take(.slash) else { throw scanner.failure("a slash") }
        if scanner.take(.asterisk) { return .part(range, length: nil) }
        guard let length = scanner.number() else { throw scanner.failure("a length or an asterisk") }
        guard length > last else { throw scanner.failure("a length beyond the last position") }
        return .part(range, length: length)
    }

    /// The part that a response names; nil when it has no such field.
    /// - Throws: `ParseError` as `init(_:)`, and when lines of the field differ.
    package static func parse(_ fields: HTTPFields) throws(ParseError) -> ContentRange? {
        switch fields.single("Content-Range") {
        case .absent: return nil
        case .one(let value): return try ContentRange(value)
        case .conflicting: throw ParseError(offset: 0, expected: "one Content-Range, not several that differ")
        }
    }

    /// The value to send.
    package var fieldValue: String {
        switch self {
        case .part(let range, let length): "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length.map(String.init) ?? "*")"
        case .unsatisfied(let length): "bytes */\(length)"
        }
    }
}

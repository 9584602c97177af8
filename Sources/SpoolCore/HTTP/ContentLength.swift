/// The field `Content-Length` (RFC 9110 §8.6, RFC 9112 §6.3).
package enum ContentLength {
    /// The length that the lines of the field agree on; `.unknown` when there is no such line.
    ///
    /// A value that was sent several times, in lines or as a list, counts once.
    /// - Throws: `ParseError` for anything but digits and for values that differ: the framing of such a message can't be trusted.
    package static func parse(_ lines: [String]) throws(ParseError) -> StatedLength {
        var agreed: Int64?
        for line in lines {
            var scanner = ByteScanner(line)
            repeat {
                scanner.skipWhitespace()
                guard let length = scanner.saturatingNumber() else { throw scanner.failure("decimal digits") }
                guard agreed == nil || agreed == length else { throw scanner.failure("the same length as before") }
                agreed = length
                scanner.skipWhitespace()
            } while scanner.take(.comma)
            guard scanner.isAtEnd else { throw scanner.failure("a comma or the end") }
        }
        return agreed.map(StatedLength.init) ?? .unknown
    }

    /// The length that a message states.
    /// - Throws: `ParseError` as `parse(_:)`.
    package static func parse(_ fields: HTTPFields) throws(ParseError) -> StatedLength {
        try parse(fields.values(of: "Content-Length"))
    }
}

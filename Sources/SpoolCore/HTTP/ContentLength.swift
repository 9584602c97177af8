/// The field `Content-Length` (RFC 9110 §8.6, RFC 9112 §6.3).
package enum ContentLength {
    /// Returns the length that all lines of the field agree on, or `.unknown` if there is no line.
    ///
    /// A value that is repeated, in several lines or as a list, counts once.
    /// - Throws: `ParseError` for anything but digits, and for values that differ, because the
    ///   framing of such a message is unreliable.
    package static func parse(_ lines: [String]) throws(ParseError) -> StatedLength {
        var agreed: Int64?
        for line in lines {
            var scanner = ByteScanner(line)
            repeat {
                scanner.skipWhitespace()
                // Clients accept a sign.
                _ = scanner.take(UInt8(ascii: "+"))
                guard let length = scanner.saturatingNumber() else { throw scanner.failure("decimal digits") }
                guard agreed == nil || agreed == length else { throw scanner.failure("the same length as before") }
                agreed = length
                scanner.skipWhitespace()
            } while scanner.take(.comma)
            guard scanner.isAtEnd else { throw scanner.failure("a comma or the end") }
        }
        return agreed.map(StatedLength.init) ?? .unknown
    }

    /// Returns the length that a message states.
    /// - Throws: `ParseError` as `parse(_:)` does.
    package static func parse(_ fields: HTTPFields) throws(ParseError) -> StatedLength {
        try parse(fields.values(of: .contentLength))
    }
}

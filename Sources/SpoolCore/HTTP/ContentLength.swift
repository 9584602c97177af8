/// The field `Content-Length` (RFC 9110 §8.6, RFC 9112 §6.3).
package enum ContentLength {
    /// The number of bytes that the lines of the field agree on; nil when there is no such line.
    ///
    /// A value that was sent several times, in lines or as a list, counts once.
    /// - Throws: `ParseError` for anything but digits, for values that differ, and for numbers beyond `Int64`:
    ///   the framing of such a message can't be trusted.
    package static func parse(_ lines: [String]) throws(ParseError) -> Int64? {
        var agreed: Int64?
        for line in lines {
            var scanner = ByteScanner(line)
            repeat {
                scanner.skipWhitespace()
                guard let length = scanner.number() else { throw scanner.failure("decimal digits of a 63-bit number") }
                guard agreed == nil || agreed == length else { throw scanner.failure("the same length as before") }
                agreed = length
                scanner.skipWhitespace()
            } while scanner.take(.comma)
            guard scanner.isAtEnd else { throw scanner.failure("a comma or the end") }
        }
        return agreed
    }

    /// The length that a message names, nil when it names none.
    /// - Throws: `ParseError` as `parse(_:)`.
    package static func parse(_ fields: HTTPFields) throws(ParseError) -> Int64? {
        try parse(fields.values(of: "Content-Length"))
    }
}

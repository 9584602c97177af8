package import SpoolCore

/// Field lines as they go over the wire, made and checked once for many responses.
package struct FieldLines: Sendable {
    /// The lines with their ends.
    private(set) var bytes: [UInt8] = []
    /// Whether `Date` is among them.
    private(set) var hasDate = false

    /// The lines of `fields` but for those of framing and connection, which are the server's.
    package init(_ fields: HTTPFields) throws(InvalidField) {
        for field in fields.lines where !Self.isServers(field.name) {
            try Self.append(field, to: &bytes)
            if field.name.equalsIgnoringCase("date") { hasDate = true }
        }
    }

    /// A line that can't be sent: the offending field's name.
    package struct InvalidField: Error, Hashable, Sendable {
        package var name: String
    }

    // MARK: Lines of one response

    /// Adds `Age` (RFC 9111 §5.1).
    package mutating func append(age seconds: Int64) {
        bytes += "Age: ".utf8
        Self.append(seconds, to: &bytes)
        bytes += Self.lineEnd
    }

    /// Adds the `Content-Range` of a part (RFC 9110 §14.4).
    package mutating func append(contentRange range: ByteRange, of length: Int64) {
        bytes += "Content-Range: bytes ".utf8
        Self.append(range.lowerBound, to: &bytes)
        bytes.append(UInt8(ascii: "-"))
        Self.append(range.upperBound - 1, to: &bytes)
        bytes.append(UInt8(ascii: "/"))
        Self.append(length, to: &bytes)
        bytes += Self.lineEnd
    }

    // MARK: Writing

    static let lineEnd: [UInt8] = [Grammar.carriageReturn, Grammar.lineFeed]

    /// Whether the field is the server's to write.
    private static func isServers(_ name: String) -> Bool {
        switch name.utf8.count {
        case 7: name.equalsIgnoringCase("upgrade")
        case 10: name.equalsIgnoringCase("connection") || name.equalsIgnoringCase("keep-alive")
        case 14: name.equalsIgnoringCase("content-length")
        case 17: name.equalsIgnoringCase("transfer-encoding")
        default: false
        }
    }

    private static func append(_ field: HTTPFields.Field, to out: inout [UInt8]) throws(InvalidField) {
        guard !field.name.isEmpty, field.name.utf8.allSatisfy(Grammar.isToken) else { throw InvalidField(name: field.name) }
        for byte in field.value.utf8 where byte == Grammar.carriageReturn || byte == Grammar.lineFeed || byte == 0 {
            throw InvalidField(name: field.name)
        }
        out += field.name.utf8
        out.append(Grammar.colon)
        out.append(Grammar.space)
        out += field.value.utf8
        out += lineEnd
    }

    /// Appends a number that is not negative in decimal digits.
    static func append(_ number: Int64, to out: inout [UInt8]) {
        let start = out.count
        var rest = UInt64(number)
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            out.append(UInt8(ascii: "0") + UInt8(digit))
            rest = quotient
        } while rest > 0
        out[start...].reverse()
    }
}

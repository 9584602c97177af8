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
        var (name, value) = (field.name, field.value)
        let isValid = name.withUTF8 { name in
            value.withUTF8 { value in
                guard !name.isEmpty, name.allSatisfy(Grammar.isToken) else { return false }
                for byte in value where byte == Grammar.carriageReturn || byte == Grammar.lineFeed || byte == 0 { return false }
                out.append(contentsOf: name)
                out.append(Grammar.colon)
                out.append(Grammar.space)
                out.append(contentsOf: value)
                out.append(Grammar.carriageReturn)
                out.append(Grammar.lineFeed)
                return true
            }
        }
        guard isValid else { throw InvalidField(name: field.name) }
    }
}

/// The fields of a response that were made before, and what differs from one such response to the next.
package struct PreparedFields: Sendable {
    package var lines: FieldLines
    /// `Age` in seconds, not negative (RFC 9111 §5.1).
    package var age: Int64
    /// What `Content-Range` says (RFC 9110 §14.4); nil for the whole, which has none.
    package var part: Part?

    package struct Part: Hashable, Sendable {
        package var range: ByteRange
        /// The number of bytes of the whole.
        package var length: Int64

        package init(_ range: ByteRange, of length: Int64) {
            self.range = range
            self.length = length
        }
    }

    package init(_ lines: FieldLines, age: Int64, part: Part? = nil) {
        self.lines = lines
        self.age = age
        self.part = part
    }

    func write(into out: inout HeadBuffer) {
        out.append(lines.bytes)
        out.append("Age: ")
        out.append(decimal: age)
        if let part {
            out.append("\r\nContent-Range: bytes ")
            out.append(decimal: part.range.lowerBound)
            out.append("-")
            out.append(decimal: part.range.upperBound - 1)
            out.append("/")
            out.append(decimal: part.length)
        }
        out.append("\r\n")
    }
}

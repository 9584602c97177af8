package import SpoolCore

/// Field lines in wire format, made and checked once for many responses.
package struct FieldLines: Sendable {
    /// The lines with their line ends.
    private(set) var bytes: [UInt8] = []
    /// Whether the lines contain `Date`.
    private(set) var hasDate = false

    /// Creates the lines of `fields`, without those of framing and connection, which the server
    /// writes.
    ///
    /// - Throws: `InvalidField` for a name or value that cannot be sent.
    package init(_ fields: HTTPFields) throws(InvalidField) {
        for field in fields.lines where !Self.isServers(field) {
            try Self.append(field, to: &bytes)
            if field.isNamed(.date) { hasDate = true }
        }
    }

    /// An error for a field that cannot be sent.
    package struct InvalidField: Error, Hashable, Sendable {
        /// The name of the invalid field.
        package var name: String
    }

    /// Whether the server writes the field itself.
    private static func isServers(_ field: HTTPFields.Field) -> Bool {
        switch field.name.utf8.count {
        case 7: field.isNamed(.upgrade)
        case 10: field.isNamed(.connection) || field.isNamed(.keepAlive)
        case 14: field.isNamed(.contentLength)
        case 17: field.isNamed(.transferEncoding)
        default: false
        }
    }

    private static func append(_ field: HTTPFields.Field, to out: inout [UInt8]) throws(InvalidField) {
        var (name, value) = (field.name, field.value)
        let isValid = name.withUTF8 { name in
            value.withUTF8 { value in
                guard !name.isEmpty, name.allSatisfy(Grammar.isToken) else { return false }
                var isPlain = true
                for byte in value {
                    if byte == Grammar.carriageReturn || byte == Grammar.lineFeed || byte == 0 { return false }
                    // The first byte of each character that stands for a byte that is no UTF-8.
                    if byte == 0xF4 { isPlain = false }
                }
                out.append(contentsOf: name)
                out.append(Grammar.colon)
                out.append(Grammar.space)
                if isPlain { out.append(contentsOf: value) } else { out.append(contentsOf: field.value.fieldBytes) }
                out.append(Grammar.carriageReturn)
                out.append(Grammar.lineFeed)
                return true
            }
        }
        guard isValid else { throw InvalidField(name: field.name) }
    }
}

/// The prepared fields of a response, and the values that differ from one such response to the
/// next.
package struct PreparedFields: Sendable {
    /// The lines that all such responses share.
    package var lines: FieldLines
    /// `Age` in seconds, not negative (RFC 9111 §5.1).
    package var age: Int64
    /// The value of `Content-Range` (RFC 9110 §14.4), or nil for a whole representation.
    package var part: Part?

    /// The range that a partial response contains.
    package struct Part: Hashable, Sendable {
        /// The bytes of the range.
        package var range: ByteRange
        /// The length of the whole representation in bytes.
        package var length: Int64

        /// Creates the part for `range` of a representation of `length` bytes.
        package init(_ range: ByteRange, of length: Int64) {
            self.range = range
            self.length = length
        }
    }

    /// Creates prepared fields from lines, an age in seconds and an optional part.
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

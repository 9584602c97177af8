package import SpoolCore

/// The bounds of a JSON text that is read.
package struct JSONLimits: Sendable {
    /// The deepest nesting. The default is far above the four levels of a server's answers.
    package var depth = 32
    /// The most values, those inside others included.
    package var values = 1 << 20

    /// Creates the default bounds.
    package init() {}
}

extension JSON {
    /// Reads a text.
    ///
    /// - Throws: `ParseError` for bytes that are not one JSON value, or beyond the limits.
    package init(_ bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(ParseError) {
        var reader = JSONReader(bytes: bytes, limits: limits)
        self = try reader.whole()
    }

    /// Reads a text, or returns nil when it is not one JSON value.
    package init?(text: String) {
        guard let value = try? JSON(Array(text.utf8)) else { return nil }
        self = value
    }
}

/// Reads one JSON text.
private struct JSONReader {
    let bytes: [UInt8]
    let limits: JSONLimits
    var offset = 0
    var count = 0

    mutating func whole() throws(ParseError) -> JSON {
        let value = try value(depth: 1)
        skipSpace()
        guard offset == bytes.count else { throw failure("the end of the text") }
        return value
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func value(depth: Int) throws(ParseError) -> JSON {
        guard depth < limits.depth else { throw failure("at most \(limits.depth) levels of values") }
        guard count < limits.values else { throw failure("at most \(limits.values) values") }
        count += 1
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return try object(depth)
        case UInt8(ascii: "["): return try array(depth)
        case UInt8(ascii: "\""): return .string(try string())
        default: return try word()
        }
    }

    private mutating func object(_ depth: Int) throws(ParseError) -> JSON {
        var members: [(String, JSON)] = []
        try list(until: UInt8(ascii: "}")) { reader throws(ParseError) in
            guard reader.next == UInt8(ascii: "\"") else { throw reader.failure("a name") }
            let name = try reader.string()
            reader.skipSpace()
            guard reader.take(UInt8(ascii: ":")) else { throw reader.failure("a colon") }
            members.append((name, try reader.value(depth: depth + 1)))
        }
        return .object(members)
    }

    private mutating func array(_ depth: Int) throws(ParseError) -> JSON {
        var elements: [JSON] = []
        try list(until: UInt8(ascii: "]")) { reader throws(ParseError) in elements.append(try reader.value(depth: depth + 1)) }
        return .array(elements)
    }

    /// Reads what the brackets of a container enclose, with a comma between two elements.
    private mutating func list(until end: UInt8, _ element: (inout JSONReader) throws(ParseError) -> Void) throws(ParseError) {
        offset += 1
        skipSpace()
        if take(end) { return }
        while true {
            try element(&self)
            skipSpace()
            if take(end) { return }
            guard take(UInt8(ascii: ",")) else { throw failure("a comma") }
            skipSpace()
        }
    }

    /// Reads a number, `true`, `false` or `null`.
    private mutating func word() throws(ParseError) -> JSON {
        let word = bytes[offset...].prefix { $0.isLetter || $0.isDigit || "+-.".utf8.contains($0) }
        let text = String(decoding: word, as: UTF8.self)
        defer { offset += word.count }
        switch text {
        case "true": return .bool(true)
        case "false": return .bool(false)
        case "null": return .null
        default: break
        }
        if let number = Int64(text) { return .integer(number) }
        guard let number = Double(text), number.isFinite else { throw failure("a value") }
        return .number(number)
    }

    private mutating func string() throws(ParseError) -> String {
        offset += 1
        var text: [UInt8] = []
        while let byte = next {
            offset += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): text += try escaped()
            default: text.append(byte)
            }
        }
        throw failure("the end of a string")
    }

    private mutating func escaped() throws(ParseError) -> [UInt8] {
        guard let byte = next else { throw failure("an escape") }
        offset += 1
        switch byte {
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "u"):
            let unit = try codeUnit()
            guard (0xD800..<0xDC00).contains(unit) else { return Array(String(decoding: [unit], as: UTF16.self).utf8) }
            guard bytes[offset...].starts(with: Array("\\u".utf8)) else { throw failure("the other half of a surrogate pair") }
            offset += 2
            return Array(String(decoding: [unit, try codeUnit()], as: UTF16.self).utf8)
        default: return [byte]
        }
    }

    private mutating func codeUnit() throws(ParseError) -> UInt16 {
        let digits = bytes[offset...].prefix(4)
        guard digits.count == 4, let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16) else {
            throw failure("four hexadecimal digits")
        }
        offset += 4
        return unit
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        offset += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { offset += 1 }
    }

    private func failure(_ expected: String) -> ParseError { ParseError(offset: offset, expected: expected) }
}

import SpoolCore

/// A reader of JSON texts (RFC 8259).
struct JSONText {
    private let bytes: [UInt8]
    private let limits: AdoptionLimits
    private var offset = 0
    private var values: [ArchiveTable.Value] = []

    /// Reads a text.
    ///
    /// - Throws: `ParseError` for bytes that are not JSON, or beyond the limits.
    static func table(_ bytes: [UInt8], limits: AdoptionLimits) throws(ParseError) -> ArchiveTable {
        var text = JSONText(bytes: bytes, limits: limits)
        let root = try text.value(depth: 1)
        text.skipSpace()
        guard text.offset == bytes.count else { throw text.failure("the end of the text") }
        return try ArchiveTable(text.values, root: root, depth: limits.depth)
    }

    private init(bytes: [UInt8], limits: AdoptionLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func value(depth: Int) throws(ParseError) -> Int {
        guard depth < limits.depth else { throw failure("at most \(limits.depth) levels of values") }
        skipSpace()
        let value: ArchiveTable.Value
        switch next {
        case UInt8(ascii: "{"): value = try object(depth)
        case UInt8(ascii: "["): value = try array(depth)
        case UInt8(ascii: "\""): value = .text(try string())
        default: value = try word()
        }
        guard values.count < limits.values else { throw failure("at most \(limits.values) values") }
        values.append(value)
        return values.count - 1
    }

    private mutating func object(_ depth: Int) throws(ParseError) -> ArchiveTable.Value {
        var members: [String: Int] = [:]
        try list(until: UInt8(ascii: "}")) { text throws(ParseError) in
            guard text.next == UInt8(ascii: "\"") else { throw text.failure("a name") }
            let name = try text.string()
            text.skipSpace()
            guard text.take(UInt8(ascii: ":")) else { throw text.failure("a colon") }
            members[name] = try text.value(depth: depth + 1)
        }
        return .dictionary(members)
    }

    private mutating func array(_ depth: Int) throws(ParseError) -> ArchiveTable.Value {
        var elements: [Int] = []
        try list(until: UInt8(ascii: "]")) { text throws(ParseError) in elements.append(try text.value(depth: depth + 1)) }
        return .array(elements)
    }

    /// Reads what the brackets of a container enclose, with a comma between two elements.
    private mutating func list(until end: UInt8, _ element: (inout JSONText) throws(ParseError) -> Void) throws(ParseError) {
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
    private mutating func word() throws(ParseError) -> ArchiveTable.Value {
        let word = bytes[offset...].prefix { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "E"), UInt8(ascii: "+"),
                UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        let text = String(decoding: word, as: UTF8.self)
        defer { offset += word.count }
        switch text {
        case "true": return .bool(true)
        case "false": return .bool(false)
        case "null": return .null
        default: break
        }
        if let number = Int64(text) { return .integer(number) }
        guard let number = Double(text) else { throw failure("a value") }
        return .real(number)
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
            guard let unit = codeUnit() else { throw failure("four hexadecimal digits") }
            guard (0xD800..<0xDC00).contains(unit) else { return Array(String(decoding: [unit], as: UTF16.self).utf8) }
            guard bytes[offset...].starts(with: Array("\\u".utf8)) else { throw failure("the other half of a surrogate pair") }
            offset += 2
            guard let low = codeUnit() else { throw failure("four hexadecimal digits") }
            return Array(String(decoding: [unit, low], as: UTF16.self).utf8)
        default: return [byte]
        }
    }

    private mutating func codeUnit() -> UInt16? {
        let digits = bytes[offset...].prefix(4)
        guard digits.count == 4, let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16) else { return nil }
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

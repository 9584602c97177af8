/// A JSON text that was read (RFC 8259), for answers of a server.
package enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// The deepest nesting that is read. The server's answers have four levels.
    private static let maxDepth = 32

    /// Reads a text, or returns nil when it is not one JSON value.
    package init?(_ text: String) {
        var reader = Reader(bytes: Array(text.utf8))
        guard let value = reader.value(depth: 0), reader.isAtEnd else { return nil }
        self = value
    }

    package subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    package var string: String? { if case .string(let value) = self { value } else { nil } }
    package var elements: [JSONValue] { if case .array(let values) = self { values } else { [] } }
    package var double: Double? { if case .number(let value) = self { value } else { nil } }
    /// The number as an integer, or nil when it is none.
    package var integer: Int64? { double.flatMap { Int64(exactly: $0) } }
    package var isTrue: Bool { self == .bool(true) }

    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        var isAtEnd: Bool {
            mutating get {
                skipSpace()
                return position == bytes.count
            }
        }

        mutating func value(depth: Int) -> JSONValue? {
            skipSpace()
            guard depth < maxDepth, let first = peek else { return nil }
            switch first {
            case UInt8(ascii: "{"): return object(depth)
            case UInt8(ascii: "["): return array(depth)
            case UInt8(ascii: "\""): return string().map { .string($0) }
            case UInt8(ascii: "t"): return word("true") ? .bool(true) : nil
            case UInt8(ascii: "f"): return word("false") ? .bool(false) : nil
            case UInt8(ascii: "n"): return word("null") ? .null : nil
            default: return number()
            }
        }

        private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

        private mutating func skipSpace() {
            while let byte = peek, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
        }

        /// Skips white space and then `byte`, if it is there.
        private mutating func take(_ character: Unicode.Scalar) -> Bool {
            skipSpace()
            guard peek == UInt8(ascii: character) else { return false }
            position += 1
            return true
        }

        private mutating func word(_ text: String) -> Bool {
            guard bytes[position...].starts(with: text.utf8) else { return false }
            position += text.utf8.count
            return true
        }

        private mutating func number() -> JSONValue? {
            let end = bytes[position...].firstIndex { !"+-.0123456789eE".utf8.contains($0) } ?? bytes.count
            defer { position = end }
            return Double(String(decoding: bytes[position..<end], as: UTF8.self)).map { .number($0) }
        }

        private mutating func array(_ depth: Int) -> JSONValue? {
            var values: [JSONValue] = []
            guard take("[") else { return nil }
            if take("]") { return .array([]) }
            repeat {
                guard let value = value(depth: depth + 1) else { return nil }
                values.append(value)
            } while take(",")
            return take("]") ? .array(values) : nil
        }

        private mutating func object(_ depth: Int) -> JSONValue? {
            var members: [String: JSONValue] = [:]
            guard take("{") else { return nil }
            if take("}") { return .object([:]) }
            repeat {
                skipSpace()
                guard let name = string(), take(":"), let value = value(depth: depth + 1) else { return nil }
                members[name] = value
            } while take(",")
            return take("}") ? .object(members) : nil
        }

        private mutating func string() -> String? {
            guard take("\"") else { return nil }
            var text: [UInt8] = []
            while let byte = peek {
                position += 1
                switch byte {
                case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
                case UInt8(ascii: "\\"):
                    guard let scalar = escaped() else { return nil }
                    text += Array(String(Character(scalar)).utf8)
                default: text.append(byte)
                }
            }
            return nil
        }

        private mutating func escaped() -> Unicode.Scalar? {
            guard let byte = peek else { return nil }
            position += 1
            switch byte {
            case UInt8(ascii: "n"): return "\n"
            case UInt8(ascii: "r"): return "\r"
            case UInt8(ascii: "t"): return "\t"
            case UInt8(ascii: "b"): return "\u{8}"
            case UInt8(ascii: "f"): return "\u{C}"
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
            case UInt8(ascii: "u"):
                let digits = bytes[position...].prefix(4)
                position += digits.count
                // The server escapes single scalars only, so half a pair is replaced.
                return UInt32(String(decoding: digits, as: UTF8.self), radix: 16).map { Unicode.Scalar($0) ?? "\u{FFFD}" }
            default: return nil
            }
        }
    }
}

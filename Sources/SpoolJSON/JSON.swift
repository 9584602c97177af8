/// A JSON value (RFC 8259), with a writer. `JSON(_:limits:)` reads one.
///
///     JSON.object([("key", .string("…")), ("length", JSON(length))]).text
package enum JSON: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// Any other number. One that is not finite is written as null.
    case number(Double)
    case string(String)
    case array([JSON])
    /// Members, in this order. Of several with one name, the last counts.
    case object([(String, JSON)])

    /// Creates an integer, or null for an unknown one.
    package init(_ value: Int64?) { self = value.map { .integer($0) } ?? .null }

    /// Creates a string, or null for an unknown one.
    package init(_ value: String?) { self = value.map { .string($0) } ?? .null }

    // MARK: Members

    /// The member with this name, or nil.
    package subscript(name: String) -> JSON? {
        if case .object(let members) = self { members.last { $0.0 == name }?.1 } else { nil }
    }

    package var string: String? { if case .string(let value) = self { value } else { nil } }
    package var elements: [JSON] { if case .array(let values) = self { values } else { [] } }
    package var isTrue: Bool { if case .bool(let value) = self { value } else { false } }

    /// The number as an integer, or nil when it is none.
    package var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int64(exactly: value)
        default: nil
        }
    }

    // MARK: Writing

    /// The value as one line, without white space.
    package var text: String {
        var text = ""
        write(to: &text)
        return text
    }

    /// The text in UTF-8.
    package var bytes: [UInt8] { Array(text.utf8) }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .number(let value): text += value.isFinite ? String(value) : "null"
        case .string(let value): Self.write(value, to: &text)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                Self.write(member.0, to: &text)
                text += ":"
                member.1.write(to: &text)
            }
            text += "}"
        }
    }

    /// Writes a string in quotes. A `<` is escaped, so that the text can stand in a page, and so
    /// are the control characters that change a terminal.
    private static func write(_ value: String, to text: inout String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "<", "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

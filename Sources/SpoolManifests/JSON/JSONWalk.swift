import SpoolCore

/// A walk through a JSON text that reports each string value with its place, and each container with
/// its end. It checks the structure, and it changes and copies nothing.
struct JSONWalk {
    /// A value that the walk reports.
    struct Value {
        /// The names of the objects above. An element of an array has the name `[]`.
        var path: [String]
        /// The bytes of the value: the inside of a string, or a whole container.
        var span: Range<Int>
        /// The text of a string, or nil for a container.
        var text: String?
    }

    private let bytes: [UInt8]
    private let maxDepth: Int
    private var offset = 0
    private var path: [String] = []
    private(set) var values: [Value] = []

    /// Walks through a text.
    ///
    /// - Throws: `ParseError` for a text that is not JSON, or that nests too deeply.
    init(_ bytes: [UInt8], limits: ManifestLimits) throws(ParseError) {
        self.bytes = bytes
        maxDepth = limits.maxDepth
        try value()
        skipSpace()
        guard offset == bytes.count else { throw failure("the end of the text") }
    }

    private mutating func value() throws(ParseError) {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): try container(end: UInt8(ascii: "}"), hasNames: true)
        case UInt8(ascii: "["): try container(end: UInt8(ascii: "]"), hasNames: false)
        case .quote:
            let (span, text) = try string()
            values.append(Value(path: path, span: span, text: text))
        default: try word()
        }
    }

    private mutating func container(end: UInt8, hasNames: Bool) throws(ParseError) {
        let start = offset
        guard path.count < maxDepth else { throw failure("at most \(maxDepth) levels") }
        offset += 1
        skipSpace()
        while next != end {
            path.append(hasNames ? try name() : "[]")
            try value()
            path.removeLast()
            skipSpace()
            if next == .comma { offset += 1 } else if next != end { throw failure("a comma or the end of a container") }
            skipSpace()
        }
        offset += 1
        values.append(Value(path: path, span: start..<offset, text: nil))
    }

    private mutating func name() throws(ParseError) -> String {
        guard next == .quote else { throw failure("a name") }
        let name = try string().text
        skipSpace()
        guard next == .colon else { throw failure("a colon") }
        offset += 1
        return name
    }

    /// Takes a number, `true`, `false` or `null`.
    private mutating func word() throws(ParseError) {
        let start = offset
        while let byte = next, byte.isWordByte { offset += 1 }
        guard offset > start else { throw failure("a value") }
    }

    private mutating func string() throws(ParseError) -> (span: Range<Int>, text: String) {
        let start = offset + 1
        var end = start
        while end < bytes.count, bytes[end] != .quote { end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1 }
        guard end < bytes.count else { throw failure("the end of a string") }
        offset = end + 1
        return (start..<end, bytes[start..<end].jsonUnescaped)
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte.isBlank || byte == .lineFeed || byte == .carriageReturn { offset += 1 }
    }

    private func failure(_ expected: String) -> ParseError { ParseError(offset: offset, expected: expected) }
}

extension UInt8 {
    fileprivate var isWordByte: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}

extension ArraySlice<UInt8> {
    /// The text of a JSON string. An escape outside ASCII becomes a replacement character, because
    /// URLs don't contain any.
    fileprivate var jsonUnescaped: String {
        guard contains(UInt8(ascii: "\\")) else { return text }
        var result: [UInt8] = []
        var rest = self
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let escape = rest.popFirst() else {
                result.append(byte)
                continue
            }
            guard escape == UInt8(ascii: "u") else {
                result.append(escape)
                continue
            }
            let digits = rest.prefix(4)
            rest = rest.dropFirst(4)
            result += UInt8(digits.text, radix: 16).map { $0 < 0x80 ? [$0] : [] } ?? Array("\u{FFFD}".utf8)
        }
        return result.text
    }
}

import SpoolCore

/// Bytes of the grammars of manifests.
extension UInt8 {
    static let lineFeed = UInt8(ascii: "\n"), carriageReturn = UInt8(ascii: "\r"), space = UInt8(ascii: " "), tab = UInt8(ascii: "\t")
    package static let hash = UInt8(ascii: "#"), quote = UInt8(ascii: "\""), comma = UInt8(ascii: ","), equals = UInt8(ascii: "=")
    package static let colon = UInt8(ascii: ":"), openBrace = UInt8(ascii: "{"), closeBrace = UInt8(ascii: "}"), dollar = UInt8(ascii: "$")

    /// Whether the byte is a space or a tab.
    var isBlank: Bool { self == .space || self == .tab }

    /// Whether this is white space of XML: space, tab, line feed or carriage return.
    package var isXMLSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}

extension RandomAccessCollection<UInt8> {
    /// Whether the bytes are those of `text`.
    package func equals(_ text: StaticString) -> Bool {
        count == text.utf8CodeUnitCount && text.withUTF8Buffer { elementsEqual($0) }
    }

    /// Whether the first bytes are those of `text`.
    package func begins(with text: StaticString) -> Bool {
        text.withUTF8Buffer { starts(with: $0) }
    }

    /// The bytes as text. Bytes that are no UTF-8 become replacement characters.
    package var text: String { String(decoding: self, as: UTF8.self) }

    /// The bytes as the text of a URL. If they are no UTF-8, each byte outside ASCII is
    /// percent-encoded: a server reads that byte as if the player had sent it.
    package var urlText: String {
        let text = text
        return text.utf8.elementsEqual(self) ? text : percentEncoded { $0 > 0x7F }
    }

    /// The number of bytes before the text of a document: a byte order mark and white space.
    package var countBeforeText: Int {
        let mark = begins(with: "\u{FEFF}") ? 3 : 0
        return mark + dropFirst(mark).prefix(while: \.isXMLSpace).count
    }

    /// Whether the bytes begin with those of `text`, or `text` with the bytes.
    func agrees(with text: StaticString) -> Bool {
        text.withUTF8Buffer { text in zip(self, text).allSatisfy { $0 == $1 } }
    }
}

extension [UInt8] {
    /// The index of the first `byte` at or behind `start`, if there is one.
    func firstIndex(of byte: UInt8, from start: Int) -> Int? { withUnsafeBytes { $0.firstIndex(of: byte, from: start) } }

    /// The index of the first byte at or behind `start` that is not visible ASCII of a reference
    /// without fragment and variable, or the end.
    func endOfPlainText(from start: Int) -> Int {
        // The range begins behind the hash of a fragment.
        withUnsafeBytes { $0.firstIndex(outside: 0x24...0x7E, orOf: .openBrace, from: start) ?? $0.count }
    }

    /// The index of the first line feed or carriage return at or behind `start`, or the end.
    func endOfLine(from start: Int) -> Int {
        withUnsafeBytes { bytes in
            var next = start
            while let index = bytes.firstIndex(outside: 0x20...0x7E, from: next) {
                if bytes[index] == .lineFeed || bytes[index] == .carriageReturn { return index }
                next = index + 1
            }
            return bytes.count
        }
    }

    /// Whether the bytes from `start` on begin with those of `text`.
    package func begins(with text: StaticString, at start: Int) -> Bool {
        text.withUTF8Buffer { text in withUnsafeBytes { $0.begins(with: UnsafeRawBufferPointer(text), at: start) } }
    }

    /// Whether the bytes from `start` on begin with `other`.
    package func begins(with other: [UInt8], at start: Int) -> Bool {
        withUnsafeBytes { bytes in other.withUnsafeBytes { bytes.begins(with: $0, at: start) } }
    }

    /// Appends a part of other bytes. A slice of them would be counted as an owner.
    ///
    /// - Throws: `ParseError` for a part outside of `other`.
    mutating func append(_ other: [UInt8], from lower: Int, to upper: Int) throws(ParseError) {
        guard 0 <= lower, lower <= upper, upper <= other.count else { throw ParseError(offset: lower, expected: "a part of the bytes") }
        other.withUnsafeBytes { append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[lower..<upper])) }
    }
}

extension ArraySlice<UInt8> {
    /// Whether one of the bytes is `byte`.
    func has(_ byte: UInt8) -> Bool { withUnsafeBytes { $0.firstIndex(of: byte, from: 0) != nil } }

    /// Whether no byte is outside ASCII.
    package var isASCII: Bool { withUnsafeBytes { $0.firstIndex(outside: 0x00...0x7F, from: 0) == nil } }

    /// The bytes without spaces and tabs at both ends.
    var trimmed: ArraySlice<UInt8> {
        var lower = startIndex, upper = endIndex
        while lower < upper, self[lower].isBlank { lower += 1 }
        while lower < upper, self[upper - 1].isBlank { upper -= 1 }
        return self[lower..<upper]
    }
}

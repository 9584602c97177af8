import SpoolCore

/// Bytes of the grammars of manifests.
extension UInt8 {
    static let lineFeed = UInt8(ascii: "\n"), carriageReturn = UInt8(ascii: "\r"), space = UInt8(ascii: " "), tab = UInt8(ascii: "\t")
    static let hash = UInt8(ascii: "#"), quote = UInt8(ascii: "\""), comma = UInt8(ascii: ","), equals = UInt8(ascii: "=")
    static let colon = UInt8(ascii: ":"), openBrace = UInt8(ascii: "{"), closeBrace = UInt8(ascii: "}"), dollar = UInt8(ascii: "$")

    /// Whether the byte is a space or a tab.
    var isBlank: Bool { self == .space || self == .tab }
}

extension RandomAccessCollection<UInt8> {
    /// Whether the bytes are those of `text`.
    func equals(_ text: StaticString) -> Bool {
        count == text.utf8CodeUnitCount && text.withUTF8Buffer { elementsEqual($0) }
    }

    /// Whether the first bytes are those of `text`.
    func begins(with text: StaticString) -> Bool {
        text.withUTF8Buffer { starts(with: $0) }
    }

    /// The bytes as text. Bytes that are no UTF-8 become replacement characters.
    var text: String { String(decoding: self, as: UTF8.self) }
}

extension [UInt8] {
    /// The index of the first `byte` at or behind `start`, if there is one.
    func firstIndex(of byte: UInt8, from start: Int) -> Int? { withUnsafeBytes { $0.firstIndex(of: byte, from: start) } }

    /// Whether the bytes from `start` on begin with those of `text`.
    func begins(with text: StaticString, at start: Int) -> Bool {
        text.withUTF8Buffer { text in withUnsafeBytes { $0.begins(with: UnsafeRawBufferPointer(text), at: start) } }
    }
}

extension ArraySlice<UInt8> {
    /// Whether one of the bytes is `byte`.
    func has(_ byte: UInt8) -> Bool { withUnsafeBytes { $0.firstIndex(of: byte, from: 0) != nil } }

    /// The bytes without spaces and tabs at both ends.
    var trimmed: ArraySlice<UInt8> {
        var result = self
        while let first = result.first, first.isBlank { result = result.dropFirst() }
        while let last = result.last, last.isBlank { result = result.dropLast() }
        return result
    }
}

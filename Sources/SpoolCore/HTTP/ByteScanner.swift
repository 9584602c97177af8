/// Reads the bytes of a field value or a URI, one grammar rule after the other.
///
/// Never traps on input, moves forward only, and copies its text once. Every parser that uses it is
/// therefore linear in the text. The length of the text is bounded where it enters (a header block,
/// a URL).
struct ByteScanner {
    let bytes: [UInt8]
    /// The offset at which the next rule begins.
    private(set) var offset = 0

    init(_ text: some StringProtocol) {
        bytes = Array(text.utf8)
    }

    /// The next byte; nil at the end.
    var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    var isAtEnd: Bool { offset == bytes.count }

    /// The text of the bytes from `start` to the present offset.
    func text(from start: Int) -> String { String(decoding: bytes[start..<offset], as: UTF8.self) }

    /// The error that names the expected element at the present offset.
    func failure(_ expected: String) -> ParseError { ParseError(offset: offset, expected: expected) }

    // MARK: Rules

    /// Consumes `byte` if it is next.
    mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        offset += 1
        return true
    }

    /// Consumes `word` if it is next. ASCII letters compare without regard to case.
    mutating func take(word: String) -> Bool {
        let end = offset + word.utf8.count
        guard end <= bytes.count else { return false }
        guard zip(bytes[offset..<end], word.utf8).allSatisfy({ $0.asciiLowercased == $1.asciiLowercased }) else { return false }
        offset = end
        return true
    }

    /// Consumes bytes while `belongs` is true.
    /// - Returns: nil if it is false for the first byte.
    mutating func take(while belongs: (UInt8) -> Bool) -> String? {
        let start = offset
        while offset < bytes.count, belongs(bytes[offset]) { offset += 1 }
        return start == offset ? nil : text(from: start)
    }

    /// Skips optional white space: spaces and tabs (RFC 9110 §5.6.3).
    mutating func skipWhitespace() {
        while offset < bytes.count, bytes[offset].isWhitespace { offset += 1 }
    }

    /// Moves to the next comma, or to the end.
    mutating func skipElement() {
        while offset < bytes.count, bytes[offset] != .comma { offset += 1 }
    }

    /// Consumes a token (RFC 9110 §5.6.2).
    /// - Returns: Nil without one.
    mutating func token() -> String? { take(while: \.isTokenByte) }

    /// Consumes decimal digits. Numbers beyond `Int64.max` become `Int64.max`.
    /// - Returns: nil if there is no digit.
    mutating func saturatingNumber() -> Int64? {
        digits().map { $0 ?? .max }
    }

    /// Consumes decimal digits.
    /// - Returns: nil if there is no digit, or if the number is larger than `Int64.max`.
    mutating func number() -> Int64? {
        digits() ?? nil
    }

    /// Consumes decimal digits.
    /// - Returns: nil for no digits, `.some(nil)` for a number that does not fit.
    private mutating func digits() -> Int64?? {
        let start = offset
        var value: Int64? = 0
        while let byte = next, byte.isDigit {
            value = value.flatMap { $0.appending(digit: byte) }
            offset += 1
        }
        return start == offset ? nil : .some(value)
    }

    /// Consumes a quoted string and resolves its escapes (RFC 9110 §5.6.4).
    ///
    /// - Returns: nil, without moving, if there is none or the closing quote is missing.
    mutating func quotedString() -> String? {
        guard next == .quote else { return nil }
        var content: [UInt8] = []
        var index = offset + 1
        while index < bytes.count {
            switch bytes[index] {
            case .quote:
                offset = index + 1
                return String(decoding: content, as: UTF8.self)
            case .backslash where index + 1 < bytes.count:
                content.append(bytes[index + 1])
                index += 2
            default:
                content.append(bytes[index])
                index += 1
            }
        }
        return nil
    }
}

extension Int64 {
    /// The number with one more decimal digit, or nil if it does not fit.
    fileprivate func appending(digit: UInt8) -> Int64? {
        let (tens, overflow) = multipliedReportingOverflow(by: 10)
        guard !overflow else { return nil }
        let (sum, carry) = tens.addingReportingOverflow(Int64(digit - 0x30))
        return carry ? nil : sum
    }
}

extension UInt8 {
    static let comma = UInt8(ascii: ","), equals = UInt8(ascii: "="), minus = UInt8(ascii: "-"), slash = UInt8(ascii: "/")
    static let asterisk = UInt8(ascii: "*"), quote = UInt8(ascii: "\""), backslash = UInt8(ascii: "\\")
    static let semicolon = UInt8(ascii: ";"), colon = UInt8(ascii: ":"), dot = UInt8(ascii: "."), space = UInt8(ascii: " ")
    static let percent = UInt8(ascii: "%"), at = UInt8(ascii: "@"), question = UInt8(ascii: "?"), hash = UInt8(ascii: "#")

    var isWhitespace: Bool { self == 0x20 || self == 0x09 }
    package var isDigit: Bool { self >= 0x30 && self <= 0x39 }
    package var isHexDigit: Bool { isDigit || (asciiLowercased >= 0x61 && asciiLowercased <= 0x66) }
    package var isLetter: Bool { asciiLowercased >= 0x61 && asciiLowercased <= 0x7A }
    /// Whether this is a printing ASCII character other than space.
    var isVisible: Bool { self > 0x20 && self < 0x7F }

    /// Whether the byte is a `tchar` of RFC 9110 §5.6.2.
    package var isTokenByte: Bool {
        switch self {
        case UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), .asterisk, UInt8(ascii: "+"), .minus, .dot,
            UInt8(ascii: "^")...UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: isLetter || isDigit
        }
    }
}

extension BidirectionalCollection {
    /// Returns the elements between those of a kind at both ends.
    @inlinable package func trimming(_ isEdge: (Element) -> Bool) -> SubSequence {
        let start = firstIndex { !isEdge($0) } ?? startIndex
        return self[start..<(lastIndex { !isEdge($0) }.map(index(after:)) ?? start)]
    }
}

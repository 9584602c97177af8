/// A dictionary of structured fields (RFC 8941 §3.2), as far as cache directives need it.
struct StructuredDictionary {
    /// A key with its value. Parameters are skipped.
    struct Member {
        var key: String
        var value: Value
    }

    /// The value of a member.
    enum Value {
        case integer(Int64)
        case flag(Bool)
        case string(String)
        /// A valid value of another type: decimal, token, bytes or an inner list.
        case other
    }

    /// The members in order, without those that a later member of the same key replaces.
    let members: [Member]

    /// The most members, items of a list and parameters that are read.
    static let maxElements = 128

    /// Parses a field value.
    /// - Returns: nil if the text is no dictionary.
    init?(_ text: String) {
        var parser = StructuredParser(text)
        guard let members = parser.members() else { return nil }
        self.members = members
    }
}

/// The grammar of the dictionary (RFC 8941 §4.2).
private struct StructuredParser {
    private var scanner: ByteScanner

    init(_ text: String) { scanner = ByteScanner(text) }

    mutating func members() -> [StructuredDictionary.Member]? {
        var members: [StructuredDictionary.Member] = []
        scanner.skipWhitespace()
        while !scanner.isAtEnd {
            guard members.count < StructuredDictionary.maxElements, let key = key(), let value = memberValue() else { return nil }
            members.removeAll { $0.key == key }
            members.append(.init(key: key, value: value))
            scanner.skipWhitespace()
            if scanner.isAtEnd { break }
            guard scanner.take(.comma) else { return nil }
            scanner.skipWhitespace()
            // A comma at the end is malformed.
            if scanner.isAtEnd { return nil }
        }
        return members
    }

    private mutating func key() -> String? {
        guard let first = scanner.next, first.isLowercase || first == .asterisk else { return nil }
        return scanner.take { $0.isLowercase || $0.isDigit || [UInt8(ascii: "_"), .minus, .dot, .asterisk].contains($0) }
    }

    private mutating func memberValue() -> StructuredDictionary.Value? {
        let value = !scanner.take(.equals) ? .flag(true) : scanner.take(UInt8(ascii: "(")) ? innerList() : item()
        return skipParameters() ? value : nil
    }

    private mutating func innerList() -> StructuredDictionary.Value? {
        for _ in 0...StructuredDictionary.maxElements {
            skipSpaces()
            if scanner.take(UInt8(ascii: ")")) { return .other }
            guard item() != nil, skipParameters(), scanner.next == .space || scanner.next == UInt8(ascii: ")") else { return nil }
        }
        return nil
    }

    private mutating func skipParameters() -> Bool {
        for _ in 0...StructuredDictionary.maxElements {
            guard scanner.take(.semicolon) else { return true }
            skipSpaces()
            guard key() != nil else { return false }
            if scanner.take(.equals), item() == nil { return false }
        }
        return false
    }

    private mutating func item() -> StructuredDictionary.Value? {
        switch scanner.next {
        case UInt8.quote?: return scanner.quotedString().map(StructuredDictionary.Value.string)
        case UInt8.question?: return flag()
        case UInt8.colon?: return bytes()
        case let byte? where byte == .minus || byte.isDigit: return number()
        case let byte? where byte.isLetter || byte == .asterisk:
            return scanner.take { $0.isTokenByte || $0 == .colon || $0 == .slash }.map { _ in .other }
        default: return nil
        }
    }

    private mutating func flag() -> StructuredDictionary.Value? {
        _ = scanner.take(.question)
        if scanner.take(UInt8(ascii: "1")) { return .flag(true) }
        return scanner.take(UInt8(ascii: "0")) ? .flag(false) : nil
    }

    private mutating func bytes() -> StructuredDictionary.Value? {
        _ = scanner.take(.colon)
        _ = scanner.take { $0 != .colon && $0 != .comma }
        return scanner.take(.colon) ? .other : nil
    }

    /// Consumes an integer of at most 15 digits, or a decimal with at most 3 digits behind the dot.
    private mutating func number() -> StructuredDictionary.Value? {
        let isNegative = scanner.take(.minus)
        guard let digits = scanner.take(while: \.isDigit), digits.utf8.count <= 15 else { return nil }
        guard scanner.take(.dot) else { return Int64(digits).map { .integer(isNegative ? -$0 : $0) } }
        guard let fraction = scanner.take(while: \.isDigit), fraction.utf8.count <= 3 else { return nil }
        return .other
    }

    private mutating func skipSpaces() { _ = scanner.take { $0 == .space } }
}

extension UInt8 {
    fileprivate var isLowercase: Bool { self >= 0x61 && self <= 0x7A }
}

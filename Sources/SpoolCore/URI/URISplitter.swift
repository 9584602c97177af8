/// Splits a URI reference at its delimiters, from left to right (RFC 3986 §3 and appendix A).
struct URISplitter {
    typealias Authority = (userinfo: Substring?, host: Substring?, port: Int?)

    private let text: String
    private let bytes: [UInt8]
    private var offset = 0

    init(_ text: String) throws(ParseError) {
        let bytes = Array(text.utf8)
        guard bytes.count <= URIReference.maxBytes else {
            throw ParseError(offset: URIReference.maxBytes, expected: "a URI of at most \(URIReference.maxBytes) bytes")
        }
        if let invisible = bytes.firstIndex(where: { !$0.isVisible }) {
            throw ParseError(offset: invisible, expected: "a visible ASCII character")
        }
        (self.text, self.bytes) = (text, bytes)
    }

    // MARK: Components, in the order of the text

    mutating func scheme() throws(ParseError) -> Substring? {
        guard let end = bytes.firstIndex(where: { $0 == .colon || $0 == .slash || $0 == .question || $0 == .hash }) else { return nil }
        guard bytes[end] == .colon else { return nil }
        guard end > 0, bytes[0].isLetter else { throw failure(0, "a letter at the beginning of the scheme") }
        if let wrong = bytes[..<end].firstIndex(where: { !$0.isSchemeByte }) {
            throw failure(wrong, "letters, digits, plus, minus or dots in the scheme")
        }
        offset = end + 1
        return substring(0..<end)
    }

    mutating func authority() throws(ParseError) -> Authority {
        guard bytes[offset...].starts(with: [.slash, .slash]) else { return (nil, nil, nil) }
        let start = offset + 2
        let end = bytes[start...].firstIndex { $0 == .slash || $0 == .question || $0 == .hash } ?? bytes.count
        offset = end

        var hostStart = start
        if let at = bytes[start..<end].lastIndex(of: .at) {
            if let wrong = bytes[start..<at].firstIndex(where: { !$0.isUserinfoByte }) {
                throw failure(wrong, "user information without delimiters")
            }
            hostStart = at + 1
        }
        let hostEnd = try endOfHost(hostStart..<end)
        let port = try port(hostEnd..<end)
        return (hostStart > start ? substring(start..<hostStart - 1) : nil, substring(hostStart..<hostEnd), port)
    }

    mutating func path() -> Substring {
        component { $0 == .question || $0 == .hash }
    }

    mutating func query() -> Substring? {
        guard offset < bytes.count, bytes[offset] == .question else { return nil }
        offset += 1
        return component { $0 == .hash }
    }

    mutating func fragment() -> Substring? {
        guard offset < bytes.count else { return nil }
        offset += 1
        return component { _ in false }
    }

    // MARK: Parts of the authority

    private func endOfHost(_ range: Range<Int>) throws(ParseError) -> Int {
        if bytes[range].first == UInt8(ascii: "[") { return try endOfLiteral(range) }
        let end = bytes[range].firstIndex(of: .colon) ?? range.upperBound
        for index in range.lowerBound..<end where !bytes[index].isNameByte && !isEscapeOfNonASCII(index, before: end) {
            throw failure(index, "a character of a host name")
        }
        return end
    }

    /// Whether a percent-encoded byte outside ASCII begins at `index`.
    ///
    /// Other escapes and delimiters are not permitted in a host of `http`. A library that decodes
    /// `%2e` would otherwise contact another host than the one that was checked here.
    private func isEscapeOfNonASCII(_ index: Int, before end: Int) -> Bool {
        guard bytes[index] == .percent, index + 2 < end else { return false }
        let digits = [bytes[index + 1], bytes[index + 2]].map { Int(String(decoding: [$0], as: UTF8.self), radix: 16) }
        guard let high = digits[0], digits[1] != nil else { return false }
        return high >= 8
    }

    private func endOfLiteral(_ range: Range<Int>) throws(ParseError) -> Int {
        guard let close = bytes[range].firstIndex(of: UInt8(ascii: "]")) else { throw failure(range.upperBound, "a closing bracket") }
        let address = bytes[range.lowerBound + 1..<close]
        guard IPv6Literal.isValid(address) else { throw failure(range.lowerBound + 1, "an IPv6 address") }
        return close + 1
    }

    private func port(_ range: Range<Int>) throws(ParseError) -> Int? {
        guard let first = bytes[range].first else { return nil }
        guard first == .colon else { throw failure(range.lowerBound, "a colon or the end of the authority") }
        let digits = bytes[range].dropFirst()
        if let wrong = digits.firstIndex(where: { !$0.isDigit }) { throw failure(wrong, "a digit of a port") }
        guard !digits.isEmpty else { return nil }
        // `Int` rejects numbers that do not fit. Leading zeros are permitted.
        guard let port = Int(String(decoding: digits, as: UTF8.self)), port <= 65_535 else {
            throw failure(digits.startIndex, "a port up to 65535")
        }
        return port
    }

    // MARK: Cutting

    private mutating func component(endsAt isDelimiter: (UInt8) -> Bool) -> Substring {
        let start = offset
        offset = bytes[start...].firstIndex(where: isDelimiter) ?? bytes.count
        return substring(start..<offset)
    }

    private func substring(_ range: Range<Int>) -> Substring {
        let start = text.utf8.index(text.startIndex, offsetBy: range.lowerBound)
        return Substring(text.utf8[start..<text.utf8.index(start, offsetBy: range.count)])
    }

    private func failure(_ offset: Int, _ expected: String) -> ParseError {
        ParseError(offset: offset, expected: expected)
    }
}

/// The syntax of the text between the brackets of an IPv6 host (RFC 3986 §3.2.2).
enum IPv6Literal {
    /// Whether the text has eight groups of up to four hexadecimal digits, with one `::` for groups
    /// of zero, and with the last two groups possibly written as IPv4.
    static func isValid(_ address: ArraySlice<UInt8>) -> Bool {
        // The longest address has six full groups and a full IPv4 address.
        guard address.count >= 2, address.count <= 45 else { return false }
        let groups = address.split(separator: .colon, omittingEmptySubsequences: false)
        guard groups.count >= 3 else { return false }

        // `::` splits into one empty group inside the text, two at either end, and three when it
        // stands alone.
        let starts = groups[0].isEmpty, ends = groups[groups.count - 1].isEmpty
        if starts && !groups[1].isEmpty { return false }
        if ends && !groups[groups.count - 2].isEmpty { return false }
        let inner = groups.dropFirst(starts ? 1 : 0).dropLast(ends ? 1 : 0)
        let gaps = inner.filter(\.isEmpty).count
        // When `::` stands alone, the inner group and both ends are empty.
        guard gaps <= 1 else { return false }

        var count = 0
        for (index, group) in inner.enumerated() where !group.isEmpty {
            if group.contains(.dot) {
                guard index == inner.count - 1, !ends, isIPv4(group) else { return false }
                count += 2
            } else {
                guard group.count <= 4, group.allSatisfy(\.isHexDigit) else { return false }
                count += 1
            }
        }
        return gaps == 0 ? count == 8 : count <= 7
    }

    private static func isIPv4(_ text: ArraySlice<UInt8>) -> Bool {
        let parts = text.split(separator: .dot, omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { part in
                (1...3).contains(part.count) && part.allSatisfy(\.isDigit) && Int(String(decoding: part, as: UTF8.self))! <= 255
            }
    }
}

extension UInt8 {
    fileprivate var isSchemeByte: Bool { isLetter || isDigit || self == UInt8(ascii: "+") || self == .minus || self == .dot }

    /// `unreserved`, `sub-delims` and the percent sign of RFC 3986 appendix A.
    fileprivate var isHostByte: Bool {
        switch self {
        case .minus, .dot, UInt8(ascii: "_"), UInt8(ascii: "~"), .percent, UInt8(ascii: "!"), UInt8(ascii: "$"),
            UInt8(ascii: "&")...UInt8(ascii: ","), .semicolon, .equals:
            true
        default: isLetter || isDigit
        }
    }

    /// Whether the byte may be part of a registered name, apart from escapes.
    fileprivate var isNameByte: Bool {
        isLetter || isDigit || self == .minus || self == .dot || self == UInt8(ascii: "_") || self == UInt8(ascii: "~")
    }

    fileprivate var isUserinfoByte: Bool { isHostByte || self == .colon }
}

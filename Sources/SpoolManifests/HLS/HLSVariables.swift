import SpoolCore

/// The variables of a playlist, as far as its lines have defined them (rfc8216bis §4.3, §4.4.2.3).
struct HLSVariables {
    /// The variables of the multivariant playlist above.
    private let imported: [String: String]
    private let limits: ManifestLimits
    /// The query of the playlist's URL, for `QUERYPARAM`.
    private let query: Substring?
    /// The parameters of the query by name, read at the first `QUERYPARAM`.
    private var parameters: [Substring: Substring]?
    private(set) var values: [String: String] = [:]
    /// The definitions so far, with those that are ignored.
    private var definitionCount = 0
    /// The bytes that further variables may have.
    private var freeBytes: Int
    /// The bytes that variables may still contribute. It keeps the work linear.
    private var substitutableBytes: Int

    init(imported: [String: String], query: Substring?, limits: ManifestLimits) {
        self.imported = imported
        self.query = query
        self.limits = limits
        freeBytes = limits.maxVariableBytes
        substitutableBytes = limits.maxSubstitutedBytes
    }

    /// Takes the attributes of `EXT-X-DEFINE`. The first definition of a name counts.
    mutating func define(_ attributes: HLSAttributes, at offset: Int) throws(ParseError) {
        definitionCount += 1
        guard definitionCount <= limits.maxVariables else {
            throw ParseError(offset: offset, limit: "at most \(limits.maxVariables) definitions of variables")
        }
        guard let (kind, name) = Self.definition(attributes) else { return }
        let key = name.text
        guard values[key] == nil, let value = try value(kind, key, attributes) else { return }
        freeBytes -= name.count + value.utf8.count
        guard freeBytes >= 0 else {
            throw ParseError(offset: offset, limit: "at most \(limits.maxVariableBytes) bytes of variables")
        }
        values[key] = value
    }

    /// The origin of a variable's value.
    private enum Kind: CaseIterable {
        case value, imported, query

        var attribute: StaticString {
            switch self {
            case .value: "NAME"
            case .imported: "IMPORT"
            case .query: "QUERYPARAM"
            }
        }
    }

    /// Returns the kind of a definition and the name of its variable.
    private static func definition(_ attributes: HLSAttributes) -> (Kind, name: ArraySlice<UInt8>)? {
        for kind in Kind.allCases {
            if let name = attributes[kind.attribute]?.value { return (kind, name) }
        }
        return nil
    }

    private mutating func value(_ kind: Kind, _ name: String, _ attributes: HLSAttributes) throws(ParseError) -> String? {
        switch kind {
        case .value:
            guard let value = attributes["VALUE"] else { return nil }
            return try substituted(value.value)
        case .imported: return imported[name]
        case .query: return queryValue(name)
        }
    }

    private mutating func queryValue(_ name: String) -> String? {
        let known = parameters ?? Self.parameters(of: query ?? "", maxCount: limits.maxVariables)
        parameters = known
        return known[name[...]]?.percentDecodedLeniently
    }

    /// Returns the values of the first `maxCount` parameters of a query. The first one of a name
    /// counts.
    private static func parameters(of query: Substring, maxCount: Int) -> [Substring: Substring] {
        var result: [Substring: Substring] = [:]
        for item in query.split(separator: "&", maxSplits: maxCount).prefix(maxCount) {
            guard let end = item.firstIndex(of: "="), result[item[..<end]] == nil else { continue }
            result[item[..<end]] = item[item.index(after: end)...]
        }
        return result
    }

    /// Returns the text with its variables replaced, or nil when one is not defined. The result is
    /// not substituted again.
    mutating func substituted(_ bytes: ArraySlice<UInt8>) throws(ParseError) -> String? {
        guard bytes.has(.openBrace) else { return bytes.urlText }
        var result: [UInt8] = []
        var rest = bytes
        while let brace = rest.firstIndex(of: .openBrace) {
            result += rest[..<brace]
            guard let (name, end) = Self.reference(rest[brace...]) else {
                result.append(.openBrace)
                rest = rest[(brace + 1)...]
                continue
            }
            guard let value = values[name] else { return nil }
            substitutableBytes -= value.utf8.count
            guard substitutableBytes >= 0, result.count + value.utf8.count <= URIReference.maxBytes else {
                throw ParseError(offset: brace, limit: "variables that stay within \(limits.maxSubstitutedBytes) bytes")
            }
            result += value.utf8
            rest = rest[end...]
        }
        result += rest
        return result.urlText
    }

    /// Returns the name of the variable reference at the beginning of `bytes`, and its end.
    private static func reference(_ bytes: ArraySlice<UInt8>) -> (name: String, end: Int)? {
        let content = bytes.dropFirst(2)
        guard bytes.dropFirst().first == .dollar else { return nil }
        let name = content.prefix(while: \.isVariableNameByte)
        guard !name.isEmpty, name.endIndex < bytes.endIndex, bytes[name.endIndex] == .closeBrace else { return nil }
        return (name.text, name.endIndex + 1)
    }
}

extension UInt8 {
    fileprivate var isVariableNameByte: Bool { isLetter || isDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: "_") }
}

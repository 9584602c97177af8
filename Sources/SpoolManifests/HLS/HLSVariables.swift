import SpoolCore

/// The variables of a playlist, as far as its lines have defined them (rfc8216bis §4.3, §4.4.2.3).
struct HLSVariables {
    /// The variables of the multivariant playlist above.
    private let imported: [String: String]
    private let limits: ManifestLimits
    /// The query of the playlist's URL, for `QUERYPARAM`.
    private let query: Substring?
    private(set) var values: [String: String] = [:]
    /// The bytes that variables may still contribute. It keeps the work linear.
    private var substitutableBytes: Int

    init(imported: [String: String], query: Substring?, limits: ManifestLimits) {
        self.imported = imported
        self.query = query
        self.limits = limits
        substitutableBytes = limits.maxSubstitutedBytes
    }

    /// Takes the attributes of `EXT-X-DEFINE`. The first definition of a name counts.
    mutating func define(_ attributes: HLSAttributes, at offset: Int) throws(ParseError) {
        guard let (name, value) = try definition(attributes, at: offset), values[name] == nil else { return }
        guard values.count < limits.maxVariables else {
            throw ParseError(offset: offset, expected: "at most \(limits.maxVariables) variables")
        }
        values[name] = value
    }

    private mutating func definition(_ attributes: HLSAttributes, at offset: Int) throws(ParseError) -> (name: String, value: String)? {
        if let name = attributes["NAME"]?.value.text {
            guard let value = attributes["VALUE"] else { return nil }
            return try substituted(value.value).map { (name, $0) }
        }
        if let name = attributes["IMPORT"]?.value.text { return imported[name].map { (name, $0) } }
        if let name = attributes["QUERYPARAM"]?.value.text { return queryValue(name).map { (name, $0) } }
        return nil
    }

    private func queryValue(_ name: String) -> String? {
        guard let item = query?.split(separator: "&").first(where: { $0.hasPrefix(name + "=") }) else { return nil }
        return item.dropFirst(name.utf8.count + 1).percentDecoded
    }

    /// Returns the text with its variables replaced, or nil when one is not defined. The result is
    /// not substituted again.
    mutating func substituted(_ bytes: ArraySlice<UInt8>) throws(ParseError) -> String? {
        guard bytes.has(.openBrace) else { return bytes.text }
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
                throw ParseError(offset: brace, expected: "variables that stay within the limits")
            }
            result += value.utf8
            rest = rest[end...]
        }
        result += rest
        return result.text
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
    fileprivate var isVariableNameByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    fileprivate var hexValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension Substring {
    /// The text with `%XX` decoded. Broken escapes stay.
    fileprivate var percentDecoded: String {
        var result: [UInt8] = []
        var rest = Array(utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = rest.first?.hexValue, let low = rest.dropFirst().first?.hexValue {
                result.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result.text
    }
}

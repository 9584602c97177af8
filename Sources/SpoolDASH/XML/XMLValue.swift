import SpoolCore
import SpoolManifests

/// A value of an XML document that can be replaced: the text of an element, or of an attribute.
struct XMLValue: Hashable, Sendable {
    /// The value without escapes, and without white space around it.
    var text: String
    /// The bytes that mean the text.
    var span: Range<Int>
    var isCDATA = false
}

extension XMLDocument {
    /// The text inside an element, or nil when it is not understood. An element with elements inside
    /// is not.
    ///
    /// Text in several parts (text, CDATA sections, comments between them) has one span around all
    /// of them.
    func text(of element: Int) -> XMLValue? {
        let parts = texts[elements[element].texts]
        guard elements[element].next == element + 1, let first = parts.first, let last = parts.last else { return nil }
        if parts.count == 1 { return value(in: first.span, isCDATA: first.isCDATA) }
        guard let text = verbatimText(of: element) else { return nil }
        let span = trimmed(first.outer.lowerBound..<last.outer.upperBound)
        return XMLValue(text: text.trimmingXMLSpaces, span: span)
    }

    /// The text inside an element with its white space, or nil when it is not understood. An element
    /// with elements inside is not.
    package func verbatimText(of element: Int) -> String? {
        guard elements[element].next == element + 1 else { return nil }
        var text = ""
        for part in texts[elements[element].texts] {
            guard let decoded = decoded(part.span, isCDATA: part.isCDATA) else { return nil }
            text += decoded
        }
        return text
    }

    /// The value in a span, without white space around it, or nil when it is not understood.
    func value(in span: Range<Int>, isCDATA: Bool = false) -> XMLValue? {
        let span = trimmed(span)
        guard let text = decoded(span, isCDATA: isCDATA) else { return nil }
        return XMLValue(text: text.trimmingXMLSpaces, span: span, isCDATA: isCDATA)
    }

    /// The values of a list, which white space separates.
    func list(in span: Range<Int>) -> [XMLValue] {
        bytes[span].split(whereSeparator: \.isXMLSpace).compactMap { value(in: $0.indices) }
    }

    private func trimmed(_ span: Range<Int>) -> Range<Int> {
        bytes[span].trimming(\.isXMLSpace).indices
    }

    /// The text of a span: character references and the five predefined entities are replaced.
    ///
    /// - Returns: nil for other entities, for references to no character, and for bytes that the
    ///   encoding of the document does not explain.
    func decoded(_ span: Range<Int>, isCDATA: Bool = false) -> String? {
        let raw = bytes[span]
        guard !isCDATA, raw.contains(UInt8(ascii: "&")) else { return encoding.text(of: raw) }
        var result = ""
        var rest = raw
        while !rest.isEmpty {
            let plain = rest.prefix { $0 != UInt8(ascii: "&") }
            guard let text = encoding.text(of: plain) else { return nil }
            result += text
            rest = rest[plain.endIndex...]
            guard rest.popFirst() != nil else { break }
            guard let end = rest.prefix(Self.maxReferenceBytes).firstIndex(of: UInt8(ascii: ";")),
                let scalar = Self.scalar(rest[..<end])
            else { return nil }
            result.unicodeScalars.append(scalar)
            rest = rest[(end + 1)...]
        }
        return result
    }

    /// The longest name of a reference: `#x10FFFF`, with some zeros in front.
    private static let maxReferenceBytes = 16

    private static func scalar(_ name: ArraySlice<UInt8>) -> Unicode.Scalar? {
        let name = String(decoding: name, as: UTF8.self)
        if name.hasPrefix("#x") { return UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init) }
        if name.hasPrefix("#") { return UInt32(name.dropFirst(1)).flatMap(Unicode.Scalar.init) }
        return predefined[name]
    }

    private static let predefined: [String: Unicode.Scalar] = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]
}

extension String {
    var trimmingXMLSpaces: String {
        guard utf8.first?.isXMLSpace == true || utf8.last?.isXMLSpace == true else { return self }
        return String(Substring(utf8.trimming(\.isXMLSpace)))
    }
}

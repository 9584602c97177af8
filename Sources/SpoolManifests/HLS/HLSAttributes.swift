/// The attribute list of a tag (rfc8216bis §4.2), with the place of each value.
package struct HLSAttributes {
    /// One attribute.
    package struct Attribute {
        /// The bytes of the name.
        var name: ArraySlice<UInt8>
        /// The bytes of the value, without quotes.
        package var value: ArraySlice<UInt8>
        package var isQuoted: Bool
    }

    /// The attributes in their order.
    package private(set) var list: [Attribute] = []
    /// Whether the line has more attributes than the bound.
    private(set) var isCut = false

    /// Reads a list. Elements without `=` are skipped, and an open quote ends at the end of the
    /// line, so that a malformed list loses only its malformed part.
    ///
    /// - Parameter maxCount: The most attributes that are read.
    init(_ bytes: ArraySlice<UInt8>, maxCount: Int = ManifestLimits().maxAttributes) {
        var rest = bytes
        while !rest.isEmpty {
            guard list.count < maxCount else {
                isCut = true
                return
            }
            let nameEnd = rest.firstIndex { $0 == .equals || $0 == .comma } ?? rest.endIndex
            let name = rest[..<nameEnd].trimmed
            guard nameEnd < rest.endIndex, rest[nameEnd] == .equals else {
                rest = rest[Swift.min(nameEnd + 1, rest.endIndex)...]
                continue
            }
            rest = rest[(nameEnd + 1)...]
            list.append(Self.attribute(name, &rest))
        }
    }

    /// Takes a value and the comma behind it from `rest`.
    private static func attribute(_ name: ArraySlice<UInt8>, _ rest: inout ArraySlice<UInt8>) -> Attribute {
        let start = rest.drop(while: \.isBlank)
        let isQuoted = start.first == .quote
        let content = isQuoted ? start.dropFirst() : start
        let end = content.firstIndex(of: isQuoted ? .quote : .comma) ?? content.endIndex
        let value = isQuoted ? content[..<end] : content[..<end].trimmed
        let comma = isQuoted ? content[end...].firstIndex(of: .comma) ?? content.endIndex : end
        rest = content[Swift.min(comma + 1, content.endIndex)...]
        return Attribute(name: name, value: value, isQuoted: isQuoted)
    }

    /// The first attribute with this name.
    package subscript(name: StaticString) -> Attribute? {
        list.first { $0.name.equals(name) }
    }

    /// The bytes that leave a list without the attribute: with a comma before or behind it.
    func removableSpan(of name: StaticString) -> Range<Int>? {
        guard let index = list.firstIndex(where: { $0.name.equals(name) }) else { return nil }
        if index > 0 { return list[index - 1].end..<list[index].end }
        let behind = index + 1 < list.count ? list[index + 1].name.startIndex : list[index].end
        return list[index].name.startIndex..<behind
    }
}

extension HLSAttributes.Attribute {
    /// The end of the value, with its quote.
    fileprivate var end: Int { value.endIndex + (isQuoted ? 1 : 0) }
}

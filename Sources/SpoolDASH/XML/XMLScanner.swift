package import SpoolCore
import SpoolManifests

/// Finds the spans of an XML document in one pass.
///
/// Never traps on input, moves forward only, and stops at its bounds. It does not expand entities,
/// load external parts or check declarations.
package struct XMLScanner {
    /// The spans that were read so far.
    package private(set) var document: XMLDocument
    private let bytes: [UInt8]
    private let limits: XMLLimits
    /// The most elements of this document.
    private let maxElements: Int
    private var position = 0
    /// The elements whose end tag is missing so far, from outside to inside.
    private var open: [OpenElement] = []
    private var namespaces = XMLNamespaces()

    private struct OpenElement {
        var index: Int
        /// The name with its prefix, which the end tag repeats.
        var name: Range<Int>
        /// The number of namespace declarations outside of this element.
        var declarations: Int
    }

    /// Creates a scanner at the beginning of a document in an encoding of `XMLEncoding`.
    package init(_ bytes: [UInt8], limits: XMLLimits) {
        document = XMLDocument(bytes)
        self.bytes = bytes
        self.limits = limits
        maxElements = min(limits.maxElements, 1_024 + bytes.count / limits.leastElementBytes)
        // Memory that grows would be there twice for a moment. Unused room is free.
        document.elements.reserveCapacity(maxElements)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    /// Reads up to the end of the first start tag.
    ///
    /// - Throws: `ParseError` when the document has none.
    package mutating func scanToFirstElement() throws(ParseError) {
        while document.elements.isEmpty, position < bytes.count { try step() }
        guard !document.elements.isEmpty else { throw failure("an element") }
    }

    /// Reads the rest of the document.
    ///
    /// - Throws: `ParseError` with the offset of the first byte that does not fit.
    package mutating func scanToEnd() throws(ParseError) {
        while position < bytes.count { try step() }
        guard open.isEmpty else { throw failure("an end tag") }
    }

    private func failure(_ expected: String) -> ParseError { ParseError(offset: position, expected: expected) }

    private func excess(_ limit: String) -> ParseError { ParseError(offset: position, limit: limit) }

    // MARK: Parts of a document

    /// Reads one part: a text, a tag, or a part without meaning here.
    private mutating func step() throws(ParseError) {
        guard bytes[position] == UInt8(ascii: "<") else { return try text() }
        if follows("<!--") { return try skip(to: "-->", "the end of a comment", after: 4) }
        if follows("<![CDATA[") { return try section() }
        if follows("<!DOCTYPE") { return try declaration() }
        if follows("<?") { return try skip(to: "?>", "the end of a processing instruction", after: 2) }
        if follows("</") { return try endTag() }
        try startTag()
    }

    private mutating func text() throws(ParseError) {
        let start = position
        var isBlank = true
        while position < bytes.count, bytes[position] != UInt8(ascii: "<") {
            if !bytes[position].isXMLSpace { isBlank = false }
            position += 1
        }
        if !isBlank { try append(start..<position, outer: start..<position) }
    }

    private mutating func section() throws(ParseError) {
        let start = position
        try skip(to: "]]>", "the end of a CDATA section", after: 9)
        try append(start + 9..<position - 3, outer: start..<position)
    }

    private mutating func append(_ span: Range<Int>, outer: Range<Int>) throws(ParseError) {
        guard !open.isEmpty else {
            position = outer.lowerBound
            throw failure("an element")
        }
        document.texts.append(.init(span: span, outer: outer))
    }

    /// Skips a document type declaration with its internal subset.
    private mutating func declaration() throws(ParseError) {
        guard document.elements.isEmpty else { throw failure("a document type before the first element") }
        position += 9
        var brackets = 0
        while position < bytes.count {
            switch bytes[position] {
            case .quote: try skip(to: "\"", "a closing quote", after: 1)
            case UInt8(ascii: "'"): try skip(to: "'", "a closing quote", after: 1)
            case UInt8(ascii: "<") where follows("<!--"): try skip(to: "-->", "the end of a comment", after: 4)
            case UInt8(ascii: "<") where follows("<?"): try skip(to: "?>", "the end of a processing instruction", after: 2)
            case UInt8(ascii: ">") where brackets == 0:
                position += 1
                return
            case let byte:
                if byte == UInt8(ascii: "[") { brackets += 1 }
                if byte == UInt8(ascii: "]") { brackets -= 1 }
                position += 1
            }
        }
        throw failure("the end of the document type")
    }

    // MARK: Tags

    private mutating func startTag() throws(ParseError) {
        let start = position
        position += 1
        let name = try self.name()
        guard document.elements.count < maxElements else { throw excess("at most \(maxElements) elements") }
        guard open.count < limits.maxDepth else { throw excess("at most \(limits.maxDepth) nested elements") }
        let outside = namespaces.count
        let attributes = try self.attributes()
        let isEmpty = take(UInt8(ascii: "/"))
        guard take(UInt8(ascii: ">")) else { throw failure("the end of a start tag") }

        let index = document.elements.count, texts = document.texts.count
        document.elements.append(
            .init(
                name: local(name), attributes: attributes, texts: texts..<texts, span: start..<position, next: index + 1,
                namespace: namespace(ofElement: name)))
        if isEmpty {
            namespaces.removeLast(namespaces.count - outside)
        } else {
            open.append(OpenElement(index: index, name: name, declarations: outside))
        }
    }

    private mutating func endTag() throws(ParseError) {
        position += 2
        guard let element = open.popLast() else { throw failure("a start tag") }
        guard bytes[try name()].elementsEqual(bytes[element.name]) else { throw failure("the end tag of the open element") }
        skipSpaces()
        guard take(UInt8(ascii: ">")) else { throw failure("the end of an end tag") }
        let start = document.elements[element.index]
        document.elements[element.index].texts = start.texts.lowerBound..<document.texts.count
        document.elements[element.index].span = start.span.lowerBound..<position
        document.elements[element.index].next = document.elements.count
        namespaces.removeLast(namespaces.count - element.declarations)
    }

    /// Reads attributes up to the end of the tag. Declarations of namespaces are no attributes.
    private mutating func attributes() throws(ParseError) -> Range<Int> {
        var found: [(name: Range<Int>, value: Range<Int>)] = []
        while skipSpaces(), position < bytes.count, bytes[position] != UInt8(ascii: "/"), bytes[position] != UInt8(ascii: ">") {
            guard found.count < limits.maxAttributes else { throw excess("at most \(limits.maxAttributes) attributes") }
            let name = try self.name()
            skipSpaces()
            guard take(.equals) else { throw failure("an equals sign") }
            skipSpaces()
            let value = try quotedValue()
            guard try !declare(name, value) else { continue }
            found.append((name, value))
        }
        let first = document.attributes.count
        for (name, value) in found {
            document.attributes.append(.init(name: local(name), value: value, namespace: namespace(ofAttribute: name)))
        }
        return first..<document.attributes.count
    }

    private mutating func quotedValue() throws(ParseError) -> Range<Int> {
        guard position < bytes.count, bytes[position] == .quote || bytes[position] == UInt8(ascii: "'") else { throw failure("a quote") }
        let quote = bytes[position], start = position + 1
        position = start
        while position < bytes.count, bytes[position] != quote {
            guard bytes[position] != UInt8(ascii: "<") else { throw failure("an attribute value without '<'") }
            position += 1
        }
        guard take(quote) else { throw failure("a closing quote") }
        return start..<position - 1
    }

    // MARK: Names

    private mutating func name() throws(ParseError) -> Range<Int> {
        let start = position
        while position < bytes.count, bytes[position].isXMLNameByte { position += 1 }
        guard position > start else { throw failure("a name") }
        return start..<position
    }

    private func colon(_ name: Range<Int>) -> Int? { bytes[name].firstIndex(of: .colon) }

    /// The name without prefix.
    private func local(_ name: Range<Int>) -> Range<Int> {
        colon(name).map { $0 + 1..<name.upperBound } ?? name
    }

    private func namespace(ofElement name: Range<Int>) -> XMLDocument.Namespace {
        namespaces.namespace(of: bytes[name.lowerBound..<(colon(name) ?? name.lowerBound)])
    }

    /// An attribute without prefix is in no namespace.
    private func namespace(ofAttribute name: Range<Int>) -> XMLDocument.Namespace {
        guard let colon = colon(name) else { return .none }
        let prefix = bytes[name.lowerBound..<colon]
        let namespace = namespaces.namespace(of: prefix)
        return namespace == .none && prefix.elementsEqual("xlink".utf8) ? .xlink : namespace
    }

    /// Enters a declaration of a namespace.
    /// - Returns: false for another attribute.
    private mutating func declare(_ name: Range<Int>, _ value: Range<Int>) throws(ParseError) -> Bool {
        guard bytes[name].starts(with: "xmlns".utf8) else { return false }
        let prefix = bytes[name].dropFirst(5)
        guard prefix.isEmpty || prefix.first == .colon else { return false }
        guard namespaces.count < limits.maxNamespaces else { throw excess("at most \(limits.maxNamespaces) namespaces") }
        namespaces.declare(prefix.dropFirst(), as: bytes[value])
        return true
    }

    // MARK: Bytes

    private func follows(_ text: StaticString) -> Bool {
        guard bytes.count - position >= text.utf8CodeUnitCount else { return false }
        for index in 0..<text.utf8CodeUnitCount where bytes[position + index] != text.utf8Start[index] { return false }
        return true
    }

    /// Moves behind the next `end`, which begins at least `count` bytes ahead.
    private mutating func skip(to end: StaticString, _ expected: String, after count: Int) throws(ParseError) {
        position += count
        while position < bytes.count {
            if follows(end) {
                position += end.utf8CodeUnitCount
                return
            }
            position += 1
        }
        throw failure(expected)
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    /// Skips white space.
    /// - Returns: true, for a place at the beginning of a condition.
    @discardableResult
    private mutating func skipSpaces() -> Bool {
        while position < bytes.count, bytes[position].isXMLSpace { position += 1 }
        return true
    }
}

extension UInt8 {
    /// Whether the byte may belong to a name. All other characters than the delimiters of a tag do,
    /// because names need no check here.
    fileprivate var isXMLNameByte: Bool {
        switch self {
        case UInt8(ascii: ">"), UInt8(ascii: "/"), .equals, UInt8(ascii: "<"), .quote, UInt8(ascii: "'"), UInt8(ascii: "&"): false
        default: self > 0x20
        }
    }
}

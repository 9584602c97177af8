import SpoolCore
import SpoolDASH

/// A reader of property lists in XML, the other format of `NSKeyedArchiver`.
///
/// It reads the elements of property lists. `XMLScanner` reads the document, and knows the five
/// named entities alone, so no entity of a document type expands.
struct XMLPropertyList {
    private let document: XMLDocument
    private let limits: AdoptionLimits
    private var values: [ArchiveTable.Value] = []

    /// Reads a property list.
    ///
    /// - Throws: `ParseError` for bytes that are no such list, or beyond the limits.
    static func table(_ bytes: [UInt8], limits: AdoptionLimits) throws(ParseError) -> ArchiveTable {
        var scanner = XMLScanner(bytes, limits: XMLLimits(of: limits))
        try scanner.scanToFirstElement()
        try scanner.scanToEnd()
        var list = XMLPropertyList(document: scanner.document, limits: limits)
        var values = list.document.children(of: 0)
        guard list.document.name(0) == "plist", let value = values.next(), values.next() == nil else {
            throw list.failure("a property list with one value", at: 0)
        }
        let root = try list.value(value)
        return try ArchiveTable(list.values, root: root, depth: limits.depth)
    }

    /// Enters an element and those inside. The scanner has bounded their nesting.
    private mutating func value(_ element: Int) throws(ParseError) -> Int {
        let value: ArchiveTable.Value
        switch document.name(element) {
        case "true": value = .bool(true)
        case "false": value = .bool(false)
        case "string": value = .text(try text(of: element))
        case "integer":
            guard let number = Int64(try text(of: element)) else { throw failure("an integer", at: element) }
            value = .integer(number)
        case "real": value = .real(Double(try text(of: element)) ?? .nan)
        case "date", "data": value = .other
        case "array":
            var elements: [Int] = []
            for child in document.children(of: element) { elements.append(try self.value(child)) }
            value = .array(elements)
        case "dict": value = try dictionary(element)
        default: throw failure("an element of a property list", at: element)
        }
        guard values.count < limits.values else { throw failure("at most \(limits.values) values", at: element) }
        values.append(value)
        return values.count - 1
    }

    /// Reads a dictionary. The archiver writes its references as dictionaries with one member.
    private mutating func dictionary(_ element: Int) throws(ParseError) -> ArchiveTable.Value {
        var members: [String: Int] = [:]
        var children = document.children(of: element)
        while let key = children.next() {
            guard document.name(key) == "key", let child = children.next() else { throw failure("a key and its value", at: key) }
            members[try text(of: key)] = try value(child)
        }
        if members.count == 1, let number = members["CF$UID"], case .integer(let number) = values[number], let index = Int(exactly: number),
            index >= 0
        {
            return .reference(index)
        }
        return .dictionary(members)
    }

    /// The text inside an element, with its white space.
    private func text(of element: Int) throws(ParseError) -> String {
        guard let text = document.verbatimText(of: element) else { throw failure("a text with entities of XML", at: element) }
        return text
    }

    private func failure(_ expected: String, at element: Int) -> ParseError {
        ParseError(offset: document.start(of: element), expected: expected)
    }
}

extension XMLLimits {
    /// The shortest element of a property list is `<true/>`.
    private static let bytesOfTrue = 7

    /// The bounds of a property list, which is one level itself. A member of a dictionary is two
    /// elements, a key and a value.
    fileprivate init(of limits: AdoptionLimits) {
        self.init()
        (maxDepth, maxElements, leastElementBytes) = (limits.depth, 2 * limits.values, Self.bytesOfTrue)
    }
}

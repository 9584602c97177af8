import SpoolCore

/// A reader of property lists in XML, the other format of `NSKeyedArchiver`.
///
/// It reads the elements of property lists and the five named entities. A document type with
/// declarations of its own is refused, so no entity expands.
struct XMLPropertyList {
    private let bytes: [UInt8]
    private let limits: AdoptionLimits
    private var offset = 0
    private var values: [ArchiveTable.Value] = []

    /// Reads a property list.
    ///
    /// - Throws: `ParseError` for bytes that are no such list, or beyond the limits.
    static func table(_ bytes: [UInt8], limits: AdoptionLimits) throws(ParseError) -> ArchiveTable {
        var list = XMLPropertyList(bytes: bytes, limits: limits)
        guard try list.tag() == Tag(name: "plist") else { throw list.failure("the element plist") }
        let root = try list.value(list.tag(), depth: 1)
        guard try list.tag() == Tag(name: "plist", isEnd: true) else { throw list.failure("the end of the element plist") }
        return try ArchiveTable(list.values, root: root, depth: limits.depth)
    }

    private init(bytes: [UInt8], limits: AdoptionLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    private struct Tag: Equatable {
        var name: String
        var isEnd = false
        var isEmpty = false
    }

    // MARK: Values

    private mutating func value(_ tag: Tag, depth: Int) throws(ParseError) -> Int {
        guard depth < limits.depth else { throw failure("at most \(limits.depth) levels of values") }
        guard !tag.isEnd else { throw failure("a value") }
        switch tag.name {
        case "true": return try append(.bool(true), endOf: tag)
        case "false": return try append(.bool(false), endOf: tag)
        case "string": return try append(.text(text(of: tag)))
        case "integer":
            guard let number = Int64(try text(of: tag)) else { throw failure("an integer") }
            return try append(.integer(number))
        case "real": return try append(.real(Double(try text(of: tag)) ?? .nan))
        case "date", "data":
            _ = try text(of: tag)
            return try append(.other)
        case "array": return try append(.array(elements(of: tag, depth)))
        case "dict": return try append(dictionary(tag, depth))
        default: throw failure("an element of a property list")
        }
    }

    private mutating func append(_ value: ArchiveTable.Value, endOf tag: Tag? = nil) throws(ParseError) -> Int {
        if let tag, !tag.isEmpty { try end(of: tag) }
        guard values.count < limits.values else { throw failure("at most \(limits.values) values") }
        values.append(value)
        return values.count - 1
    }

    private mutating func elements(of tag: Tag, _ depth: Int) throws(ParseError) -> [Int] {
        var elements: [Int] = []
        guard !tag.isEmpty else { return elements }
        while true {
            let next = try self.tag()
            if next == Tag(name: tag.name, isEnd: true) { return elements }
            elements.append(try value(next, depth: depth + 1))
        }
    }

    /// Reads a dictionary. The archiver writes its references as dictionaries with one member.
    private mutating func dictionary(_ tag: Tag, _ depth: Int) throws(ParseError) -> ArchiveTable.Value {
        var members: [String: Int] = [:]
        guard !tag.isEmpty else { return .dictionary(members) }
        while true {
            let next = try self.tag()
            if next == Tag(name: tag.name, isEnd: true) { break }
            guard next.name == "key", !next.isEnd else { throw failure("a key") }
            let name = try text(of: next)
            members[name] = try value(self.tag(), depth: depth + 1)
        }
        if members.count == 1, let number = members["CF$UID"], case .integer(let number) = values[number], let index = Int(exactly: number),
            index >= 0
        {
            return .reference(index)
        }
        return .dictionary(members)
    }

    // MARK: Text

    /// The text up to the end of the element.
    private mutating func text(of tag: Tag) throws(ParseError) -> String {
        guard !tag.isEmpty else { return "" }
        var text: [UInt8] = []
        while offset < bytes.count, bytes[offset] != UInt8(ascii: "<") {
            if bytes[offset] == UInt8(ascii: "&") {
                text += try entity()
            } else {
                text.append(bytes[offset])
                offset += 1
            }
        }
        try end(of: tag)
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func end(of tag: Tag) throws(ParseError) {
        guard try self.tag() == Tag(name: tag.name, isEnd: true) else { throw failure("the end of the element \(tag.name)") }
    }

    /// The longest entity: `&#x10FFFF;`.
    private static let entityBytes = 10

    private mutating func entity() throws(ParseError) -> [UInt8] {
        let rest = bytes[(offset + 1)...].prefix(Self.entityBytes)
        guard let semicolon = rest.firstIndex(of: UInt8(ascii: ";")) else { throw failure("an entity") }
        let name = String(decoding: rest[..<semicolon], as: UTF8.self)
        let scalar: Unicode.Scalar?
        switch name {
        case "lt": scalar = "<"
        case "gt": scalar = ">"
        case "amp": scalar = "&"
        case "quot": scalar = "\""
        case "apos": scalar = "'"
        case _ where name.hasPrefix("#x"): scalar = UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
        case _ where name.hasPrefix("#"): scalar = UInt32(name.dropFirst()).flatMap(Unicode.Scalar.init)
        default: scalar = nil
        }
        guard let scalar else { throw failure("an entity of XML") }
        offset = semicolon + 1
        return Array(String(scalar).utf8)
    }

    // MARK: Markup

    /// The next tag. Skips text, comments, instructions and a document type without declarations.
    private mutating func tag() throws(ParseError) -> Tag {
        while true {
            guard let open = bytes[offset...].firstIndex(of: UInt8(ascii: "<")) else { throw failure("a tag") }
            offset = open
            if bytes[open...].starts(with: Array("<!--".utf8)) {
                try skip(past: "-->")
            } else if bytes[open...].starts(with: Array("<?".utf8)) {
                try skip(past: "?>")
            } else if bytes[open...].starts(with: Array("<!DOCTYPE".utf8)) {
                try skip(past: ">")
                if bytes[open..<offset].contains(UInt8(ascii: "[")) { throw failure("a document type without declarations") }
            } else {
                return try element()
            }
        }
    }

    private mutating func element() throws(ParseError) -> Tag {
        let open = offset
        try skip(past: ">")
        var inside = bytes[(open + 1)..<(offset - 1)]
        let isEnd = inside.first == UInt8(ascii: "/"), isEmpty = inside.last == UInt8(ascii: "/")
        if isEnd { inside = inside.dropFirst() }
        if isEmpty { inside = inside.dropLast() }
        // A property list needs no attributes.
        let name = inside.prefix { $0 > UInt8(ascii: " ") }
        guard !name.isEmpty, !(isEnd && isEmpty) else { throw failure("a tag") }
        return Tag(name: String(decoding: name, as: UTF8.self), isEnd: isEnd, isEmpty: isEmpty)
    }

    private mutating func skip(past mark: String) throws(ParseError) {
        let mark = Array(mark.utf8)
        while offset <= bytes.count - mark.count {
            if bytes[offset...].starts(with: mark) {
                offset += mark.count
                return
            }
            offset += 1
        }
        throw failure(String(decoding: mark, as: UTF8.self))
    }

    private func failure(_ expected: String) -> ParseError { ParseError(offset: offset, expected: expected) }
}

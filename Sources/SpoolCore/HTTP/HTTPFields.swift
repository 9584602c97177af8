/// The field lines of an HTTP message, in order. Names compare without regard to case (RFC 9110
/// §5.1).
public struct HTTPFields: Hashable, Sendable {
    /// One field line.
    public struct Field: Hashable, Sendable {
        /// The name as it was written.
        public var name: String
        /// The value without surrounding white space.
        public var value: String

        /// Creates a field line.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// Creates a field line.
        public init(_ name: Name, _ value: String) { self.init(name: name.text, value: value) }

        /// Returns whether the line has this name.
        package func isNamed(_ name: Name) -> Bool { self.name.equalsIgnoringCase(name.text) }
    }

    /// The field lines in the order in which they came.
    public var lines: [Field]

    /// Creates fields with these lines.
    public init(_ lines: [Field] = []) {
        self.lines = lines
    }

    /// The first value of the field `name`, or nil when it is absent.
    ///
    /// Setting replaces every line of that name by one; setting nil removes them.
    package subscript(name: String) -> String? {
        get { lines.first { $0.name.equalsIgnoringCase(name) }?.value }
        set {
            lines.removeAll { $0.name.equalsIgnoringCase(name) }
            if let newValue { lines.append(Field(name: name, value: newValue)) }
        }
    }

    /// The first value of the field `name`, or nil when it is absent.
    ///
    /// Setting replaces every line of that name by one; setting nil removes them.
    public subscript(name: Name) -> String? {
        get { self[name.text] }
        set { self[name.text] = newValue }
    }

    /// Every value of the field `name`, one for each line, in order.
    public func values(of name: Name) -> [String] {
        lines.compactMap { $0.isNamed(name) ? $0.value : nil }
    }

    /// Whether there is a line with this name.
    package func contains(_ name: Name) -> Bool { lines.contains { $0.isNamed(name) } }

    /// The values of the list field `name` joined by commas, as RFC 9110 §5.3 allows, or nil when
    /// it is absent.
    public func combined(_ name: Name) -> String? {
        let values = values(of: name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// Returns the names that a field lists, in lower case (RFC 9110 §5.6.1).
    package func names(listedIn name: Name) -> [String] {
        values(of: name).flatMap { value in
            value.utf8.split(separator: .comma).map { String(decoding: $0.filter { !$0.isWhitespace }, as: UTF8.self).asciiLowercased }
        }
    }

    /// Returns these fields, with the fields of `other` in place of those with the same names.
    package func replacing(with other: HTTPFields) -> HTTPFields {
        var result = self
        for field in other.lines { result[field.name] = nil }
        result.lines += other.lines
        return result
    }

    /// Adds a line after the others, even if the field is present already.
    public mutating func append(_ name: Name, _ value: String) {
        lines.append(Field(name, value))
    }
}

extension HTTPFields.Field {
    /// Reads a line such as `Name: value` (RFC 9110 §5.5, §5.6.2). Spaces and tabs around the value
    /// are removed.
    /// - Returns: nil if the name is not a token, or if the value contains a control character.
    package init?(line: String) {
        var scanner = ByteScanner(line)
        guard let name = scanner.token(), scanner.take(.colon) else { return nil }
        scanner.skipWhitespace()
        let value = String(decoding: line.utf8.dropFirst(scanner.offset), as: UTF8.self)
        guard value.utf8.allSatisfy({ ($0 > 0x1F && $0 != 0x7F) || $0 == 0x09 }) else { return nil }
        let end = value.utf8.lastIndex { $0 != 0x20 && $0 != 0x09 }.map { value.utf8.index(after: $0) } ?? value.startIndex
        self.init(name: name, value: String(value[..<end]))
    }
}

extension HTTPFields: ExpressibleByDictionaryLiteral {
    /// Creates fields with a line for each element.
    public init(dictionaryLiteral elements: (Name, String)...) {
        self.init(elements.map { Field($0.0, $0.1) })
    }
}

extension StringProtocol {
    /// Whether the two strings are equal when ASCII letters compare without regard to case.
    package func equalsIgnoringCase(_ other: some StringProtocol) -> Bool {
        Self.areEqualIgnoringCase(self, other)
    }

    @inline(__always)
    fileprivate static func areEqualIgnoringCase(_ a: Self, _ b: some StringProtocol) -> Bool {
        // Most names differ in length, and a string stores its length.
        guard a.utf8.count == b.utf8.count else { return false }
        let atOnce = a.utf8.withContiguousStorageIfAvailable { a in
            b.utf8.withContiguousStorageIfAvailable { b in equalIgnoringCase(a, b) }
        }
        return (atOnce ?? nil) ?? equalIgnoringCase(a.utf8, b.utf8)
    }

    @inline(__always)
    private static func equalIgnoringCase(_ a: some Sequence<UInt8>, _ b: some Sequence<UInt8>) -> Bool {
        a.elementsEqual(b) { $0 == $1 || $0.asciiLowercased == $1.asciiLowercased }
    }

    /// The text without spaces and tabs at both ends (RFC 9110 §5.6.3).
    package var withoutBlanks: SubSequence { trimming { $0 == " " || $0 == "\t" } }

    /// The string with its ASCII letters in lower case. Other characters stay.
    package var asciiLowercased: String {
        guard utf8.contains(where: { $0.asciiLowercased != $0 }) else { return String(self) }
        return String(decoding: utf8.map(\.asciiLowercased), as: UTF8.self)
    }
}

extension String {
    /// Whether the two strings are equal when ASCII letters compare without regard to case. This
    /// overload for two strings, the common case, is compiled for them alone, also in other
    /// modules.
    package func equalsIgnoringCase(_ other: String) -> Bool {
        Self.areEqualIgnoringCase(self, other)
    }

    /// Whether the string begins with `prefix` when ASCII letters compare without regard to case.
    package func hasPrefixIgnoringCase(_ prefix: String) -> Bool {
        utf8.count >= prefix.utf8.count && Substring(utf8.prefix(prefix.utf8.count)).equalsIgnoringCase(prefix)
    }
}

extension UInt8 {
    /// The byte, in lower case if it is an ASCII letter.
    package var asciiLowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }
}

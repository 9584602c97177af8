import SpoolCore

/// A walk through a JSON text that reports the values at the places of a manifest. It checks the
/// structure, and it changes and copies nothing.
struct JSONWalk {
    /// A value that the walk reports.
    struct Value {
        private let lower: UInt32
        private let upper: UInt32
        let place: JSONPlace
        /// Whether the value is a container, and not a string.
        let isContainer: Bool

        init(_ place: JSONPlace, _ span: Range<Int>, isContainer: Bool) {
            (lower, upper) = (UInt32(span.lowerBound), UInt32(span.upperBound))
            self.place = place
            self.isContainer = isContainer
        }

        /// The bytes of the value: the inside of a string, or a whole container.
        var span: Range<Int> { Int(lower)..<Int(upper) }
    }

    private let bytes: [UInt8]
    private let limits: ManifestLimits
    private var offset = 0
    private var depth = 0
    private var count = 0
    /// The strings and containers at known places, each container behind its content.
    private(set) var values: [Value] = []

    /// Walks through a text.
    ///
    /// - Throws: `ParseError` for a text that is not JSON, and for one beyond the limits.
    /// - Complexity: O(*n*) time, and O(*v*) memory, *v* being the number of reported values.
    init(_ bytes: [UInt8], limits: ManifestLimits) throws(ParseError) {
        self.bytes = bytes
        self.limits = limits
        try value(.root)
        skipSpace()
        guard offset == bytes.count else { throw failure("the end of the text") }
    }

    private mutating func value(_ place: JSONPlace) throws(ParseError) {
        count += 1
        guard count <= limits.maxValues else { throw ParseError(offset: offset, limit: "at most \(limits.maxValues) values") }
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): try container(place, end: UInt8(ascii: "}"), hasNames: true)
        case UInt8(ascii: "["): try container(place, end: UInt8(ascii: "]"), hasNames: false)
        case .quote: report(place, try string(), isContainer: false)
        default: try word()
        }
    }

    private mutating func container(_ place: JSONPlace, end: UInt8, hasNames: Bool) throws(ParseError) {
        let start = offset
        guard depth < limits.maxDepth else { throw ParseError(offset: offset, limit: "at most \(limits.maxDepth) levels") }
        depth += 1
        offset += 1
        skipSpace()
        while next != end {
            try value(hasNames ? place.member(try name()) : place.element)
            skipSpace()
            if next == .comma { offset += 1 } else if next != end { throw failure("a comma or the end of a container") }
            skipSpace()
        }
        offset += 1
        depth -= 1
        report(place, start..<offset, isContainer: true)
    }

    private mutating func report(_ place: JSONPlace, _ span: Range<Int>, isContainer: Bool) {
        if place.isReported { values.append(Value(place, span, isContainer: isContainer)) }
    }

    private mutating func name() throws(ParseError) -> ArraySlice<UInt8> {
        guard next == .quote else { throw failure("a name") }
        let name = bytes[try string()]
        skipSpace()
        guard next == .colon else { throw failure("a colon") }
        offset += 1
        return name.has(.backslash) ? Array(name.jsonUnescaped.utf8)[...] : name
    }

    /// Takes a number, `true`, `false` or `null`.
    private mutating func word() throws(ParseError) {
        let start = offset
        while let byte = next, byte.isWordByte { offset += 1 }
        guard offset > start else { throw failure("a value") }
    }

    /// Takes a string, and returns the bytes between its quotes.
    private mutating func string() throws(ParseError) -> Range<Int> {
        let start = offset + 1
        var end = start
        while end < bytes.count, bytes[end] != .quote { end += bytes[end] == .backslash ? 2 : 1 }
        guard end < bytes.count else { throw failure("the end of a string") }
        offset = end + 1
        return start..<end
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte.isBlank || byte == .lineFeed || byte == .carriageReturn { offset += 1 }
    }

    private func failure(_ expected: String) -> ParseError { ParseError(offset: offset, expected: expected) }
}

/// The places of the values that matter in the two manifests.
enum JSONPlace: UInt8 {
    case root
    case assets, asset, assetURI
    case priority, reloadURI
    case clones, clone, replacement, host, clonedURIs, clonedURI
    case other

    /// Whether a manifest takes the value, and does not only lead to others.
    var isReported: Bool {
        switch self {
        case .assets, .assetURI, .priority, .reloadURI, .clones, .host, .clonedURI: true
        case .root, .asset, .clone, .replacement, .clonedURIs, .other: false
        }
    }

    /// The place of an element of an array at this place.
    var element: JSONPlace {
        switch self {
        case .assets: .asset
        case .clones: .clone
        default: .other
        }
    }

    /// The place of the member with this name of an object at this place.
    func member(_ name: ArraySlice<UInt8>) -> JSONPlace {
        if self == .clonedURIs { return .clonedURI }
        return Self.members.first { $0.parent == self && name.equals($0.name) }?.place ?? .other
    }

    private static let members: [(parent: JSONPlace, name: StaticString, place: JSONPlace)] = [
        (.root, "ASSETS", .assets), (.asset, "URI", .assetURI),
        (.root, "PATHWAY-PRIORITY", .priority), (.root, "RELOAD-URI", .reloadURI), (.root, "PATHWAY-CLONES", .clones),
        (.clone, "URI-REPLACEMENT", .replacement), (.replacement, "HOST", .host),
        (.replacement, "PER-VARIANT-URIS", .clonedURIs), (.replacement, "PER-RENDITION-URIS", .clonedURIs),
    ]
}

extension UInt8 {
    static let backslash = UInt8(ascii: "\\")

    fileprivate var isWordByte: Bool { isLetter || isDigit || "+-.".utf8.contains(self) }
}

extension ArraySlice<UInt8> {
    /// The text of a JSON string. An escape outside ASCII becomes a replacement character, because
    /// URLs don't contain any.
    var jsonUnescaped: String {
        guard has(.backslash) else { return text }
        var result: [UInt8] = []
        var rest = self
        while let byte = rest.popFirst() {
            guard byte == .backslash, let escape = rest.popFirst() else {
                result.append(byte)
                continue
            }
            guard escape == UInt8(ascii: "u") else {
                result.append(escape)
                continue
            }
            let digits = rest.prefix(4)
            rest = rest.dropFirst(4)
            result += UInt8(digits.text, radix: 16).map { $0 < 0x80 ? [$0] : [] } ?? Array("\u{FFFD}".utf8)
        }
        return result.text
    }
}

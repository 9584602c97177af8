/// An entity tag (RFC 9110 §8.8.3), compared as opaque octets.
package struct EntityTag: Hashable, Sendable {
    /// The tag as it was sent, including quotes, without `W/`. Contains only visible ASCII and
    /// spaces.
    package let opaque: String
    /// Whether the tag was marked by `W/`.
    package let isWeak: Bool

    /// The longest tag that is kept, in bytes. A longer one identifies nothing.
    package static let maxBytes = 8192

    /// Reads the field `ETag` of an origin.
    ///
    /// Some origins omit the quotes or put spaces inside. Such tags are accepted as they are.
    /// - Returns: nil for an empty value, for one longer than `maxBytes`, and for one with control
    ///   characters or bytes outside ASCII. Such bytes may have been altered by decoding, and can't
    ///   be sent back safely.
    package init?(_ value: String) {
        guard value.utf8.count <= Self.maxBytes, value.utf8.allSatisfy({ $0.isVisible || $0 == .space }) else { return nil }
        // `w/` is not in the grammar. Reading it as strong would be the dangerous choice.
        isWeak = value.hasPrefix("W/") || value.hasPrefix("w/")
        opaque = isWeak ? String(value.dropFirst(2)) : value
        guard !opaque.isEmpty else { return nil }
    }

    /// The field value to send.
    package var fieldValue: String { isWeak ? "W/" + opaque : opaque }

    /// Whether both tags are strong and equal (RFC 9110 §8.8.3.2). Combining bytes requires this.
    package func matchesStrongly(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && opaque == other.opaque
    }

    /// Whether both tags are equal, weak or not (RFC 9110 §8.8.3.2). This is enough for a 304.
    package func matchesWeakly(_ other: EntityTag) -> Bool {
        opaque == other.opaque
    }
}

/// The field `If-None-Match`: `*` or a list of entity tags (RFC 9110 §13.1.2).
package enum EntityTagCondition: Hashable, Sendable {
    /// `*`: matches any representation.
    case any
    /// These tags, in order.
    case tags([EntityTag])

    /// The most tags that are compared. Any further tags match nothing, which costs a full response
    /// and never gives a wrong one.
    package static let maxTags = 64

    /// Reads a field value. An element that is not a tag is skipped, because it matches nothing.
    package init(_ value: String) {
        var scanner = ByteScanner(value)
        scanner.skipWhitespace()
        if scanner.take(.asterisk) {
            scanner.skipWhitespace()
            if scanner.isAtEnd {
                self = .any
                return
            }
        }
        var tags: [EntityTag] = []
        while !scanner.isAtEnd, tags.count < Self.maxTags {
            scanner.skipWhitespace()
            if scanner.take(.comma) { continue }
            if let tag = Self.element(&scanner) { tags.append(tag) }
        }
        self = .tags(tags)
    }

    /// Consumes a tag up to the next comma outside its quotes.
    private static func element(_ scanner: inout ByteScanner) -> EntityTag? {
        let start = scanner.offset
        _ = scanner.take(word: "W/")
        if scanner.take(.quote) {
            // A tag has no escapes: a backslash is an octet like any other.
            _ = scanner.take(while: { $0 != .quote })
            _ = scanner.take(.quote)
        }
        scanner.skipElement()
        let text = scanner.bytes[start..<scanner.offset]
        let end = text.lastIndex { !$0.isWhitespace } ?? start - 1
        return EntityTag(String(decoding: text[start..<end + 1], as: UTF8.self))
    }

    /// Whether the condition names `tag`, by weak comparison.
    package func matches(_ tag: EntityTag?) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tags.contains { listed in tag.map(listed.matchesWeakly) == true }
        }
    }
}

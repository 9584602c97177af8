/// An entity tag (RFC 9110 §8.8.3), compared as opaque octets.
package struct EntityTag: Hashable, Sendable {
    /// The tag as it was sent, quotes included, without `W/`. Visible ASCII and spaces only.
    package let opaque: String
    /// Whether the tag was marked by `W/`.
    package let isWeak: Bool

    /// The longest tag that is kept, in bytes; a longer one identifies nothing.
    package static let maxBytes = 8192

    /// Reads the field `ETag` of an origin.
    ///
    /// Origins leave the quotes out or put spaces inside; what they sent is taken as it is.
    /// Nil for an empty value, one longer than `maxBytes`, and one with bytes outside ASCII or control characters:
    /// those may have been altered while they were decoded, and can't be sent back safely.
    package init?(_ value: String) {
        guard value.utf8.count <= Self.maxBytes, value.utf8.allSatisfy({ $0.isVisible || $0 == .space }) else { return nil }
        // `w/` is not in the grammar; to call it strong would be the dangerous reading.
        isWeak = value.hasPrefix("W/") || value.hasPrefix("w/")
        opaque = isWeak ? String(value.dropFirst(2)) : value
        guard !opaque.isEmpty else { return nil }
    }

    /// The tag as it is sent.
    package var fieldValue: String { isWeak ? "W/" + opaque : opaque }

    /// Whether both are strong and the same (RFC 9110 §8.8.3.2). Needed to combine bytes.
    package func matchesStrongly(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && opaque == other.opaque
    }

    /// Whether both are the same, weak or not (RFC 9110 §8.8.3.2). Enough to answer 304.
    package func matchesWeakly(_ other: EntityTag) -> Bool {
        opaque == other.opaque
    }
}

/// The field `If-None-Match`: `*` or a list of entity tags (RFC 9110 §13.1.2).
package enum EntityTagCondition: Hashable, Sendable {
    /// `*`: whatever there is.
    case any
    /// These tags, in order.
    case tags([EntityTag])

    /// The most tags that are compared; those after them match nothing, which costs a full answer and never a wrong one.
    package static let maxTags = 64

    /// Reads a field value. What is not a tag is skipped: it matches nothing.
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

    /// A tag up to the next comma outside its quotes.
    private static func element(_ scanner: inout ByteScanner) -> EntityTag? {
        let start = scanner.offset
        _ = scanner.take(word: "W/")
        if scanner.take(.quote) {
            // There are no escapes in a tag: a backslash is an octet like any other.
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
        case .tags(let tags): tags.contains { listed in tag.map(listed.matchesWeakly) ?? false }
        }
    }
}

/// A media type as in `Content-Type`, without its parameters (RFC 9110 §8.3.1).
package struct MediaType: Hashable, Sendable {
    /// The top-level type in lower case, such as `video` in `video/mp4`.
    package let type: String
    /// The subtype in lower case, such as `mp4` in `video/mp4`.
    package let subtype: String

    /// Reads a field value. Its parameters may be malformed.
    ///
    /// - Returns: nil if the value does not begin with a type and a subtype.
    package init?(_ value: String) {
        var scanner = ByteScanner(value)
        scanner.skipWhitespace()
        guard let type = scanner.token(), scanner.take(.slash), let subtype = scanner.token() else { return nil }
        scanner.skipWhitespace()
        guard scanner.isAtEnd || scanner.next == .semicolon || scanner.next == .comma else { return nil }
        self.type = type.asciiLowercased
        self.subtype = subtype.asciiLowercased
    }

    /// Type and subtype, in lower case.
    package var essence: String { "\(type)/\(subtype)" }
}

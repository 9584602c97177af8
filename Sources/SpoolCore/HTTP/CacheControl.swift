/// The field `Cache-Control` of a request or a response (RFC 9111 §5.2).
///
/// Unknown directives are kept. Of a repeated directive the first counts (RFC 9111 §4.2.1), but a
/// directive without field names is never narrowed by one with names.
package struct CacheControl: Hashable, Sendable {
    /// One directive.
    package struct Directive: Hashable, Sendable {
        /// The name in lower case.
        package var name: String
        /// The argument without quotes and escapes, if there is one.
        package var argument: String?
    }

    /// The directives in the order of the field; at most `maxDirectives`.
    package private(set) var directives: [Directive] = []
    /// Whether there were more directives than `maxDirectives`. `noStore` is true then, because it
    /// may be among the rest.
    package private(set) var isCutOff = false

    /// The most directives that are read.
    package static let maxDirectives = 128
    /// The largest number of seconds, which stands for all larger ones (RFC 9111 §1.2.2): 68 years.
    package static let maxDeltaSeconds: Int64 = 1 << 31

    /// Reads the directives of a message. There are none if it has no such field.
    package init(_ fields: HTTPFields) {
        self.init(fields.combined(.cacheControl) ?? "")
    }

    /// Reads the directives of a field value. Malformed text is skipped up to the next comma.
    package init(_ value: String) {
        var scanner = ByteScanner(value)
        while !scanner.isAtEnd {
            scanner.skipWhitespace()
            if scanner.take(.comma) { continue }
            guard directives.count < Self.maxDirectives else {
                isCutOff = true
                return
            }
            if let directive = Self.directive(&scanner) { directives.append(directive) }
        }
    }

    /// Creates the field from directives.
    package init(directives: [Directive]) { self.directives = directives }

    /// Reads the directives of a response that count for this cache: those of `CDN-Cache-Control`
    /// for a shared cache, if there are any (RFC 9213 §2.1), else those of `Cache-Control`.
    package init(response fields: HTTPFields, isShared: Bool) {
        if isShared, let targeted = TargetedCacheControl.directives(fields) {
            self.init(directives: targeted)
        } else {
            self.init(fields)
        }
    }

    private static func directive(_ scanner: inout ByteScanner) -> Directive? {
        guard let name = scanner.token()?.asciiLowercased else {
            scanner.skipElement()
            return nil
        }
        let isSpaced = scanner.next?.isWhitespace == true
        scanner.skipWhitespace()
        guard scanner.take(.equals) else {
            let isAlone = scanner.isAtEnd || scanner.next == .comma
            scanner.skipElement()
            // `no-store foo` is malformed, but reading it as `no-store` is the safe choice.
            return isAlone || name == "no-store" ? Directive(name: name, argument: nil) : nil
        }
        // The grammar has no white space here. Such a lifetime counts as 0, like any invalid one.
        if isSpaced || scanner.next?.isWhitespace == true {
            scanner.skipElement()
            return Directive(name: name, argument: "")
        }
        // A quote that is never closed counts as an ordinary byte, so that it cannot hide a
        // `no-store` after it.
        let argument = scanner.quotedString() ?? scanner.take { $0 != .comma && !$0.isWhitespace }
        scanner.skipElement()
        return Directive(name: name, argument: argument ?? "")
    }

    // MARK: Access

    /// Whether the directive is present, with or without argument.
    package func contains(_ name: String) -> Bool {
        directives.contains { $0.name == name }
    }

    /// The seconds that a directive names, or nil if it is absent.
    ///
    /// An argument that is not a number counts as 0, which makes a response stale (RFC 9111
    /// §4.2.1).
    package func seconds(_ name: String) -> Int64? {
        guard let directive = directives.first(where: { $0.name == name }) else { return nil }
        return Self.deltaSeconds(directive.argument ?? "") ?? 0
    }

    /// Parses a number of seconds (RFC 9111 §1.2.2), at most `maxDeltaSeconds`.
    /// - Returns: nil if the text is anything but digits.
    package static func deltaSeconds(_ text: String) -> Int64? {
        var scanner = ByteScanner(text)
        guard let seconds = scanner.saturatingNumber(), scanner.isAtEnd else { return nil }
        return min(seconds, maxDeltaSeconds)
    }
}

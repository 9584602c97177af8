package import SpoolCore

/// A pattern for the keys of resources. `*` stands for any characters, the slash included.
///
/// The scheme and the host of a pattern are compared as in keys: in lower case, without a default
/// port.
package struct ResourcePattern: Sendable {
    /// The pattern as it was given.
    package let text: String
    /// The texts between the asterisks, as they were given and in the form of keys.
    private let forms: [[Substring]]

    /// Whether a text is a pattern, and not the name of one resource.
    package static func isPattern(_ text: String) -> Bool { text.contains("*") }

    /// Creates a pattern from a text with asterisks.
    package init(_ text: String, policy: KeyPolicy = KeyPolicy()) {
        self.init(text: text, policy: policy) { $0 }
    }

    /// Creates the pattern of all keys that begin with a text.
    package init(prefix text: String, policy: KeyPolicy = KeyPolicy()) {
        self.init(text: text, policy: policy) { $0 + "*" }
    }

    private init(text: String, policy: KeyPolicy, _ pattern: (String) -> String) {
        self.text = text
        forms = [text, Self.keyForm(text, policy)].compactMap { $0 }.map {
            pattern($0).split(separator: "*", omittingEmptySubsequences: false)
        }
    }

    /// Returns the text in the form of a key, or nil when it is not a URL with a whole authority.
    private static func keyForm(_ text: String, _ policy: KeyPolicy) -> String? {
        guard let scheme = text.firstRange(of: "://"), text[scheme.upperBound...].contains("/"), let key = try? policy.key(for: text)
        else { return nil }
        return key.string
    }

    /// Whether the pattern stands for a key.
    ///
    /// - Complexity: O(*n* · *p*), *n* being the length of the key and *p* that of the pattern.
    package func matches(_ key: ResourceKey) -> Bool { forms.contains { Self.matches(key.string, $0) } }

    private static func matches(_ key: String, _ parts: [Substring]) -> Bool {
        guard parts.count > 1, let first = parts.first, let last = parts.last else { return parts.first.map { key == $0 } ?? false }
        guard key.hasPrefix(first), key.hasSuffix(last), key.utf8.count >= first.utf8.count + last.utf8.count else { return false }
        var rest = key.dropFirst(first.count).dropLast(last.count)
        // The earliest place of each part leaves the most room for the next one.
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let place = rest.firstRange(of: part) else { return false }
            rest = rest[place.upperBound...]
        }
        return true
    }
}

/// The error of text that does not follow its grammar.
public struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The offset of the first byte that does not fit, in bytes.
    public var offset: Int
    /// The element that the grammar requires there.
    public var expected: String

    /// Whether the text is beyond a limit of its reader. It may follow its grammar.
    package private(set) var isBeyondLimit = false

    /// Creates an error.
    package init(offset: Int, expected: String) {
        self.offset = offset
        self.expected = expected
    }

    /// Creates the error of a text that is beyond a limit.
    ///
    /// - Parameter limit: The limit with its unit: `at most 64 levels`.
    package init(offset: Int, limit: String) {
        self.init(offset: offset, expected: limit)
        isBeyondLimit = true
    }

    /// The error in one line for people.
    public var description: String { "expected \(expected) at byte \(offset)" }
}

/// The error of text that does not follow its grammar.
public struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The offset of the first byte that does not fit, in bytes.
    public var offset: Int
    /// The element that the grammar requires there.
    public var expected: String

    /// Creates an error.
    public init(offset: Int, expected: String) {
        self.offset = offset
        self.expected = expected
    }

    /// The error in one line for people.
    public var description: String { "expected \(expected) at byte \(offset)" }
}

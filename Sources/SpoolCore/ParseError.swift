/// Text that does not follow its grammar: where, and what was expected there.
public struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The offset of the first byte that does not fit, in bytes.
    public var offset: Int
    /// What the grammar wants there.
    public var expected: String

    public init(offset: Int, expected: String) {
        self.offset = offset
        self.expected = expected
    }

    public var description: String { "expected \(expected) at byte \(offset)" }
}

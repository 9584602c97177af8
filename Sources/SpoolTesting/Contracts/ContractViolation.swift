/// A rule of a contract that an implementation broke.
public struct ContractViolation: Hashable, Sendable, CustomStringConvertible {
    /// The rule, as a short sentence.
    public var name: String
    /// The behaviour that was seen instead.
    public var detail: String

    /// Creates a violation of the rule `name`.
    public init(_ name: String, _ detail: String) {
        self.name = name
        self.detail = detail
    }

    /// The rule and the behaviour.
    public var description: String { "\(name): \(detail)" }
}

/// A rule of a contract that an implementation broke.
package struct ContractViolation: Hashable, Sendable, CustomStringConvertible {
    /// The rule, as a short sentence.
    package var name: String
    /// The behaviour that was seen instead.
    package var detail: String

    /// Creates a violation of the rule `name`.
    package init(_ name: String, _ detail: String) {
        self.name = name
        self.detail = detail
    }

    /// The rule and the behaviour.
    package var description: String { "\(name): \(detail)" }
}

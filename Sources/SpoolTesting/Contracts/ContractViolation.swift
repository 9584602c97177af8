/// A rule of a contract that an implementation broke.
package struct ContractViolation: Hashable, Sendable, CustomStringConvertible {
    /// The rule, as a short sentence.
    package var name: String
    /// What happened instead.
    package var detail: String

    package init(_ name: String, _ detail: String) {
        self.name = name
        self.detail = detail
    }

    package var description: String { "\(name): \(detail)" }
}

/// The urgency that a client states for its request (RFC 9218).
package enum RequestUrgency {
    /// The least urgent value, which the specification reserves for work in the background (§4.1).
    private static let background: Int64 = 7

    /// The field by which a client says that nobody waits for the answer.
    package static let backgroundField: HTTPFields.Field = HTTPFields.Field(name: "Priority", value: "u=7")

    /// Returns the priority of a reader whose request has this `Priority` field.
    ///
    /// Browsers state the other values for their own order of requests on one connection. They wait
    /// for these answers, so only `u=7` counts.
    package static func priority(_ field: String?) -> ReadPriority {
        guard let members = field.flatMap(StructuredDictionary.init)?.members, let urgency = members.first(where: { $0.key == "u" }),
            case .integer(background) = urgency.value
        else { return .playing }
        return .prefetch
    }
}

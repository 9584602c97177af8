package import SpoolCore

/// The request of a door's client, by which the engine asks the origin and selects a variant.
package struct ClientRequest: Sendable {
    /// The URL that the client asks for.
    package let url: MediaURL
    /// The fields of the client, and the digests by which stored responses are selected.
    package let selection: ClientSelection
    /// The tags that a request without a stored version offers to the origin: those of stored
    /// variants, or those that the client itself has.
    package var offeredTags: [String] = []

    /// The condition with the offered tags; empty without any.
    var offer: HTTPFields { offeredTags.isEmpty ? [:] : [.ifNoneMatch: offeredTags.joined(separator: ", ")] }

    /// The fields that go to the origin.
    var fields: RequestFields { selection.fields }

    /// Whether both requests have the same fields for the same origin.
    func sendsSame(as other: ClientRequest) -> Bool { fields == other.fields }
}

package import SpoolCore

/// The request of a door's client, by which the engine asks the origin and selects a variant.
package struct ClientRequest: Sendable {
    /// The URL that the client asks for.
    package let url: String
    /// The fields of the client, and the digests by which stored responses are selected.
    package let selection: ClientSelection
    /// The strong tags of stored variants, which the first request of a new variant offers to the
    /// origin (`If-None-Match`).
    package var offeredTags: [String] = []

    /// The fields that go to the origin.
    var fields: RequestFields { selection.fields }

    /// Whether both requests have the same fields for the same origin.
    func sendsSame(as other: ClientRequest) -> Bool { fields == other.fields }
}

extension MediaCache {
    /// The most stored variants of one resource.
    package static let variantLimit = 8

    /// Makes the request of a client, or returns nil for a URL that cannot be asked.
    ///
    /// - Parameters:
    ///   - fields: All fields of the client's request.
    ///   - url: The URL at the origin.
    ///   - place: The place of the door.
    ///   - isForeign: Whether the URL comes from a manifest of another origin, so that no credentials
    ///     go there.
    package func clientRequest(
        _ fields: HTTPFields, for url: String, at place: RequestFields.Place, isForeign: Bool = false
    ) -> ClientRequest? {
        guard let origin = URIReference.origin(of: url) else { return nil }
        let all = RequestFields(fields, to: origin, at: place, configured: configuration.fields(for: url))
        let selection = ClientSelection(
            isForeign ? all.withoutCredentials : all, nonce: environment.random.next(), isShared: configuration.isShared
        ) { [digests = engine.digests] in digests.of($0) }
        return ClientRequest(url: url, selection: selection)
    }

    /// Returns whether the session of `key`, if there is one, has a version that answers the
    /// client. Returns nil when that is not known.
    package func liveVerdict(of key: ResourceKey, for client: ClientRequest) -> VariantMark.Verdict? {
        engine.liveVerdict(of: key, for: client)
    }

    /// Finds the variant of a resource that answers the client, or a place for a new one. Calls
    /// `done` on the index lane.
    package func findVariant(
        of base: ResourceKey, for client: ClientRequest, _ done: @escaping @Sendable (Result<VariantChoice, CacheError>) -> Void
    ) {
        engine.findVariant(of: base, for: client, done)
    }

    /// Removes a variant whose bytes another variant has, unless a reader uses it.
    package func dropVariant(_ key: ResourceKey) { engine.dropVariant(key) }
}

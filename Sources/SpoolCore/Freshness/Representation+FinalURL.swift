extension Representation {
    /// The URL at the end of the redirects that led to this manifest, or nil.
    ///
    /// The references of a manifest are resolved against that URL (RFC 3986 §5.1.3), also when the
    /// manifest is used again without asking the origin. It is stored among the fields. Only a
    /// program that reads the same store gets it.
    package var finalURL: String? { fields[Self.finalURLField] }

    /// The origin at the end of the redirects that led to this response, such as
    /// `https://cdn.example`, or nil without redirects.
    ///
    /// The response has the rights of that origin, and not those of the requested one.
    package var finalOrigin: String? { fields[Self.finalOriginField] ?? finalURL.flatMap(Self.origin) }

    /// The representation without the stored URL, origin and end, for a client.
    package var fieldsForClient: HTTPFields {
        var fields = fields
        for name in [Self.finalURLField, Self.finalOriginField, Self.endField] where fields.contains(name) { fields[name] = nil }
        return fields
    }

    /// Keeps the final URL of a response if the response may be a manifest, and else its origin
    /// alone: the URLs of media often have a signature, which changes. An origin can set neither.
    mutating func keepFinalURL(of head: ResponseHead) {
        guard head.url != nil || fields.contains(Self.finalURLField) || fields.contains(Self.finalOriginField) else { return }
        let isManifest = mayBeManifest(at: head.url)
        fields[Self.finalURLField] = isManifest ? head.url : nil
        fields[Self.finalOriginField] = isManifest ? nil : head.url.flatMap(Self.origin)
    }

    private static func origin(of url: String) -> String? {
        do { return try URIReference(lenient: url).origin?.description } catch { return nil }
    }

    /// Whether the response may be a manifest, by its type, its URL and its length. Its bytes
    /// decide where it is used.
    private func mayBeManifest(at url: String?) -> Bool {
        let pathExtension = url.map { SpoolCore.pathExtension(url: $0) } ?? ""
        if isPlaylist || playlistExtensions.contains(pathExtension) { return true }
        return !MediaKind.isMediaExtension(pathExtension) && length ?? 0 <= Self.maxVagueBytes
    }

    /// The most bytes of a manifest whose type and URL are common ones.
    package static let maxVagueBytes: Int64 = 1 << 20

    /// The field with `finalURL`.
    package static let finalURLField: HTTPFields.Name = "Spool-Final-URL"
    private static let finalOriginField: HTTPFields.Name = "Spool-Final-Origin"
}

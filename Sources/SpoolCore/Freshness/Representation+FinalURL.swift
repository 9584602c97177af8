extension Representation {
    /// The URL at the end of the redirects that led to this manifest, or nil.
    ///
    /// The references of a manifest are resolved against that URL (RFC 3986 §5.1.3), also when the
    /// manifest is used again without asking the origin. It is stored among the fields, and never
    /// sent to a client.
    package var finalURL: String? { fields[Self.finalURLField] }

    /// The representation without the stored URL, for a client.
    package var fieldsForClient: HTTPFields {
        guard finalURL != nil else { return fields }
        var fields = fields
        fields[Self.finalURLField] = nil
        return fields
    }

    /// Keeps the final URL of a response if the response may be a manifest. An origin can't set it.
    mutating func keepFinalURL(of head: ResponseHead) {
        if head.url != nil || finalURL != nil { fields[Self.finalURLField] = mayBeManifest(at: head.url) ? head.url : nil }
    }

    /// Whether the response may be a manifest, by its type, its URL and its length. Its bytes decide
    /// where it is used.
    private func mayBeManifest(at url: String?) -> Bool {
        let pathExtension = url.map { SpoolCore.pathExtension(url: $0) } ?? ""
        if isPlaylist || playlistExtensions.contains(pathExtension) { return true }
        let essence = contentType.flatMap(MediaType.init)?.essence ?? ""
        return vagueMediaTypes.contains(essence) && !isMediaExtension(pathExtension) && length ?? 0 <= Self.maxVagueBytes
    }

    /// The most bytes of a manifest whose type and URL are common ones.
    package static let maxVagueBytes: Int64 = 1 << 20

    private static let finalURLField: HTTPFields.Name = "Spool-Final-URL"
}

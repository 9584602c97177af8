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

    /// Keeps the final URL of a response if the response is a manifest. An origin can't set it.
    mutating func keepFinalURL(of head: ResponseHead) {
        let isManifest = isPlaylist || playlistExtensions.contains(head.url.map { pathExtension(url: $0) } ?? "")
        if head.url != nil || finalURL != nil { fields[Self.finalURLField] = isManifest ? head.url : nil }
    }

    private static let finalURLField = "Spool-Final-URL"
}

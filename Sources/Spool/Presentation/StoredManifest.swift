import SpoolManifests

/// A stored manifest that was read.
struct StoredManifest: Sendable {
    var text: WholeText
    var outline: StreamOutline

    /// Reads a stored manifest, and passes it to `done` on a lane. It is nil for another resource,
    /// for a broken manifest, and unless every byte is stored.
    static func read(
        _ status: ResourceStatus, from cache: MediaCache, variables: [String: String], _ done: @escaping Completion<StoredManifest?>
    ) {
        StoredText.read(status, from: cache) { result in
            done(
                result.map { text in
                    guard let text else { return nil }
                    let formats = cache.configuration.manifestFormats
                    // A text that is no manifest has no outline, which is the answer nil.
                    guard let outline = try? StreamOutline.read(text.bytes, at: text.url, variables: variables, formats: formats) else {
                        return nil
                    }
                    return StoredManifest(text: text, outline: outline)
                })
        }
    }

    /// The resources that the manifest names itself.
    var references: [String] {
        outline.sharedParts.map(\.url)
            + outline.renditions.flatMap { rendition in
                (rendition.playlist.map { [$0] } ?? []) + rendition.parts.map(\.url)
            }
    }
}

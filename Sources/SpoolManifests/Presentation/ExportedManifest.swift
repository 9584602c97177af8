import SpoolCore

/// A manifest as a file of an exported presentation.
package struct ExportedManifest {
    let layout: ExportLayout
    /// The URL that the layout has a path for.
    let name: String
    /// The URL that the references are resolved against.
    let base: String
    let bytes: [UInt8]
    let outline: StreamOutline
    let contents: ManifestContents

    /// Reads a manifest.
    ///
    /// - Parameters:
    ///   - layout: The files.
    ///   - name: The URL of the manifest among them.
    ///   - base: The URL that its references are resolved against.
    ///   - outline: Its outline.
    ///   - variables: The variables of the manifest above (HLS).
    package init(
        _ bytes: [UInt8], layout: ExportLayout, name: String, base: String, outline: StreamOutline, variables: [String: String] = [:]
    ) throws {
        self.layout = layout
        self.name = name
        self.base = base
        self.bytes = bytes
        self.outline = outline
        guard let contents = try ManifestReader().contents(of: bytes, at: base, variables: variables) else {
            throw ParseError(offset: 0, expected: "a manifest")
        }
        self.contents = contents
    }

    /// Returns the manifest with references to the files of the layout.
    ///
    /// A reference to a resource without a file becomes absolute.
    ///
    /// - Parameter offered: The indices of the renditions that have files.
    /// - Throws: `ExportLayout.Failure` when a player would look for a part elsewhere than at its
    ///   file.
    package func text(offering offered: Set<Int>) throws -> [UInt8] {
        var contents = contents
        contents.remove(outline.spans(besides: offered) + outline.surplus)
        let isHLS = contents.kind.isHLS
        let text = try ManifestReader().rewritten(bytes, contents) { isHLS ? replacement(for: $0) : replacementInDASH(for: $0) }
        try check(text, offered)
        return text
    }

    private func replacement(for reference: ManifestReference) -> String? {
        guard let url = reference.url, url.isHTTP else { return nil }
        return layout.reference(from: name, to: url) ?? (url == reference.text ? nil : url)
    }

    private func replacementInDASH(for reference: ManifestReference) -> String? {
        guard let url = reference.url, url.isHTTP else { return nil }
        if reference.role == .playlist { return layout.reference(from: name, to: name) }
        return layout.reference(fromPlaceOf: reference.base.url.text, toPlaceOf: url)
    }

    /// Resolves every reference of the new manifest as a player does.
    private func check(_ text: [UInt8], _ offered: Set<Int>) throws {
        let origin = "http://folder.invalid/"
        guard let path = layout.paths[name], let found = try StreamOutline.read(text, at: origin + path) else {
            throw ExportLayout.Failure(url: name, reason: "the new manifest can't be read")
        }
        let wanted = offered.sorted().map { outline.renditions[$0] }
        guard found.renditions.count == wanted.count else {
            throw ExportLayout.Failure(url: name, reason: "the new manifest has other renditions")
        }
        for (new, old) in zip(found.renditions, wanted) {
            let places = (new.playlist.map { [$0] } ?? []) + new.parts.map(\.url)
            let urls = (old.playlist.map { [$0] } ?? []) + old.parts.map(\.url)
            let isEqual =
                places.count == urls.count && zip(places, urls).allSatisfy { layout.isFile(at: $0.0.dropFirst(origin.count), of: $0.1) }
            guard isEqual else {
                throw ExportLayout.Failure(url: urls.first ?? name, reason: "a player would look for it outside of its place in the folder")
            }
        }
    }
}

extension String {
    fileprivate var isHTTP: Bool {
        let start = prefix(8).asciiLowercased
        return start.hasPrefix("http://") || start.hasPrefix("https://")
    }
}

package import SpoolCore

/// The URL that the references of a manifest, or of a part of it, are resolved against.
package final class ManifestBase: Hashable, Sendable {
    /// The URL without fragment.
    package let url: URIReference

    /// Creates the base of a document.
    ///
    /// - Parameter url: The URL of the document: the last one after redirects.
    package init(_ url: String) throws(ParseError) {
        self.url = try URIReference(lenient: url)
    }

    /// Returns the absolute URL that `text` means to browsers, or nil when it is none.
    ///
    /// Spaces and bytes outside ASCII are percent-encoded. All other bytes of names stay, which
    /// keeps the templates of DASH.
    package func resolved(_ text: String) -> String? {
        do { return try url.resolving(lenient: text).text } catch { return nil }
    }

    package static func == (a: ManifestBase, b: ManifestBase) -> Bool { a.url == b.url }

    package func hash(into hasher: inout Hasher) { hasher.combine(url) }
}

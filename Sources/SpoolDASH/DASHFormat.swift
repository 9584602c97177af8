package import SpoolCore
package import SpoolManifests

/// The manifests of MPEG-DASH, for a `ManifestReader` and the outlines of presentations.
package struct DASHFormat: ManifestFormat {
    /// Creates the format.
    package init() {}

    package func contents(of bytes: [UInt8], at url: String, limits: ManifestLimits) throws(ParseError) -> ManifestContents? {
        try DASHManifest.contents(of: bytes, at: url, limits: limits)
    }

    package func outline(of bytes: [UInt8], at url: String, limits: ManifestLimits) throws(ParseError) -> StreamOutline? {
        guard let (document, kind) = try DASHManifest.document(of: bytes, limits: limits), kind == .mpd else { return nil }
        return try DASHOutline(document, at: url, limits: limits).outline
    }
}
